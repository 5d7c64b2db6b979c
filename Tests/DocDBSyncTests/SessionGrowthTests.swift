import DocDBCore
import DocDBSync
import SyncModel
import Testing

/// What a session remembers document by document is bounded: beyond that it reads the log, or reconciles.
@Suite("What a session remembers")
struct SessionGrowthTests {
    /// A pair that has come to rest, of which the left side has one document.
    private static func settledPair() throws -> SessionPair {
        let pair = SessionPair()
        try pair.write(0, documentID(0), [.set("x", 0)])
        pair.connect()
        pair.settle()
        return pair
    }

    @Test("Snapshots under way and changed documents are so many at most, whatever a peer leaves unacknowledged")
    func unacknowledged() throws {
        let pair = try Self.settledPair()
        #expect(pair.left.session.retainedDocumentCount == 0)
        var number: Int64 = 0
        func write() throws {
            number += 1
            try pair.write(0, documentID(number), [.set("x", number)])
            pair.tellDirty(0)
        }
        for _ in 0..<SyncLimits.flightCount { try write() }
        #expect(pair.left.session.retainedDocumentCount == SyncLimits.flightCount)
        let sentCount = pair.left.sent.count
        for _ in 0..<SyncLimits.dirtyDocumentCount { try write() }
        #expect(pair.left.sent.count == sentCount)
        #expect(
            pair.left.session.retainedDocumentCount == SyncLimits.flightCount + SyncLimits.dirtyDocumentCount)
        // One more is not remembered, nor is any of those before: the log has them all.
        for _ in 0..<10 {
            try write()
            #expect(pair.left.session.retainedDocumentCount == SyncLimits.flightCount)
        }
        pair.settle()
        #expect(pair.right.replica.storage.documents.count == Int(number) + 1)
        #expect(pair.left.session.retainedDocumentCount == 0)
    }

    @Test("Documents asked for are so many at most; beyond, the store is compared as a whole", arguments: [0, 1])
    func outstanding(surplus: Int) throws {
        let pair = try Self.settledPair()
        let references = (0..<SyncLimits.outstandingCount + surplus).map {
            DocumentReference(collection: 1, key: Int64($0) + 1_000_000)
        }
        pair.right.sent = []
        pair.tell(1, .wanted(references))
        let asked = try #require(Self.interests(pair.right).last)
        #expect((asked.cursor == nil) == (surplus > 0))
        #expect(pair.right.session.retainedDocumentCount == (surplus > 0 ? 0 : references.count))
        try pair.write(0, documentID(1), [.set("x", 1)])
        pair.settle()
        #expect(pair.fields(1, documentID(1)) == ["x": 1])
        #expect(pair.right.session.retainedDocumentCount == 0)
    }

    @Test(
        "An interest names so many documents that were not joined; with more, it resumes from nowhere",
        arguments: [0, 1])
    func apart(surplus: Int) throws {
        let pair = try Self.settledPair()
        let count = SyncLimits.apartCount + surplus
        pair.tell(1, .rights(PeerRights(write: .nothing)))
        pair.settle()
        for number in 1...Int64(count) { try pair.write(0, documentID(number), [.set("x", number)]) }
        pair.settle()
        #expect(pair.right.session.retainedDocumentCount == count)
        pair.disconnect()
        pair.connect()
        pair.right.sent = []
        pair.settle()
        let asked = try #require(Self.interests(pair.right).first)
        #expect(asked.apart.count == SyncLimits.apartCount)
        #expect((asked.cursor == nil) == (surplus > 0))
        // The new session has all rights: what was refused is offered again, or found by comparing.
        #expect(pair.right.replica.storage.documents.count == (surplus > 0 ? count + 1 : 1))
    }

    private static func interests(_ side: SessionPair.Side) -> [InterestMessage] {
        side.sentMessages.compactMap { if case .interest(let interest) = $0 { interest } else { nil } }
    }

    @Test("Ranges that wait for an answer are so many at most")
    func ranges() throws {
        var provider = ProviderReconciliation(
            ReconciliationTests.set(Dictionary(uniqueKeysWithValues: (0..<32).map { ($0, 0) })))
        _ = provider.begin()
        // That more is to come, and then again and again that everything be listed, two bytes each.
        let asks = SyncLimits.rangesByteCount - 1
        let message: [UInt8] = [1] + (0..<asks).flatMap { _ in [4, 0] as [UInt8] }
        var waiting = 0
        while waiting + asks <= SyncLimits.rangesPendingCount {
            let reply = try #require(try provider.receive(message).reply)
            waiting += asks - reply.count / (32 * 8)
        }
        #expect(throws: DocDBError.self) {
            do throws(DocDBError) { _ = try provider.receive(message) } catch {
                #expect(error.code == .limitReached)
                throw error
            }
        }
    }
}
