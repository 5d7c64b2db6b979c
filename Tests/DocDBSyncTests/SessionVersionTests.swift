import DocDBCore
import DocDBSync
import SyncModel
import Testing

@Suite("Sessions of mixed versions")
struct SessionVersionTests {
    private static func makePair(_ left: ClosedRange<UInt64>, _ right: ClosedRange<UInt64>) -> SessionPair {
        let pair = SessionPair()
        for (index, versions) in [left, right].enumerated() {
            pair.makeSession(index) {
                ($0.hello.lowestVersion, $0.hello.highestVersion) = (versions.lowerBound, versions.upperBound)
            }
        }
        for index in 0..<2 { pair.tell(index, .opened(channelBinding: nil)) }
        pair.settle()
        return pair
    }

    @Test(
        "Peers agree on the newest version that both speak",
        arguments: [(1...2, 1...1, 1), (1...1, 1...1, 1), (1...2, 1...3, 2), (2...4, 1...2, 2)]
            as [(ClosedRange<UInt64>, ClosedRange<UInt64>, UInt64)])
    func agreement(left: ClosedRange<UInt64>, right: ClosedRange<UInt64>, version: UInt64) throws {
        let pair = Self.makePair(left, right)
        for side in pair.sides {
            #expect(side.isEstablished)
            #expect(side.session.protocolVersion == version)
        }
        for index in 0..<2 { try pair.write(index, documentID(Int64(index)), [.set("x", 1)]) }
        pair.settle()
        for index in 0..<2 { #expect(pair.fields(index, documentID(Int64(1 - index))) == ["x": 1]) }
    }

    @Test(
        "Peers without a version in common part, and both are told what to do",
        arguments: [(1...1, 2...3), (4...5, 1...3)] as [(ClosedRange<UInt64>, ClosedRange<UInt64>)])
    func mismatch(left: ClosedRange<UInt64>, right: ClosedRange<UInt64>) throws {
        let pair = Self.makePair(left, right)
        for side in pair.sides {
            #expect(!side.isEstablished)
            #expect(side.closed?.code == CloseCode.versionMismatch)
            #expect(side.closed?.message.contains("update the older one") ?? false)
            #expect(side.session.protocolVersion == nil)
        }
    }

    /// A frame with fields at its end that only later versions know.
    private static func withFurtherFields(_ frame: [UInt8]) throws -> [UInt8] {
        let message = try #require(try MessageCodec.message(frame))
        var plain = MessageCodec.frame(message, compresses: false)
        try #require(plain[1] >= 0x80 && plain[1] < 0x96)
        plain[1] += 2
        return plain + [0xA1, 0x01, 0x82, 0x19, 0x12, 0x34, 0xF6, 0x63, 0x61, 0x62, 0x63]
    }

    /// A message of a number that no version has yet.
    private static let unknown: [UInt8] = [0, 0x83, 0x18, 0x63, 0x01, 0x61, 0x78]

    @Test("Further fields and messages of a later version are passed over, from the hello on")
    func laterVersion() throws {
        let pair = SessionPair()
        for number in Int64(0)..<4 { try pair.write(Int(number % 2), documentID(number), [.set("x", number)]) }
        pair.connect()
        var kinds: Set<String> = []
        func deliver() throws -> Bool {
            var isMoving = false
            for index in 0..<2 {
                for side in pair.sides where !side.inbox.isEmpty {
                    if let message = try MessageCodec.message(side.inbox[0]) {
                        kinds.insert(String("\(message)".prefix { $0 != "(" }))
                    }
                    side.inbox[0] = try Self.withFurtherFields(side.inbox[0])
                }
                if pair.sides[index].inbox.isEmpty { continue }
                pair.tell(index, .received(Self.unknown))
                pair.deliver(to: index)
                isMoving = true
            }
            return isMoving
        }
        while try deliver() {}
        try pair.write(0, documentID(1), [.set("x", 11)])
        pair.tellDirty(0)
        while try deliver() {}
        pair.pass(seconds: 6)
        while try deliver() {}
        for index in 0..<2 {
            #expect(pair.fields(index, documentID(1)) == ["x": 11])
            #expect(pair.sides[index].replica.storage.documents.count == 4)
            #expect(pair.sides[index].closed?.message == nil)
        }
        #expect(
            kinds.isSuperset(of: ["hello", "proof", "interest", "reconcile", "ranges", "begin", "documents", "end"]))
        #expect(kinds.isSuperset(of: ["commit", "acknowledge"]))
    }
}
