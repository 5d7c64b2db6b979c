import DocDBCore
import DocDBSync
import Foundation
import Testing

@Suite("Frames of messages")
struct MessageCodecTests {
    static func id(_ byte: UInt8) -> [UInt8] { [UInt8](repeating: byte, count: 16) }

    static func digest(_ byte: UInt8) -> (high: UInt64, low: UInt64) {
        let half = UInt64(byte) &* 0x0101_0101_0101_0101
        return (half, half)
    }

    /// The messages of the golden vectors, by their names there.
    static func golden() -> [(name: String, message: Message)] {
        var hello = Hello()
        hello.appID = "tasks"
        hello.storeID = id(0xAA)
        hello.identityKind = "playground"
        hello.actors = [Hello.OwnedActor(actor: ActorID(bytes: id(0xBB))!, nonce: [7])]
        hello.wallNanoseconds = 1000
        hello.nonce = id(0xCC)
        hello.name = "A"
        hello.softwareVersion = "1"
        var everything = InterestMessage()
        everything.number = 1
        everything.origins = [AnnouncedInterest(origin: id(0xAA), version: 3, hops: 0, interest: .everything)]
        var anew = InterestMessage()
        anew.number = 2
        let cars = Interest.collections([Interest.Element(collection: "cars", predicate: "true")])
        anew.origins = [AnnouncedInterest(origin: id(0xAA), version: 3, hops: 1, interest: cars)]
        let (cc, dd, bb) = (digest(0xCC), digest(0xDD), digest(0xBB))
        anew.cursor = Cursor(
            incarnation: id(0xBB), sequence: 100, interestHash: StateDigest(high: cc.high, low: cc.low), epoch: 0)
        anew.toldCount = 2
        anew.toldSum = DigestSum(high: dd.high, low: dd.low)
        anew.epoch = 5
        var seen = VersionVector()
        seen.advance(ActorID(bytes: id(0xEE))!, to: HybridTime(rawValue: 256))
        let uuid = DocumentName(collection: "cars", id: encoded("0192f8a0-1b2c-7d3e-8f40-123456789abc"))
        anew.have = [HeldDocument(name: uuid, seen: seen)]
        anew.apart = [
            DocumentOutcome(name: DocumentName(collection: "cars", id: encoded(7)), code: .clock, epoch: 5, reason: "")
        ]
        var begin = Begin(number: 1, snapshot: 2)
        begin.isChunk = true
        begin.remainingCount = 100_000
        let total = ScopeTotal(count: 2, sum: DigestSum(high: bb.high, low: bb.low))
        return [
            ("hello", .hello(hello)), ("proof", .proof(Proof(bytes: [1, 2], grantHash: []))),
            ("close", .close(code: "closing", message: "")),
            ("actors", .actors([Hello.OwnedActor(actor: ActorID(bytes: id(0xBB))!, nonce: [7])])),
            ("interest in everything", .interest(everything)), ("interest anew", .interest(anew)),
            ("reconcile", .reconcile(RangesMessage(number: 1, bytes: [0, 1]))),
            ("begin", .begin(begin)), ("end of a chunk", .end(End(number: 1, position: nil, total: nil))),
            (
                "end",
                .end(End(number: 1, position: End.Position(incarnation: id(0xAA), sequence: 100), total: total))
            ),
            ("commit", .commit(CommitMessage(number: 1, snapshot: 3, sequence: 500, content: [0x80, 1]))),
            ("acknowledge", .acknowledge(Acknowledge(number: 1, snapshot: 3, except: []))),
            ("sum", .sum(SumMessage(number: 1, snapshot: 3, total: total))), ("credit", .credit(1 << 20)),
            ("extra", .extra(kind: 1, [0xFF])), ("ping", .ping),
        ]
    }

    @Test("Golden vectors of Schemas/sync-documents.md")
    func goldenVectors() throws {
        let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent()
        let text = try String(contentsOf: root.appending(path: "Schemas/sync-documents.md"), encoding: .utf8)
        let section = try #require(text.components(separatedBy: "## Golden vectors").last)
        let rows = section.split(separator: "\n").filter { $0.hasPrefix("|") }
        let golden = Self.golden()
        for (row, (name, message)) in zip(rows.dropFirst(2), golden) {
            let cells = row.components(separatedBy: " |").map { $0.trimmingCharacters(in: ["|", " ", "`"]) }
            #expect(cells[0] == name)
            let expected = cells[1].split(separator: " ").map { word in
                word.hasPrefix("(") ? String(repeating: String(word.dropFirst().dropLast()), count: 16) : String(word)
            }.joined()
            #expect(hexadecimal(MessageCodec.frame(message)) == expected, "\(name)")
            let read = try #require(try MessageCodec.message(bytes(expected)), "\(name)")
            #expect(hexadecimal(MessageCodec.frame(read)) == expected, "\(name)")
        }
        #expect(rows.count > golden.count + 2)
    }

    static func randomName(_ random: inout SeededGenerator) -> DocumentName {
        let ids: [DocumentID] = ["x", 0, -77, "0192f8a0-1b2c-7d3e-8f40-123456789abc", "", "é"]
        return DocumentName(collection: ["cars", "é", "c"][random.below(3)], id: encoded(ids[random.below(6)]))
    }

    static func randomMessage(_ random: inout SeededGenerator) -> Message {
        let number = random.next() >> UInt64(random.below(64))
        let outcomes = (0..<random.below(3)).map { _ in
            DocumentOutcome(
                name: randomName(&random), code: RefusalCode(rawValue: UInt64(random.below(40))), epoch: random.next(),
                reason: "too far ahead")
        }
        let total = ScopeTotal(
            count: Int64(random.below(1000)), sum: DigestSum(high: random.next(), low: random.next()))
        switch random.below(6) {
        case 0:
            var interest = InterestMessage()
            interest.number = number
            interest.origins = (0..<random.below(3)).map { _ in
                AnnouncedInterest(
                    origin: random.bytes(16), version: random.next(), hops: UInt64(random.below(5)),
                    interest: random.below(2) == 0
                        ? .everything : .collections([Interest.Element(collection: "cars", predicate: "a == 1")]))
            }
            interest.have = (0..<random.below(3)).map { _ in
                var seen = VersionVector()
                for _ in 0..<random.below(3) {
                    seen.advance(actor(random.next()), to: HybridTime(rawValue: random.next() | 1))
                }
                return HeldDocument(name: randomName(&random), seen: seen)
            }
            interest.apart = outcomes
            return .interest(interest)
        case 1: return .acknowledge(Acknowledge(number: number, snapshot: random.next(), except: outcomes))
        case 2: return .sum(SumMessage(number: number, snapshot: 1, total: total))
        case 3:
            let text = [UInt8](repeating: UInt8(random.below(255)), count: random.below(3000))
            return .documents(DocumentsMessage(number: number, content: text + random.bytes(random.below(2000))))
        case 4: return .extra(kind: number, random.bytes(random.below(2000)))
        default: return golden()[random.below(golden().count)].message
        }
    }

    @Test("Random messages come back, compressed or not", arguments: 0..<20)
    func roundTrips(seed: Int) throws {
        var random = SeededGenerator(seed: UInt64(seed))
        for _ in 0..<50 {
            let message = Self.randomMessage(&random)
            let plain = MessageCodec.frame(message, compresses: false)
            let frame = MessageCodec.frame(message)
            #expect(plain[0] == 0)
            #expect(frame.count <= plain.count)
            for bytes in [plain, frame] {
                let read = try #require(try MessageCodec.message(bytes))
                #expect(MessageCodec.frame(read, compresses: false) == plain)
            }
        }
    }

    @Test("Frames cut short are refused, and changed ones end in a coded error or another message", arguments: 0..<20)
    func hostileFrames(seed: Int) throws {
        var random = SeededGenerator(seed: UInt64(seed))
        for _ in 0..<20 {
            let frame = MessageCodec.frame(Self.randomMessage(&random), compresses: false)
            for count in Set((0..<40).map { _ in random.below(frame.count) } + [0, 1, frame.count - 1]) {
                #expect(throws: DocDBError.self) { try MessageCodec.message(Array(frame[..<count])) }
            }
            for _ in 0..<60 {
                var changed = random.below(3) == 0 ? MessageCodec.frame(Self.randomMessage(&random)) : frame
                for _ in 0...random.below(3) { changed[random.below(changed.count)] = UInt8(random.below(256)) }
                do {
                    _ = try MessageCodec.message(changed)
                } catch {
                    #expect(error.code == .protocolError || error.code == .limitReached)
                }
            }
            _ = try? MessageCodec.message(random.bytes(random.below(60)))
        }
    }

    @Test("Messages of newer versions are passed over, and so are fields at the end")
    func newerVersions() throws {
        #expect(try MessageCodec.message(bytes("00 82 18 63 01")) == nil)
        #expect(try MessageCodec.message(bytes("00 83 06 a1 01 02 f6")) == nil)
        // A ping, a sum and its total, with fields that this version does not know.
        guard case .ping = try MessageCodec.message(bytes("00 82 16 63616263")) else {
            Issue.record("no ping")
            return
        }
        let sum = "00 85 10 01 03 83 02 50 \(String(repeating: "bb", count: 16)) f6 81 01"
        guard case .sum(let message) = try MessageCodec.message(bytes(sum)) else {
            Issue.record("no sum")
            return
        }
        #expect(message.total.count == 2)
    }

    @Test(
        "Frames that break a rule are refused",
        arguments: [
            "", "00", "02 81 16", "00 81 16 00",  // nothing, no message, an unknown kind, bytes left over
            "00 98 01 16", "00 81 18 16",  // heads that are not the shortest
            "00 82 14 20", "00 81 14", "00 a1 16 00",  // a negative credit, a missing one, a map
            "00 83 04 61 ff 60",  // text that is not UTF-8
            "00 9b 7fffffffffffffff 16",  // a count that nothing holds
            "01 81 16", "01 ff ff 03 00",  // compressed: no block, a raw length beyond what the block can hold
        ])
    func brokenFrames(_ frame: String) {
        #expect(throws: DocDBError.self) { try MessageCodec.message(bytes(frame)) }
    }

    @Test("Frames over the limit are refused, and compressed ones before the proof")
    func limits() throws {
        let frame = MessageCodec.frame(
            .documents(DocumentsMessage(number: 1, content: [UInt8](repeating: 7, count: 9000))))
        #expect(frame[0] == 1)
        #expect(frame.count < 100)
        #expect(throws: DocDBError.self) { try MessageCodec.message(frame, decompresses: false) }
        #expect(throws: DocDBError.self) { try MessageCodec.message(frame, limit: 8000) }
        #expect(try MessageCodec.message(frame, limit: 10_000) != nil)
        let plain = MessageCodec.frame(.extra(kind: 1, [UInt8](repeating: 7, count: 9000)), compresses: false)
        #expect(throws: DocDBError.self) { try MessageCodec.message(plain, limit: 9000) }
    }
}
