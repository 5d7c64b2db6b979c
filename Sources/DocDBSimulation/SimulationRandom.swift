/// Random numbers that a seed replays, the same on every platform and in every release.
///
/// The generator is xoshiro256** of Blackman and Vigna ("Scrambled linear pseudorandom number generators", ACM TOMS 47,
/// 2021), seeded through SplitMix64 (Steele, Lea and Flood, "Fast splittable pseudorandom number generators", OOPSLA
/// 2014), as its authors advise. It is not for secrets.
///
/// ```swift
/// var random = SimulationRandom(seed: 42)
/// let isLost = random.chance(0.1)
/// let delay = Int.random(in: 1...20, using: &random)
/// ```
public struct SimulationRandom: RandomNumberGenerator, Sendable {
    private var a: UInt64
    private var b: UInt64
    private var c: UInt64
    private var d: UInt64

    /// Creates the generator of a seed; any seed is as good as another.
    public init(seed: UInt64) {
        var mixer = SplitMix64(state: seed)
        a = mixer.next()
        b = mixer.next()
        c = mixer.next()
        d = mixer.next()
    }

    /// Returns the next 64 random bits.
    public mutating func next() -> UInt64 {
        let result = Self.rotateLeft(b &* 5, by: 7) &* 9
        let shifted = b << 17
        c ^= a
        d ^= b
        b ^= c
        a ^= d
        c ^= shifted
        d = Self.rotateLeft(d, by: 45)
        return result
    }

    private static func rotateLeft(_ value: UInt64, by count: UInt64) -> UInt64 {
        value << count | value >> (64 - count)
    }

    /// Makes a generator of its own for one part of a simulation, so that what one part draws leaves the others alone.
    public mutating func split() -> SimulationRandom { SimulationRandom(seed: next()) }

    /// Returns true with this probability, from 0 (never) to 1 (always).
    public mutating func chance(_ probability: Double) -> Bool {
        if probability >= 1 { return true }
        // 53 random bits: every double from 0 up to, not including, 1 in steps of 2^-53.
        return Double(next() >> 11) * 0x1p-53 < probability
    }

    /// Returns random bytes.
    public mutating func bytes(count: Int) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(max(0, count))
        var word: UInt64 = 0
        for index in 0..<max(0, count) {
            if index % 8 == 0 { word = next() }
            bytes.append(UInt8(truncatingIfNeeded: word))
            word >>= 8
        }
        return bytes
    }
}

/// SplitMix64: every state leads to the next by one addition, and is mixed into the number that is returned.
struct SplitMix64 {
    var state: UInt64

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }
}
