import DocDBCore
import DocDBQuery

/// A document encoded as a store would: a body with interned names, and its id beside it.
struct TestDocument {
    let body: [UInt8]
    let id: [UInt8]

    init(_ members: [String: Value], names: FieldNames) throws {
        var buffer = ByteBuffer()
        try Value.appendBody(of: members, names: names, to: &buffer)
        body = buffer.array
        id = try (members["_id"] ?? 1).canonicalCBOR()
    }

    func matches(_ evaluator: Evaluator) -> Bool {
        body.withUnsafeBytes { body in id.withUnsafeBytes { evaluator.matches(body: body, id: $0) } }
    }
}

/// Tells whether a document matches a predicate, compiled for it alone.
func matches(_ members: [String: Value], _ predicate: String, _ arguments: [String: Value] = [:]) throws -> Bool {
    let names = FieldNames()
    let document = try TestDocument(members, names: names)
    let evaluator = Evaluator(try Filter.parse(predicate, arguments: arguments), names: names)
    let result = document.matches(evaluator)
    precondition(!evaluator.isDamaged && !evaluator.didExhaustLimits)
    return result
}

/// The numbers of Steele, Lea and Flood's SplitMix64: the same for the same seed everywhere.
struct SeededGenerator: RandomNumberGenerator {
    private var state: UInt64

    init(seed: UInt64) { state = seed }

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var z = state
        z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
        z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
        return z ^ (z >> 31)
    }
}
