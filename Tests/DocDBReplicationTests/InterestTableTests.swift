import DocDBReplication
import DocDBSync
import Testing

@Suite("The table of interests") struct InterestTableTests {
    static let second: UInt64 = 1_000_000_000

    static func interest(_ predicate: String) -> Interest {
        .collections([Interest.Element(collection: "cars", predicate: predicate)])
    }

    static func id(_ number: UInt8) -> [UInt8] { [UInt8](repeating: number, count: 16) }

    /// Peers with links between them that announce whenever what they would announce has changed.
    struct Network {
        var tables: [UInt8: InterestTable] = [:]
        /// What went over each link last, by sender and receiver.
        var sent: [[UInt8]: [AnnouncedInterest]] = [:]
        var links: Set<[UInt8]> = []
        var messageCount = 0

        init(relays: [UInt8], leaves: [UInt8] = []) {
            for peer in relays {
                tables[peer] = InterestTable(ownID: id(peer), relayLimit: 10, wallNanoseconds: 1)
            }
            for peer in leaves { tables[peer] = InterestTable(ownID: id(peer), relayLimit: 0, wallNanoseconds: 1) }
        }

        mutating func connect(_ first: UInt8, _ second: UInt8) {
            links.formUnion([[first, second], [second, first]])
        }

        mutating func disconnect(_ first: UInt8, _ second: UInt8, now: UInt64) {
            for (from, to) in [(first, second), (second, first)] {
                links.remove([from, to])
                sent[[from, to]] = nil
                tables[to]?.removeLink(Self.number(from, to), now: now)
            }
        }

        /// Delivers until nobody has anything new to say; the number of rounds is bounded.
        mutating func settle(now: UInt64) -> Bool {
            for _ in 0..<50 {
                var isQuiet = true
                for link in links.sorted(by: { $0.lexicographicallyPrecedes($1) }) {
                    let (from, to) = (link[0], link[1])
                    // Each end has its own number of the link, as in life.
                    guard let announcement = tables[from]?.announcement(to: id(to), link: Self.number(to, from)),
                        announcement != sent[link]
                    else { continue }
                    isQuiet = false
                    sent[link] = announcement
                    messageCount += 1
                    _ = tables[to]?.receive(announcement, from: id(from), link: Self.number(from, to), now: now)
                }
                if isQuiet { return true }
            }
            return false
        }

        static func number(_ from: UInt8, _ to: UInt8) -> UInt64 { UInt64(from) << 8 | UInt64(to) }

        /// What a peer asks another for.
        func asked(_ from: UInt8, of to: UInt8) -> [Interest] { (sent[[from, to]] ?? []).map(\.interest) }
    }

    @Test("a chain carries an interest to its other end, and a cancelled one goes again")
    func chain() {
        var network = Network(relays: [2, 3], leaves: [1, 4])
        for (first, second) in [(1, 2), (2, 3), (3, 4)] as [(UInt8, UInt8)] { network.connect(first, second) }
        _ = network.tables[1]?.setOwn(Self.interest("x == 1"), wallNanoseconds: 10)
        check(network.settle(now: 0))
        #expect(network.asked(3, of: 4) == [.nothing, Self.interest("x == 1"), .nothing])
        #expect(network.asked(2, of: 1).allSatisfy { $0 == .nothing })
        _ = network.tables[1]?.setOwn(.nothing, wallNanoseconds: 20)
        check(network.settle(now: 0))
        #expect(network.asked(3, of: 4).allSatisfy { $0 == .nothing })
    }

    @Test("in a ring an interest that is cancelled does not circle", arguments: [3, 4, 5] as [UInt8])
    func ring(_ count: UInt8) {
        var network = Network(relays: Array(1...count))
        for peer in 1...count { network.connect(peer, peer % count + 1) }
        _ = network.tables[1]?.setOwn(Self.interest("x == 1"), wallNanoseconds: 10)
        check(network.settle(now: 0))
        #expect(network.asked(2, of: 3).contains(Self.interest("x == 1")))
        _ = network.tables[1]?.setOwn(.nothing, wallNanoseconds: 20)
        check(network.settle(now: 0))
        for link in network.sent { #expect(link.value.allSatisfy { $0.interest == .nothing }) }
        #expect(network.messageCount < 20 * Int(count))
    }

    @Test("an interest travels four hops and no further")
    func hops() {
        var network = Network(relays: Array(1...8))
        for peer in 1..<8 as Range<UInt8> { network.connect(peer, peer + 1) }
        _ = network.tables[1]?.setOwn(Self.interest("x == 1"), wallNanoseconds: 10)
        check(network.settle(now: 0))
        let reached = (2...7 as ClosedRange<UInt8>).filter {
            network.asked($0, of: $0 + 1).contains(Self.interest("x == 1"))
        }
        #expect(reached == [2, 3, 4, 5])
    }

    @Test("an origin that is silent for ten minutes is dropped, and what still goes round of it is not taken up again")
    func silence() {
        var network = Network(relays: [2, 3, 4], leaves: [1])
        for (first, second) in [(1, 2), (2, 3), (3, 4), (4, 2)] as [(UInt8, UInt8)] { network.connect(first, second) }
        _ = network.tables[1]?.setOwn(Self.interest("x == 1"), wallNanoseconds: 10)
        check(network.settle(now: 0))
        network.disconnect(1, 2, now: 0)
        check(network.settle(now: 0))
        #expect(network.asked(2, of: 3).contains(Self.interest("x == 1")))
        for peer in 2...4 as ClosedRange<UInt8> { _ = network.tables[peer]?.expire(now: 599 * Self.second) }
        check(network.settle(now: 599 * Self.second))
        #expect(network.asked(2, of: 3).contains(Self.interest("x == 1")))
        for peer in 2...4 as ClosedRange<UInt8> {
            _ = network.tables[peer]?.expire(now: 601 * Self.second)
            check(network.settle(now: 601 * Self.second))
        }
        for link in network.sent { #expect(link.value.allSatisfy { $0.interest == .nothing }) }
        // The origin itself is heard at once.
        network.connect(1, 3)
        check(network.settle(now: 602 * Self.second))
        #expect(network.asked(3, of: 4).contains(Self.interest("x == 1")))
    }

    @Test("a peer that relays nothing announces its own interest alone, a relay at most its limit")
    func limits() {
        var relay = InterestTable(ownID: Self.id(1), relayLimit: 2, wallNanoseconds: 1)
        var leaf = InterestTable(ownID: Self.id(1), relayLimit: 0, wallNanoseconds: 1)
        for number in 2...9 as ClosedRange<UInt8> {
            let announced = [
                AnnouncedInterest(origin: Self.id(number), version: 5, hops: 0, interest: Self.interest("x == 1"))
            ]
            _ = relay.receive(announced, from: Self.id(number), link: UInt64(number), now: 0)
            _ = leaf.receive(announced, from: Self.id(number), link: UInt64(number), now: 0)
        }
        #expect(relay.announcement(to: Self.id(99), link: 99).map(\.origin) == [1, 2, 3].map { Self.id($0) })
        #expect(relay.announcement(to: Self.id(2), link: 2).map(\.origin) == [1, 3, 4].map { Self.id($0) })
        #expect(leaf.announcement(to: Self.id(99), link: 99).map(\.origin) == [Self.id(1)])
        #expect(relay.announcement(to: Self.id(99), link: 99).map(\.hops) == [0, 1, 1])
    }

    @Test("an older version never replaces a newer one, but from the origin itself")
    func versions() {
        var table = InterestTable(ownID: Self.id(1), relayLimit: 9, wallNanoseconds: 1)
        func announced(_ version: UInt64, _ predicate: String, hops: UInt64) -> [AnnouncedInterest] {
            [
                AnnouncedInterest(
                    origin: Self.id(7), version: version, hops: hops, interest: Self.interest(predicate))
            ]
        }
        check(table.receive(announced(5, "new", hops: 1), from: Self.id(2), link: 2, now: 0))
        check(!table.receive(announced(4, "old", hops: 1), from: Self.id(3), link: 3, now: 0))
        #expect(table.announcement(to: Self.id(9), link: 9).last?.interest == Self.interest("new"))
        // The origin's clock went back, and it says so itself.
        check(table.receive(announced(2, "own", hops: 0), from: Self.id(7), link: 7, now: 0))
        #expect(table.announcement(to: Self.id(9), link: 9).last?.interest == Self.interest("own"))
        check(!table.receive(announced(6, "new", hops: 1), from: Self.id(2), link: 2, now: 0))
    }
}
