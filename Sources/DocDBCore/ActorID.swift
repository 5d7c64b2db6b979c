/// The 128-bit id of one incarnation of a store: who made a change.
public struct ActorID: Hashable, Comparable, Sendable {
    /// The first eight bytes, as a big-endian number.
    public let high: UInt64
    /// The last eight bytes, as a big-endian number.
    public let low: UInt64

    /// Creates an id from its two halves.
    public init(high: UInt64, low: UInt64) {
        self.high = high
        self.low = low
    }

    /// Creates an id from its 16 bytes, or nil where there are not just 16.
    public init?(bytes: some Collection<UInt8>) {
        guard bytes.count == 16 else { return nil }
        var halves: (UInt64, UInt64) = (0, 0)
        for (index, byte) in bytes.enumerated() {
            if index < 8 { halves.0 = halves.0 << 8 | UInt64(byte) } else { halves.1 = halves.1 << 8 | UInt64(byte) }
        }
        self.init(high: halves.0, low: halves.1)
    }

    /// The 16 bytes of the id.
    public var bytes: [UInt8] {
        (0..<16).map { index in UInt8(truncatingIfNeeded: (index < 8 ? high : low) >> UInt64(56 - index % 8 * 8)) }
    }

    /// The order of the ids' bytes.
    public static func < (left: ActorID, right: ActorID) -> Bool {
        (left.high, left.low) < (right.high, right.low)
    }
}

extension ActorID: CustomStringConvertible {
    /// The id as 32 hexadecimal digits.
    public var description: String {
        let digits = Array("0123456789abcdef")
        return String(bytes.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] })
    }
}
