import DocDBCore
import DocDBStorage
import DocDBSync
import Foundation
import Synchronization
import Testing

/// A store in a directory of its own that goes with this object.
final class ReplicaPlace: Sendable {
    let directory: String
    let path: String

    init() {
        directory = FileManager.default.temporaryDirectory.path + "/docdb-replica-\(UUID().uuidString)"
        try? FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
        path = directory + "/test.docdb"
    }

    deinit { try? FileManager.default.removeItem(atPath: directory) }

    func open(
        _ configure: (inout StoreOptions) -> Void = { _ in },
        report: @escaping @Sendable (DocDBError) -> Void = { _ in }
    ) throws -> StoreReplica {
        var options = StoreOptions()
        configure(&options)
        // The directory lives as long as the store.
        options.clock = { [clock = options.clock] in withExtendedLifetime(self) { clock() } }
        return try StoreReplica(Store(path: path, options: options), report: report)
    }
}

/// A clock that moves only when told to.
final class ReplicaClock: Sendable {
    static let start: UInt64 = 1_800_000_000_000_000_000
    private let time = Lock(start)
    var now: UInt64 { time.withLock { $0 } }
    func advance(seconds: UInt64) { time.withLock { $0 += seconds * 1_000_000_000 } }
}

extension StoreReplica {
    /// Writes a document locally and returns its reference.
    @discardableResult
    func put(
        _ document: Value, in collection: String = "cars", _ strategy: WriteStrategy = .merge
    ) throws -> DocumentReference {
        let id = try store.write { transaction -> [UInt8] in
            var body = ByteBuffer()
            var id = ByteBuffer()
            try document.appendDocument(names: transaction.context.names, body: &body, id: &id)
            _ = try transaction.put(body: body.bytes, collection: collection, strategy: strategy, id: &id)
            return id.array
        }
        return try #require(try reference(id, in: collection))
    }

    func remove(_ id: DocumentID, in collection: String = "cars") throws {
        _ = try store.write { transaction in
            try encoded(id).withUnsafeBytes { try transaction.remove(id: $0, collection: collection) }
        }
    }

    /// Evicts a document by the way of local writes; returns whether it was there.
    @discardableResult
    func evict(_ id: DocumentID, in collection: String = "cars", force: Bool) throws -> Bool {
        try store.write { transaction in
            try encoded(id).withUnsafeBytes { try transaction.evict(id: $0, collection: collection, force: force) }
        }
    }

    func reference(_ id: [UInt8], in collection: String = "cars") throws -> DocumentReference? {
        try read { reader in
            guard let number = try reader.collection(named: collection) else { return nil }
            return try id.withUnsafeBytes { try reader.reference(collection: number, id: $0) }
        }
    }

    func reference(_ id: DocumentID, in collection: String = "cars") throws -> DocumentReference? {
        try reference(encoded(id), in: collection)
    }

    /// The visible document, or nil where it is deleted or not stored.
    func value(_ id: DocumentID, in collection: String = "cars") throws -> Value? {
        guard let reference = try reference(id, in: collection) else { return nil }
        return try read { reader in
            var value: Value?
            try reader.withDocument(reference) { document in
                value = try document.body.map { try Value.decode($0, names: self.names) }
            }
            return value
        }
    }

    /// Joins a whole state that came from a peer in a commit of its own; returns the document's reference.
    @discardableResult
    func join(
        _ remote: (id: [UInt8], state: DocumentState), in collection: String = "cars", from peer: PeerRecord
    ) throws -> DocumentReference {
        try write { try $0.join(remote.state, id: remote.id, in: collection, from: peer.number, self) }
    }

    func addPeer(_ byte: UInt8, _ change: (inout PeerRecord) -> Void = { _ in }) throws -> PeerRecord {
        var peer = PeerRecord(storeID: [UInt8](repeating: byte, count: 16))
        change(&peer)
        return try write { try $0.setPeer(peer) }
    }

    func findings() throws -> [VerificationFinding] { try store.verify() }
}

extension ReplicaReader {
    /// The stored state of a document, or nil where it is not stored.
    func state(_ reference: DocumentReference, _ replica: StoreReplica) throws -> DocumentState? {
        var state: DocumentState?
        try withDocument(reference) {
            state = try DocumentState(body: $0.body, state: $0.state, actors: replica.actors)
        }
        return state
    }
}

extension ReplicaWriter {
    /// Joins a whole state, with names of this replica, into the document with this id; returns its reference.
    @discardableResult
    func join(
        _ state: DocumentState, id: [UInt8], in collection: String = "cars", from peer: Int64, _ replica: StoreReplica
    ) throws -> DocumentReference {
        let number = try makeCollection(named: collection)
        return try id.withUnsafeBytes { id in
            let reference = try makeReference(collection: number, id: id)
            var joined = try self.state(reference, replica) ?? DocumentState()
            let hasJoined = joined.apply(
                DocumentDelta(base: VersionVector(), state: state), forgets: true, names: replica.names)
            #expect(hasJoined)
            try store(joined, reference, id: id, from: peer)
            return reference
        }
    }
}

/// A document state made by one writer elsewhere, with the names of a replica.
func remoteState(
    _ document: Value, _ replica: StoreReplica, actor number: UInt64 = 77, time: UInt64
) throws -> (id: [UInt8], state: DocumentState) {
    var body = ByteBuffer()
    var id = ByteBuffer()
    try document.appendDocument(names: replica.names, body: &body, id: &id)
    var state = DocumentState()
    try state.set(
        UnsafeRawBufferPointer(start: nil, count: 0), to: body.bytes,
        stamp: Stamp(time: HybridTime(nanosecondsSince1970: time), actor: actor(number)))
    return (id.array, state)
}

/// The digest of a document, from a hash that is good enough for tests.
func testDigest(_ number: UInt64) -> StateDigest {
    var generator = SeededGenerator(seed: number)
    return StateDigest(high: generator.next(), low: generator.next())
}
