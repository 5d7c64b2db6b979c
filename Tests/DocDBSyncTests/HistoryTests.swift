import DocDBCore
import DocDBSync
import Foundation
import SyncModel
import Testing

/// Random histories of real sessions over replicas in memory, as `protocol_model.py` runs them.
@Suite("Histories of sessions")
struct HistoryTests {
    /// Runs one history; returns what it has shown to be broken.
    static func violation(seed: UInt64, steps: Int, disabledRules: Set<SyncRule> = []) -> (
        HistoryWorld, HistoryViolation?
    ) {
        let world = HistoryWorld(seed: seed, disabledRules: disabledRules)
        world.showsFrames = ProcessInfo.processInfo.environment["DOCDB_HISTORY_SHOW"] == "\(seed)"
        do {
            try world.run(steps: steps)
        } catch let violation as HistoryViolation {
            return (world, violation)
        } catch {
            return (world, HistoryViolation("E", "\(error)"))
        }
        return (world, nil)
    }

    static func number(_ name: String, _ standard: Int) -> Int {
        ProcessInfo.processInfo.environment[name].flatMap { Int($0) } ?? standard
    }

    /// Rules by seeds of short histories that fail without them; the other rules have scripts in `SessionRuleTests`.
    private static let seeds: [(rule: SyncRule, seeds: [UInt64])] = [
        (.told, [172, 219]), (.transition, [223, 152]), (.vector, [124, 164, 229]), (.stale, [56, 197, 102]),
        (.deadInScope, [60, 37, 183]), (.exceptions, [213, 197, 95]), (.refuseWhole, [213, 58, 104]),
        (.need, [264, 188, 5]), (.cursorAcknowledges, [219, 278, 4]),
    ]

    @Test("Without a rule, histories fail that hold with it", arguments: seeds)
    func withoutRule(_ rule: SyncRule, _ seeds: [UInt64]) {
        let failures = seeds.filter { Self.violation(seed: $0, steps: 120, disabledRules: [rule]).1 != nil }
        #expect(!failures.isEmpty)
        for seed in seeds { #expect(Self.violation(seed: seed, steps: 120).1 == nil, "seed \(seed)") }
    }

    @Test(
        "Long histories that found a fault once hold",
        arguments: [
            // A false claim was answered for ever, twice.
            300_264, 300_370,
            // A restored store showed an older state of a document that it may not read any more, and kept it.
            300_361,
            // A write was held by a quarantine alone.
            300_459,
        ] as [UInt64])
    func longHistories(_ seed: UInt64) throws {
        if let violation = Self.violation(seed: seed, steps: 400).1 { throw violation }
    }

    @Test("Random histories of faults converge and break no invariant")
    func randomHistories() {
        let first = UInt64(Self.number("DOCDB_HISTORY_FIRST", 0))
        let count = UInt64(Self.number("DOCDB_HISTORIES", 60))
        let steps = Self.number("DOCDB_HISTORY_STEPS", 120)
        var kinds: [String: Int] = [:]
        var statistics: [String: Int] = [:]
        for seed in first..<(first + count) {
            let (world, violation) = Self.violation(seed: seed, steps: steps)
            statistics.merge(world.statistics) { $0 + $1 }
            if let violation {
                kinds[violation.invariant, default: 0] += 1
                if kinds.values.reduce(0, +) <= 12 {
                    print("seed \(seed) \(world.topology) steps \(world.trace.count):", violation)
                }
                if ProcessInfo.processInfo.environment["DOCDB_HISTORY_SHOW"] == "\(seed)" {
                    print(world.trace.joined(separator: "\n"))
                }
            }
        }
        print("histories: \(count), failures \(kinds), \(statistics)")
        #expect(kinds.isEmpty, "replay with DOCDB_HISTORY_FIRST=seed DOCDB_HISTORIES=1 DOCDB_HISTORY_SHOW=seed")
    }
}

extension HistoryTests {
    /// Prints, for each rule left out alone, how many histories then fail, and the shortest: `DOCDB_ABLATE=count`.
    @Test("Ablation", .enabled(if: ProcessInfo.processInfo.environment["DOCDB_ABLATE"] != nil))
    func ablation() {
        let first = UInt64(Self.number("DOCDB_HISTORY_FIRST", 0))
        let count = UInt64(Self.number("DOCDB_ABLATE", 200))
        let steps = Self.number("DOCDB_HISTORY_STEPS", 120)
        let only = ProcessInfo.processInfo.environment["DOCDB_ABLATE_RULES"]?.split(separator: ",").map(String.init)
        for rule in SyncRule.allCases where only?.contains(rule.rawValue) ?? true {
            var kinds: [String: Int] = [:]
            var failures: [(steps: Int, seed: UInt64, text: String)] = []
            for seed in first..<(first + count) {
                let (world, violation) = Self.violation(seed: seed, steps: steps, disabledRules: [rule])
                guard let violation else { continue }
                kinds[violation.invariant, default: 0] += 1
                failures.append((world.trace.count, seed, "\(violation)"))
            }
            failures.sort { ($0.steps, $0.seed) < ($1.steps, $1.seed) }
            print("without \(rule): \(failures.count)/\(count) \(kinds) \(failures.prefix(3))")
        }
    }
}
