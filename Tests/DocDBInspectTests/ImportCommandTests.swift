import DocDBCore
import DocDBInspect
import Testing

@Suite("ImportCommand")
struct ImportCommandTests {
    /// A target over the real transcoder that counts the documents.
    final class CountingTarget: ImportTarget {
        private(set) var committed = 0
        private let names = FieldNames()
        var failsAtCommit = false

        func commit(_ body: (_ upsert: (UnsafeRawBufferPointer) throws -> Void) throws -> Void) throws {
            var transcoder = JSONTranscoder()
            var written = 0
            try body { text in
                var encoded = ByteBuffer()
                var identifier = ByteBuffer()
                try transcoder.transcode(text, names: names, body: &encoded, id: &identifier)
                written += 1
            }
            if failsAtCommit { throw DocDBError(.diskFull, "the disk is full; free some space") }
            committed += written
        }
    }

    private func run(
        _ input: String, options: [String] = [], target: CountingTarget = CountingTarget(), interrupted: Bool = false
    ) throws -> (code: Int32, error: String, committed: Int) {
        let error = MemorySink()
        let console = Console(
            output: MemorySink(), error: error, openInput: { MemorySource(input) }, terminal: Terminal(), clock: { 0 },
            catchInterrupts: {}, isInterrupted: { interrupted })
        guard case .run(let command) = try ArgumentParser.parse(["import", "s", "c", "-"] + options) else {
            throw UsageError("no command")
        }
        let code = try ImportCommand(command, on: console).run { $0(target) }
        return (code, error.text, target.committed)
    }

    @Test("a sound input is imported with one line of summary")
    func sound() throws {
        let result = try run("[{\"a\":1},{\"a\":2}]", options: ["--batch", "1"])
        #expect(result == (0, "imported 2 documents, 17 B in 0.00 s\n", 2))
        #expect(try run("") == (0, "imported 0 documents, 0 B in 0.00 s\n", 0))
    }

    struct BadInput: Sendable, CustomTestStringConvertible {
        let text: String
        let options: [String]
        let place: String
        let phrase: String
        var testDescription: String { text }
    }

    static let badInputs = [
        BadInput(text: "{\"a\":1}\n  {\"a\":tru}", options: [], place: "line 2, column 8", phrase: "expected a value"),
        BadInput(
            text: "{\"a\":1}\n{\"é\":1,}", options: [], place: "line 2, column 8", phrase: "name in double quotes"),
        BadInput(text: "[{\"a\":1},\n{\"a\":1,\n\"a\":2}]", options: [], place: "line 3, column 6", phrase: "twice"),
        BadInput(
            text: "{\"a\":1}{\"_id\":null}", options: [], place: "line 1, column 15", phrase: "cannot be document ids"),
        BadInput(
            text: "{\"v\":1}\n{\"a\":0,\"v\":1.5}", options: ["--id-field=v"], place: "line 2, column 12",
            phrase: "cannot be document ids"),
        BadInput(
            text: "{\"v\":1}\n {\"a\":0}", options: ["--id-field=v"], place: "line 2, column 2", phrase: "--id-field"),
        BadInput(
            text: "{\"a\":1}\n{\"a\":[}", options: [], place: "line 2, column 7", phrase: "expected ] but found }"),
    ]

    @Test("a bad record is named by its place in the input, and what was kept is said", arguments: badInputs)
    func badRecord(input: BadInput) throws {
        let result = try run(input.text, options: input.options)
        #expect(result.code == 1)
        #expect(result.committed == 1)
        let lines = result.error.split(separator: "\n")
        #expect(lines.first?.hasPrefix("docdb-inspect: standard input, \(input.place): ") == true, "\(result.error)")
        #expect(lines.first?.contains(input.phrase) == true, "\(result.error)")
        #expect(lines.first?.ranges(of: "line ").count == 1, "one place only: \(result.error)")
        #expect(lines.last == "1 document before it imported and kept; correct the record and import again")
    }

    @Test("an interrupted import says what it kept, and ends with 130")
    func interrupted() throws {
        #expect(try run("{}", interrupted: true) == (130, "interrupted; 0 documents imported and kept\n", 0))
    }

    @Test("a commit that fails is reported with what was committed before")
    func failedCommit() throws {
        let target = CountingTarget()
        target.failsAtCommit = true
        let result = try run("{\"a\":1}", target: target)
        #expect(result.code == 1)
        #expect(
            result.error == """
                docdb-inspect: the disk is full; free some space
                0 documents committed before and kept

                """)
    }

    @Test("a file that is not there is an error before any store is made")
    func missingFile() throws {
        guard case .run(let command) = try ArgumentParser.parse(["import", "s", "c", "/nonexistent/x.json"]) else {
            throw UsageError("no command")
        }
        let console = Console(
            output: MemorySink(), error: MemorySink(), openInput: { MemorySource("") }, terminal: Terminal(),
            clock: { 0 }, catchInterrupts: {}, isInterrupted: { false })
        var opened = false
        let error = #expect(throws: DocDBError.self) {
            try ImportCommand(command, on: console).run { _ in
                opened = true
                return ImportOutcome()
            }
        }
        #expect(error?.message == "cannot read /nonexistent/x.json: there is no such file; check the path")
        #expect(!opened)
    }
}
