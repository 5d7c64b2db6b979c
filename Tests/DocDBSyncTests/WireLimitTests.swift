import DocDBCore
import DocDBSync
import Testing

/// Each limit of what a peer may send, reached and passed by one.
@Suite("Limits of the wire")
struct WireLimitTests {
    /// A message with something of a size, and the most there may be of it.
    struct Bound: CustomTestStringConvertible, Sendable {
        var name: String
        var limit: Int
        var message: @Sendable (_ count: Int) -> Message

        var testDescription: String { name }
    }

    private static func hello(_ change: @escaping @Sendable (inout Hello, Int) -> Void) -> @Sendable (Int) -> Message {
        { count in
            var hello = Hello()
            hello.storeID = [UInt8](repeating: 1, count: 16)
            change(&hello, count)
            return .hello(hello)
        }
    }

    private static func interest(
        _ change: @escaping @Sendable (inout InterestMessage, Int) -> Void
    ) -> @Sendable (Int) -> Message {
        { count in
            var message = InterestMessage()
            change(&message, count)
            return .interest(message)
        }
    }

    private static func announced(_ interest: Interest) -> AnnouncedInterest {
        AnnouncedInterest(origin: [UInt8](repeating: 1, count: 16), version: 1, hops: 0, interest: interest)
    }

    private static let name = DocumentName(collection: "documents", id: [1])

    /// A vector of so many actors.
    private static func vector(_ count: Int) -> VersionVector {
        var vector = VersionVector()
        for number in 0..<count { vector.advance(actor(UInt64(number) + 1), to: HybridTime(rawValue: 1 << 16)) }
        return vector
    }

    static let bounds: [Bound] = [
        Bound(
            name: "bytes of a name", limit: SyncLimits.textByteCount,
            message: hello { $0.name = String(repeating: "n", count: $1) }),
        Bound(
            name: "bytes of an app id", limit: SyncLimits.textByteCount,
            message: hello { $0.appID = String(repeating: "n", count: $1) }),
        Bound(
            name: "bytes of a key", limit: SyncLimits.keyByteCount,
            message: hello { $0.peerKey = [UInt8](repeating: 1, count: $1) }),
        Bound(
            name: "bytes of a nonce", limit: SyncLimits.keyByteCount,
            message: hello { $0.nonce = [UInt8](repeating: 1, count: $1) }),
        Bound(
            name: "own actors", limit: SyncLimits.ownedActorCount,
            message: hello { hello, count in
                hello.actors = (0..<count).map { Hello.OwnedActor(actor: actor(UInt64($0)), nonce: []) }
            }),
        Bound(
            name: "bytes of a proof", limit: SyncLimits.keyByteCount,
            message: { .proof(Proof(bytes: [UInt8](repeating: 1, count: $0), grantHash: [])) }),
        Bound(
            name: "bytes of a grant", limit: SyncLimits.grantByteCount,
            message: { .grant([UInt8](repeating: 1, count: $0)) }),
        Bound(
            name: "bytes of a reason", limit: SyncLimits.textByteCount,
            message: { .close(code: "closing", message: String(repeating: "n", count: $0)) }),
        Bound(
            name: "announced interests", limit: SyncLimits.announcedInterestCount,
            message: interest { message, count in
                message.origins = Array(repeating: announced(.everything), count: count)
            }),
        Bound(
            name: "collections of an interest", limit: SyncLimits.interestCollectionCount,
            message: interest { message, count in
                message.origins = [
                    announced(.collections((0..<count).map { Interest.Element(collection: "c\($0)", predicate: "") }))
                ]
            }),
        Bound(
            name: "bytes of a predicate", limit: SyncLimits.predicateByteCount,
            message: interest { message, count in
                let predicate = String(repeating: " ", count: count)
                message.origins = [announced(.collections([Interest.Element(collection: "c", predicate: predicate)]))]
            }),
        Bound(
            name: "documents of an interest", limit: SyncLimits.haveCount,
            message: interest { message, count in
                message.have = Array(repeating: HeldDocument(name: name, seen: VersionVector()), count: count)
            }),
        Bound(
            name: "actors of a vector", limit: SyncLimits.vectorActorCount,
            message: interest { $0.have = [HeldDocument(name: name, seen: vector($1))] }),
        Bound(
            name: "documents that were not joined", limit: SyncLimits.outcomeCount,
            message: { count in
                let outcome = DocumentOutcome(name: name, code: .denied, epoch: 1, reason: "")
                return .acknowledge(
                    Acknowledge(number: 1, snapshot: 1, except: Array(repeating: outcome, count: count)))
            }),
    ]

    @Test("A message at its limit is read, and one beyond is refused", arguments: bounds)
    func message(_ bound: Bound) throws {
        #expect(try MessageCodec.message(MessageCodec.frame(bound.message(bound.limit))) != nil)
        let error = #expect(throws: DocDBError.self) {
            try MessageCodec.message(MessageCodec.frame(bound.message(bound.limit + 1)))
        }
        #expect(error?.code == .protocolError)
    }

    // MARK: Compression

    @Test("A small frame that unfolds beyond the limit is refused, and one that unfolds to just the limit is read")
    func bomb() throws {
        // Message number and length take 8 bytes: an array's head, two numbers and a head of five.
        let content = [UInt8](repeating: 0, count: SyncLimits.frameByteCount - 8)
        let frame = MessageCodec.frame(.extra(kind: 1, content))
        #expect(frame.count < SyncLimits.frameByteCount / 200)
        #expect(try MessageCodec.message(frame) != nil)
        let larger = MessageCodec.frame(.extra(kind: 1, content + [0]))
        let error = #expect(throws: DocDBError.self) { try MessageCodec.message(larger) }
        #expect(error?.code == .limitReached)
    }

    @Test(
        "A frame that lies about what it unfolds to is refused before memory is taken for it",
        arguments: [0, 1, 254, 256, 1000, 1 << 20, 1 << 24, (1 << 24) + 1, 1 << 40, .max] as [UInt64])
    func lyingLength(_ length: UInt64) {
        // One block of LZ4: 255 zeros in a literal and a match.
        var frame = ByteBuffer()
        frame.append(1)
        frame.appendVarint(length)
        frame.append([0x1F, 0, 1, 0, 0xEB, 0x50, 0, 0, 0, 0, 0])
        #expect(throws: DocDBError.self) { try MessageCodec.message(frame.array) }
    }

    // MARK: Contents of documents

    /// The definition of an actor, a collection or a place for a name.
    private static func content(actors: Int = 0, collections: Int = 0) -> [UInt8] {
        var content = ByteBuffer()
        content.append(0x80)
        for number in 0..<actors {
            content.append(0x82)
            content.appendVarint(UInt64(number))
            content.appendBigEndian(UInt64(number) + 1)
            content.appendBigEndian(7 as UInt64)
        }
        for number in 0..<collections {
            let name = "c\(number)"
            content.append(0x83)
            content.appendVarint(UInt64(name.utf8.count))
            content.append(utf8: name)
        }
        return content.array
    }

    private static func read(_ content: [UInt8]) throws -> [IncomingDocument] {
        try DocumentsReader.documents(content, dictionary: ReceivingDictionary(), names: FieldNames())
    }

    @Test("Actors and collections beyond what a pull may define are refused")
    func dictionary() throws {
        #expect(try Self.read(Self.content(actors: SyncLimits.dictionaryActorCount)).isEmpty)
        #expect(throws: DocDBError.self) { try Self.read(Self.content(actors: SyncLimits.dictionaryActorCount + 1)) }
        #expect(try Self.read(Self.content(collections: SyncLimits.dictionaryCollectionCount)).isEmpty)
        #expect(throws: DocDBError.self) {
            try Self.read(Self.content(collections: SyncLimits.dictionaryCollectionCount + 1))
        }
    }

    @Test("Places for names beyond their number are refused")
    func slots() throws {
        var content = ByteBuffer()
        content.append(Self.content(collections: 1))
        // Only named, under a new place: documents that the sender does not hold.
        for slot in 0..<SyncLimits.referenceSlotCount {
            content.append(0x24)
            content.appendVarint(UInt64(slot))
            content.append([0, 7])
        }
        #expect(try Self.read(content.array).count == SyncLimits.referenceSlotCount)
        content.append(0x24)
        content.appendVarint(UInt64(SyncLimits.referenceSlotCount))
        content.append([0, 7])
        #expect(throws: DocDBError.self) { try Self.read(content.array) }
    }

    /// A dead document whose vector names so many actors.
    private static func deadDocument(actors count: Int) -> [UInt8] {
        var content = ByteBuffer()
        content.append(Self.content(actors: count, collections: 1))
        content.append([0x18, 0, 7])
        content.appendBigEndian(1 << 20 as UInt64)
        content.appendVarint(UInt64(count))
        for number in 0..<count {
            content.appendVarint(UInt64(number))
            content.append(0)
        }
        return content.array
    }

    @Test("A document with a giant version vector is refused")
    func giantVector() throws {
        let limit = SyncLimits.vectorActorCount
        #expect(try Self.read(Self.deadDocument(actors: limit)).first?.deleted.elements.count == limit)
        #expect(throws: DocDBError.self) { try Self.read(Self.deadDocument(actors: limit + 1)) }
    }

    @Test("A document with more fields than memory has room for is refused")
    func leaves() {
        var content = ByteBuffer()
        content.append(Self.content(actors: 1, collections: 1))
        // Objects of 1,100 fields, in one of 1,000 fields: 1.1 million in 5 MB.
        let names = 1100
        for number in 0..<names {
            let name = "f\(number)"
            content.append(0x81)
            content.appendVarint(UInt64(number))
            content.appendVarint(UInt64(name.utf8.count))
            content.append(utf8: name)
        }
        var object = ByteBuffer()
        object.appendCBORHead(major: CBOR.Major.map, UInt64(names))
        for number in 0..<names {
            object.appendCBORHead(major: CBOR.Major.unsigned, UInt64(number))
            object.append(1)
        }
        content.append([0x08, 0, 7])
        content.appendCBORHead(major: CBOR.Major.map, 1000)
        for number in 0..<1000 {
            content.appendCBORHead(major: CBOR.Major.unsigned, UInt64(number))
            content.append(object.bytes)
        }
        #expect(1000 * names > SyncLimits.documentLeafCount)
        content.append([0x10, 0])
        content.appendBigEndian(1 << 20 as UInt64)
        let bytes = content.array
        #expect(throws: DocDBError.self) { try Self.read(bytes) }
    }

    // MARK: Reconciliation

    @Test("A reconciliation that never ends is ended, on either side")
    func rounds() throws {
        var provider = ProviderReconciliation(ReconciliationSet(salt: [1]))
        _ = provider.begin()
        // Nothing to say, and more to come.
        for _ in 0..<SyncLimits.rangesRoundCount { _ = try provider.receive([1]) }
        let error = #expect(throws: DocDBError.self) { try provider.receive([1]) }
        #expect(error?.code == .limitReached)
    }
}
