import DocDBCore
import DocDBSync
import Testing

@Suite("A sum of digests")
struct DigestSumTests {
    @Test("carries from the low half into the high one, and gives back what is subtracted")
    func carries() {
        var sum = DigestSum(high: 0, low: .max)
        sum.add(StateDigest(high: 1, low: 2))
        #expect(sum == DigestSum(high: 2, low: 1))
        sum.subtract(StateDigest(high: 1, low: 2))
        #expect(sum == DigestSum(high: 0, low: .max))
    }

    @Test("wraps around at 2^128")
    func wraps() {
        var sum = DigestSum(high: .max, low: .max)
        sum.add(StateDigest(high: 0, low: 1))
        #expect(sum == DigestSum())
        sum.subtract(StateDigest(high: 0, low: 1))
        #expect(sum == DigestSum(high: .max, low: .max))
    }
}
