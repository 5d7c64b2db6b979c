package import Dispatch
import DocDBCore
import Synchronization

/// One end of a link within this process, with the semantics of one over a network.
///
/// Both ends of a pair deliver on the pair's queue, so all calls of both handlers come one at a time.
package final class InMemoryLink: Link {
    /// One direction's queue and both ends' settings; the lock is held for moments only and never while a handler runs.
    private struct State {
        var handler: (any LinkHandler)?
        var hasOpened = false
        var isReceiving = true
        var frameByteLimit: Int
        /// Frames sent from this end that the other has not received; the first `taken` of them are gone.
        var outgoing: [[UInt8]] = []
        var taken = 0
        var queuedByteCount = 0
        var isAboveLowWater = false
        /// Why this end is closing; nothing is sent any more.
        var closing: LinkCloseReason?
        /// Why this end has closed; nothing is received any more.
        var closed: LinkCloseReason?
        var hasReportedClose = false
    }

    package let info: LinkInfo
    private let state: Lock<State>
    private let queue: DispatchQueue
    private let lowWaterByteCount: Int
    // Set once, before the pair is handed out; the cycle of the two ends is cut when they have closed.
    private let other = Lock<InMemoryLink?>(nil)

    private init(isInitiator: Bool, queue: DispatchQueue, frameByteLimit: Int, lowWaterByteCount: Int) {
        info = LinkInfo(
            kind: .inMemory, isInitiator: isInitiator, remoteAddress: "in memory", isLoopback: true)
        state = Lock(State(frameByteLimit: frameByteLimit))
        self.queue = queue
        self.lowWaterByteCount = lowWaterByteCount
    }

    /// Creates two ends of one link; the first counts as the one that connected.
    ///
    /// - Parameter queue: a serial queue on which both ends deliver.
    package static func pair(
        on queue: DispatchQueue = DispatchQueue(label: "docdb.in-memory-link"),
        frameByteLimit: Int = TransportLimits.unauthenticatedFrameByteCount,
        lowWaterByteCount: Int = TransportLimits.lowWaterByteCount
    ) -> (InMemoryLink, InMemoryLink) {
        let first = InMemoryLink(
            isInitiator: true, queue: queue, frameByteLimit: frameByteLimit, lowWaterByteCount: lowWaterByteCount)
        let second = InMemoryLink(
            isInitiator: false, queue: queue, frameByteLimit: frameByteLimit, lowWaterByteCount: lowWaterByteCount)
        first.other.withLock { $0 = second }
        second.other.withLock { $0 = first }
        return (first, second)
    }

    package var frameByteLimit: Int {
        get { state.withLock { $0.frameByteLimit } }
        set { state.withLock { $0.frameByteLimit = newValue } }
    }

    package var queuedByteCount: Int { state.withLock { $0.queuedByteCount } }

    package func start(_ handler: any LinkHandler) {
        state.withLock { $0.handler = handler }
        queue.async { self.open() }
    }

    package func send(_ frame: [UInt8]) {
        let isFirst = state.withLock { state in
            guard state.closing == nil, state.closed == nil else { return false }
            state.outgoing.append(frame)
            state.queuedByteCount += frame.count
            if state.queuedByteCount > lowWaterByteCount { state.isAboveLowWater = true }
            return state.outgoing.count - state.taken == 1
        }
        if isFirst { queue.async { self.pump() } }
    }

    package func setReceiving(_ isReceiving: Bool) {
        state.withLock { $0.isReceiving = isReceiving }
        guard isReceiving, let other = other.withLock({ $0 }) else { return }
        queue.async { other.pump() }
    }

    package func close(_ reason: LinkCloseReason) {
        let isFirst = state.withLock { state in
            guard state.closing == nil, state.closed == nil else { return false }
            state.closing = reason
            return true
        }
        guard isFirst else { return }
        queue.async { self.pump() }
        queue.asyncAfter(deadline: .now() + .seconds(Int(TransportLimits.closeSeconds))) { [weak self] in
            self?.finish(reason)
        }
    }
}

// What runs on the queue.
extension InMemoryLink {
    private func open() {
        let handler = state.withLock { state -> (any LinkHandler)? in
            guard !state.hasOpened else { return nil }
            state.hasOpened = true
            return state.handler
        }
        handler?.linkDidOpen(self)
        other.withLock { $0 }?.pump()
        reportClose()
    }

    /// Moves frames to the other end for as long as it receives, then closes if that was asked for.
    private func pump() {
        guard let other = other.withLock({ $0 }) else { return }
        while let handler = other.receivingHandler, let frame = takeFrame() {
            let limit = other.frameByteLimit
            guard frame.count <= limit else {
                other.finish(.frameTooLarge(limit: limit))
                return
            }
            handler.link(other, didReceive: frame)
            reportDrain()
        }
        let reason = state.withLock { $0.outgoing.count == $0.taken ? $0.closing : nil }
        if let reason { finish(reason) }
    }

    private var receivingHandler: (any LinkHandler)? {
        state.withLock { $0.hasOpened && $0.isReceiving && $0.closed == nil ? $0.handler : nil }
    }

    private func takeFrame() -> [UInt8]? {
        state.withLock { state in
            guard state.closed == nil, state.taken < state.outgoing.count else { return nil }
            let frame = state.outgoing[state.taken]
            state.outgoing[state.taken] = []
            state.taken += 1
            state.queuedByteCount -= frame.count
            if state.taken == state.outgoing.count {
                state.outgoing = []
                state.taken = 0
            } else if state.taken >= 1024, state.taken * 2 >= state.outgoing.count {
                state.outgoing.removeFirst(state.taken)
                state.taken = 0
            }
            return frame
        }
    }

    private func reportDrain() {
        let handler = state.withLock { state -> (any LinkHandler)? in
            guard state.isAboveLowWater, state.queuedByteCount <= lowWaterByteCount else { return nil }
            state.isAboveLowWater = false
            return state.hasOpened && state.closed == nil ? state.handler : nil
        }
        handler?.linkDidDrain(self)
    }

    /// Closes both ends, for a reason that comes from this one.
    private func finish(_ reason: LinkCloseReason) {
        guard let other = other.withLock({ $0 }) else { return }
        var remote = reason
        remote.isRemote = true
        remote.text = String(decoding: reason.textBytes, as: UTF8.self)
        setClosed(reason)
        other.setClosed(remote)
        reportClose()
        other.reportClose()
        self.other.withLock { $0 = nil }
        other.other.withLock { $0 = nil }
    }

    private func setClosed(_ reason: LinkCloseReason) {
        state.withLock { state in
            guard state.closed == nil else { return }
            state.closed = reason
            state.outgoing = []
            state.taken = 0
            state.queuedByteCount = 0
        }
    }

    private func reportClose() {
        let report = state.withLock { state -> (any LinkHandler, LinkCloseReason)? in
            guard state.hasOpened, !state.hasReportedClose, let closed = state.closed, let handler = state.handler
            else { return nil }
            state.hasReportedClose = true
            state.handler = nil
            return (handler, closed)
        }
        if let (handler, reason) = report { handler.link(self, didClose: reason) }
    }
}
