import DocDBTransport
import Testing

@Suite("ReconnectBackoff")
struct ReconnectBackoffTests {
    @Test("The bound doubles with each failure up to the longest wait")
    func doubles() {
        var backoff = ReconnectBackoff(firstSeconds: 1, longestSeconds: 10, stableSeconds: 30)
        let waits = (0..<6).map { _ in backoff.failed(random: 0.5) }
        #expect(waits == [0.5, 1, 2, 4, 5, 5])
    }

    @Test("The wait is any part of the bound, but never none")
    func jitter() {
        for (random, expected) in [(0.0, 0.05), (0.01, 0.05), (0.25, 0.5), (0.999, 1.998)] {
            var backoff = ReconnectBackoff(firstSeconds: 2, longestSeconds: 10)
            #expect(backoff.failed(random: random) == expected)
        }
    }

    @Test("A connection that lasted begins anew, one that did not goes on")
    func stable() {
        var backoff = ReconnectBackoff(firstSeconds: 1, longestSeconds: 64, stableSeconds: 30)
        _ = backoff.failed(random: 0.5)
        _ = backoff.failed(random: 0.5)
        #expect(backoff.failed(afterLasting: 29, random: 0.5) == 2)
        #expect(backoff.failed(afterLasting: 30, random: 0.5) == 0.5)
        #expect(backoff.failureCount == 1)
    }

    @Test("A nudge begins anew")
    func nudge() {
        var backoff = ReconnectBackoff(firstSeconds: 1, longestSeconds: 64)
        for _ in 0..<5 { _ = backoff.failed(random: 0.5) }
        backoff.nudge()
        #expect(backoff.failureCount == 0)
        #expect(backoff.failed(random: 0.5) == 0.5)
    }

    @Test("A thousand failures still wait no longer than the longest")
    func many() {
        var backoff = ReconnectBackoff()
        for _ in 0..<1000 {
            let wait = backoff.failed(random: 0.999_999)
            #expect(wait >= ReconnectBackoff.shortestSeconds && wait <= ReconnectBackoff.defaultLongestSeconds)
        }
    }

    @Test("Nonsensical bounds are put in order")
    func bounds() {
        var backoff = ReconnectBackoff(firstSeconds: 0, longestSeconds: -1)
        #expect(backoff.failed(random: 0.5) == ReconnectBackoff.shortestSeconds)
        #expect(backoff.failed(random: 2) == ReconnectBackoff.shortestSeconds)
    }
}
