import DocDBSync
import Foundation
import Testing

@Suite("The end of a grant")
struct ExpiryTests {
    /// Runs, and the first seed; `DOCDB_EXPIRY_FIRST` and `DOCDB_EXPIRY_RUNS` replay others.
    private static func number(_ name: String, _ normal: UInt64) -> UInt64 {
        ProcessInfo.processInfo.environment[name].flatMap { UInt64($0) } ?? normal
    }

    @Test("With a grant of two seconds no document is sent or joined from the second of its end on, in a thousand runs")
    func simulated() throws {
        let keys = try ExpiryKeys()
        let first = Self.number("DOCDB_EXPIRY_FIRST", 1)
        let count = Self.number("DOCDB_EXPIRY_RUNS", 1_000)
        var lastSent: UInt64 = 0
        var lastJoined: UInt64 = 0
        var joinedCount = 0
        var lateCount = 0
        for seed in first..<first + count {
            let world = try ExpiryWorld(seed: seed, keys)
            try world.run()
            let sent = world.sent.max() ?? 0
            let joined = world.joined.max() ?? 0
            #expect(
                sent < ExpiryKeys.lifetime && joined < ExpiryKeys.lifetime,
                "seed \(seed) (\(world.description)): sent \(sent), joined \(joined) ns after the issue")
            #expect(world.sides.allSatisfy { $0.hasEnded }, "seed \(seed): a session goes on")
            lastSent = max(lastSent, sent)
            lastJoined = max(lastJoined, joined)
            joinedCount += world.joined.count
            if sent >= ExpiryKeys.lifetime || joined >= ExpiryKeys.lifetime { lateCount += 1 }
        }
        print(
            "expiry: seeds \(first)..<\(first + count), \(joinedCount) snapshots joined, \(lateCount) runs late; the last",
            "\(ExpiryKeys.lifetime - min(lastJoined, ExpiryKeys.lifetime)) ns before the end")
        guard count >= 1_000 else { return }
        // The runs do come to the very end, and do replicate until then.
        #expect(lastSent == ExpiryKeys.lifetime - 1 && lastJoined == ExpiryKeys.lifetime - 1)
        #expect(joinedCount > 2 * Int(count))
    }
}
