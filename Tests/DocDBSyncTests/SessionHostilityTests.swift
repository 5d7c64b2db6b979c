import DocDBCore
import DocDBSync
import SyncModel
import Testing

@Suite("Sessions against hostile frames")
struct SessionHostilityTests {
    /// What may be wrong with a message of a peer that has not proven who it is.
    private static let handshakeCodes: Set<String> = [
        CloseCode.protocolError, CloseCode.limitReached, CloseCode.proofFailed, CloseCode.sameStore,
        CloseCode.appMismatch, CloseCode.identityMismatch, CloseCode.versionMismatch,
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

    /// Feeds frames to the right side, which must stay up or end with just the code that the frame deserves, and stay
    /// silent thereafter.
    private static func feed(_ frames: [[UInt8]], _ pair: SessionPair, _ note: String) {
        for frame in frames {
            let isProven = pair.right.isEstablished
            pair.tell(1, .received(frame))
            pair.tell(1, .batchEnded)
            guard let closed = pair.right.closed else { continue }
            expect(closed.code, of: frame, isProven: isProven, note)
            break
        }
        pair.tell(1, .tick)
        guard pair.right.closed != nil else { return }
        #expect(pair.right.session.handle(.received([0, 0x81, 0]), at: pair.time).isEmpty)
        #expect(pair.right.session.handle(.tick, at: pair.time).isEmpty)
    }

    private static func expect(_ code: String, of frame: [UInt8], isProven: Bool, _ note: String) {
        let limit = isProven ? SyncLimits.frameByteCount : SyncLimits.frameByteCountBeforeProof
        do throws(DocDBError) {
            switch try MessageCodec.message(frame, limit: limit, decompresses: isProven) {
            // What only newer versions know is passed over, and what the peer says of itself is handed on.
            case nil: Issue.record("\(note): an unknown message ended the session with \(code)")
            case .close(let own, _): #expect(code == own, "\(note)")
            // A playground knows no grants.
            case .grant where isProven: #expect(code == CloseCode.proofFailed, "\(note)")
            case .some where isProven: #expect(code == CloseCode.protocolError, "\(note)")
            case .some: #expect(handshakeCodes.contains(code), "\(note)")
            }
        } catch {
            let expected = error.code == .limitReached ? CloseCode.limitReached : CloseCode.protocolError
            #expect(code == expected, "\(note)")
        }
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
        let (wrong, none) = (CloseCode.protocolError, nil as String?)
        let messages: [(Message, code: String?)] = [
            (.credit(huge), none), (.credit(huge), none), (.ping, none), (.pong, none), (.grantRequest, none),
            (.interest(interest), wrong),
            (
                .acknowledge(
                    Acknowledge(
                        number: huge, snapshot: huge,
                        except: [DocumentOutcome(name: name, code: .denied, epoch: huge, reason: "")])), none
            ),
            (.ranges(RangesMessage(number: huge, bytes: [1, 2, 3])), none),
            (.reconcile(RangesMessage(number: huge, bytes: [1, 2, 3])), none),
            (.end(End(number: huge, position: nil, total: nil)), none),
            (.commit(CommitMessage(number: huge, snapshot: 0, sequence: .max, content: [255])), none),
            (.sum(SumMessage(number: 1, snapshot: huge, total: ScopeTotal(count: .max))), none),
            (.extra(kind: huge, []), none), (.begin(Begin(number: 1, snapshot: huge)), none),
            (.documents(DocumentsMessage(number: 1, content: [255, 255])), wrong),
            (.end(End(number: 1, position: nil, total: nil)), wrong), (.hello(Hello()), wrong),
            (.proof(Proof(bytes: [], grantHash: [])), wrong), (.grant([1]), CloseCode.proofFailed),
        ]
        for (message, code) in messages {
            let fresh = try Self.prepare(2)
            Self.feed([MessageCodec.frame(message)], fresh, "\(message)")
            #expect(fresh.right.closed?.code == code, "\(message)")
        }
        // All that is passed over, and then content that is none.
        let passed = messages.filter { $0.code == nil }.map { MessageCodec.frame($0.0) }
        Self.feed(passed, pair, "all")
        #expect(pair.right.closed == nil)
        let content = DocumentsMessage(number: 1, content: [255, 255])
        Self.feed([MessageCodec.frame(.documents(content))], pair, "content")
        #expect(pair.right.closed == nil)
        Self.feed([MessageCodec.frame(.end(End(number: 1, position: nil, total: nil)))], pair, "end")
        #expect(pair.right.closed?.code == CloseCode.protocolError)
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

    /// A frame of just so many bytes with documents for the pull of a number.
    private static func documentsFrame(_ byteCount: Int, number: UInt64) -> [UInt8] {
        var contentCount = byteCount
        while true {
            let content = [UInt8](repeating: 0, count: contentCount)
            let frame = MessageCodec.frame(
                .documents(DocumentsMessage(number: number, content: content)), compresses: false)
            if frame.count <= byteCount { return frame }
            contentCount -= frame.count - byteCount
        }
    }

    /// How many bytes of documents the right side has got when all was quiet.
    private static func receivedByteCount(_ pair: SessionPair) -> Int {
        pair.left.sent.reduce(0) { sum, frame in
            switch try? MessageCodec.message(frame) {
            case .documents, .commit: sum + frame.count
            default: sum
            }
        }
    }

    /// The number of the right side's pull.
    private static func pullNumber(_ pair: SessionPair) throws -> UInt64 {
        try #require(
            pair.right.sentMessages.compactMap { if case .interest(let message) = $0 { message.number } else { nil } }
                .last)
    }

    @Test("Frames of a void interest cost credit, and get it back")
    func voidInterest() throws {
        let pair = try Self.prepare(2)
        for _ in 0..<40 { pair.tell(1, .received(Self.documentsFrame(300_000, number: 77))) }
        #expect(pair.right.closed == nil)
        let granted = pair.right.sentMessages.reduce(0 as UInt64) {
            if case .credit(let bytes) = $1 { $0 + bytes } else { $0 }
        }
        #expect(granted == 40 * 300_000 + UInt64(Self.receivedByteCount(pair)))
    }

    @Test("A peer that sends more than it was granted is cut off, to the byte", arguments: [0, 1, 2, 1000])
    func noCredit(remaining: Int) throws {
        let pair = try Self.prepare(2)
        let number = try Self.pullNumber(pair)
        pair.tell(1, .received(MessageCodec.frame(.begin(Begin(number: number, snapshot: 9)))))
        // Documents that wait for their snapshot's end take up credit until their batch has ended.
        var byteCount = Int(SyncLimits.creditByteCount) - Self.receivedByteCount(pair) - remaining
        while byteCount > 0 {
            // The last one takes the rest, which is never too little for a frame.
            let next = byteCount < 60_000 ? byteCount : 30_000
            pair.tell(1, .received(Self.documentsFrame(next, number: number)))
            byteCount -= next
        }
        #expect(pair.right.closed == nil)
        #expect(byteCount == 0)
        if remaining > 0 {
            // While there is any left, one more frame may come, however long.
            pair.tell(1, .received(Self.documentsFrame(max(remaining, 16), number: number)))
            #expect(pair.right.closed == nil)
        }
        pair.tell(1, .received(Self.documentsFrame(16, number: number)))
        #expect(pair.right.closed?.code == CloseCode.limitReached)
        #expect(pair.right.sentMessages.allSatisfy { if case .credit = $0 { false } else { true } })
    }

    @Test("A peer that waits for what it is granted may go on sending")
    func credit() throws {
        let pair = try Self.prepare(2)
        let number = try Self.pullNumber(pair)
        pair.tell(1, .received(MessageCodec.frame(.begin(Begin(number: number, snapshot: 9)))))
        var expected = UInt64(Self.receivedByteCount(pair))
        for _ in 0..<5 {
            for _ in 0..<17 { pair.tell(1, .received(Self.documentsFrame(60_000, number: number))) }
            #expect(pair.right.closed == nil)
            pair.tell(1, .batchEnded)
            expected += 17 * 60_000
        }
        let granted = pair.right.sentMessages.reduce(0 as UInt64) {
            if case .credit(let bytes) = $1 { $0 + bytes } else { $0 }
        }
        #expect(granted == expected)
        #expect(pair.right.closed == nil)
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
