import CWebSockets
import DocDBCore
import Synchronization

/// A link over a WebSocket.
///
/// Any thread may send; all else happens on the service thread, which alone touches what is marked as its own.
final class WebSocketLink: Link, @unchecked Sendable {
    /// What is sent and by what rules; the lock is held for moments only and never while a handler runs.
    struct Outgoing {
        var frames: [[UInt8]] = []
        /// How many of `frames` have gone out whole, and how much of the next one has.
        var sentCount = 0
        var sentByteCount = 0
        var queuedByteCount = 0
        var isAboveLowWater = false
        /// Whether the service thread has been asked to write and has not found the queue empty since.
        var isScheduled = false
        var closing: LinkCloseReason?
        var hasEnded = false
        var frameByteLimit: Int
        var isReceiving = true
    }

    let info: LinkInfo
    let outgoing: Lock<Outgoing>
    let loop: ServiceLoop
    let options: LinkOptions

    // Of the service thread.
    var handle: OpaquePointer?
    var handler: (any LinkHandler)?
    var hasStarted = false
    /// The frame that is arriving in pieces.
    var assembly: [UInt8] = []
    var lastReceived: Int64
    var isPingDue = false
    var lastPing: Int64 = 0
    var closeDeadline: Int64?
    var hasSentClose = false
    /// Why the link closes or has closed, as far as known.
    var reason: LinkCloseReason?
    var hasEnded = false

    init(info: LinkInfo, handle: OpaquePointer, loop: ServiceLoop, options: LinkOptions) {
        self.info = info
        self.handle = handle
        self.loop = loop
        self.options = options
        lastReceived = loop.now
        outgoing = Lock(Outgoing(frameByteLimit: options.frameByteLimit))
        // Nothing is read before there is someone to hear of it.
        lws_rx_flow_control(handle, 0)
    }

    var frameByteLimit: Int {
        get { outgoing.withLock { $0.frameByteLimit } }
        set { outgoing.withLock { $0.frameByteLimit = newValue } }
    }

    var queuedByteCount: Int { outgoing.withLock { $0.queuedByteCount } }

    func start(_ handler: any LinkHandler) {
        loop.perform { _ in self.begin(handler) }
    }

    func send(_ frame: [UInt8]) {
        let isFirst = outgoing.withLock { outgoing in
            guard outgoing.closing == nil, !outgoing.hasEnded else { return false }
            outgoing.frames.append(frame)
            outgoing.queuedByteCount += frame.count
            if outgoing.queuedByteCount > options.lowWaterByteCount { outgoing.isAboveLowWater = true }
            return outgoing.setScheduled()
        }
        if isFirst { loop.schedule(self) }
    }

    func setReceiving(_ isReceiving: Bool) {
        outgoing.withLock { $0.isReceiving = isReceiving }
        if loop.isOnThread { applyReceiving() } else { loop.perform { _ in self.applyReceiving() } }
    }

    func close(_ reason: LinkCloseReason) {
        let isFirst = outgoing.withLock { outgoing in
            guard outgoing.closing == nil, !outgoing.hasEnded else { return false }
            outgoing.closing = reason
            return true
        }
        guard isFirst else { return }
        loop.perform { loop in
            guard !self.hasEnded else { return }
            if self.reason == nil { self.reason = reason }
            self.closeDeadline = loop.now + TransportLimits.closeSeconds
            self.requestWritable()
        }
    }
}

extension WebSocketLink.Outgoing {
    /// Notes that the service thread is asked to write; returns whether it had not been.
    mutating func setScheduled() -> Bool {
        guard !isScheduled else { return false }
        isScheduled = true
        return true
    }
}

// Opening and ending, on the service thread.
extension WebSocketLink {
    private func begin(_ handler: any LinkHandler) {
        guard !hasStarted else { return }
        hasStarted = true
        self.handler = handler
        lastReceived = loop.now
        handler.linkDidOpen(self)
        if hasEnded { reportEnd() } else { applyReceiving() }
    }

    private func applyReceiving() {
        guard let handle, hasStarted, !hasEnded else { return }
        let isReceiving = outgoing.withLock { $0.isReceiving }
        if isReceiving { lastReceived = loop.now }
        lws_rx_flow_control(handle, isReceiving ? 1 : 0)
    }

    func requestWritable() {
        guard let handle, !hasEnded else { return }
        lws_callback_on_writable(handle)
    }

    /// The library's socket is gone.
    func didEnd() {
        guard !hasEnded else { return }
        hasEnded = true
        handle = nil
        assembly = []
        outgoing.withLock { outgoing in
            outgoing.hasEnded = true
            outgoing.dropQueue()
        }
        if hasStarted { reportEnd() }
    }

    private func reportEnd() {
        guard let handler else { return }
        self.handler = nil
        handler.link(self, didClose: reason ?? .lost())
    }

    /// Looks after pings and time-outs.
    func sweep(now: Int64) {
        guard let handle, !hasEnded else { return }
        if let closeDeadline {
            if now >= closeDeadline { docdb_lws_kill(handle) }
            return
        }
        guard hasStarted else {
            // Nobody reads from it, so nobody would see it end either.
            if now - lastReceived >= TransportLimits.startSeconds { docdb_lws_kill(handle) }
            return
        }
        // Who does not read cannot tell whether the other side is silent.
        guard outgoing.withLock({ $0.isReceiving }) else { return }
        let silence = now - lastReceived
        if silence >= options.silenceSeconds {
            if reason == nil { reason = .silent }
            docdb_lws_kill(handle)
        } else if silence >= options.pingSeconds, now - lastPing >= options.pingSeconds {
            lastPing = now
            isPingDue = true
            requestWritable()
        }
    }
}
