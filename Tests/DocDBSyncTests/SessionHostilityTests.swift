import DocDBCore
import DocDBSync
import Testing

@Suite("Sessions against hostile frames")
struct SessionHostilityTests {
    private static let codes: Set<String> = [
        CloseCode.protocolError, CloseCode.limitReached, CloseCode.proofFailed, CloseCode.sameStore,
        CloseCode.appMismatch, CloseCode.identityMismatch, CloseCode.versionMismatch, CloseCode.timeout,
        CloseCode.keepaliveTimeout,
    ]

    /// All frames that a session between two sides with documents exchanges.
    private static func recording() throws -> (SessionPair, frames: [[UInt8]]) {
        let pair = SessionPair()
        for number in Int64(0)..<10 {
            try pair.write(Int(number % 2), documentID(number), [.set("x", number), .increment("c", 1)])
        }
        pair.connect()
        pair.settle()
        for number in Int64(0)..<5 { try pair.write(0, documentID(number), [.set("y", number)]) }
        try pair.write(0, documentID(6), [.delete])
        pair.settle()
        pair.pass(seconds: 6)
        return (pair, pair.left.sent)
    }

    /// Brings a new session of the right side to one of three states.
    private static func prepare(_ state: Int) throws -> SessionPair {
        let pair = SessionPair()
        for number in Int64(0)..<4 { try pair.write(1, documentID(number), [.set("x", number)]) }
        pair.connect()
        if state == 1 { _ = pair.deliver(to: 1) }
        if state == 2 { pair.settle() }
        return pair
    }

    /// Feeds frames to the right side, which must stay up or end with a code and stay silent thereafter.
    private static func feed(_ frames: [[UInt8]], _ pair: SessionPair, _ note: String) {
        for frame in frames {
            pair.tell(1, .received(frame))
            pair.tell(1, .batchEnded)
        }
        pair.tell(1, .tick)
        if let closed = pair.right.closed {
            #expect(
                codes.contains(closed.code) || closed.code.isEmpty == false && pair.left.closed == nil,
                "\(note) \(closed)")
            #expect(pair.right.session.handle(.received([0, 0x81, 0]), at: pair.time).isEmpty)
        }
        #expect(pair.right.closed?.code != CloseCode.storageFailed, "\(note)")
    }

    @Test("Random bytes in any state end the session with a code, or are ignored", arguments: 0..<3)
    func randomBytes(_ state: Int) throws {
        for seed in 0..<300 {
            var random = SeededGenerator(seed: UInt64(seed))
            let pair = try Self.prepare(state)
            let frames = (0..<4).map { _ in
                // Half of them look like messages: a plain frame that begins with an array and a number.
                let length = random.below(40)
                let bytes = random.bytes(length)
                return random.below(2) == 0
                    ? bytes : [0, 0x80 | UInt8(random.below(8)), UInt8(random.below(22))] + bytes
            }
            Self.feed(frames, pair, "seed \(seed)")
        }
    }

    @Test("Changed, repeated and reordered frames of a real session do no harm")
    func mutations() throws {
        let (_, recorded) = try Self.recording()
        for seed in 0..<300 {
            var random = SeededGenerator(seed: UInt64(seed))
            let pair = try Self.prepare(seed % 3)
            var frames = recorded
            for _ in 0..<(1 + random.below(4)) {
                let index = random.below(frames.count)
                switch random.below(5) {
                case 0: frames.swapAt(index, random.below(frames.count))
                case 1: frames.insert(frames[index], at: random.below(frames.count))
                case 2: frames.remove(at: index)
                case 3: frames[index] = Array(frames[index].prefix(random.below(frames[index].count + 1)))
                default:
                    guard !frames[index].isEmpty else { continue }
                    frames[index][random.below(frames[index].count)] = UInt8(random.below(256))
                }
            }
            Self.feed(frames, pair, "seed \(seed)")
        }
    }

    @Test("Messages with lies in their fields do no harm")
    func lies() throws {
        let pair = try Self.prepare(2)
        let huge = UInt64.max
        var interest = InterestMessage()
        interest.number = huge
        interest.origins = [AnnouncedInterest(origin: [], version: huge, hops: huge, interest: .everything)]
        interest.cursor = Cursor(
            incarnation: [], sequence: .max, interestHash: StateDigest(high: huge, low: huge), epoch: huge)
        interest.toldCount = .max
        let name = DocumentName(collection: "documents", id: documentID(1))
        let messages: [Message] = [
            .credit(huge), .credit(huge), .ping, .pong, .grant([1]), .grantRequest, .interest(interest),
            .acknowledge(
                Acknowledge(
                    number: huge, snapshot: huge,
                    except: [DocumentOutcome(name: name, code: .denied, epoch: huge, reason: "")])),
            .ranges(RangesMessage(number: huge, bytes: [1, 2, 3])),
            .reconcile(RangesMessage(number: huge, bytes: [1, 2, 3])),
            .begin(Begin(number: 1, snapshot: huge)), .end(End(number: huge, position: nil, total: nil)),
            .commit(CommitMessage(number: huge, snapshot: 0, sequence: .max, content: [255])),
            .documents(DocumentsMessage(number: 1, content: [255, 255])),
            .sum(SumMessage(number: 1, snapshot: huge, total: ScopeTotal(count: .max))),
            .extra(kind: huge, []), .hello(Hello()), .proof(Proof(bytes: [], grantHash: [])),
        ]
        for message in messages {
            let fresh = try Self.prepare(2)
            Self.feed([MessageCodec.frame(message)], fresh, "\(message)")
        }
        Self.feed(messages.map { MessageCodec.frame($0) }, pair, "all")
    }

    @Test("An interest that does not parse ends the session with what to do")
    func badInterest() throws {
        let pair = try Self.prepare(2)
        var interest = InterestMessage()
        interest.number = 99
        interest.origins = [
            AnnouncedInterest(
                origin: [UInt8](repeating: 1, count: 16), version: 1, hops: 0,
                interest: .collections([Interest.Element(collection: "documents", predicate: "x ===")]))
        ]
        pair.tell(1, .received(MessageCodec.frame(.interest(interest))))
        #expect(pair.right.closed?.code == CloseCode.protocolError)
    }

    @Test("A peer that sends more than it was granted is cut off")
    func noCredit() throws {
        let pair = try Self.prepare(2)
        let content = [UInt8](repeating: 0, count: 300_000)
        // Frames of a void interest cost credit, too, and get it back; only one that is larger than all of it does not.
        for _ in 0..<40 {
            pair.tell(
                1,
                .received(
                    MessageCodec.frame(.documents(DocumentsMessage(number: 77, content: content)), compresses: false)))
        }
        #expect(pair.right.closed == nil)
        let credits = pair.right.sentMessages.count { if case .credit = $0 { true } else { false } }
        #expect(credits >= 10)
    }

    @Test("A frame over 16 KiB before the proof ends the session")
    func longFrame() {
        let pair = SessionPair()
        pair.makeSession(0)
        pair.tell(0, .opened(channelBinding: nil))
        pair.tell(0, .received([UInt8](repeating: 0, count: SyncLimits.frameByteCountBeforeProof + 1)))
        #expect(pair.left.closed?.code == CloseCode.limitReached)
    }
}
