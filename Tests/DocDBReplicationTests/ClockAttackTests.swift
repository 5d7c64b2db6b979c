import Dispatch
import DocDBAuth
import DocDBCore
import DocDBReplication
import DocDBSync
import Testing

@Suite("Clocks that are set, and devices that sleep, against the expiry of grants", .timeLimit(.minutes(10)))
struct ClockAttackTests {
    private let network = MemoryNetwork()
    private let hub: TestHub
    private let hubClock = ManualClock(seconds: TestHub.start)
    private let deviceClock = ManualClock(seconds: TestHub.start)

    init() throws { hub = try TestHub() }

    /// A hub, and a device with a grant of 20 seconds that has what the hub has: one document.
    private func connect() async throws -> (server: EnginePeer, alice: EnginePeer) {
        let server = try EnginePeer("hub", on: network, authenticator: hub.authenticator(), clock: hubClock) {
            $0.isKeeper = true
            $0.wantsEverything = true
        }
        try server.engine.start()
        let alice = try EnginePeer(
            "alice", on: network, authenticator: hub.device("alice", read: nil, write: nil, seconds: 20),
            clock: deviceClock
        ) { $0.urls = [server.url] }
        try alice.subscribe()
        try alice.engine.start()
        try server.put(#"{"_id": "early"}"#)
        try await eventually([alice, server]) { try alice.contents().count == 1 }
        return (server, alice)
    }

    /// What is done to a device's clock while its grant of 20 seconds runs out.
    enum Manipulation: CaseIterable {
        /// The device sleeps for a minute.
        case suspended
        /// The clock is set back by ten minutes at once, and 20 seconds pass.
        case setBack
        /// It is set back little by little, each second by one.
        case heldBack
    }

    private func manipulate(_ manipulation: Manipulation) {
        let second: UInt64 = 1_000_000_000
        switch manipulation {
        case .suspended: deviceClock.suspend(seconds: 60)
        case .setBack:
            deviceClock.setBack(seconds: 600)
            deviceClock.advance(nanoseconds: 20 * second)
        case .heldBack:
            for _ in 0..<20 {
                deviceClock.advance(nanoseconds: second)
                deviceClock.setBack(seconds: 1)
            }
        }
    }

    @Test(
        "Whatever is done to the device's clock, it takes and sends nothing after the grant's end",
        arguments: Manipulation.allCases, [true, false])
    func device(_ manipulation: Manipulation, hubWrites: Bool) async throws {
        // The hub's own clock stands still here, so that it is the device that must stop.
        let (server, alice) = try await connect()
        manipulate(manipulation)
        // The first thing that happens thereafter, on either side.
        try hubWrites ? server.put(#"{"_id": "late"}"#) : alice.put(#"{"_id": "late"}"#)
        try await eventually([alice, server]) {
            [alice, server].allSatisfy { $0.engine.status.peers.allSatisfy { !$0.isConnected } }
                && alice.engine.status.dials.first?.lastError?.error.context["close"] == CloseCode.expired
        }
        #expect(try alice.contents().count == (hubWrites ? 1 : 2))
        #expect(try server.contents().count == (hubWrites ? 2 : 1))
        for peer in [alice, server] { await peer.stop() }
    }

    @Test("The hub stops by its own clock, whatever the device's says")
    func hubClocks() async throws {
        let (server, alice) = try await connect()
        hubClock.advance(nanoseconds: 20_000_000_000)
        try alice.put(#"{"_id": "late"}"#)
        try await eventually([alice, server]) {
            [alice, server].allSatisfy { $0.engine.status.peers.allSatisfy { !$0.isConnected } }
        }
        #expect(try server.contents().count == 1)
        for peer in [alice, server] { await peer.stop() }
    }
}
