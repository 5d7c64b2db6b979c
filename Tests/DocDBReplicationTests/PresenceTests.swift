import DocDBReplication
import Testing

@Suite("Presence") struct PresenceTests {
    static func id(_ number: UInt8) -> [UInt8] { [UInt8](repeating: number, count: 16) }

    static func record(_ number: UInt8, sequence: UInt64, neighbours: [UInt8] = []) -> PresenceRecord {
        var record = PresenceRecord(peer: id(number), sequence: sequence)
        record.name = "peer \(number)"
        record.operatingSystem = "Linux"
        record.softwareVersion = "docdb 1"
        record.isKeeper = number % 2 == 0
        record.neighbours = neighbours.map {
            PresenceRecord.Neighbour(peer: id($0), kind: .webSocketTLS, sinceNanoseconds: UInt64($0) << 40)
        }
        return record
    }

    @Test("news come back as they were sent")
    func coding() throws {
        let records = [Self.record(1, sequence: .max, neighbours: [2, 3]), Self.record(2, sequence: 0)]
        #expect(try PresenceCoding.decode(PresenceCoding.encode(records)) == records)
        #expect(try PresenceCoding.decode(PresenceCoding.encode([])) == [])
    }

    @Test("the ids of the two stores of a link are left out, and mean nothing elsewhere")
    func leavesOutKnownIDs() throws {
        let records = [
            Self.record(1, sequence: 7, neighbours: [2, 3]), Self.record(3, sequence: 8, neighbours: [1, 2]),
        ]
        let bytes = PresenceCoding.encode(records, from: Self.id(1), to: Self.id(2))
        // One record's peer and two neighbours.
        #expect(PresenceCoding.encode(records).count - bytes.count == 3 * 16)
        #expect(try PresenceCoding.decode(bytes, from: Self.id(1), to: Self.id(2)) == records)
        #expect(throws: PresenceCoding.Malformed.self) { try PresenceCoding.decode(bytes) }
    }

    @Test("news with any byte changed, cut or added are refused or read, and never trap", arguments: 0..<8)
    func hostile(_ seed: Int) {
        var random = SeededNumbers(seed: UInt64(seed))
        let sound = PresenceCoding.encode([Self.record(1, sequence: 9, neighbours: [2, 3, 4])])
        for _ in 0..<2_000 {
            var bytes = random.next(below: 8) == 0 ? random.bytes(random.next(below: 64)) : sound
            for _ in 0..<random.next(below: 4) where !bytes.isEmpty {
                bytes[random.next(below: bytes.count)] = UInt8(truncatingIfNeeded: random.next())
            }
            if random.next(below: 3) == 0 { bytes.removeLast(random.next(below: bytes.count + 1)) }
            if random.next(below: 5) == 0 { bytes += random.bytes(3) }
            guard let records = try? PresenceCoding.decode(bytes) else { continue }
            #expect(records.allSatisfy { $0.peer.count == 16 && $0.name.utf8.count <= 64 }, "seed \(seed)")
        }
        // A count that the bytes cannot hold reserves nothing.
        #expect(throws: PresenceCoding.Malformed.self) {
            try PresenceCoding.decode([0x9B, 0, 0, 0, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF])
        }
    }

    @Test("the peer of a new link is in the graph at once, until its own news come, and others are not told of it")
    func meeting() {
        var table = PresenceTable(own: Self.record(1, sequence: 100))
        table.meet(Self.record(2, sequence: 50, neighbours: [1]), link: 7, now: 0)
        let isNew = table.setNeighbours(Self.record(1, sequence: 0, neighbours: [2]).neighbours, wallNanoseconds: 1)
        #expect(isNew)
        #expect(table.reachable().map(\.name) == ["peer 1", "peer 2"])
        let firstNews = table.takeNews(link: 8, peer: Self.id(3), linkCount: 2)
        #expect(firstNews.map(\.name) == ["peer 1"])
        // The first news of its own, with whatever number, replace it, and what is known is not put back.
        let heard = table.receive([Self.record(2, sequence: 1, neighbours: [1, 4])], link: 7, now: 1)
        #expect(heard == [Self.id(2)])
        table.meet(Self.record(2, sequence: 90), link: 7, now: 2)
        #expect(table.reachable().last?.neighbours.count == 2)
        let news = table.takeNews(link: 8, peer: Self.id(3), linkCount: 2)
        #expect(news.map(\.name) == ["peer 2"])
    }

    @Test("the newest record of a peer counts, and is told once to each neighbour but where it came from")
    func flooding() {
        var table = PresenceTable(own: Self.record(1, sequence: 100))
        check(table.takeNews(link: 2, peer: Self.id(2), linkCount: 3).map(\.peer) == [Self.id(1)])
        check(table.receive([Self.record(7, sequence: 5)], link: 2, now: 0) == [Self.id(7)])
        check(table.receive([Self.record(7, sequence: 5)], link: 3, now: 0) == [])
        check(table.receive([Self.record(7, sequence: 4)], link: 4, now: 0) == [])
        check(table.takeNews(link: 2, peer: Self.id(2), linkCount: 3).isEmpty)
        check(table.takeNews(link: 3, peer: Self.id(3), linkCount: 3).map(\.peer) == [Self.id(1)])
        check(table.takeNews(link: 5, peer: Self.id(5), linkCount: 3).map(\.peer) == [Self.id(1), Self.id(7)])
        check(table.takeNews(link: 5, peer: Self.id(5), linkCount: 3).isEmpty)
        table.beat(wallNanoseconds: 50)
        #expect(table.own.sequence == 101)
        check(table.takeNews(link: 5, peer: Self.id(5), linkCount: 3).map(\.sequence) == [101])
        // With many links a peer tells of itself alone.
        check(table.receive([Self.record(8, sequence: 1)], link: 2, now: 0) == [Self.id(8)])
        check(table.takeNews(link: 5, peer: Self.id(5), linkCount: 65).isEmpty)
    }

    @Test("what an earlier life of this peer said is outdone")
    func earlierLife() {
        var table = PresenceTable(own: Self.record(1, sequence: 100))
        check(table.receive([Self.record(1, sequence: 500)], link: 2, now: 0) == [])
        #expect(table.own.sequence == 501)
        _ = table.receive([Self.record(1, sequence: .max)], link: 2, now: 0)
        #expect(table.own.sequence == 501)
    }

    @Test("a peer that makes peers up without end fills no memory, and what is noted goes with whom it is about")
    func madeUp() {
        var table = PresenceTable(own: Self.record(1, sequence: 1))
        let limit = ReplicationLimits.presencePeerCount
        for number in 0..<(5 * limit) {
            var record = PresenceRecord(peer: Self.id(0), sequence: 1)
            for byte in 0..<4 { record.peer[byte] = UInt8(truncatingIfNeeded: (number + 1) >> (8 * byte)) }
            _ = table.receive([record], link: 2, now: 0)
        }
        #expect(table.noteCount == limit)
        check(table.expire(now: 600_000_000_001))
        #expect(table.noteCount == 0)
    }

    @Test("the graph holds what is connected, and forgets who is silent for ten minutes")
    func graph() {
        var table = PresenceTable(own: Self.record(1, sequence: 1))
        _ = table.receive([Self.record(2, sequence: 1, neighbours: [1, 3])], link: 2, now: 0)
        _ = table.receive([Self.record(3, sequence: 1, neighbours: [2])], link: 2, now: 0)
        _ = table.receive([Self.record(4, sequence: 1)], link: 2, now: 0)
        #expect(table.reachable().map(\.peer) == [Self.id(1)])
        let neighbour = PresenceRecord.Neighbour(peer: Self.id(2), kind: .inMemory, sinceNanoseconds: 1)
        check(table.setNeighbours([neighbour], wallNanoseconds: 0))
        check(!table.setNeighbours([neighbour], wallNanoseconds: 0))
        #expect(table.reachable().map(\.peer) == [1, 2, 3].map { Self.id($0) })
        _ = table.receive([Self.record(2, sequence: 2, neighbours: [1])], link: 2, now: 300_000_000_000)
        #expect(table.reachable().map(\.peer) == [1, 2].map { Self.id($0) })
        check(table.expire(now: 600_000_000_001))
        check(!table.expire(now: 600_000_000_001))
        #expect(table.reachable().map(\.peer) == [1, 2].map { Self.id($0) })
    }
}
