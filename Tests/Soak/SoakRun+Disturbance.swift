import DocDBSimulation
import Foundation

// What happens meanwhile.
extension SoakRun {
    /// Lets one thing happen to somebody.
    func disturb() throws {
        let peer = peers[Int.random(in: 0..<peers.count, using: &random)]
        switch Int.random(in: 0..<100, using: &random) {
        case 0..<30: try killAndRestart(peer)
        case 30..<55: changeWeather(of: peer)
        case 55..<65:
            figures.cutCount += 1
            peer.proxy.cut()
        case 65..<67:
            figures.cutCount += 1
            for peer in peers { peer.proxy.cut() }
        case 67..<77: jump(peer)
        case 77..<90: changeRights()
        case 90..<93: breakWebhook()
        case 93..<95: try revoke()
        default: try killHubNowAndThen()
        }
    }

    private func killAndRestart(_ peer: SoakPeer) throws {
        guard !peer.isSteady, peer.child != nil else { return }
        try kill(peer)
        plan(after: Double.random(in: 0..<4, using: &random)) { try $0.start(peer) }
    }

    private func changeWeather(of peer: SoakPeer) {
        var weather = SoakProxy.Weather()
        switch Int.random(in: 0..<4, using: &random) {
        case 0: weather.isPartitioned = true
        case 1: weather.isRefusing = true
        case 2: weather.delayMilliseconds = UInt32.random(in: 20...500, using: &random)
        default: weather.bytesPerSecond = Int.random(in: 4_000...60_000, using: &random)
        }
        if weather.isRefusing { peer.proxy.cut() }
        peer.proxy.setWeather(weather)
        figures.weatherCount += 1
        plan(after: Double.random(in: 2..<20, using: &random)) { _ in peer.proxy.setWeather(SoakProxy.Weather()) }
    }

    /// Within what peers take mostly, now and then beyond it, or far back.
    private func jump(_ peer: SoakPeer) {
        let offset: Int64 =
            switch Int.random(in: 0..<10, using: &random) {
            case 0: -3_600
            case 1: 150
            default: Int64.random(in: -100...100, using: &random)
            }
        peer.jump(toOffsetSeconds: offset)
        figures.jumpCount += 1
        plan(after: Double.random(in: 5..<25, using: &random)) { _ in peer.jump(toOffsetSeconds: 0) }
    }

    /// What a user may changes with the next login, or no login succeeds for a while.
    private func changeRights() {
        let user = SoakWorld.users[Int.random(in: 0..<SoakWorld.users.count, using: &random)]
        var right = logins.right(of: user)
        switch Int.random(in: 0..<3, using: &random) {
        case 0: right.level = SoakWorld.levels[Int.random(in: 0..<SoakWorld.levels.count, using: &random)]
        case 1: right.isWide.toggle()
        default:
            right.isRefused = true
            plan(after: Double.random(in: 5..<25, using: &random)) { run in
                var right = run.logins.right(of: user)
                right.isRefused = false
                run.logins.set(right, of: user)
            }
        }
        logins.set(right, of: user)
        figures.rightsCount += 1
    }

    private func breakWebhook() {
        logins.setDown(true)
        plan(after: Double.random(in: 2..<10, using: &random)) { $0.logins.setDown(false) }
    }

    private func revoke() throws {
        guard random.chance(0.3), hub.port != nil else { return }
        try hub.revoke(SoakWorld.users[Int.random(in: 0..<SoakWorld.users.count, using: &random)])
        figures.revocationCount += 1
    }

    /// In the first half only, so that there is a hub whose memory can be watched for the second.
    private func killHubNowAndThen() throws {
        guard now < minutes * 30, hub.port != nil, random.chance(0.4) else { return }
        killHub()
        plan(after: Double.random(in: 0..<5, using: &random)) { try $0.startHub() }
    }

    /// Prints how it goes, in a line.
    func report(_ minute: Int) {
        let sample = hub.child.flatMap { resources.last(of: $0.id) }
        let proxies = peers.map(\.proxy.figures)
        print(
            """
            soak: minute \(minute): \(ledger.writeCount) writes, \(figures.killCount) kills and \(figures.hubKillCount) of the hub, \
            \(figures.weatherCount) disturbances and \(figures.cutCount) cuts, \(figures.jumpCount) clock jumps, \
            logins \(logins.figures.acceptedCount) granted, \(logins.figures.refusedCount) refused, \
            \(logins.figures.failedCount) failed, \(figures.rightsCount) changes of rights, \
            \(figures.revocationCount) revocations, \(proxies.reduce(0) { $0 + $1.connectionCount }) connections, \
            \(proxies.reduce(0) { $0 + $1.byteCount } / 1024) KiB; the hub has \
            \((sample?.residentKibibytes ?? 0) / 1024) MiB and \(sample?.openFileCount ?? 0) files open
            """)
        fflush(nil)
    }
}
