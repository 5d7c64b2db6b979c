/// Frames that wait, and how much each side may send.
///
/// Only frames with documents count: a receiver grants as many bytes as it has taken in. A peer never sends further
/// frames once it has used up what it knows to be granted, which is at most what the receiver has granted.
struct FlowControl {
    struct Frame {
        var bytes: [UInt8]
        /// Whether it uses up credit.
        var isCounted: Bool
    }

    /// In the order in which they must go out.
    private(set) var frames: [Frame] = []
    private var firstFrame = 0
    /// How many bytes this side may still send; below zero by at most one frame.
    private(set) var credit = SyncLimits.creditByteCount
    /// How many bytes of documents went to the link since it was last drained.
    var backlogByteCount = 0
    /// What the peer may still send.
    private var allowance = SyncLimits.creditByteCount
    /// What came since the last grant.
    private var ungranted: Int64 = 0

    var isEmpty: Bool { firstFrame == frames.count }

    /// Whether documents may be read for sending.
    var hasRoom: Bool { isEmpty && maySend }

    private var maySend: Bool { credit > 0 && backlogByteCount < SyncLimits.linkBacklogByteCount }

    mutating func reset() { self = FlowControl() }

    mutating func append(_ bytes: [UInt8], isCounted: Bool) {
        frames.append(Frame(bytes: bytes, isCounted: isCounted))
    }

    /// The next frame that may go out.
    mutating func next() -> [UInt8]? {
        guard firstFrame < frames.count else { return nil }
        let frame = frames[firstFrame]
        if frame.isCounted {
            guard maySend else { return nil }
            credit -= Int64(frame.bytes.count)
            backlogByteCount += frame.bytes.count
        }
        frames[firstFrame].bytes = []
        firstFrame += 1
        if firstFrame == frames.count {
            frames.removeAll(keepingCapacity: frames.count <= 16)
            firstFrame = 0
        }
        return frame.bytes
    }

    /// The peer has room for more.
    mutating func grant(_ bytes: UInt64) {
        let (sum, overflows) = credit.addingReportingOverflow(Int64(clamping: bytes))
        credit = overflows ? .max : sum
    }

    /// Counts what came. Throws where the peer sent more than it may.
    mutating func receive(_ byteCount: Int) throws {
        guard allowance > 0 else {
            throw SessionFailure(
                CloseCode.limitReached,
                "the peer sends more than it was granted; update it, or report this with the versions of both sides")
        }
        allowance -= Int64(byteCount)
        ungranted += Int64(byteCount)
    }

    /// All that came has been taken in; returns how much is to be granted, or nil.
    mutating func takeIn() -> UInt64? {
        guard ungranted >= SyncLimits.creditByteCount / 2 else { return nil }
        defer { ungranted = 0 }
        allowance += ungranted
        return UInt64(ungranted)
    }
}

extension Session {
    /// Sends a message at once, past all that waits.
    func sendNow(_ message: Message) {
        effects.append(.send(MessageCodec.frame(message, compresses: phase == .established)))
    }

    /// Sends a message in turn: after the documents that wait, so that each direction is one order of facts.
    func send(_ message: Message) {
        flow.append(MessageCodec.frame(message), isCounted: false)
        if case .credit = message { return }
        timers.lastFact = time.monotonicNanoseconds
    }

    func sendDocuments(_ message: Message) {
        flow.append(MessageCodec.frame(message), isCounted: true)
        timers.lastFact = time.monotonicNanoseconds
    }

    func releaseFrames() {
        while let frame = flow.next() { effects.append(.send(frame)) }
    }

    /// Counts received documents.
    func countReceived(_ byteCount: Int) throws {
        timers.lastFact = time.monotonicNanoseconds
        try flow.receive(byteCount)
    }

    /// Grants the room of what was taken in. Documents that wait for the end of their snapshot count as such only once the
    /// batch that they came with has ended: a peer that does not wait for its grants is told from one that does.
    func grantRoom(isBatchEnd: Bool) {
        guard isBatchEnd || subscriber.buffer == nil, let grant = flow.takeIn() else { return }
        sendNow(.credit(grant))
    }
}
