import DocDBTransport

/// One end of a simulated link.
final class SimulatedLink: Link, @unchecked Sendable {
    // Unchecked: a simulation runs on one thread.

    private struct Frame {
        var arrival: UInt64
        var bytes: [UInt8]
    }

    let info: LinkInfo
    let process: SimulatedProcess
    var frameByteLimit: Int
    private let network: SimulatedNetwork
    private let lowWaterByteCount: Int
    private(set) weak var other: SimulatedLink?
    /// Whoever keeps the other end until it has closed: the network does.
    private var handler: (any LinkHandler)?
    private var hasOpened = false
    private var isReceiving = true
    /// Frames on their way to this end, oldest first; the first `taken` are gone.
    private var incoming: [Frame] = []
    private var taken = 0
    private(set) var queuedByteCount = 0
    private var isAboveLowWater = false
    /// When the last frame that was sent has left, and when it arrives.
    private var departure: UInt64 = 0
    private var arrival: UInt64 = 0
    private var closing: LinkCloseReason?
    private(set) var closed: LinkCloseReason?
    private var hasReportedClose = false

    init(
        _ network: SimulatedNetwork, _ process: SimulatedProcess, isInitiator: Bool, remote: Int, _ options: LinkOptions
    ) {
        self.network = network
        self.process = process
        frameByteLimit = options.frameByteLimit
        lowWaterByteCount = options.lowWaterByteCount
        info = LinkInfo(
            kind: .inMemory, isInitiator: isInitiator, remoteAddress: SimulatedNetwork.address(of: remote),
            isLoopback: true)
    }

    func join(_ other: SimulatedLink) {
        self.other = other
        other.other = self
    }

    var host: Int { process.host }
    var isOpen: Bool { closed == nil && process.isAlive }

    // MARK: What the peer calls

    func start(_ handler: any LinkHandler) {
        self.handler = handler
        network.time.schedule(after: .zero) { [self] in
            guard process.isAlive else { return }
            hasOpened = true
            handler.linkDidOpen(self)
            deliver()
            reportClose()
        }
    }

    func send(_ frame: [UInt8]) {
        guard closing == nil, isOpen, let other else { return }
        let now = network.time.nanoseconds
        let conditions = network.conditions(from: host, to: other.host)
        departure = max(departure, now)
        if let rate = conditions.bytesPerSecond {
            departure += UInt64(frame.count) * 1_000_000_000 / UInt64(max(rate, 1))
        }
        arrival = max(arrival, departure + network.delay(conditions))
        other.incoming.append(Frame(arrival: arrival, bytes: frame))
        queuedByteCount += frame.count
        network.noteQueue(queuedByteCount)
        if queuedByteCount > lowWaterByteCount { isAboveLowWater = true }
        network.time.schedule(after: .nanoseconds(Int64(arrival - now))) { other.deliver() }
    }

    func setReceiving(_ isReceiving: Bool) {
        self.isReceiving = isReceiving
        if isReceiving { network.time.schedule(after: .zero) { [self] in deliver() } }
    }

    func close(_ reason: LinkCloseReason) {
        guard closing == nil, isOpen else { return }
        closing = reason
        network.time.schedule(after: .zero) { [self] in finishIfSent() }
        network.time.schedule(after: .seconds(TransportLimits.closeSeconds)) { [self] in
            if isOpen { finish(.stalled) }
        }
    }

    // MARK: What the network does

    /// Hands over what has arrived by now, as long as this end takes it.
    func deliver() {
        guard let other else { return }
        if closed != nil, !network.isBlocked(other.host, host), !network.isBlocked(host, other.host) {
            // What comes for a link that has closed is answered by a reset.
            return other.isOpen && taken < incoming.count ? other.lose() : ()
        }
        while isOpen, hasOpened, isReceiving, let handler, taken < incoming.count,
            incoming[taken].arrival <= network.time.nanoseconds, !network.isBlocked(other.host, host)
        {
            let frame = takeFrame()
            other.queuedByteCount -= frame.count
            guard let arrived = network.carry(frame, from: other, to: self) else { return }
            guard arrived.count <= frameByteLimit else { return finish(.frameTooLarge(limit: frameByteLimit)) }
            handler.link(self, didReceive: arrived)
            other.reportDrain()
        }
        other.finishIfSent()
    }

    private func takeFrame() -> [UInt8] {
        let frame = incoming[taken].bytes
        incoming[taken].bytes = []
        taken += 1
        if taken == incoming.count {
            incoming = []
            taken = 0
        }
        return frame
    }

    private func reportDrain() {
        guard isAboveLowWater, queuedByteCount <= lowWaterByteCount, isOpen, hasOpened else { return }
        isAboveLowWater = false
        handler?.linkDidDrain(self)
    }

    private func finishIfSent() {
        guard let closing, isOpen, queuedByteCount == 0 else { return }
        finish(closing)
    }

    /// Closes this end, and the other one as soon as it hears of it.
    private func finish(_ reason: LinkCloseReason) {
        setClosed(reason)
        guard let other else { return }
        var remote = reason
        remote.isRemote = true
        remote.text = String(decoding: reason.textBytes, as: UTF8.self)
        let told = remote
        network.time.schedule(after: .milliseconds(1)) { [network, host] in
            if other.isOpen, !network.isBlocked(host, other.host) { other.setClosed(told) }
        }
    }

    /// The link has broken without a word.
    func lose() {
        guard isOpen else { return }
        network.noteBreak()
        setClosed(.lost())
    }

    /// Both ends find the link broken.
    func breakBoth() {
        lose()
        other?.lose()
    }

    private func setClosed(_ reason: LinkCloseReason) {
        guard closed == nil else { return }
        closed = reason
        incoming = []
        taken = 0
        queuedByteCount = 0
        network.time.schedule(after: .zero) { [self] in reportClose() }
    }

    private func reportClose() {
        guard let closed, process.isAlive, hasOpened, !hasReportedClose, let handler else { return }
        hasReportedClose = true
        self.handler = nil
        network.forget(self)
        handler.link(self, didClose: closed)
    }
}
