import DocDBCore
import DocDBSync
import Testing

/// What a peer's wrong clock makes a store put aside is bounded in number and in bytes.
@Suite("Limits of the quarantine")
struct QuarantineLimitTests {
    /// A replica that knows one peer, and so many documents in it.
    private static func replica(_ count: Int) throws -> (StoreReplica, peer: Int64, [DocumentReference]) {
        let replica = try ReplicaPlace().open()
        let peer = try replica.write { try $0.setPeer(PeerRecord(storeID: [UInt8](repeating: 5, count: 16))).number }
        let references = try replica.write { writer in
            let collection = try writer.makeCollection(named: "cars")
            return try (0..<count).map { number in
                try encoded(DocumentID(Int64(number))).withUnsafeBytes {
                    try writer.makeReference(collection: collection, id: $0)
                }
            }
        }
        return (replica, peer, references)
    }

    private static func delta(_ peer: Int64, _ reference: DocumentReference, _ time: Int, byteCount: Int)
        -> QuarantinedDelta
    {
        QuarantinedDelta(
            peer: peer, reference: reference, newestTime: HybridTime(rawValue: UInt64(time) << 16),
            bytes: [UInt8](repeating: 1, count: byteCount))
    }

    @Test("One delta too many displaces the oldest")
    func number() throws {
        let (replica, peer, references) = try Self.replica(SyncLimits.quarantineCount + 1)
        for (index, reference) in references.enumerated() {
            let displaced = try replica.write {
                try $0.setQuarantined(Self.delta(peer, reference, index + 1, byteCount: 9))
            }
            #expect(displaced?.reference == (index < SyncLimits.quarantineCount ? nil : references[0]))
        }
        #expect(try replica.read { try $0.quarantine(peer: peer).count } == SyncLimits.quarantineCount)
    }

    @Test("A delta that makes them too large together is not kept")
    func bytes() throws {
        let (replica, peer, references) = try Self.replica(3)
        let half = SyncLimits.quarantineByteCount / 2
        for (reference, byteCount, isKept) in [
            (references[0], half, true), (references[1], half, true), (references[2], 1, false),
        ] {
            let delta = Self.delta(peer, reference, 1, byteCount: byteCount)
            #expect(try replica.write { try $0.setQuarantined(delta) } == (isKept ? nil : delta))
        }
        #expect(try replica.read { try $0.quarantine(peer: peer).count } == 2)
    }
}
