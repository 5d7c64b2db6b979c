import Foundation

/// A process of the soak: what it prints goes to files, of which lines are read as they come.
final class ChildProcess {
    private let process = Process()
    private let input = Pipe()
    private let output: FileHandle
    private var rest = Data()

    /// - Parameters:
    ///   - log: the file that standard output and errors are appended to, or errors alone where `output` is given.
    init(_ program: String, _ arguments: [String], output: String, errors: String) throws {
        for path in [output, errors] where !FileManager.default.fileExists(atPath: path) {
            _ = FileManager.default.createFile(atPath: path, contents: nil)
        }
        let written = try Self.appending(output)
        self.output = try FileHandle(forReadingFrom: URL(filePath: output))
        // Only what this process prints is read.
        try self.output.seekToEnd()
        process.executableURL = URL(filePath: program)
        process.arguments = arguments
        process.standardInput = input
        process.standardOutput = written
        process.standardError = output == errors ? written : try Self.appending(errors)
        try process.run()
        try input.fileHandleForReading.close()
    }

    private static func appending(_ path: String) throws -> FileHandle {
        let handle = try FileHandle(forWritingTo: URL(filePath: path))
        try handle.seekToEnd()
        return handle
    }

    var id: Int32 { process.processIdentifier }
    var isRunning: Bool { process.isRunning }
    /// The status of a process that has ended by itself.
    var status: Int32? { !process.isRunning && process.terminationReason == .exit ? process.terminationStatus : nil }

    func send(_ line: String) { try? input.fileHandleForWriting.write(contentsOf: Data((line + "\n").utf8)) }

    /// The whole lines that have come since.
    func lines() throws -> [Substring] {
        rest.append(try output.readToEnd() ?? Data())
        guard let end = rest.lastIndex(of: UInt8(ascii: "\n")) else { return [] }
        let text = String(decoding: rest[...end], as: UTF8.self)
        rest = Data(rest[rest.index(after: end)...])
        return text.split(separator: "\n")
    }

    /// Kills the process, and returns when it is gone.
    func kill() {
        Foundation.kill(id, SIGKILL)
        process.waitUntilExit()
    }

    /// Tells the process to end in order.
    func terminate() { process.terminate() }

    /// Waits until the process has ended; false where it takes too long.
    func waitForEnd(seconds: Int) -> Bool {
        let deadline = ContinuousClock.now + .seconds(seconds)
        while process.isRunning {
            guard ContinuousClock.now < deadline else { return false }
            usleep(20_000)
        }
        return true
    }
}
