import DocDB

/// Prints the results of a query, and then what changes in them, until Ctrl-C.
struct WatchCommand {
    /// Seconds between two looks at the store: soon enough for people, and too rarely to cost anything.
    private static let pollInterval = 0.1
    private static let columns = ["event", "index", "from", "document"]

    private let command: ParsedCommand
    private let console: Console
    private let format: OutputFormat

    init(_ command: ParsedCommand, on console: Console) {
        self.command = command
        self.console = console
        format =
            command.text("format").flatMap(OutputFormat.init)
            ?? (console.terminal.outputIsTerminal ? .table : .jsonl)
    }

    func run() throws {
        let arguments = try CommandArguments.predicateArguments(command)
        let terms = try CommandArguments.sortTerms(command)
        console.catchInterrupts()
        try Commands.withStore(command, .readOnly) { database in
            let name = try Commands.collectionName(command, among: database.collectionNames())
            let predicate = command.operands.count > 2 ? command.operands[2] : ""
            var query = try database.collection(name).find(predicate, arguments)
            for term in terms { query = query.sort(term.path, term.isDescending ? .descending : .ascending) }
            if let limit = command.number("limit") { query = query.limit(Int(limit)) }
            if terms.isEmpty { query = query.sort("_id") }
            try follow(query.followed())
        }
    }

    private func follow(_ query: FollowedResults) throws {
        var results = query
        var writer = makeWriter()
        while !console.isInterrupted() {
            if let update = try results.poll() {
                try print(Self.rows(of: update), to: &writer)
                try (console.output as? BufferedSink)?.flush()
            }
            if console.isInterrupted() { break }
            console.pause(Self.pollInterval)
        }
        if !writer.needsSurvey { try writer.finish() }
    }

    private func makeWriter() -> any RowWriter {
        format.writer(to: console.output, terminal: console.terminal, columns: Self.columns)
    }

    private func print(_ rows: [FactRow], to writer: inout any RowWriter) throws {
        guard writer.needsSurvey else {
            for row in rows { try writer.write(row) }
            return
        }
        // A table knows its widths only when it has seen all: each delivery is one.
        var table = makeWriter()
        for row in rows { try table.survey(row) }
        for row in rows { try table.write(row) }
        try table.finish()
    }

    /// A row for each document that is there at first, and for each that has changed after that.
    private static func rows(of update: LiveUpdate) throws -> [FactRow] {
        let documents = update.documents
        guard case .update(let insertions, let deletions, let updates, let moves, let old) = update.event else {
            return try documents.enumerated().map { try row("initial", $0.offset, $0.element) }
        }
        var rows: [FactRow] = []
        for index in deletions { rows.append(try row("delete", index, old[index])) }
        for move in moves { rows.append(try row("move", move.target, from: move.source, documents[move.target])) }
        for index in insertions { rows.append(try row("insert", index, documents[index])) }
        for index in updates { rows.append(try row("update", index, documents[index])) }
        return rows
    }

    private static func row(_ event: String, _ index: Int, from: Int? = nil, _ document: Document) throws -> FactRow {
        var facts: [(String, Value)] = [("event", .string(event)), ("index", .int(Int64(index)))]
        if let from { facts.append(("from", .int(Int64(from)))) }
        return FactRow(facts + [("document", try document.value)])
    }
}
