import DocDBCore
import DocDBSync
import SyncModel
import Testing

/// What a session keeps for its peer is bounded, however little the peer sends at once.
@Suite("Limits of a session")
struct SessionLimitTests {
    /// A pair whose right side has asked, and the number that it asked under.
    private static func established() throws -> (SessionPair, number: UInt64) {
        let pair = SessionPair()
        pair.connect()
        pair.settle()
        let numbers = pair.right.sentMessages.compactMap { message -> UInt64? in
            if case .interest(let interest) = message { interest.number } else { nil }
        }
        return (pair, try #require(numbers.last))
    }

    /// Sends frames of one snapshot that does not end until the session gives up; returns how many it took.
    private static func fill(_ pair: SessionPair, number: UInt64, contentByteCount: Int, limit: Int) -> Int {
        pair.tell(1, .received(MessageCodec.frame(.begin(Begin(number: number, snapshot: 9)))))
        let content = [UInt8](repeating: 0, count: contentByteCount)
        let frame = MessageCodec.frame(
            .documents(DocumentsMessage(number: number, content: content)), compresses: false)
        let perBatch = Int(SyncLimits.creditByteCount) / (2 * frame.count)
        var count = 0
        while pair.right.closed == nil, count < limit {
            pair.tell(1, .received(frame))
            count += 1
            if count % perBatch == 0 { pair.tell(1, .batchEnded) }
        }
        return count
    }

    @Test("A snapshot that does not end is given up at its limit of bytes")
    func snapshotBytes() throws {
        let (pair, number) = try Self.established()
        let count = Self.fill(pair, number: number, contentByteCount: 60_000, limit: 2000)
        #expect(count == SyncLimits.snapshotBufferByteCount / (60_000 + SyncLimits.keptFrameByteCount) + 1)
        #expect(pair.right.closed?.code == CloseCode.limitReached)
    }

    @Test("A snapshot of countless tiny frames is given up too")
    func snapshotFrames() throws {
        let (pair, number) = try Self.established()
        let most = SyncLimits.snapshotBufferByteCount / SyncLimits.keptFrameByteCount
        let count = Self.fill(pair, number: number, contentByteCount: 0, limit: most + 2)
        #expect(count == most + 1)
        #expect(pair.right.closed?.code == CloseCode.limitReached)
    }

    @Test("Frames that come before the peer's grant wait in a bounded number")
    func earlyFrames() {
        let waiting = GrantAwaiter()
        let pair = SessionPair(authenticators: [waiting, waiting])
        pair.connect()
        // Both hellos, and the left side's proof, but not its grant.
        for side in [1, 0, 1] { pair.deliver(to: side) }
        #expect(!pair.right.isEstablished)
        for _ in 0..<SyncLimits.earlyFrameCount { pair.tell(1, .received(MessageCodec.frame(.ping))) }
        #expect(pair.right.closed == nil)
        pair.tell(1, .received(MessageCodec.frame(.ping)))
        #expect(pair.right.closed?.code == CloseCode.limitReached)
    }

    @Test("A peer may ask for this side's grant so often, and no more")
    func grantRequests() {
        let waiting = GrantAwaiter()
        let pair = SessionPair(authenticators: [waiting, waiting])
        pair.connect()
        pair.deliver(to: 1)
        for _ in 0..<SyncLimits.grantRequestCount { pair.tell(1, .received(MessageCodec.frame(.grantRequest))) }
        #expect(pair.right.closed == nil)
        pair.tell(1, .received(MessageCodec.frame(.grantRequest)))
        #expect(pair.right.closed?.code == CloseCode.limitReached)
    }
}

/// An identity that is never content before it has the peer's grant.
private final class GrantAwaiter: SessionAuthenticator {
    let kind = "awaiting"
    let appID = "cars"
    let peerKey: [UInt8] = []
    let grant: [UInt8] = [1]
    let ownRights = PeerRights()

    func prove(_ transcript: HandshakeTranscript, at time: SessionTime) throws -> Proof {
        Proof(bytes: [], grantHash: [])
    }

    func judge(
        _ proof: Proof, _ transcript: HandshakeTranscript, grant: [UInt8]?, at time: SessionTime
    ) throws -> PeerRights? { grant == nil ? nil : PeerRights() }

    func judge(renewal grant: [UInt8], of peer: Hello, at time: SessionTime) throws -> PeerRights { PeerRights() }
}
