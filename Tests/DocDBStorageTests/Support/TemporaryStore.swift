import DocDBCore
import DocDBStorage
import Foundation
import Synchronization

/// A store in a directory of its own that goes with this object.
final class TemporaryStore: Sendable {
    let directory: String
    let path: String

    init(_ name: String = "test") {
        directory = FileManager.default.temporaryDirectory.path + "/docdb-\(name)-\(UUID().uuidString)"
        try? FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
        path = directory + "/\(name).docdb"
    }

    deinit { try? FileManager.default.removeItem(atPath: directory) }

    func open(_ configure: (inout StoreOptions) -> Void = { _ in }) throws -> Store {
        var options = StoreOptions()
        configure(&options)
        return try Store(path: path, options: options)
    }

    /// The bytes of all files of the store, one after the other.
    var fileBytes: Data {
        var bytes = Data()
        for name in (try? FileManager.default.contentsOfDirectory(atPath: path)) ?? [] {
            bytes.append(FileManager.default.contents(atPath: path + "/" + name) ?? Data())
        }
        return bytes
    }
}

/// A clock that moves only when told to.
final class ManualClock: Sendable {
    private let time: Lock<UInt64>
    init(_ nanoseconds: UInt64 = 1_800_000_000_000_000_000) { time = Lock(nanoseconds) }
    var now: UInt64 { time.withLock { $0 } }
    func advance(seconds: UInt64) { time.withLock { $0 += seconds * 1_000_000_000 } }
    func goBack(seconds: UInt64) { time.withLock { $0 -= seconds * 1_000_000_000 } }
}

/// A small generator of random numbers whose seed replays it (SplitMix64).
struct SeededGenerator: RandomNumberGenerator {
    private var state: UInt64
    init(seed: UInt64) { state = seed }
    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var z = state
        z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
        z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
        return z ^ (z >> 31)
    }
}

extension Store {
    /// Writes a document and returns what that did.
    @discardableResult
    func put(_ document: Value, in collection: String = "cars", _ strategy: WriteStrategy = .merge) throws
        -> WriteOutcome
    {
        try write { try $0.put(document, in: collection, strategy) }
    }

    /// The visible document with this id, without its id, or nil where there is none.
    func get(_ id: DocumentID, in collection: String = "cars") throws -> Value? {
        try read { try $0.get(id, in: collection) }
    }

    /// All visible documents of a collection by their ids.
    func all(in collection: String = "cars") throws -> [DocumentID: Value] {
        try read { context in
            var result: [DocumentID: Value] = [:]
            guard let reader = try context.collection(collection) else { return result }
            let rows = try context.connection.prepareOnce("SELECT id, body FROM documents_\(reader.info.number)")
            var id = ByteBuffer()
            while try rows.step() {
                guard !rows.isNull(1) else { continue }
                id.removeAll()
                rows.appendID(0, to: &id)
                result[try DocumentID(canonicalCBOR: id.bytes)] = try Value.decode(rows.blob(1), names: context.names)
            }
            return result
        }
    }
}

extension ReadContext {
    func get(_ id: DocumentID, in collection: String = "cars") throws -> Value? {
        guard let reader = try self.collection(collection) else { return nil }
        var bytes = ByteBuffer()
        id.appendCBOR(to: &bytes)
        let names = names
        return try reader.withDocument(id: bytes.bytes) { (row: CollectionReader.Row) in
            try row.body.map { try Value.decode($0, names: names) }
        } ?? nil
    }
}

extension WriteTransaction {
    @discardableResult
    func put(_ document: Value, in collection: String = "cars", _ strategy: WriteStrategy = .merge) throws
        -> WriteOutcome
    {
        var body = ByteBuffer()
        var id = ByteBuffer()
        try document.appendDocument(names: context.names, body: &body, id: &id)
        return try put(body: body.bytes, collection: collection, strategy: strategy, id: &id)
    }

    @discardableResult
    func set(_ path: FieldPath, to value: Value, of id: DocumentID, in collection: String = "cars") throws -> Bool {
        var bytes = ByteBuffer()
        id.appendCBOR(to: &bytes)
        var pathBytes = ByteBuffer()
        path.appendEncoded(names: context.names, to: &pathBytes, interning: true)
        var payload = ByteBuffer()
        try value.appendCBOR(names: context.names, to: &payload)
        return try edit(id: bytes.bytes, collection: collection) { state, stamp in
            try state.set(pathBytes.bytes, to: payload.bytes, stamp: stamp)
            return true
        }
    }

    @discardableResult
    func remove(_ id: DocumentID, in collection: String = "cars") throws -> Bool {
        var bytes = ByteBuffer()
        id.appendCBOR(to: &bytes)
        return try remove(id: bytes.bytes, collection: collection)
    }

    @discardableResult
    func evict(_ id: DocumentID, in collection: String = "cars", force: Bool = true) throws -> Bool {
        var bytes = ByteBuffer()
        id.appendCBOR(to: &bytes)
        return try evict(id: bytes.bytes, collection: collection, force: force)
    }
}
