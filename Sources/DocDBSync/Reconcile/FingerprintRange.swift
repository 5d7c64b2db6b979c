import DocDBCore

/// A part of the space of fingerprints: all places that begin with the same hexadecimal digits.
struct FingerprintRange: Hashable, Sendable {
    /// The number of digits, 0 to 16.
    var level: UInt8
    /// The digits, in the highest bits; the others are zero.
    var prefix: UInt64

    static let all = FingerprintRange(level: 0, prefix: 0)
    static let maximalLevel: UInt8 = 16
    /// How many parts a range has.
    static let childCount = 16

    private var openBitCount: UInt64 { 64 - 4 * UInt64(level) }

    /// The first and the last place.
    var bounds: ClosedRange<UInt64> { prefix...(prefix | (level == 0 ? .max : (1 << openBitCount) - 1)) }

    /// The part in which one more digit is given; of a range that is no single place.
    func child(_ digit: Int) -> FingerprintRange {
        FingerprintRange(level: level + 1, prefix: prefix | UInt64(digit) << (openBitCount - 4))
    }

    /// The number of bytes that tell a place within the range.
    var placeByteCount: Int { 8 - Int(level) / 2 }
}

extension ByteBuffer {
    /// Appends the level, and the digits two to a byte.
    mutating func append(_ range: FingerprintRange) {
        append(range.level)
        for index in 0..<(Int(range.level) + 1) / 2 {
            append(UInt8(truncatingIfNeeded: range.prefix >> UInt64(56 - 8 * index)))
        }
    }
}

extension WireCursor {
    mutating func readFingerprintRange() throws(CBORError) -> FingerprintRange {
        let level = try readByte()
        guard level <= FingerprintRange.maximalLevel else { throw .malformed }
        var prefix: UInt64 = 0
        for index in 0..<(Int(level) + 1) / 2 { prefix |= UInt64(try readByte()) << UInt64(56 - 8 * index) }
        let range = FingerprintRange(level: level, prefix: prefix)
        guard level == 0 || prefix & (range.bounds.upperBound ^ prefix) == 0 else { throw .malformed }
        return range
    }
}
