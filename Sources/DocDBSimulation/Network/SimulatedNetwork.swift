import DocDBCore
import DocDBTransport

/// The network of a simulation: carries the frames of its peers, and loses, delays and breaks what it is told to.
///
/// ```swift
/// simulation.network.conditions = .mobile
/// simulation.network.block(from: tablet, to: hub)
/// simulation.run(for: .seconds(300))
/// simulation.network.heal()
/// ```
public final class SimulatedNetwork: @unchecked Sendable {
    // Unchecked: a simulation runs on one thread.

    private struct Route: Hashable {
        var from: Int
        var to: Int
    }

    /// How links work that have no conditions of their own.
    public var conditions = NetworkConditions.reliable
    /// What was carried since the start.
    public private(set) var traffic = NetworkTraffic()
    /// What was carried between two peers either way since `beginPairTraffic`, by their numbers, the smaller first.
    private(set) var pairTraffic: [[Int]: PairTraffic] = [:]
    /// A hash of everything that was carried: equal for two runs in which the same happened at the same times.
    public private(set) var traceHash: UInt64 = 0xcbf2_9ce4_8422_2325

    let time: SimulatedTime
    private var random: SimulationRandom
    private var ownConditions: [Route: NetworkConditions] = [:]
    private var blocked: Set<Route> = []
    private var listeners: [UInt16: SimulatedListener] = [:]
    /// The ends that are not closed, in the order in which they were made.
    private var links: [SimulatedLink] = []
    /// After how many more frames links break.
    private var breaks: [Int] = []
    /// Changes what a hostile peer sends: gets the sender's and the receiver's number, and the frame.
    package var tamper: ((Int, Int, [UInt8]) -> [UInt8])?

    init(_ time: SimulatedTime, seed: UInt64) {
        self.time = time
        random = SimulationRandom(seed: seed)
    }

    // MARK: Conditions

    /// Sets how links from one peer to another work, this way only; nil for the network's own conditions.
    public func setConditions(_ conditions: NetworkConditions?, from: SimulatedPeer, to: SimulatedPeer) {
        ownConditions[Route(from: from.number, to: to.number)] = conditions
    }

    /// Lets nothing through from one peer to another, this way only, until it heals.
    ///
    /// Links stay open until one end gives up; frames wait.
    public func block(from: SimulatedPeer, to: SimulatedPeer) {
        blocked.insert(Route(from: from.number, to: to.number))
    }

    /// Lets nothing through between the peers of different groups.
    public func partition(_ groups: [[SimulatedPeer]]) {
        for (index, group) in groups.enumerated() {
            for (otherIndex, other) in groups.enumerated() where otherIndex != index {
                for from in group { for to in other { block(from: from, to: to) } }
            }
        }
    }

    /// Lets everything through again: no blocks, no planned breaks, and the conditions of a reliable network.
    public func heal() {
        blocked = []
        ownConditions = [:]
        breaks = []
        conditions = .reliable
        for link in links { time.schedule(after: .zero) { link.deliver() } }
    }

    /// Breaks all links between two peers now.
    public func breakLinks(between first: SimulatedPeer, and second: SimulatedPeer) {
        let hosts: Set = [first.number, second.number]
        for link in links where link.info.isInitiator && Set([link.host, link.other?.host ?? -1]) == hosts {
            link.breakBoth()
        }
    }

    /// Breaks the link that is to carry a frame after so many further ones, whichever link that is.
    public func breakLink(afterFrames count: Int) { breaks.append(max(0, count)) }

    /// The number of open links.
    public var openLinkCount: Int { links.count { $0.info.isInitiator && $0.isOpen } }

    // MARK: What links ask

    static func address(of host: Int) -> String { "127.0.0.1:\(port(of: host))" }
    static func port(of host: Int) -> UInt16 { UInt16(truncatingIfNeeded: 10_000 + host) }

    func conditions(from: Int, to: Int) -> NetworkConditions { ownConditions[Route(from: from, to: to)] ?? conditions }

    func isBlocked(_ from: Int, _ to: Int) -> Bool { !blocked.isEmpty && blocked.contains(Route(from: from, to: to)) }

    func delay(_ conditions: NetworkConditions) -> UInt64 {
        let least = UInt64(max(0, conditions.minimumDelay.nanoseconds))
        let most = UInt64(max(0, conditions.maximumDelay.nanoseconds))
        return UInt64.random(in: least...max(least, most), using: &random)
    }

    /// What of a frame arrives; nil where the link breaks instead.
    func carry(_ frame: [UInt8], from: SimulatedLink, to: SimulatedLink) -> [UInt8]? {
        let conditions = conditions(from: from.host, to: to.host)
        var mustBreak = conditions.breakProbability > 0 && random.chance(conditions.breakProbability)
        if conditions.truncationProbability > 0, random.chance(conditions.truncationProbability) { mustBreak = true }
        for index in breaks.indices { breaks[index] -= 1 }
        if breaks.contains(where: { $0 < 0 }) { mustBreak = true }
        breaks.removeAll { $0 < 0 }
        if mustBreak {
            to.breakBoth()
            return nil
        }
        var arrived = frame
        if conditions.bitFlipProbability > 0, !frame.isEmpty, random.chance(conditions.bitFlipProbability) {
            arrived[Int.random(in: frame.indices, using: &random)] ^= 1 << UInt8.random(in: 0..<8, using: &random)
        }
        if let tamper { arrived = tamper(from.host, to.host, arrived) }
        note(arrived, from.host, to.host)
        return arrived
    }

    private func note(_ frame: [UInt8], _ from: Int, _ to: Int) {
        traffic.frameCount += 1
        traffic.byteCount += frame.count
        if Self.isData(frame) { traffic.dataFrameCount += 1 }
        pairTraffic[[min(from, to), max(from, to)], default: PairTraffic()].count(frame)
        mix(time.nanoseconds)
        mix(UInt64(from) << 32 | UInt64(to))
        for byte in frame { traceHash = (traceHash ^ UInt64(byte)) &* 0x100_0000_01b3 }
    }

    private func mix(_ word: UInt64) {
        for shift in stride(from: UInt64(0), to: 64, by: 8) {
            traceHash = (traceHash ^ ((word >> shift) & 255)) &* 0x100_0000_01b3
        }
    }

    /// Counts the traffic of pairs from now on.
    func beginPairTraffic() { pairTraffic = [:] }

    /// Whether a frame is about documents: its message has one of the numbers 8 to 16, but for 15, the acknowledgement.
    /// Compressed messages are taken for such: others are too short.
    static func isData(_ frame: [UInt8]) -> Bool {
        guard frame.count > 2, frame[0] == 0 else { return true }
        return (8...16).contains(frame[2]) && frame[2] != 15
    }

    /// Whether something is under way on a link that lets it through.
    var isCarrying: Bool {
        links.contains { $0.isOpen && $0.queuedByteCount > 0 && !isBlocked($0.host, $0.other?.host ?? -1) }
    }

    /// Whether a peer listens and another one could reach it.
    func isReachable(_ peer: SimulatedPeer, _ other: SimulatedPeer) -> Bool {
        isListening(host: peer.number) && !isBlocked(peer.number, other.number) && !isBlocked(other.number, peer.number)
    }

    func noteQueue(_ byteCount: Int) { traffic.largestQueueByteCount = max(traffic.largestQueueByteCount, byteCount) }
    func noteBreak() { traffic.brokenLinkCount += 1 }
    func forget(_ link: SimulatedLink) { links.removeAll { $0 === link } }

    // MARK: Connecting

    func connect(
        _ process: SimulatedProcess, to port: UInt16?, options: ConnectOptions, _ attempt: SimulatedAttempt
    ) {
        let host = Int(port ?? 0) - 10_000
        let conditions = conditions(from: process.host, to: host)
        let wait = delay(conditions) + delay(conditions)
        let isRefused = conditions.refusalProbability > 0 && random.chance(conditions.refusalProbability)
        time.schedule(after: .nanoseconds(Int64(wait))) { [self] in
            guard process.isAlive, !attempt.isDone else { return }
            if isBlocked(process.host, host) || isBlocked(host, process.host) {
                time.schedule(after: .seconds(options.timeoutSeconds)) {
                    attempt.complete(.failure(DocDBError(.timedOut, "the peer did not answer in time")))
                }
                return
            }
            guard !isRefused, let port, let listener = listeners[port], listener.process.isAlive else {
                return attempt.complete(.failure(DocDBError(.connectionFailed, "nobody listens there")))
            }
            open(process, listener, options, attempt)
        }
    }

    private func open(
        _ process: SimulatedProcess, _ listener: SimulatedListener, _ options: ConnectOptions,
        _ attempt: SimulatedAttempt
    ) {
        let host = listener.process.host
        let near = SimulatedLink(self, process, isInitiator: true, remote: host, options.link)
        let far = SimulatedLink(self, listener.process, isInitiator: false, remote: process.host, LinkOptions())
        near.join(far)
        links.append(near)
        links.append(far)
        traffic.linkCount += 1
        listener.accept?(far)
        attempt.complete(.success(near))
    }

    // MARK: Listening

    func add(_ listener: SimulatedListener, port: UInt16) throws(DocDBError) {
        if let other = listeners[port], other !== listener, other.process.isAlive {
            throw DocDBError(.addressInUse, "another peer of the simulation listens on port \(port); choose another")
        }
        listeners[port] = listener
    }

    func remove(_ listener: SimulatedListener, port: UInt16) {
        if listeners[port] === listener { listeners[port] = nil }
    }

    /// Whether somebody listens there.
    func isListening(host: Int) -> Bool { listeners[Self.port(of: host)]?.process.isAlive ?? false }

    /// A process has ended; the other ends of its links hear of it, unless the machine went down with it.
    func end(_ process: SimulatedProcess, isHeard: Bool) {
        process.isAlive = false
        listeners = listeners.filter { $0.value.process !== process }
        let ended = links.filter { $0.process === process }
        links.removeAll { $0.process === process }
        for link in ended {
            guard isHeard, let other = link.other else { continue }
            time.schedule(after: .milliseconds(1)) { other.lose() }
        }
    }
}
