import DocDB
import DocDBInspect
import Foundation

/// A temporary directory with a store in it that the inspector is run on.
final class InspectedStore {
    struct Outcome: Equatable {
        var code: Int32
        var output = ""
        var error = ""
    }

    let directory: String
    var path: String { directory + "/s.docdb" }
    var databaseFile: String { path + "/store.sqlite" }

    init() throws {
        directory = FileManager.default.temporaryDirectory.appending(path: "docdb-inspect-\(UUID().uuidString)").path
        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
    }

    /// A store with these JSON Lines in its collection `cars`.
    convenience init(cars lines: String) throws {
        try self.init()
        let outcome = run("import", path, "cars", "-", input: lines)
        guard outcome.code == 0 else { throw DocDBInspect.UsageError(outcome.error) }
    }

    deinit { try? FileManager.default.removeItem(atPath: directory) }

    /// Runs the inspector as its command line would.
    func run(_ arguments: String..., input: String = "", terminal: Terminal = Terminal()) -> Outcome {
        Self.run(arguments, input: input, terminal: terminal)
    }

    static func run(_ arguments: [String], input: String = "", terminal: Terminal = Terminal()) -> Outcome {
        let console = TestConsole(terminal: terminal, input: input)
        let code = console.run(arguments)
        return Outcome(code: code, output: console.output.text, error: console.error.text)
    }

    /// Writes a file beside the store and returns its path.
    func file(_ name: String, _ text: String) throws -> String {
        let path = directory + "/" + name
        try Data(text.utf8).write(to: URL(filePath: path))
        return path
    }

    /// Changes the bytes of the database file.
    func damage(_ change: (inout Data) throws -> Void) throws {
        let url = URL(filePath: databaseFile)
        var bytes = try Data(contentsOf: url)
        try change(&bytes)
        try bytes.write(to: url)
    }
}

/// Replaces what differs from run to run: times and actors.
func masked(_ text: String) -> String {
    text.replacing(#/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{9}Z/#, with: "TIME")
        .replacing(#/\b[0-9a-f]{32}\b/#, with: "ACTOR")
}
