import DocDB
import DocDBCore
import DocDBSimulation
import DocDBStorage
import Foundation

/// The store that `Tests/Golden` keeps as this version writes it: every kind of value, id, entry and log row.
///
/// Clock, random numbers and disk are simulated, so that it comes out the same to the byte.
enum GoldenStore {
    static let path = "/golden.docdb"
    static var directory: URL {
        URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
            .appending(path: "Golden")
    }

    static func text(_ name: String) throws -> String {
        try String(contentsOf: directory.appending(path: name), encoding: .utf8)
    }

    /// Makes the store anew and returns its dump.
    static func make() throws -> String {
        let disk = SimulatedDisk(seed: 1)
        let time = SimulatedTime(seed: 1)
        let db = try Database(
            at: path, options: .simulated(on: disk, clock: time.makeClock(), seed: 1))
        try fill(db)
        try db.close()
        let connection = try SQLiteConnection(
            path: path + "/store.sqlite", mode: .readOnly, busyTimeoutMilliseconds: 0, fileSystem: disk.fileSystem)
        return try dump(connection)
    }

    private static func fill(_ db: Database) throws {
        let (cars, shops) = (db.collection("cars"), db.collection("shops"))
        try cars.createIndex(["make", "price:desc"])
        try shops.createIndex(["list[*]"])
        for number in Int64(0)..<12 {
            try cars.upsert([
                "_id": .int(number), "make": number % 3 == 0 ? "toyota" : "volvo", "price": .int(number * 1_000),
            ])
        }
        try cars.upsert(["_id": 1, "price": 4_300, "sold": true])
        try cars.increment(FieldPath("views"), by: 3, id: 2)
        try cars.increment(FieldPath("price"), by: -7, id: 2)
        try cars.increment(FieldPath("rating"), by: 0.5, id: 2)
        try cars.remove(3)
        try cars.remove(4)
        try cars.upsert(["_id": 4, "make": "again"])
        try cars.evict(5, force: true)
        try cars.update(6) { $0.unset("make") }
        try shops.upsert(["_id": "seed", "open": true], strategy: .insertDefault)
        try shops.upsert([
            "_id": .object(["shop": "north", "n": 1]), "owner": .object(["name": "Ann", "tags": .object([:])]),
        ])
        try shops.upsert([
            "_id": .bytes([1, 2, 255]), "list": [1, 2.5, "x", nil, .bytes([0])], "exact": 9_007_199_254_740_993,
            "tiny": .float(.leastNonzeroMagnitude), "flag": false, "nothing": nil, "odd key": "é\n",
        ])
        try shops.upsert(["_id": [true, 2], "deep": .object(["a": .object(["b": .object(["c": -1])])])])
        try db.write { transaction in
            try transaction.collection("shops").upsert(["_id": "two", "a": 1])
            try transaction.collection("cars").upsert(["_id": 7, "price": 1])
        }
        // What is displaced fills a block, which compresses well, and a tail after it.
        for round in 0..<5 {
            try shops.upsert(["_id": "long", "text": .string(String(repeating: "\(round)", count: 9_000))])
        }
        try shops.upsert(["_id": "long", "text": "short"])
    }

    /// The SQL that makes a database again, as the files in `Tests/Golden` are written.
    static func dump(_ connection: SQLiteConnection) throws -> String {
        var lines: [String] = []
        let schema = try connection.prepareOnce(
            "SELECT type, name, sql FROM sqlite_master WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite_%' ORDER BY rowid"
        )
        var indexes: [String] = []
        while try schema.step() {
            guard schema.text(0) == "table" else {
                indexes.append(schema.text(2) + ";")
                continue
            }
            let name = schema.text(1)
            lines.append(schema.text(2) + ";")
            let columns = try connection.prepareOnce(
                "SELECT group_concat('quote(\"' || name || '\")', ' || '','' || ') FROM pragma_table_info('\(name)')")
            _ = try columns.step()
            let rows = try connection.prepareOnce("SELECT \(columns.text(0)) FROM \"\(name)\"")
            while try rows.step() { lines.append("INSERT INTO \(name) VALUES (\(rows.text(0)));") }
        }
        let application = try connection.integer("PRAGMA application_id") ?? 0
        let version = try connection.integer("PRAGMA user_version") ?? 0
        return
            (["BEGIN;"] + lines + indexes
            + ["PRAGMA application_id = \(application);", "PRAGMA user_version = \(version);", "COMMIT;"])
            .joined(separator: "\n") + "\n"
    }

    /// A disk with the store of a dump on it.
    static func restore(_ dump: String) throws -> SimulatedDisk {
        let disk = SimulatedDisk(seed: 2)
        try disk.fileSystem.makeDirectory(path)
        let connection = try SQLiteConnection(
            path: path + "/store.sqlite", mode: .readWriteCreate, busyTimeoutMilliseconds: 0,
            fileSystem: disk.fileSystem)
        try connection.execute("PRAGMA page_size = 4096; PRAGMA journal_mode = WAL")
        try connection.execute(dump)
        return disk
    }

    // MARK: What it holds

    /// Everything that a store tells of itself, in words of this test: what the JSON files keep.
    struct Contents: Codable, Equatable {
        var documents: [String: [String]] = [:]
        var tombstones: [String: Int64] = [:]
        var indexes: [String: [String]] = [:]
        /// By collection and id, the digest of the replicated state.
        var states: [String: String] = [:]
        /// By collection and id, the number of each commit and the document after it.
        var history: [String: [String]] = [:]
        var log: [String] = []
    }

    static func contents(_ db: Database) throws -> Contents {
        var contents = Contents()
        for collection in try db.statistics().collections {
            let documents = try db.collection(collection.name).findAll().sort("_id").documents()
            contents.documents[collection.name] = try documents.map { try $0.json() }
            contents.tombstones[collection.name] = Int64(collection.tombstoneCount)
            contents.indexes[collection.name] = collection.indexes.map { $0.definition.paths.joined(separator: ", ") }
            for document in documents {
                let name = collection.name + " " + ((try? DocumentText.id(document)) ?? "?")
                contents.history[name] = try db.collection(collection.name).history(of: document.id).map {
                    "\($0.sequence) " + DocumentText.brief(try $0.document?.json() ?? "deleted")
                }
            }
        }
        contents.log = try db.log().map { record in
            let changes = record.changes.map { "\($0.collection) \($0.kind)" }.joined(separator: ", ")
            return
                "\(record.sequence) \(record.origin) at \(record.time.rawValue) by \(record.actors.count): \(changes)"
        }
        return contents
    }

    /// The digests of all documents' states, deleted ones included.
    static func states(_ store: Store) throws -> [String: String] {
        try store.read { context in
            var states: [String: String] = [:]
            for name in context.catalog.names {
                guard let number = context.catalog[name]?.number else { continue }
                let rows = try context.connection.prepareOnce(
                    "SELECT id, body, state, quote(id) FROM documents_\(number) ORDER BY key")
                while try rows.step() {
                    var id = ByteBuffer()
                    rows.appendID(0, to: &id)
                    let state = try DocumentState(
                        body: rows.isNull(1) ? nil : rows.blob(1), state: rows.blob(2), actors: context.actors)
                    let digest = DocumentState.digest(
                        collection: name, id: id.bytes, seen: state.seen, deleted: state.deleted,
                        hash: ContentHash.digest)
                    states["\(name) \(rows.text(3))"] =
                        String(digest.high, radix: 16) + "-" + String(digest.low, radix: 16)
                }
            }
            return states
        }
    }

    static func json(_ contents: Contents) throws -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .prettyPrinted, .withoutEscapingSlashes]
        return String(decoding: try encoder.encode(contents), as: UTF8.self) + "\n"
    }
}

/// How a golden file names and shows a document.
private enum DocumentText {
    /// A text that is as long as it need be to tell it from others.
    static func brief(_ text: String) -> String {
        text.count <= 200 ? text : text.prefix(60) + "... (\(text.count))"
    }

    static func id(_ document: Document) throws -> String {
        let json = try document.json()
        // The id comes first.
        return String(json.dropFirst("{\"_id\":".count).prefix(40))
    }
}
