/// How often each address may do something: a bucket for each that fills with time, of which the fullest are forgotten.
package struct RateLimiter {
    private struct Bucket {
        var tokens: Double
        var nanoseconds: UInt64
    }

    private let perMinute: Double
    private let capacity: Int
    private var buckets: [String: Bucket] = [:]
    /// Before this nothing is looked for that could be forgotten, lest each new address costs a look at all.
    private var nextSweep: UInt64 = 0
    private static let sweepNanoseconds: UInt64 = 100_000_000

    /// - Parameter capacity: the most addresses that are remembered.
    package init(perMinute: Int, capacity: Int = 65_536) {
        self.perMinute = Double(perMinute)
        self.capacity = capacity
    }

    /// Takes one turn of an address; false where it has none left.
    package mutating func take(_ address: String, at nanoseconds: UInt64) -> Bool {
        var bucket = buckets[address] ?? Bucket(tokens: perMinute, nanoseconds: nanoseconds)
        bucket = filled(bucket, at: nanoseconds)
        let isPermitted = bucket.tokens >= 1
        if isPermitted { bucket.tokens -= 1 }
        if buckets[address] == nil, buckets.count >= capacity, nanoseconds >= nextSweep {
            forgetFull(at: nanoseconds)
            nextSweep = nanoseconds &+ Self.sweepNanoseconds
        }
        // With too many addresses at once those that are new are not remembered, and so not let in.
        guard buckets[address] != nil || buckets.count < capacity else { return false }
        buckets[address] = bucket
        return isPermitted
    }

    private func filled(_ bucket: Bucket, at nanoseconds: UInt64) -> Bucket {
        let passed = nanoseconds > bucket.nanoseconds ? Double(nanoseconds - bucket.nanoseconds) : 0
        return Bucket(
            tokens: min(perMinute, bucket.tokens + passed / 60_000_000_000 * perMinute), nanoseconds: nanoseconds)
    }

    private mutating func forgetFull(at nanoseconds: UInt64) {
        buckets = buckets.filter { filled($0.value, at: nanoseconds).tokens < perMinute }
    }
}
