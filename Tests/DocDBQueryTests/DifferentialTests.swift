import DocDBCore
import DocDBQuery
import Testing

@Suite("Evaluator against the reference")
struct DifferentialTests {
    /// A store's names, some of whose numbers need one byte, some two, some three.
    private static func names(fillers: Int) -> FieldNames {
        let names = FieldNames()
        for index in 0..<fillers {
            var name = "filler\(index)"
            name.withUTF8 { _ = names.intern(UnsafeRawBufferPointer($0)) }
        }
        return names
    }

    @Test("random filters mean the same on encoded and on decoded documents", arguments: 0..<12 as Range<UInt64>)
    func agreement(_ seed: UInt64) throws {
        var input = RandomInput(seed: seed)
        let names = Self.names(fillers: [0, 20, 250, 300][Int(seed % 4)])
        var documents: [(members: [String: Value], encoded: TestDocument)] = []
        for _ in 0..<40 {
            let members = input.document()
            documents.append((members, try TestDocument(members, names: names)))
        }
        var trueCount = 0
        for round in 0..<250 {
            let filter = input.filter()
            let evaluator = Evaluator(filter, names: names)
            for document in documents {
                let expected = ReferenceEvaluator(root: .object(document.members)).holds(filter)
                let actual = document.encoded.matches(evaluator)
                trueCount += actual ? 1 : 0
                #expect(!evaluator.isDamaged && !evaluator.didExhaustLimits, "seed \(seed) round \(round)")
                guard actual == expected else {
                    Issue.record("seed \(seed) round \(round): \(filter) is \(actual) on \(document.members)")
                    return
                }
            }
        }
        #expect(trueCount > 1000 && trueCount < 9000, "seed \(seed): the filters hold too seldom or too often")
    }

    @Test("a random filter prints as a text that parses back to it", arguments: 0..<8 as Range<UInt64>)
    func roundTrip(_ seed: UInt64) throws {
        var input = RandomInput(seed: seed &+ 1000)
        for _ in 0..<500 {
            let filter = input.filter()
            let text = filter.description
            #expect(try Filter.parse(text) == filter, "seed \(seed): \(text)")
        }
    }

    @Test("damaged bodies neither trap nor match beyond their bytes", arguments: 0..<6 as Range<UInt64>)
    func damage(_ seed: UInt64) throws {
        var input = RandomInput(seed: seed &+ 2000)
        let names = Self.names(fillers: 30)
        var damagedCount = 0
        for _ in 0..<100 {
            let filter = input.filter()
            let evaluator = Evaluator(filter, names: names, stepCount: 10_000)
            for _ in 0..<20 {
                let document = try TestDocument(input.document(), names: names)
                var body = document.body
                switch input.next(3) {
                case 0: body.removeLast(1 + input.next(body.count))
                case 1: body[input.next(body.count)] = UInt8(truncatingIfNeeded: input.generator.next())
                default: body = (0..<input.next(40)).map { _ in UInt8(truncatingIfNeeded: input.generator.next()) }
                }
                // In a block of its own size, so that a sanitizer sees a read past the end.
                let block = UnsafeMutableRawBufferPointer.allocate(byteCount: body.count, alignment: 1)
                defer { block.deallocate() }
                block.copyBytes(from: body)
                let holds = document.id.withUnsafeBytes {
                    evaluator.matches(body: UnsafeRawBufferPointer(block), id: $0)
                }
                if evaluator.isDamaged { damagedCount += 1 }
                #expect(!(holds && evaluator.isDamaged))
            }
        }
        #expect(damagedCount > 300)
    }
}
