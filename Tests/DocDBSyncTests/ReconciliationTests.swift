import DocDBCore
import DocDBSync
import Testing

/// Range-based set reconciliation, against the difference of sets.
@Suite("Reconciliation")
struct ReconciliationTests {
    /// What both sides hold: documents by number, each with the version of its state.
    struct Case {
        var provider: [Int: Int] = [:]
        var subscriber: [Int: Int] = [:]

        static func random(_ random: inout SeededGenerator, count: Int, differences: Int) -> Case {
            var result = Case()
            for number in 0..<count {
                result.provider[number] = 0
                result.subscriber[number] = 0
            }
            for _ in 0..<differences {
                let number = random.below(count + 1)
                switch random.below(4) {
                case 0: result.provider[number] = nil
                case 1: result.subscriber[number] = nil
                case 2: result.provider[number] = random.below(5)
                default: result.subscriber[number] = random.below(5)
                }
            }
            return result
        }
    }

    struct Outcome {
        var missing: [Int] = []
        var held: [Int] = []
        var byteCount = 0
        var messageCount = 0
        var largest = 0
    }

    static func digest(_ number: Int, _ version: Int) -> StateDigest {
        var generator = SeededGenerator(seed: UInt64(number) << 8 | UInt64(version))
        return StateDigest(high: generator.next(), low: generator.next())
    }

    static func set(_ documents: [Int: Int], salt: [UInt8] = [1, 2, 3]) -> ReconciliationSet {
        var set = ReconciliationSet(salt: salt)
        for (number, version) in documents {
            set.append(digest(number, version), DocumentReference(collection: 1, key: Int64(number)))
        }
        return set
    }

    static let firstTime: UInt64 = 0x1234_5678_0000

    static func held(_ reference: DocumentReference) -> HeldDocument {
        var seen = VersionVector()
        seen.advance(
            actor(UInt64(reference.key % 3)), to: HybridTime(rawValue: firstTime + UInt64(reference.key) << 16))
        let id = DocumentID.uuidVersion7(
            nanosecondsSince1970: UInt64(reference.key) << 20, random: UInt64(reference.key))
        return HeldDocument(name: DocumentName(collection: "cars", id: encoded(id)), seen: seen)
    }

    static func run(_ case: Case) throws -> Outcome {
        var provider = ProviderReconciliation(set(`case`.provider))
        var subscriber = SubscriberReconciliation(set(`case`.subscriber))
        var outcome = Outcome()
        var message: [UInt8]? = provider.begin()
        func count(_ bytes: [UInt8]) {
            outcome.byteCount += bytes.count
            outcome.messageCount += 1
            outcome.largest = max(outcome.largest, bytes.count)
        }
        while let question = message {
            count(question)
            let answer = try subscriber.receive(question) { held($0) }
            count(answer)
            let step = try provider.receive(answer)
            outcome.missing += step.missingAtSubscriber.map { Int($0.key) }
            for document in step.heldBySubscriber {
                let time = try #require(document.seen.elements.first).time
                let number = Int(time.rawValue - firstTime) >> 16
                #expect(document == held(DocumentReference(collection: 1, key: Int64(number))))
                outcome.held.append(number)
            }
            message = step.reply
        }
        return outcome
    }

    /// What must come out, by the definition of the difference.
    static func check(_ case: Case, _ outcome: Outcome, _ comment: Comment) {
        let missing = `case`.provider.filter { `case`.subscriber[$0.key] != $0.value }.keys.sorted()
        let held = `case`.subscriber.filter { `case`.provider[$0.key] != $0.value }.keys.sorted()
        #expect(outcome.missing.sorted() == missing, comment)
        #expect(outcome.held.sorted() == held, comment)
    }

    @Test("Random sets come to their difference", arguments: 0..<40)
    func randomSets(block: Int) throws {
        for seed in block * 25..<(block + 1) * 25 {
            var random = SeededGenerator(seed: UInt64(seed))
            let count = [0, 1, 2, 10, 33, 40, 200, 700][random.below(8)]
            let differences = [0, 1, 3, 20, 2 * count][random.below(5)]
            let sets = Case.random(&random, count: count, differences: differences)
            Self.check(sets, try Self.run(sets), "seed \(seed)")
        }
    }

    @Test("One side without documents costs one step")
    func emptySides() throws {
        var full: [Int: Int] = [:]
        for number in 0..<5000 { full[number] = 0 }
        let first = Case(provider: full, subscriber: [:])
        let outcome = try Self.run(first)
        Self.check(first, outcome, "first sync")
        #expect(outcome.messageCount == 2)
        #expect(outcome.byteCount <= 20)
        let last = Case(provider: [:], subscriber: full)
        let other = try Self.run(last)
        Self.check(last, other, "nothing in scope")
        #expect(other.messageCount == 2)
    }

    @Test("Equal sets of 100,000 cost less than 20 bytes; 10 differences 20 KB; 1,000 differences 500 KB")
    func byteCounts() throws {
        var random = SeededGenerator(seed: 7)
        var sets = Case()
        for number in 0..<100_000 { sets.provider[number] = 0 }
        sets.subscriber = sets.provider
        #expect(try Self.run(sets).byteCount < 20)
        for (differences, limit) in [(10, 10_000), (1_000, 370_000)] {
            // Each is a document that both changed: two items that differ, the costliest kind.
            for _ in 0..<differences {
                let number = random.below(100_000)
                sets.provider[number] = 1
                sets.subscriber[number] = 2
            }
            let outcome = try Self.run(sets)
            Self.check(sets, outcome, "\(differences) differences")
            #expect(outcome.byteCount < limit)
            #expect(outcome.messageCount <= 10)
        }
    }

    @Test("Sets that differ altogether go in steps of bounded size")
    func boundedSteps() throws {
        var sets = Case()
        for number in 0..<12_000 {
            sets.provider[number] = 1
            sets.subscriber[number] = 2
        }
        let outcome = try Self.run(sets)
        Self.check(sets, outcome, "all differ")
        #expect(outcome.largest <= SyncLimits.rangesByteCount + 1024)
        #expect(outcome.messageCount > 6)
    }

    @Test("Bytes that were changed on the way throw or mean something else, and end", arguments: 0..<30)
    func hostileBytes(seed: Int) throws {
        var random = SeededGenerator(seed: UInt64(seed))
        let sets = Case.random(&random, count: 300, differences: 200)
        for _ in 0..<20 {
            var provider = ProviderReconciliation(Self.set(sets.provider))
            var subscriber = SubscriberReconciliation(Self.set(sets.subscriber))
            var message: [UInt8]? = provider.begin()
            var missing = 0
            var steps = 0
            do {
                while let question = message, steps < 100 {
                    steps += 1
                    let answer = try subscriber.receive(Self.damaged(question, &random)) { Self.held($0) }
                    let step = try provider.receive(Self.damaged(answer, &random))
                    missing += step.missingAtSubscriber.count
                    message = step.reply
                }
            } catch let error as DocDBError {
                #expect(error.code == .protocolError)
            }
            #expect(missing <= sets.provider.count)
        }
    }

    static func damaged(_ bytes: [UInt8], _ random: inout SeededGenerator) -> [UInt8] {
        var bytes = bytes
        switch random.below(4) {
        case 0: bytes.removeLast(random.below(bytes.count))
        case 1: bytes[random.below(bytes.count)] ^= 1 << UInt8(random.below(8))
        case 2: bytes += random.bytes(1 + random.below(20))
        default: break
        }
        return bytes
    }

    @Test("A message after the end, and one over the limit, are refused")
    func limits() throws {
        var provider = ProviderReconciliation(Self.set([1: 1]))
        _ = provider.begin()
        #expect(try provider.receive([0]).isFinished)
        #expect(throws: DocDBError.self) { try provider.receive([0]) }
        var subscriber = SubscriberReconciliation(Self.set([1: 1]))
        let long = [UInt8](repeating: 0, count: 2 * SyncLimits.rangesByteCount + 1)
        #expect(throws: DocDBError.self) { try subscriber.receive(long) { _ in nil } }
    }
}
