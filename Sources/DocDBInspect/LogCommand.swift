import DocDB
import DocDBCore
import DocDBStorage

/// The command `log`: the retained commits, oldest first, and what each did to which document.
struct LogCommand {
    private let console: Console
    private let path: String
    private let since: Int64
    private let limit: Int64
    private let collection: String?

    init(_ command: ParsedCommand, on console: Console) {
        self.console = console
        path = command.operands[0]
        since = command.number("since") ?? 0
        limit = command.number("limit") ?? .max
        collection = command.text("collection")
    }

    func run() throws {
        var options = StoreOptions()
        options.access = .readOnly
        let store = try Store(path: path, options: options)
        do {
            try store.read { try printLog($0) }
        } catch {
            try? store.close()
            throw error
        }
        try store.close()
    }

    private func printLog(_ context: ReadContext) throws {
        let wanted = try collection.map { name in
            context.catalog[try Commands.known(name, among: context.catalog.names)]?.number
        }
        let reader = ChangeLogReader(connection: context.connection)
        let oldest = try reader.oldestSequence()
        let last = try reader.lastSequence()
        if since < oldest - 1 {
            try? console.error.write("the log begins at commit \(oldest); what came before is not retained\n")
        }
        guard since < last else { return }
        var printedCount: Int64 = 0
        var sequence = max(since + 1, oldest)
        while sequence <= last, printedCount < limit {
            guard let record = try reader.record(sequence) else {
                throw DocDBError(
                    .corrupted, "commit \(sequence) is missing from the change log; verify the store, restore a backup")
            }
            sequence += 1
            let entries = wanted.map { number in record.entries.filter { $0.collection == number } } ?? record.entries
            if wanted != nil, entries.isEmpty { continue }
            printedCount += 1
            try write(record, entries, context)
        }
    }

    private func write(
        _ record: ChangeLogRecord, _ entries: [ChangeLogRecord.Entry], _ context: ReadContext
    ) throws {
        let actors = record.stamps.compactMap { context.actors.actor(UInt64($0.actorNumber)) }
        let head = CommitText.head(record.sequence, record.time, Self.word(record.kind), actors, console.terminal)
        try console.output.write(head + "\n")
        for entry in entries {
            let change = try ChangeText(entry, of: record, in: context)
            try console.output.write("    \(change.text)\n")
        }
    }

    private static func word(_ kind: ChangeLogFormat.Kind) -> String {
        switch kind {
        case .local: "local"
        case .remote: "remote"
        case .eviction: "eviction"
        }
    }
}

/// What a commit did to one document, in a line.
private struct ChangeText {
    let text: String

    init(_ entry: ChangeLogRecord.Entry, of record: ChangeLogRecord, in context: ReadContext) throws {
        let name = context.catalog.collection(number: entry.collection)?.name
        let id: DocumentID? = try name.flatMap { try context.collection($0) }.flatMap { collection in
            try collection.withDocument(key: entry.key) { (_, id) throws(DocDBError) in
                try DocumentID(canonicalCBOR: id)
            }
        }
        let document = id.map(FactText.id) ?? "(evicted)"
        let collection = TableWriter.printable(name ?? "collection \(entry.collection)")
        text = "\(collection)  \(document)  \(try Self.what(entry.change, record, context))"
    }

    private static func what(
        _ change: ChangeLogRecord.Change, _ record: ChangeLogRecord, _ context: ReadContext
    ) throws -> String {
        switch change {
        case .inserted: return "inserted"
        case .evicted: return "evicted"
        case .erased: return "erased by a later eviction"
        case .changed(_, let undo):
            do {
                return try undo.withUnsafeBytes { try ChangedFields($0, record.time, context).text }
            } catch is CBORError {
                throw DocDBError(
                    .corrupted,
                    "commit \(record.sequence) of the change log is damaged; verify the store, restore a backup")
            }
        }
    }
}

/// The fields that one change of a document wrote, with the values that stood there before.
private struct ChangedFields {
    private struct Field {
        let path: FieldPath
        var isWritten = false
        var isCounter = false
        var previous: String?

        mutating func take(_ item: UndoItem, _ names: FieldNames) throws(CBORError) {
            if item.isWritten { isWritten = true }
            if case .tally = item.key { isCounter = true }
            guard case .assignment(_, let kind, let payload) = item.displaced else { return }
            switch kind {
            case .value: previous = FactText.value(try Value.decode(payload, names: names))
            case .map: previous = "an object"
            case .absent: previous = "missing"
            }
        }

        var text: String {
            var notes: [String] = []
            if isCounter { notes.append("counter") }
            if !isWritten { notes.append("removed") }
            if let previous { notes.append("was \(previous)") }
            return FactText.path(path) + (notes.isEmpty ? "" : " (\(notes.joined(separator: ", ")))")
        }
    }

    private var fields: [Field] = []
    private let isCreation: Bool
    private let deletes: Bool

    init(_ undo: UnsafeRawBufferPointer, _ time: HybridTime, _ context: ReadContext) throws(CBORError) {
        var cursor = ByteCursor(undo)
        var reader = try UndoReader(&cursor, reference: time, actors: context.actors)
        isCreation = reader.isCreation
        deletes = reader.changesDeleted
        var places: [FieldPath: Int] = [:]
        while let item = try reader.next(&cursor) {
            let path = try FieldPath.decode(item.path, names: context.names)
            let place = places[path] ?? fields.count
            if place == fields.count { fields.append(Field(path: path)) }
            places[path] = place
            try fields[place].take(item, context.names)
        }
        fields.sort { $0.path.description.utf8.lexicographicallyPrecedes($1.path.description.utf8) }
    }

    /// What happened, and to which fields.
    var text: String {
        if isCreation { return "inserted" }
        if deletes, !fields.contains(where: \.isWritten) { return "deleted" }
        if fields.contains(where: { $0.path.components.isEmpty && $0.isWritten }) {
            let others = fields.filter { !$0.path.components.isEmpty }
            return "written anew" + (others.isEmpty ? "" : ": \(others.map(\.text).joined(separator: ", "))")
        }
        return fields.isEmpty ? "changed" : "changed \(fields.map(\.text).joined(separator: ", "))"
    }
}
