import DocDBCore
import DocDBSync
import SyncModel
import Testing

/// Lets a peer of the playground read, and write nothing: whatever its frames say, no document may change.
private final class ReadersOnly: SessionAuthenticator {
    let kind = "playground"
    let appID = "cars"
    let peerKey: [UInt8] = []
    let grant: [UInt8] = []
    let ownRights = PeerRights()

    func prove(_ transcript: HandshakeTranscript, at time: SessionTime) throws -> Proof {
        Proof(bytes: [1, 2, 3], grantHash: [])
    }

    func judge(
        _ proof: Proof, _ transcript: HandshakeTranscript, grant: [UInt8]?, at time: SessionTime
    ) throws -> PeerRights? {
        guard proof.bytes == [1, 2, 3], proof.grantHash.isEmpty else {
            throw DocDBError(.proofFailed, "the proof is another")
        }
        return PeerRights(read: .everything, write: .nothing, mayRelay: false)
    }

    func judge(renewal grant: [UInt8], of peer: Hello, at time: SessionTime) throws -> PeerRights {
        throw DocDBError(.protocolError, "there are no grants")
    }
}

@Suite("Changed frames of a recorded session")
struct FrameMutationTests {
    /// The codes with which a session may end for what a peer has sent.
    private static let codes: Set<String> = [
        CloseCode.protocolError, CloseCode.limitReached, CloseCode.proofFailed, CloseCode.sameStore,
        CloseCode.appMismatch, CloseCode.identityMismatch, CloseCode.versionMismatch,
    ]

    /// Two stores with a document each, and one that both have; the session between them is the same each time.
    private static func prepare() throws -> SessionPair {
        let pair = SessionPair(authenticators: [ReadersOnly(), ReadersOnly()])
        pair.drains = false
        try pair.write(0, documentID(1), [.set("x", 1), .increment("c", 2)])
        try pair.write(0, documentID(2), [.set("y", 2)])
        try pair.write(0, documentID(2), [.delete])
        try pair.write(1, documentID(3), [.set("x", 3)])
        pair.connect()
        return pair
    }

    /// What a store holds, in a form that shows every change.
    private static func contents(_ side: SessionPair.Side) -> [DocumentReference: [UInt8]] {
        side.replica.storage.documents.mapValues { document in
            var bytes = ByteBuffer()
            try? document.state.appendCanonical(to: &bytes, names: side.replica.names)
            return bytes.array
        }
    }

    private static func mutate(_ frame: [UInt8], _ random: inout SeededGenerator) -> [UInt8] {
        var frame = frame
        for _ in 0...random.below(3) {
            let index = frame.isEmpty ? 0 : random.below(frame.count)
            switch random.below(7) {
            case 0 where !frame.isEmpty: frame[index] ^= 1 << UInt8(random.below(8))
            case 1 where !frame.isEmpty: frame[index] = UInt8(random.below(256))
            case 2 where !frame.isEmpty: frame.remove(at: index)
            case 3: frame.insert(UInt8(random.below(256)), at: index)
            case 4: frame.removeLast(min(frame.count, random.below(8)))
            case 5: frame += random.bytes(random.below(8))
            default:
                // Whole numbers at their ends.
                guard !frame.isEmpty else { continue }
                let ends: [UInt8] = [0x1B, 0x3B, 0x5B, 0x7B, 0x9B, 0xBB, 0xFF, 0x7F, 0x00]
                frame[index] = ends[random.below(ends.count)]
            }
        }
        return frame
    }

    @Test("10,000 changed frames end the session with a code or are ignored, and change no document", arguments: 0..<4)
    func mutations(_ part: UInt64) throws {
        let recording = try Self.prepare()
        recording.settle()
        recording.pass(seconds: 6)
        let frames = recording.left.sent
        try #require(recording.left.isEstablished && recording.right.isEstablished && frames.count > 5)
        // What the left side sends is refused here, so that this is what must stay.
        let untouched = Self.contents(recording.right)
        #expect(untouched.count == 1, "\(untouched)")
        let seed = 20_261_130 + part
        var random = SeededGenerator(seed: seed)
        var endings: [String: Int] = [:]
        var failures: [String] = []
        for run in 0..<2_500 {
            let pair = try Self.prepare()
            let position = run % frames.count
            let changed = Self.mutate(frames[position], &random)
            // The frames before it as they were, the changed one, and those after it.
            let last = min(frames.count, position + 3)
            for (index, frame) in frames[..<last].enumerated() {
                pair.tell(1, .received(index == position ? changed : frame))
            }
            pair.tell(1, .batchEnded)
            if run % 16 == 0 { pair.tell(1, .tick) }
            let note = "seed \(seed), run \(run), frame \(position)"
            if let closed = pair.right.closed {
                // The left side's own words, where the frame was made a close message.
                let isSaid = closed.code.isEmpty || (try? MessageCodec.message(changed)).map(Self.isClose) ?? false
                if !Self.codes.contains(closed.code), !isSaid { failures.append("\(note): ends with \(closed)") }
                if !pair.right.session.hasEnded { failures.append("\(note): goes on") }
                endings[closed.code, default: 0] += 1
            }
            if Self.contents(pair.right) != untouched { failures.append("\(note): a document has changed") }
        }
        #expect(failures.prefix(5).isEmpty)
        // The changes reach all parts: most end the session, by several codes.
        #expect(endings[CloseCode.protocolError, default: 0] > 250)
        #expect(endings.count >= 3, "\(endings)")
    }

    private static func isClose(_ message: Message) -> Bool { if case .close = message { true } else { false } }

    @Test("A peer that changes its interest without end is answered for some of them, and for the last")
    func interestFlood() throws {
        let pair = SessionPair()
        try pair.write(1, documentID(3), [.set("x", 3)])
        pair.connect()
        pair.settle()
        pair.right.sent = []
        for number in UInt64(100)..<1_100 {
            var message = InterestMessage()
            message.number = number
            message.origins = [
                AnnouncedInterest(
                    origin: pair.left.replica.storeID, version: number, hops: 0,
                    interest: .collections([
                        Interest.Element(collection: "documents", predicate: "x == \(number)")
                    ]))
            ]
            pair.tell(1, .received(MessageCodec.frame(.interest(message))))
        }
        func answered() -> [UInt64] {
            pair.right.sentMessages.compactMap { if case .reconcile(let message) = $0 { message.number } else { nil } }
        }
        #expect((1...SyncLimits.interestBurstCount).contains(answered().count))
        #expect(!answered().contains(1_099))
        // One that is older than the one that waits breaks the protocol, as ever; the one that waits gets its turn.
        for _ in 0..<2 {
            pair.monotonic += SyncLimits.interestPaceNanoseconds
            pair.tell(1, .tick)
        }
        #expect(answered().last == 1_099)
        #expect(pair.right.closed == nil)
    }

    @Test("Predicates beyond the limit end the session, whatever they are spread over", arguments: [1, 4_097])
    func manyPredicates(_ collections: Int) {
        let pair = SessionPair()
        pair.connect()
        pair.settle()
        func interest(_ count: Int, number: UInt64) -> [UInt8] {
            var message = InterestMessage()
            message.number = number
            message.origins = [
                AnnouncedInterest(
                    origin: pair.left.replica.storeID, version: number, hops: 0,
                    interest: .collections(
                        (0..<count).map {
                            Interest.Element(collection: "c\($0 % collections)", predicate: "x == \($0 % 7)")
                        }))
            ]
            return MessageCodec.frame(.interest(message))
        }
        pair.tell(1, .received(interest(SyncLimits.interestPredicateCount, number: 100)))
        #expect(pair.right.closed == nil)
        pair.tell(1, .received(interest(SyncLimits.interestPredicateCount + 1, number: 101)))
        #expect(pair.right.closed?.code == CloseCode.limitReached)
    }
}
