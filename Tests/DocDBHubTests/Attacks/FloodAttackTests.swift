import DocDB
import DocDBAuth
import DocDBCore
import DocDBHub
import DocDBReplication
import DocDBSync
import DocDBTransport
import Foundation
import Testing

@Suite("Attacks on a hub: floods", .timeLimit(.minutes(10)))
struct FloodAttackTests {
    /// A hub with cars, and an honest user who has them.
    private func attacked(
        carCount: Int = 0, _ car: @escaping @Sendable (Int) -> [String: Value] = { _ in [:] }
    ) async throws -> (hub: AttackHub, bob: Database) {
        let hub = try AttackHub()
        try await hub.hub.db.write { transaction in
            let cars = transaction.collection("cars")
            for number in 0..<carCount {
                let id = ["_id": Value.string("car-\(number)")]
                try cars.insert(.object(id.merging(car(number)) { $1 }))
            }
        }
        let bob = try await hub.honest("bob")
        try await eventually { try AttackHub.documents(bob).count == carCount }
        return (hub, bob)
    }

    /// A peer that is up to no good, in a session of its own or, where it has proven nothing, on a bare link.
    private func attacker(_ hub: AttackHub, isProven: Bool = true) async throws -> WirePeer {
        let mallory = try WirePeer(try hub.authenticator("mallory"))
        if isProven {
            try await mallory.establish(hub.syncURL)
        } else {
            try await mallory.connect(hub.syncURL, hasSession: false)
        }
        return mallory
    }

    /// Waits until a peer's link or session has ended, and returns the codes of both.
    private func ending(_ peer: WirePeer) async throws -> (link: UInt16?, session: String?) {
        try await eventually { !peer.isOpen || peer.heard.close != nil }
        let heard = peer.heard
        return (heard.linkClose?.code, heard.close?.code)
    }

    @Test(
        "A frame of 100 MB ends the link before it is taken in, from strangers and from users",
        arguments: [false, true])
    func hugeFrame(_ isProven: Bool) async throws {
        let (hub, bob) = try await attacked()
        let mallory = try await attacker(hub, isProven: isProven)
        mallory.say([UInt8](repeating: 0, count: 100_000_000))
        try await eventually { !mallory.isOpen }
        // 1009 where the close frame was still read, 1006 where the connection was reset meanwhile.
        #expect([1006, 1009].contains(mallory.heard.linkClose?.code))
        try await hub.expectHonestService(bob, unchanged: [:])
        try bob.close()
    }

    @Test("A small frame that claims to unfold to 100 MB is refused by its first bytes", arguments: [false, true])
    func unfolding(_ isProven: Bool) async throws {
        let (hub, bob) = try await attacked()
        let mallory = try await attacker(hub, isProven: isProven)
        var length: [UInt8] = []
        var rest = 100_000_000
        while rest >= 0x80 {
            length.append(UInt8(rest & 0x7F) | 0x80)
            rest >>= 7
        }
        length.append(UInt8(rest))
        // One literal, then as long a repetition as the bytes allow (LZ4 block format).
        mallory.say([1] + length + [0x1F, 0, 1, 0] + [UInt8](repeating: 255, count: 10_000) + [0])
        let code = try await ending(mallory).session
        #expect(code == CloseCode.limitReached || code == CloseCode.protocolError)
        try await hub.expectHonestService(bob, unchanged: [:])
        try bob.close()
    }

    /// Ten thousand predicates, in the ways in which they can be put.
    static let manyInterests: [(String, [AnnouncedInterest])] = {
        func announced(_ elements: [Interest.Element], _ number: Int = 0) -> AnnouncedInterest {
            AnnouncedInterest(
                origin: (0..<16).map { UInt8(truncatingIfNeeded: number >> ($0 * 4)) }, version: 1, hops: 0,
                interest: .collections(elements))
        }
        let ten = 0..<10_000
        return [
            ("of one collection", [announced(ten.map { .init(collection: "cars", predicate: "_id == 'x\($0)'") })]),
            ("of many collections", [announced(ten.map { .init(collection: "c\($0)", predicate: "price == \($0)") })]),
            (
                "of many origins",
                (0..<1_000).map { origin in
                    announced(
                        (0..<10).map { .init(collection: "cars", predicate: "price == \(origin * 10 + $0)") }, origin)
                }
            ),
            (
                "of one text",
                [
                    announced([
                        .init(collection: "cars", predicate: ten.map { "price == \($0)" }.joined(separator: " || "))
                    ])
                ]
            ),
        ]
    }()

    @Test(
        "Ten thousand subscriptions of one peer are refused, and others do not feel them",
        arguments: manyInterests.indices)
    func manySubscriptions(_ index: Int) async throws {
        let (hub, bob) = try await attacked()
        let mallory = try await attacker(hub)
        var message = InterestMessage()
        message.number = 1
        message.origins = Self.manyInterests[index].1
        mallory.say(.interest(message))
        let (_, code) = try await ending(mallory)
        #expect(code == CloseCode.limitReached || code == CloseCode.protocolError)
        try await hub.expectHonestService(bob, unchanged: [:])
        try bob.close()
    }

    @Test("A flood of changed interests does not keep others waiting")
    func interestFlood() async throws {
        let (hub, bob) = try await attacked(carCount: 2_000) { ["state": "for sale", "price": .int(Int64($0))] }
        let before = try hub.hubDocuments
        let mallory = try await attacker(hub)
        for number in 1...20_000 {
            var message = InterestMessage()
            message.number = UInt64(number)
            message.origins = [
                AnnouncedInterest(
                    origin: mallory.replica.storeID, version: UInt64(number), hops: 0,
                    interest: .collections([.init(collection: "cars", predicate: "price > \(number)")]))
            ]
            mallory.say(.interest(message))
        }
        try await hub.expectHonestService(bob, unchanged: before)
        // The one that stands in the end is answered, and most of the others never were.
        try await eventually {
            mallory.heard.messages.contains {
                if case .reconcile(let message) = $0 { message.number == 20_000 } else { false }
            }
        }
        #expect(mallory.heard.frames.count < 1_000)
        try bob.close()
    }

    @Test("A predicate that takes for ever to judge ends its session, and holds up neither reads nor commits")
    func costlyPredicate() async throws {
        let (hub, bob) = try await attacked(carCount: 1_000) { _ in
            ["text": .string(String(repeating: "a", count: 40) + "!")]
        }
        let before = try hub.hubDocuments
        for predicate in ["regex(text, '(a+)+$')", "!regex(text, '(a|aa)+$')"] {
            let mallory = try WirePeer(
                try hub.authenticator("mallory"),
                interest: .collections([.init(collection: "cars", predicate: predicate)]))
            try await mallory.connect(hub.syncURL)
            try await hub.expectHonestService(bob, unchanged: before)
            #expect(try await ending(mallory).session == CloseCode.limitReached, "\(predicate)")
        }
        try bob.close()
    }

    @Test("Whoever asks for the hub's certificate again and again is cut off, proven or not", arguments: [false, true])
    func grantRequests(_ isProven: Bool) async throws {
        let hub = try AttackHub()
        let authenticator = try hub.authenticator("mallory")
        let mallory = try WirePeer(authenticator)
        var code: String?
        // A handshake that a busy machine does not finish in time is begun anew.
        repeat {
            mallory.forget()
            if isProven {
                try await mallory.establish(hub.syncURL)
            } else {
                try await mallory.connect(hub.syncURL, hasSession: false)
                var hello = Hello()
                hello.appID = AttackHub.appID
                hello.identityKind = "online"
                hello.peerKey = authenticator.peerKey
                hello.storeID = [UInt8](repeating: 3, count: 16)
                hello.nonce = [UInt8](repeating: 4, count: 16)
                mallory.say(MessageCodec.frame(.hello(hello), compresses: false))
            }
            // No more than the hub reads: what is on its way when it closes could reset the link before its reason is heard.
            for _ in 0...SyncLimits.grantRequestCount {
                mallory.say(MessageCodec.frame(.grantRequest, compresses: false))
            }
            code = try await ending(mallory).session
        } while code == CloseCode.timeout
        #expect(code == CloseCode.limitReached)
        let grants = mallory.heard.messages.count { if case .grant = $0 { true } else { false } }
        #expect(grants <= SyncLimits.grantRequestCount)
    }

    @Test("Links that say nothing take every place for the time of a handshake, and no longer")
    func idle() async throws {
        let hub = try AttackHub(settings: #""connectionLimit": 16"#)
        let idle = try (0..<16).map { _ in try WirePeer(try hub.authenticator("idle")) }
        let late = try WirePeer(try hub.authenticator("late"))
        for peer in idle { try await peer.connect(hub.syncURL, hasSession: false) }
        try await late.connect(hub.syncURL, hasSession: false)
        try await eventually { !late.isOpen }
        if idle.allSatisfy({ $0.isOpen && $0.heard.close == nil }) { #expect(late.heard.linkClose?.code == 4002) }
        // Their time is up, and an honest peer that has tried again and again gets in.
        let bob = try await hub.honest("bob")
        try await eventually { idle.allSatisfy { !$0.isOpen || $0.heard.close?.code == CloseCode.timeout } }
        try await hub.expectHonestService(bob, unchanged: [:])
        try bob.close()
    }
}
