import DocDB

/// The command `history`: the retained versions of one document, newest first.
struct HistoryCommand {
    private let command: ParsedCommand
    private let console: Console

    init(_ command: ParsedCommand, on console: Console) {
        self.command = command
        self.console = console
    }

    func run() throws {
        let ids = try CommandArguments.documentIDs(command.operands[2])
        let revisions = try Commands.withStore(command, .readOnly) { database in
            try database.read { snapshot in
                let name = try Commands.collectionName(command, among: snapshot.collectionNames())
                for id in ids {
                    let revisions = try snapshot.collection(name).history(of: id)
                    if !revisions.isEmpty { return revisions }
                    if try snapshot.collection(name).find(id: id) != nil { return [] }
                }
                throw Commands.noDocument(in: name)
            }
        }
        guard !revisions.isEmpty else {
            throw DocDBError(
                .historyNotRetained, "the change log no longer reaches back to the last change of this document")
        }
        guard console.terminal.outputIsTerminal else {
            return try RowPrinter(console, format: .jsonl).print { pass in
                for revision in revisions { try pass(RevisionRow(revision)) }
            }
        }
        for revision in revisions { try console.output.write(text(revision)) }
    }

    private func text(_ revision: Revision) throws -> String {
        let head = CommitText.head(
            revision.sequence, revision.time, CommitText.word(revision.origin), revision.actors, console.terminal)
        let paths = sorted(revision.paths).map { $0.map(FactText.path).joined(separator: ", ") }
        let what =
            revision.document == nil ? "deleted" : paths.map { "wrote \($0)" } ?? "inserted"
        let document = try revision.document.map { "    \(try $0.json())\n" } ?? ""
        return "\(head)\n    \(what)\n\(document)"
    }
}

/// Paths in the order of their texts.
private func sorted(_ paths: [FieldPath]?) -> [FieldPath]? {
    paths?.sorted { $0.description.utf8.lexicographicallyPrecedes($1.description.utf8) }
}

/// One version as a line of JSON.
private struct RevisionRow: OutputRow {
    private let revision: Revision

    init(_ revision: Revision) { self.revision = revision }

    private var facts: [(String, Value)] {
        [
            ("seq", .int(revision.sequence)), ("time", .string(FactText.time(revision.time))),
            ("kind", .string(CommitText.word(revision.origin))),
            ("actors", .array(revision.actors.map { .string($0.description) })),
            ("paths", sorted(revision.paths).map { .array($0.map { .string($0.description) }) } ?? .null),
        ]
    }

    func jsonText() throws -> String {
        // The document's own text, as its keys have an order of their own.
        let head = try JSONText.text(ofMembers: facts).dropLast()
        return "\(head),\"document\":\(try revision.document?.json() ?? "null")}"
    }

    func members() throws -> [String: Value] {
        Dictionary(
            facts + [("document", try revision.document?.value ?? .null)], uniquingKeysWith: { first, _ in first })
    }
}
