import DocDB
import DocDBStorage

extension Commands {
    static func importDocuments(_ command: ParsedCommand, _ console: Console) throws -> Int32 {
        let name = command.operands[1]
        // Before anything is opened, so that a wrong name leaves no empty store behind.
        try Catalog.validate(collectionName: name)
        return try ImportCommand(command, on: console).run { start in
            try withStore(command, .readWrite) { start(StoreImportTarget(database: $0, collection: name)) }
        }
    }

    static func export(_ command: ParsedCommand, _ console: Console) throws {
        try withStore(command, .readOnly) { database in
            try database.read { snapshot in
                let name = try collectionName(command, among: snapshot.collectionNames())
                let query = snapshot.collection(name).findAll().sort("_id")
                try RowPrinter(console, format: .jsonl).print { pass in
                    try query.forEach { try pass(DocumentRow($0)) }
                }
            }
        }
    }

    static func find(_ command: ParsedCommand, _ console: Console) throws {
        let arguments = try CommandArguments.predicateArguments(command)
        let terms = try CommandArguments.sortTerms(command)
        try withStore(command, .readOnly) { database in
            try database.read { snapshot in
                let name = try collectionName(command, among: snapshot.collectionNames())
                let predicate = command.operands.count > 2 ? command.operands[2] : ""
                var query = try snapshot.collection(name).find(predicate, arguments)
                for term in terms { query = query.sort(term.path, term.isDescending ? .descending : .ascending) }
                if let limit = command.number("limit") { query = query.limit(Int(limit)) }
                if let offset = command.number("offset") { query = query.offset(Int(offset)) }
                let isCounting = command.has("count")
                if terms.isEmpty, !isCounting { query = query.sort("_id") }
                if command.has("explain") { return try console.output.write(query.explain() + "\n") }
                if isCounting { return try console.output.write("\(query.count())\n") }
                try RowPrinter(console, format: command.text("format").flatMap(OutputFormat.init)).print { pass in
                    try query.forEach { try pass(DocumentRow($0)) }
                }
            }
        }
    }

    static func get(_ command: ParsedCommand, _ console: Console) throws {
        let ids = try CommandArguments.documentIDs(command.operands[2])
        try withStore(command, .readOnly) { database in
            try database.read { snapshot in
                let name = try collectionName(command, among: snapshot.collectionNames())
                for id in ids {
                    guard let document = try snapshot.collection(name).find(id: id) else { continue }
                    return try console.output.write(document.json(pretty: console.terminal.outputIsTerminal) + "\n")
                }
                throw noDocument(in: name)
            }
        }
    }

    static func noDocument(in collection: String) -> DocDBError {
        DocDBError(
            .documentNotFound,
            "collection \(TableWriter.printable(collection)) has no document with this _id; "
                + "'\(Inspector.toolName) get --help' tells how ids are read")
    }
}

/// A document as a row of output.
struct DocumentRow: OutputRow {
    private let document: Document

    init(_ document: Document) { self.document = document }

    func jsonText() throws -> String { try document.json() }
    func members() throws -> [String: Value] { try document.value.objectValue ?? [:] }
}

/// A collection of a store as the target of an import.
private struct StoreImportTarget: ImportTarget {
    let database: Database
    let collection: String

    func commit(_ body: (_ upsert: (UnsafeRawBufferPointer) throws -> Void) throws -> Void) throws {
        try database.write { transaction in
            let collection = transaction.collection(collection)
            try body { try collection.upsert(json: $0) }
        }
    }
}
