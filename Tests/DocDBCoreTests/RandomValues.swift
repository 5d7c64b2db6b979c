import DocDBCore

/// Random values from a seed, made to hit the corners of encodings; the same seed gives the same values everywhere.
struct RandomValues {
    private var state: UInt64

    init(seed: UInt64) { state = seed }

    /// The next 64 random bits (SplitMix64).
    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var z = state
        z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
        z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
        return z ^ (z >> 31)
    }

    mutating func below(_ bound: Int) -> Int { Int(next() % UInt64(bound)) }

    mutating func integer() -> Int64 {
        switch below(6) {
        case 0: Int64(below(40)) - 20
        case 1: Int64(bitPattern: next())
        case 2: (1 << 53) + Int64(below(9)) - 4
        case 3: -(1 << 53) + Int64(below(9)) - 4
        case 4: Int64.max - Int64(below(1500))
        default: Int64.min + Int64(below(1500))
        }
    }

    mutating func double() -> Double {
        switch below(8) {
        case 0: return Double(below(40) - 20)
        case 1: return Double(below(1000)) / 8
        case 2: return below(2) == 0 ? 0.0 : -0.0
        case 3: return Double(integer())
        case 4: return Double(bitPattern: UInt64(below(5)))
        case 5: return below(2) == 0 ? 0x1p63 : -0x1p63
        case 6: return Double(sign: .plus, exponent: below(120) - 60, significand: 1).nextUp
        default:
            let value = Double(bitPattern: next())
            return value.isFinite ? value : 1.5
        }
    }

    mutating func string() -> String {
        let pieces = [
            "", "a", "b", "ab", "\0", "\0\0", "é", "e\u{301}", "\u{1F600}", "\"", "\\", "\n", "\u{7F}", "x y", "~",
        ]
        return (0..<below(4)).map { _ in pieces[below(pieces.count)] }.joined()
    }

    mutating func bytes() -> [UInt8] {
        let choices: [UInt8] = [0, 0, 1, 0x61, 0xFE, 0xFF]
        return (0..<below(5)).map { _ in choices[below(choices.count)] }
    }

    /// A name that may be interned, or one that may not.
    mutating func name() -> String {
        let names = ["a", "b", "make", "price", "odd key", "", "é", "_x", "9lives", "a.b"]
        return below(5) == 0 ? string() : names[below(names.count)]
    }

    mutating func value(depth: Int = 3) -> Value {
        switch below(depth > 0 ? 9 : 7) {
        case 0: .null
        case 1: .bool(below(2) == 0)
        case 2: .int(integer())
        case 3: .float(double())
        case 4, 5: .string(string())
        case 6: .bytes(bytes())
        case 7: .array((0..<below(4)).map { _ in value(depth: depth - 1) })
        default: .object(members(depth: depth - 1))
        }
    }

    mutating func members(depth: Int = 3) -> [String: Value] {
        var members: [String: Value] = [:]
        for _ in 0..<below(6) { members[name()] = value(depth: depth) }
        return members
    }
}

extension ByteBuffer {
    /// The bytes as hexadecimal digits.
    var hexadecimal: String {
        array.map { (($0 < 16) ? "0" : "") + String($0, radix: 16) }.joined()
    }
}

/// The bytes that hexadecimal digits stand for; spaces are skipped.
func bytes(_ hexadecimal: String) -> [UInt8] {
    let digits = hexadecimal.filter { $0 != " " }.compactMap(\.hexDigitValue)
    return stride(from: 0, to: digits.count - 1, by: 2).map { UInt8(digits[$0] * 16 + digits[$0 + 1]) }
}
