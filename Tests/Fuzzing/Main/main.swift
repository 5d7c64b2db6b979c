import Foundation
import FuzzTargets

// One target under libFuzzer: `Scripts/fuzz` runs it. libFuzzer takes all arguments, and runs this program again with
// some of them, so the environment says which target it is.

@_silgen_name("LLVMFuzzerRunDriver")
private func runFuzzer(
    _ argumentCount: UnsafeMutablePointer<Int32>,
    _ arguments: UnsafeMutablePointer<UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>?>,
    _ run: @convention(c) (UnsafePointer<UInt8>?, Int) -> Int32
) -> Int32

private enum Chosen {
    /// The target that the environment names.
    static let target: FuzzTarget = {
        guard let target = FuzzTarget.named(ProcessInfo.processInfo.environment["DOCDB_FUZZ_TARGET"] ?? "") else {
            fatalError("set DOCDB_FUZZ_TARGET to one of \(FuzzTarget.all.map(\.name).joined(separator: ", "))")
        }
        return target
    }()
}

/// Writes the inputs that a corpus begins with, and the words of the format as libFuzzer reads them.
private func writeSeeds(to folder: URL, words: URL) throws {
    for (index, seed) in try Chosen.target.seeds().enumerated() {
        try Data(seed).write(to: folder.appending(path: "seed-\(index)"))
    }
    let lines = Chosen.target.words.map { word in
        "\"" + word.utf8.map { "\\x" + ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined() + "\"\n"
    }
    try Data(lines.joined().utf8).write(to: words)
}

private func fuzz() -> Int32 {
    var count = CommandLine.argc
    var arguments: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>? = CommandLine.unsafeArgv
    return runFuzzer(&count, &arguments) { bytes, count in
        let input = Array(UnsafeBufferPointer(start: bytes, count: count))
        do { try Chosen.target.run(input) } catch { fatalError("\(Chosen.target.name): \(error)") }
        return 0
    }
}

let arguments = CommandLine.arguments
switch arguments.dropFirst().first {
case "list": print(FuzzTarget.all.map(\.name).joined(separator: "\n"))
case "seeds" where arguments.count == 4:
    try writeSeeds(to: URL(filePath: arguments[2]), words: URL(filePath: arguments[3]))
default: exit(fuzz())
}
