import DocDBCore
import DocDBLive
import DocDBQuery
import DocDBStorage
import Foundation

/// A store in a directory of its own that goes with this object.
final class LiveStore: Sendable {
    private let directory: String
    let store: Store

    init() throws {
        directory = FileManager.default.temporaryDirectory.path + "/docdb-live-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
        store = try Store(path: directory + "/test.docdb", options: StoreOptions())
    }

    deinit {
        try? store.close()
        try? FileManager.default.removeItem(atPath: directory)
    }

    func query(
        _ predicate: String = "", by paths: [String] = [], descending: Bool = false, limit: Int? = nil, offset: Int = 0
    ) throws -> QueryDefinition {
        try QueryDefinition(
            collection: "cars", predicate: predicate, sort: paths.map { try SortKey($0, descending: descending) },
            limit: limit, offset: offset)
    }

    /// Begins a live query that nobody wakes: the test takes when it likes.
    func live(_ definition: QueryDefinition) throws -> LiveQuery {
        try LiveQuery(definition, store: store, wake: {})
    }

    /// What running a query gives now, each document in canonical bytes.
    func fresh(_ definition: QueryDefinition) throws -> [[UInt8]] {
        try store.read { context in
            var found: [[UInt8]] = []
            try QueryExecution(definition, in: context).forEach { row in
                let content = DocumentContent.make(id: row.id, body: row.body, names: context.names)
                found.append(Self.bytes(SharedDocument(content)))
                return true
            }
            return found
        }
    }

    static func bytes(_ document: SharedDocument) -> [UInt8] {
        document.content.withBytes { id, body, names in
            (try? Value.document(body: body, id: id, names: names).canonicalCBOR()) ?? []
        }
    }
}

extension WriteTransaction {
    func put(_ document: Value) throws {
        var body = ByteBuffer()
        var id = ByteBuffer()
        try document.appendDocument(names: context.names, body: &body, id: &id)
        _ = try put(body: body.bytes, collection: "cars", strategy: .replace, id: &id)
    }

    func remove(_ id: Int) throws {
        var bytes = ByteBuffer()
        DocumentID(Int64(id)).appendCBOR(to: &bytes)
        _ = try remove(id: bytes.bytes, collection: "cars")
    }
}

/// What one consumer of a live query has, brought up to date by the events alone.
struct LiveConsumer {
    let query: LiveQuery
    private(set) var results: [[UInt8]] = []
    private(set) var deliveryCount = 0

    init(_ query: LiveQuery) { self.query = query }

    /// Takes once; returns what is wrong with the delivery, nil where all is well.
    mutating func take() throws -> String? {
        guard let delivery = try query.take() else { return nil }
        deliveryCount += 1
        switch delivery {
        case .initial(let snapshot):
            guard deliveryCount == 1 else { return "a second initial delivery" }
            results = snapshot.map(LiveStore.bytes)
        case .update(let event):
            guard deliveryCount > 1 else { return "no initial delivery" }
            let new = event.new.map(LiveStore.bytes)
            if event.old.map(LiveStore.bytes) != results { return "the old results are not those delivered last" }
            if new == results { return "an event without a visible change" }
            results = event.diff.applyingLiterally(to: results, new: new)
            if results != new { return "the event does not lead to the new results" }
        }
        return nil
    }
}
