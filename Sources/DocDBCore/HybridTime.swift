/// A hybrid logical time: nanoseconds since 1970 whose low 16 bits count within one tick.
///
/// Times of one actor increase strictly. Source: Kulkarni et al., "Logical Physical Clocks" (2014).
public struct HybridTime: Hashable, Comparable, Sendable {
    /// Nanoseconds since 1970, the low 16 bits a counter.
    public var rawValue: UInt64

    /// Creates a time from its raw value.
    public init(rawValue: UInt64) { self.rawValue = rawValue }

    /// The time before all others; no change ever has it.
    public static let zero = HybridTime(rawValue: 0)

    /// Creates the first time of the tick that holds a wall-clock reading.
    public init(nanosecondsSince1970: UInt64) { self.rawValue = nanosecondsSince1970 & ~0xFFFF }

    /// The wall-clock part, in nanoseconds since 1970.
    public var nanosecondsSince1970: UInt64 { rawValue & ~0xFFFF }

    /// Tells which of two times is earlier.
    public static func < (left: HybridTime, right: HybridTime) -> Bool { left.rawValue < right.rawValue }

    /// The next time to issue, given the last issued or seen one and the wall clock: strictly later than `last`.
    package static func next(after last: HybridTime, nowNanosecondsSince1970 now: UInt64) -> HybridTime {
        let wall = HybridTime(nanosecondsSince1970: now)
        return wall > last ? wall : HybridTime(rawValue: last.rawValue &+ 1)
    }
}
