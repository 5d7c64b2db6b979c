/// When to try again to connect: exponential waits with full jitter.
///
/// The wait is chosen evenly between `shortestSeconds` and a bound that doubles with each failure, so that many peers that lost the
/// same hub do not return together. Brooker, "Exponential Backoff And Jitter", 2015.
package struct ReconnectBackoff: Sendable, Hashable {
    /// The bound of the first wait, in seconds.
    package static let defaultFirstSeconds: Double = 0.5
    /// The bound that waits never exceed, in seconds.
    package static let defaultLongestSeconds: Double = 60
    /// The least wait, in seconds, so that a peer that refuses at once is not called without pause.
    package static let shortestSeconds: Double = 0.05
    /// How long a connection must have lasted to count as stable, in seconds.
    package static let defaultStableSeconds: Double = 30

    private let firstSeconds: Double
    private let longestSeconds: Double
    private let stableSeconds: Double
    /// Failures since the last stable connection.
    package private(set) var failureCount = 0

    /// Creates a policy; bounds are kept above `shortestSeconds` and in order.
    package init(
        firstSeconds: Double = defaultFirstSeconds, longestSeconds: Double = defaultLongestSeconds,
        stableSeconds: Double = defaultStableSeconds
    ) {
        self.firstSeconds = max(firstSeconds, Self.shortestSeconds)
        self.longestSeconds = max(longestSeconds, self.firstSeconds)
        self.stableSeconds = stableSeconds
    }

    /// Notes that a connection failed to open, or was lost after `lastedSeconds`, and returns the seconds to wait.
    ///
    /// - Parameters:
    ///   - lastedSeconds: how long the connection had been open; 0 where it never was.
    ///   - random: a number of at least 0 and less than 1.
    package mutating func failed(afterLasting lastedSeconds: Double = 0, random: Double) -> Double {
        if lastedSeconds >= stableSeconds { failureCount = 0 }
        let bound = min(longestSeconds, firstSeconds * Self.powerOfTwo(failureCount))
        failureCount = min(failureCount + 1, Self.failureCountLimit)
        let part = min(max(random, 0), 1)
        return max(Self.shortestSeconds, bound * part)
    }

    /// Forgets the failures: the network, or the other side, is back, so the next try should be made at once.
    package mutating func nudge() { failureCount = 0 }

    private static let failureCountLimit = 62

    private static func powerOfTwo(_ exponent: Int) -> Double { Double(UInt64(1) << UInt64(exponent)) }
}
