import DocDBCore
import DocDBStorage
import DocDBSync
import Testing

/// What peers do not take from each other is bounded for each of them.
@Suite("Limits of what is apart")
struct ApartLimitTests {
    @Test("One document too many is an error that names the remedy, and one in place of another is not")
    func number() throws {
        let replica = try ReplicaPlace().open()
        let peer = try replica.write { try $0.setPeer(PeerRecord(storeID: [UInt8](repeating: 5, count: 16))).number }
        let other = try replica.write { try $0.setPeer(PeerRecord(storeID: [UInt8](repeating: 6, count: 16))).number }
        let collection = try replica.write { try $0.makeCollection(named: "cars") }
        func set(_ key: Int, _ peer: Int64, _ side: ApartDocument.Side = .there, _ code: RefusalCode = .denied) throws {
            try replica.write {
                try $0.setApart(
                    ApartDocument(
                        peer: peer, side: side, reference: DocumentReference(collection: collection, key: Int64(key)),
                        code: code, epoch: 0, reason: ""))
            }
        }
        try set(0, peer)
        // The others at once, as the table has them.
        try replica.store.write { transaction in
            try transaction.context.connection.execute(
                """
                WITH RECURSIVE keys(key) AS (VALUES(1) UNION ALL SELECT key + 1 FROM keys WHERE key < \
                \(SyncLimits.apartDocumentCount - 2))
                INSERT INTO apart SELECT peer, side, collection, keys.key, code, epoch, reason FROM apart, keys
                """)
        }
        try set(SyncLimits.apartDocumentCount - 1, peer)
        let error = #expect(throws: DocDBError.self) { try set(SyncLimits.apartDocumentCount, peer) }
        #expect(error?.code == .limitReached)
        #expect(error?.message.contains("revert") == true)
        try set(SyncLimits.apartDocumentCount, other)
        try set(SyncLimits.apartDocumentCount, peer, .here)
        try replica.write {
            try $0.removeApart(peer: peer, side: .there, DocumentReference(collection: collection, key: 7))
        }
        try set(SyncLimits.apartDocumentCount, peer)
        #expect(
            try replica.read { try $0.apart(peer: peer, side: .there).count } == SyncLimits.apartDocumentCount)
    }
}
