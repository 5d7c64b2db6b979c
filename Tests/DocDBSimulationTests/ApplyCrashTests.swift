import DocDBCore
import DocDBSimulation
import DocDBStorage
import DocDBSync
import Testing

/// Stores that take snapshots from a peer, each one commit with its documents and what it says of the peer, and end
/// meanwhile at every operation that changes the disk.
@Suite("A store that ends while it applies a peer's snapshot")
struct ApplyCrashTests {
    static let peerStoreID = [UInt8](repeating: 7, count: 16)
    static let documentCount: Int64 = 12
    static let actor = ActorID(bytes: [UInt8](repeating: 9, count: 16)[...])

    static func open(_ disk: SimulatedDisk) throws -> StoreReplica {
        var options = StoreOptions()
        options.fileSystem = disk.fileSystem
        return try StoreReplica(Store(path: "cars.docdb", options: options))
    }

    /// Applies the snapshot with this number.
    static func apply(_ number: Int64, to replica: StoreReplica) throws {
        let actor = try #require(Self.actor)
        try replica.write { writer in
            var peer = try writer.peer(storeID: peerStoreID) ?? PeerRecord(storeID: peerStoreID)
            peer.epoch = UInt64(number)
            peer = try writer.setPeer(peer)
            let collection = try writer.makeCollection(named: "cars")
            for index in 0..<documentCount {
                let document: Value = ["_id": .string("\(number)-\(index)"), "name\(number)": .int(index)]
                var body = ByteBuffer()
                var id = ByteBuffer()
                try document.appendDocument(names: replica.names, body: &body, id: &id)
                let time = HybridTime(rawValue: UInt64(number * 1_000 + index) << 16)
                let reference = try writer.storeFresh(
                    body: body.bytes, stamp: Stamp(time: time, actor: actor), collection: collection, id: id.bytes,
                    from: peer.number)
                let digest = StateDigest(high: UInt64(number), low: UInt64(index))
                try writer.setTold(peer: peer.number, #require(reference), digest)
            }
        }
    }

    /// How many snapshots are there; each must be there whole, with what it says of the peer.
    static func check(_ replica: StoreReplica, _ comment: Comment) throws -> Int64 {
        let (epoch, count, toldCount) = try replica.store.read { context in
            let connection = context.connection
            let collection = try context.collection("cars")?.info.number
            return (
                try connection.integer("SELECT epoch FROM peers") ?? 0,
                try collection.map { try connection.integer("SELECT count(*) FROM documents_\($0)") ?? 0 } ?? 0,
                try replica.read { try $0.peer(storeID: peerStoreID)?.currentCount } ?? 0
            )
        }
        #expect(count == epoch * documentCount, comment)
        #expect(toldCount == count, comment)
        let findings = try replica.store.verify()
        #expect(findings.isEmpty, "\(findings): \(comment)")
        return epoch
    }

    @Test("holds whole snapshots, all that were acknowledged, and takes the next")
    func survives() throws {
        let prepared = SimulatedDisk(seed: 1)
        do {
            let replica = try Self.open(prepared)
            try Self.apply(1, to: replica)
            try replica.store.close()
        }
        let image = prepared.snapshot()
        var isFinished = false
        var stop = 0
        while !isFinished {
            for end in [CrashEnd.process, CrashEnd.powerCuts[stop % CrashEnd.powerCuts.count]] {
                let disk = SimulatedDisk(seed: UInt64(stop))
                disk.restore(image, keepsIdentity: true)
                disk.stop(afterChanges: stop)
                // What was made durable may be acknowledged to the peer, which then never sends it again.
                var acknowledged: Int64 = 1
                do {
                    let replica = try Self.open(disk)
                    for number in Int64(2)...3 {
                        try Self.apply(number, to: replica)
                        _ = try replica.synchronize()
                        acknowledged = number
                    }
                } catch { #expect(error is DocDBError) }
                isFinished = !disk.isStopped
                end.happen(to: disk, seed: UInt64(stop))
                let comment: Comment = "change \(stop), \(end)"
                let replica = try Self.open(disk)
                let found = try Self.check(replica, comment)
                #expect(found >= acknowledged, comment)
                try Self.apply(found + 1, to: replica)
                #expect(try Self.check(replica, comment) == found + 1)
            }
            stop += 1
        }
        #expect(stop > 10)
    }
}
