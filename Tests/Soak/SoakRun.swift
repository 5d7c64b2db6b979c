import DocDB
import DocDBSimulation
import Foundation
import Synchronization

/// A hub and its clients for some minutes, in which everything happens to them, and what must hold at the end.
final class SoakRun {
    let directory: String
    let minutes: Double
    let hub: SoakHub
    let peers: [SoakPeer]
    let logins: SoakLogins
    var random: SimulationRandom
    var ledger = SoakLedger()
    var resources = ResourceLog()
    var figures = Figures()
    /// What is to be done later, with the seconds since the beginning.
    var plans: [(time: Double, action: (SoakRun) throws -> Void)] = []
    private let begin = ContinuousClock.now

    struct Figures {
        var killCount = 0
        var hubKillCount = 0
        var cutCount = 0
        var weatherCount = 0
        var jumpCount = 0
        var rightsCount = 0
        var revocationCount = 0
    }

    /// How long all may take to come to rest, on a machine that does much else.
    static let restSeconds = 900.0

    init(directory: String, hub program: String, minutes: Double, seed: UInt64) throws {
        self.directory = directory
        self.minutes = minutes
        random = SimulationRandom(seed: seed)
        logins = try SoakLogins()
        hub = try SoakHub(program, directory: directory, webhook: logins.url)
        peers = try (0..<SoakWorld.clientCount).map { try SoakPeer($0, directory: directory) }
    }

    /// Seconds since the beginning.
    var now: Double {
        let (seconds, attoseconds) = (ContinuousClock.now - begin).components
        return Double(seconds) + Double(attoseconds) / 1e18
    }

    func plan(after seconds: Double, _ action: @escaping (SoakRun) throws -> Void) {
        plans.append((now + seconds, action))
    }

    func run() throws {
        try startHub()
        for peer in peers { try start(peer) }
        var nextEvent = now + 5
        var minute = 1
        while now < minutes * 60 {
            try tick()
            if now >= nextEvent {
                try disturb()
                nextEvent = now + Double.random(in: 0.5..<3, using: &random)
            }
            if now >= Double(minute) * 60 {
                report(minute)
                minute += 1
            }
        }
        try heal()
        try waitForRest()
        try end()
    }

    /// Ends all processes, whatever state they are in.
    func abandon() {
        for peer in peers { _ = try? peer.kill() }
        hub.kill()
    }

    // MARK: Processes

    func startHub() throws {
        try hub.start()
        if let child = hub.child { resources.begin("hub", child.id) }
    }

    func killHub() {
        if let child = hub.child { resources.end(child.id) }
        hub.kill()
        for peer in peers { peer.proxy.setTarget(nil) }
        figures.hubKillCount += 1
    }

    func start(_ peer: SoakPeer) throws {
        try peer.start(seed: random.next())
        if let child = peer.child { resources.begin("client \(peer.number)", child.id) }
    }

    func kill(_ peer: SoakPeer) throws {
        guard let child = peer.child else { return }
        resources.end(child.id)
        for line in try peer.kill() { try read(line, of: peer) }
        figures.killCount += 1
    }

    /// Does what was planned, and looks how everybody is.
    func tick() throws {
        usleep(100_000)
        if Soak.isInterrupted.load(ordering: .relaxed) { throw SoakFailure("interrupted") }
        let due = plans.filter { $0.time <= now }
        plans.removeAll { $0.time <= now }
        for plan in due { try plan.action(self) }
        try look()
    }

    private var lastSample = 0.0

    private func look() throws {
        let hadPort = hub.port != nil
        try hub.readLog()
        if !hadPort, let port = hub.port { for peer in peers { peer.proxy.setTarget(port) } }
        if let child = hub.child, !child.isRunning { throw SoakFailure("the hub has ended by itself; see \(hub.log)") }
        for peer in peers {
            guard let child = peer.child else { continue }
            // Looked at first: a process that has ended has said all that it will.
            let isRunning = child.isRunning
            for line in try child.lines() { try read(line, of: peer) }
            guard isRunning else { throw SoakFailure("client \(peer.number) has ended by itself; see \(peer.log)") }
        }
        if now >= lastSample + 2 {
            lastSample = now
            resources.sample(at: now)
        }
    }

    private func read(_ text: Substring, of peer: SoakPeer) throws {
        guard let line = ClientLine(text) else { throw SoakFailure("client \(peer.number) says: \(text)") }
        switch line {
        case .settled: peer.restlessness = nil
        case .unsettled(let why): peer.restlessness = why
        default: try ledger.note(line, client: peer.number)
        }
    }

    // MARK: The end

    /// Lets everything work again, and asks all clients to come to rest.
    private func heal() throws {
        plans = []
        logins.setDown(false)
        for (index, user) in SoakWorld.users.enumerated() {
            logins.set(SoakLogins.Right(level: SoakWorld.levels[index]), of: user)
        }
        if hub.child == nil { try startHub() }
        for peer in peers {
            peer.proxy.setWeather(SoakProxy.Weather())
            peer.offsetSeconds = 0
            if peer.child == nil { try start(peer) }
        }
        // Grants of before end first, so that all come to rest under those that hold from now on.
        let rest = now + Double(SoakWorld.grantSeconds) * 1.5
        while now < rest { try tick() }
        for peer in peers { peer.send(.settle) }
    }

    /// Waits until all clients are at rest at the same time, and stay so for a while.
    private func waitForRest() throws {
        let deadline = now + Self.restSeconds
        var since = now
        var nextReport = now + 60
        while true {
            try tick()
            let restless = peers.filter { $0.restlessness != nil }
            if !restless.isEmpty { since = now }
            if now - since > 10 { return }
            let reasons = restless.map { "client \($0.number): \($0.restlessness ?? "")" }.joined(separator: "\n  ")
            if now > deadline { throw SoakFailure("no rest after \(Int(Self.restSeconds)) s:\n  \(reasons)") }
            if now > nextReport {
                print("soak: waiting for rest\n  \(reasons)")
                fflush(nil)
                nextReport += 60
            }
        }
    }

    private func end() throws {
        for peer in peers { peer.send(.close) }
        for peer in peers {
            guard let child = peer.child, child.waitForEnd(seconds: 120), child.status == 0 else {
                throw SoakFailure("client \(peer.number) does not end in order")
            }
        }
        try hub.stop()
    }
}
