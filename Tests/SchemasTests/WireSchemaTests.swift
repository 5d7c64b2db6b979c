import DocDBCore
import DocDBSync
import Foundation
import Testing

/// `Schemas/sync-protocol.cddl` against frames that the code writes, read by none of its own readers.
@Suite("The schema of messages")
struct WireSchemaTests {
    static let rule = "message"

    static func schema() throws -> DataSchema { try DataSchema(SchemaFiles.text("sync-protocol.cddl")) }

    /// The message in a frame, whether compressed or not.
    static func item(_ frame: [UInt8]) throws -> DataItem {
        let kind = try #require(frame.first)
        guard kind == 1 else { return try DataItem(cbor: Array(frame.dropFirst())) }
        var (length, shift, offset) = (0, 0, 1)
        repeat {
            length |= Int(frame[offset] & 127) << shift
            (shift, offset) = (shift + 7, offset + 1)
        } while frame[offset - 1] & 128 != 0
        let raw = try LZ4Block.decode(Array(frame[offset...]))
        #expect(raw.count == length)
        return try DataItem(cbor: raw)
    }

    static func id(_ byte: UInt8) -> [UInt8] { [UInt8](repeating: byte, count: 16) }

    /// The ids of documents of every kind, in canonical CBOR; the first is the UUID 0192f8a0-1b2c-7d3e-8f40-123456789abc.
    static func documentIDs() throws -> [[UInt8]] {
        let values: [Value] = [
            "0192f8a0-1b2c-7d3e-8f40-123456789abc", "car", 7, -7, true, .bytes([1, 2]), ["a", 1.5, nil],
            ["k": ["x": 1]],
        ]
        return try values.map { try $0.canonicalCBOR() }
    }

    /// Messages of every kind that have something in every field.
    static func messages() throws -> [Message] {
        let actor = try #require(ActorID(bytes: id(0xBB)))
        let names = try documentIDs().map { DocumentName(collection: "cars", id: $0) }
        let outcomes = names.map { DocumentOutcome(name: $0, code: .clock, epoch: 3, reason: "late") }
        var seen = VersionVector()
        seen.advance(actor, to: HybridTime(rawValue: 1 << 40))
        var interest = InterestMessage()
        interest.number = 2
        interest.origins = [
            AnnouncedInterest(origin: id(1), version: 3, hops: 0, interest: .everything),
            AnnouncedInterest(
                origin: id(2), version: 1, hops: 1,
                interest: .collections([Interest.Element(collection: "cars", predicate: "true")])),
        ]
        interest.cursor = Cursor(
            incarnation: id(3), sequence: 100, interestHash: StateDigest(high: 1, low: 2), epoch: 1)
        interest.toldCount = 2
        interest.toldSum = DigestSum(high: 3, low: 4)
        interest.epoch = 5
        interest.have = names.map { HeldDocument(name: $0, seen: seen) }
        interest.apart = outcomes
        var hello = Hello()
        (hello.appID, hello.storeID, hello.identityKind, hello.peerKey) = ("tasks", id(1), "grant", [1, 2, 3])
        (hello.actors, hello.nonce) = ([Hello.OwnedActor(actor: actor, nonce: [7])], id(4))
        (hello.wallNanoseconds, hello.isKeeper) = (1_800_000_000_000_000_000, true)
        (hello.name, hello.operatingSystem, hello.softwareVersion) = ("A", "linux", "1.0")
        var begin = Begin(number: 1, snapshot: 2)
        begin.remainingCount = 70_000
        let total = ScopeTotal(count: 2, sum: DigestSum(high: 5, low: 6))
        return [
            .hello(hello), .proof(Proof(bytes: [1], grantHash: [2])), .grant([1, 2]), .grantRequest,
            .close(code: "closing", message: "bye"), .actors([Hello.OwnedActor(actor: actor, nonce: [7])]),
            .interest(interest), .interest(InterestMessage()), .reconcile(RangesMessage(number: 1, bytes: [0, 1])),
            .ranges(RangesMessage(number: 1, bytes: [0])), .begin(begin), .begin(Begin(number: 1, snapshot: 2)),
            .documents(DocumentsMessage(number: 1, content: [0x80])), .end(End(number: 1, position: nil, total: nil)),
            .end(End(number: 1, position: End.Position(incarnation: id(1), sequence: 9), total: total)),
            .commit(CommitMessage(number: 1, snapshot: 3, sequence: 500, content: [0x80])),
            .acknowledge(Acknowledge(number: 1, snapshot: 3, except: outcomes)),
            .sum(SumMessage(number: 1, snapshot: 3, total: total)), .credit(1 << 20), .extra(kind: 1, [0xFF]), .ping,
            .pong,
        ]
    }

    @Test("describes every kind of message, with nothing and with something in each field")
    func describesMessages() throws {
        let schema = try Self.schema()
        for message in try Self.messages() {
            let item = try Self.item(MessageCodec.frame(message))
            #expect(schema.describes(item, as: Self.rule), "\(message)")
        }
    }

    @Test("describes every frame of the golden transcript")
    func describesTranscript() throws {
        struct Transcript: Decodable {
            struct Frame: Decodable {
                var message: String
                var bytes: String
            }
            var frames: [Frame]
        }
        let text = try SchemaFiles.text("wire-transcript.json", in: "Tests/Golden")
        let frames = try JSONDecoder().decode(Transcript.self, from: Data(text.utf8)).frames
        #expect(frames.count > 20)
        let schema = try Self.schema()
        for (number, frame) in frames.enumerated() {
            let item = try Self.item(bytes(frame.bytes))
            #expect(schema.describes(item, as: Self.rule), "frame \(number), \(frame.message)")
            // The transcript says of what kind it is, as the schema's rules do.
            #expect(schema.describes(item, as: frame.message), "frame \(number), \(frame.message)")
        }
    }

    @Test("describes what a compressed frame holds")
    func compressed() throws {
        let message = Message.grant([UInt8](repeating: 7, count: 4_000))
        let frame = MessageCodec.frame(message)
        #expect(frame.first == 1 && frame.count < 100)
        #expect(try Self.item(frame) == .array([.unsigned(2), .bytes([UInt8](repeating: 7, count: 4_000))]))
    }

    @Test("no longer describes these messages where it is changed in any one place")
    func mutations() throws {
        let items = try Self.messages().map { try Self.item(MessageCodec.frame($0)) }
        // What may stand in a document's id stands nowhere else.
        let mutations = try SchemaMutations.all(of: SchemaFiles.text("sync-protocol.cddl"))
        #expect(mutations.count > 120)
        for mutation in mutations {
            let schema = try DataSchema(mutation.text)
            #expect(items.contains { !schema.describes($0, as: Self.rule) }, "\(mutation.place) makes no difference")
        }
    }

    @Test("does not describe messages that lack an element or have one of another type")
    func wrongMessages() throws {
        let schema = try Self.schema()
        for message in try Self.messages() {
            guard case .array(let elements) = try Self.item(MessageCodec.frame(message)) else { continue }
            for index in elements.indices {
                var changed = elements
                changed[index] = .tag(999, .null)
                #expect(!schema.describes(.array(changed), as: Self.rule), "\(message), element \(index)")
            }
            if elements.count > 1 {
                #expect(!schema.describes(.array(elements.dropLast()), as: Self.rule), "\(message)")
            }
            #expect(schema.describes(.array(elements + [.text("of a newer version")]), as: Self.rule))
        }
    }
}

/// A reader of LZ4 blocks made from the description of the format, not from the library that the code uses.
///
/// Format: https://github.com/lz4/lz4/blob/dev/doc/lz4_Block_format.md.
enum LZ4Block {
    struct Damaged: Error {}

    static func decode(_ block: [UInt8]) throws -> [UInt8] {
        var (output, place) = ([UInt8](), 0)
        func byte() throws -> Int {
            guard place < block.count else { throw Damaged() }
            defer { place += 1 }
            return Int(block[place])
        }
        func length(_ short: Int) throws -> Int {
            var length = short
            guard short == 15 else { return length }
            while true {
                let more = try byte()
                length += more
                if more < 255 { return length }
            }
        }
        while place < block.count {
            let token = try byte()
            for _ in 0..<(try length(token >> 4)) { output.append(UInt8(try byte())) }
            // The last sequence has literals alone.
            if place == block.count { return output }
            let offset = try byte() | (try byte()) << 8
            guard 1...output.count ~= offset else { throw Damaged() }
            for _ in 0..<(try length(token & 15)) + 4 { output.append(output[output.count - offset]) }
        }
        throw Damaged()
    }
}
