import DocDBCore
import DocDBInspect
import Testing

@Suite("RecordSplitter")
struct RecordSplitterTests {
    struct Piece: Equatable {
        let text: String
        let position: TextPosition
    }

    struct Outcome: Equatable {
        var pieces: [Piece] = []
        var fault: RecordError?
    }

    private func split(
        _ bytes: [UInt8], chunk: Int = RecordSplitter.defaultChunkByteCount, limit: Int = Limits.jsonDocumentByteCount
    ) throws -> Outcome {
        var splitter = RecordSplitter(MemorySource(bytes), chunkByteCount: chunk, recordLimit: limit)
        var outcome = Outcome()
        do {
            while let record = try splitter.next() {
                let end = record.offset + record.bytes.count
                #expect(Array(record.bytes) == Array(bytes[record.offset..<end]))
                #expect(splitter.consumedByteCount == end)
                outcome.pieces.append(
                    Piece(text: String(decoding: record.bytes, as: UTF8.self), position: splitter.position()))
            }
        } catch let fault as RecordError {
            outcome.fault = fault
            #expect(try splitter.next() == nil)
        }
        return outcome
    }

    static let chunks = Array(1...40) + [64, 4096, RecordSplitter.defaultChunkByteCount]

    @Test("JSON Lines give each object and the place where it starts, at every chunk size", arguments: chunks)
    func jsonLines(chunk: Int) throws {
        let text = "{\"a\":1}\n  {\"b\":\"}{\\\"][\"}\r\n\n{\"c\":[{\"d\":[]},{}]}{\"é\":\"ü\"} {\"e\":2}"
        let outcome = try split(Array(text.utf8), chunk: chunk)
        #expect(outcome.fault == nil)
        #expect(
            outcome.pieces == [
                Piece(text: "{\"a\":1}", position: TextPosition(line: 1, column: 1)),
                Piece(text: "{\"b\":\"}{\\\"][\"}", position: TextPosition(line: 2, column: 3)),
                Piece(text: "{\"c\":[{\"d\":[]},{}]}", position: TextPosition(line: 4, column: 1)),
                Piece(text: "{\"é\":\"ü\"}", position: TextPosition(line: 4, column: 20)),
                Piece(text: "{\"e\":2}", position: TextPosition(line: 4, column: 30)),
            ])
    }

    @Test("an array gives its elements, at every chunk size", arguments: chunks)
    func array(chunk: Int) throws {
        let text = "\u{FEFF} [ {\"a\":\"x\\\\\"} ,\n{\"b\":{\"c\":\"\\\\\\\"\"}},{}\n]\n "
        let outcome = try split(Array(text.utf8), chunk: chunk)
        #expect(outcome.fault == nil)
        #expect(
            outcome.pieces == [
                Piece(text: "{\"a\":\"x\\\\\"}", position: TextPosition(line: 1, column: 4)),
                Piece(text: "{\"b\":{\"c\":\"\\\\\\\"\"}}", position: TextPosition(line: 2, column: 1)),
                Piece(text: "{}", position: TextPosition(line: 2, column: 20)),
            ])
    }

    @Test("input without objects is fine", arguments: ["", " \n\t\r ", "[]", " [ ] \n", "\u{FEFF}", "\u{FEFF}[]"])
    func empty(text: String) throws {
        for chunk in [1, 2, 3, 100] { #expect(try split(Array(text.utf8), chunk: chunk) == Outcome()) }
    }

    struct Fault: Sendable, CustomTestStringConvertible {
        let text: String
        let line: Int
        let column: Int
        /// How many good records stand before it.
        let before: Int
        let phrase: String
        var testDescription: String { text.debugDescription }
    }

    static let faults = [
        Fault(text: "12", line: 1, column: 1, before: 0, phrase: "a number"),
        Fault(text: "\n \"x\"", line: 2, column: 2, before: 0, phrase: "a string"),
        Fault(text: "{}\n[]", line: 2, column: 1, before: 1, phrase: "an array"),
        Fault(text: "{}\n{},\n{}", line: 2, column: 3, before: 2, phrase: "a comma between objects"),
        Fault(text: "{} true", line: 1, column: 4, before: 1, phrase: "a word"),
        Fault(text: "[{},\n 7]", line: 2, column: 2, before: 1, phrase: "a number"),
        Fault(text: "[[{}]]", line: 1, column: 2, before: 0, phrase: "an array"),
        Fault(text: "[{},]", line: 1, column: 5, before: 1, phrase: "comma before the closing ]"),
        Fault(text: "[,{}]", line: 1, column: 2, before: 0, phrase: "expected an object"),
        Fault(text: "[{}\n{}]", line: 2, column: 1, before: 1, phrase: "expected , or ]"),
        Fault(text: "[{}]\n{}", line: 2, column: 1, before: 1, phrase: "the array has ended"),
        Fault(text: "[{}\n", line: 2, column: 1, before: 1, phrase: "] is missing"),
        Fault(text: "[", line: 1, column: 2, before: 0, phrase: "] is missing"),
        Fault(text: "[{},\n", line: 2, column: 1, before: 1, phrase: "after a comma"),
        Fault(text: "{}\n {\"a\":[1,2}\n{}", line: 2, column: 11, before: 1, phrase: "expected ] but found }"),
        Fault(text: "{\"a\":{\"b\":1]}", line: 1, column: 12, before: 0, phrase: "expected } but found ]"),
        Fault(text: "{}\n{\"é\":1\n{\"b\":2}\n", line: 3, column: 1, before: 1, phrase: "end of the object"),
        Fault(text: "{\"a\":[1 {\"b\":2}]}", line: 1, column: 9, before: 0, phrase: "end of the array"),
        Fault(text: "{\"é\":\"x\n\"}", line: 1, column: 8, before: 0, phrase: "not closed when its line ends"),
        Fault(text: "{\"a\":\"x\u{1}\"}", line: 1, column: 8, before: 0, phrase: "control character"),
        Fault(text: "{}\n  {\"a\":1,", line: 2, column: 3, before: 1, phrase: "not closed when the file ends"),
        Fault(text: "{\"a\\", line: 1, column: 1, before: 0, phrase: "not closed when the file ends"),
    ]

    @Test("a broken structure is reported where it is, after the records before it", arguments: faults)
    func reports(expected: Fault) throws {
        for chunk in Array(1...20) + [4096] {
            let outcome = try split(Array(expected.text.utf8), chunk: chunk)
            #expect(outcome.pieces.count == expected.before)
            #expect(outcome.fault?.position == TextPosition(line: expected.line, column: expected.column))
            #expect(outcome.fault?.message.contains(expected.phrase) == true, "\(outcome.fault?.message ?? "no fault")")
        }
    }

    @Test("files that are no UTF-8 text are named")
    func signatures() throws {
        #expect(try split([0xFF, 0xFE, 0x5B, 0]).fault?.message.contains("UTF-16") == true)
        #expect(try split([0xFE, 0xFF, 0, 0x5B]).fault?.message.contains("UTF-16") == true)
        #expect(try split([0x1F, 0x8B, 8, 0]).fault?.message.contains("gzip") == true)
        #expect(try split([0, 0, 0, 0]).fault?.message.contains("no JSON") == true)
    }

    @Test("objects nested to the limit pass, deeper ones are reported at the brace that is too deep")
    func depth() throws {
        func nested(_ depth: Int) -> String {
            let arrays = depth - 1
            return "{\"a\":" + String(repeating: "[", count: arrays) + String(repeating: "]", count: arrays) + "}"
        }
        #expect(try split(Array(nested(Limits.nestingDepth).utf8)).pieces.count == 1)
        let fault = try split(Array(nested(Limits.nestingDepth + 1).utf8)).fault
        #expect(fault?.message.contains("nested deeper than 64") == true)
        // Five bytes and 63 brackets that are allowed come before it.
        #expect(fault?.position == TextPosition(line: 1, column: 5 + 63 + 1))
    }

    @Test("a record longer than the limit is reported where it begins", arguments: [1, 7, 4096])
    func tooLarge(chunk: Int) throws {
        let good = "{\"a\":\"\(String(repeating: "x", count: 92))\"}"
        let long = "{\"a\":\"\(String(repeating: "x", count: 93))\"}"
        let outcome = try split(Array((good + "\n" + long).utf8), chunk: chunk, limit: 100)
        #expect(outcome.pieces.map(\.text) == [good])
        #expect(outcome.fault?.position == TextPosition(line: 2, column: 1))
        #expect(outcome.fault?.message.contains("longer than 100 bytes") == true)
    }

    @Test("an endless record is given up at the limit, not read to its end")
    func endless() throws {
        let source = MemorySource("{\"a\":\"" + String(repeating: "x", count: 100_000))
        var splitter = RecordSplitter(source, chunkByteCount: 64, recordLimit: 1000)
        var fault: RecordError?
        do { _ = try splitter.next() } catch let error as RecordError { fault = error }
        #expect(fault?.message.contains("longer than 1000 bytes") == true)
        #expect(splitter.consumedByteCount <= 1064)
        #expect(source.largestRequest <= 64)
    }

    @Test("random records come back whole, whatever separates them and however they are chunked")
    func randomRecords() throws {
        let seed = UInt64.random(in: 0...UInt64.max)
        var random = SeededGenerator(state: seed)
        for _ in 0..<300 {
            let isArray = Bool.random(using: &random)
            var text = isArray ? "[" : ""
            var expected: [Piece] = []
            for index in 0..<Int.random(in: 0...6, using: &random) {
                if index > 0, isArray { text += "," }
                text += ["", " ", "\n", "\r\n\n", "\t "].randomElement(using: &random) ?? ""
                let record = randomObject(depth: 0, &random)
                expected.append(Piece(text: record, position: place(after: text)))
                text += record
            }
            text += isArray ? " ]\n" : "\n"
            let outcome = try split(Array(text.utf8), chunk: Int.random(in: 1...30, using: &random))
            #expect(outcome == Outcome(pieces: expected), "seed \(seed): \(text)")
        }
    }

    @Test("damaged input never traps, and its outcome does not depend on the chunks")
    func damaged() throws {
        let seed = UInt64.random(in: 0...UInt64.max)
        var random = SeededGenerator(state: seed)
        let alphabet = Array("{}[]\",:\\ \n\ré1x".utf8) + [0xEF, 0xBB, 0xBF, 0, 0xFF]
        for _ in 0..<2000 {
            var bytes = Array((randomObject(depth: 0, &random) + "\n" + randomObject(depth: 0, &random)).utf8)
            for _ in 0..<Int.random(in: 1...3, using: &random) {
                let index = Int.random(in: 0..<bytes.count, using: &random)
                switch Int.random(in: 0...2, using: &random) {
                case 0: bytes[index] = alphabet.randomElement(using: &random) ?? 0
                case 1: bytes.insert(alphabet.randomElement(using: &random) ?? 0, at: index)
                default: if bytes.count > 1 { bytes.remove(at: index) }
                }
            }
            let whole = try split(bytes)
            #expect(try split(bytes, chunk: 1) == whole, "seed \(seed)")
            #expect(try split(bytes, chunk: 5) == whole, "seed \(seed)")
            for piece in whole.pieces {
                var identifier = RecordIdentifier(field: "a")
                Array(piece.text.utf8).withUnsafeBytes { _ = try? identifier.identified($0).count }
            }
        }
    }

    /// The place behind a text, by the plainest means.
    private func place(after text: String) -> TextPosition {
        var place = TextPosition.start
        for scalar in text.unicodeScalars {
            if scalar == "\n" { place = TextPosition(line: place.line + 1, column: 1) } else { place.column += 1 }
        }
        return place
    }

    private func randomObject(depth: Int, _ random: inout SeededGenerator) -> String {
        let members = (0..<Int.random(in: 0...3, using: &random)).map { _ in
            randomString(&random) + (Bool.random(using: &random) ? ":" : " : \n")
                + randomValue(depth: depth + 1, &random)
        }
        return "{" + members.joined(separator: ",") + "}"
    }

    private func randomValue(depth: Int, _ random: inout SeededGenerator) -> String {
        switch Int.random(in: 0...(depth > 4 ? 2 : 4), using: &random) {
        case 0: return "-12.5e3"
        case 1: return "null"
        case 2: return randomString(&random)
        case 3: return randomObject(depth: depth, &random)
        default:
            let elements = (0..<Int.random(in: 0...3, using: &random)).map { _ in randomValue(depth: depth + 1, &random)
            }
            return "[ " + elements.joined(separator: " , ") + "]"
        }
    }

    private func randomString(_ random: inout SeededGenerator) -> String {
        let parts = ["a", "{", "}", "[", "]", ",", ":", "\\\"", "\\\\", "\\u0022", "é", "日本", "😀", "plain text "]
        let body = (0..<Int.random(in: 0...8, using: &random)).map { _ in parts.randomElement(using: &random) ?? "" }
        return "\"" + body.joined() + "\""
    }
}

/// SplitMix64 (Steele, Lea and Flood, 2014).
struct SeededGenerator: RandomNumberGenerator {
    var state: UInt64

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }
}
