import Foundation
import Synchronization

/// A whole soak, from an empty directory to the figures.
enum Soak {
    /// Returns the status that the process is to end with.
    static func run(minutes: Double, hub: String, seed: UInt64) -> Int32 {
        let directory = FileManager.default.temporaryDirectory.appending(path: "soak-\(UUID().uuidString)").path
        print("soak: \(minutes) minutes, seed \(seed), in \(directory)")
        fflush(nil)
        do {
            try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
            let run = try SoakRun(directory: directory, hub: hub, minutes: minutes, seed: seed)
            watchSignals()
            do {
                try run.run()
                try report(run, seed: seed)
            } catch {
                run.abandon()
                throw error
            }
            try FileManager.default.removeItem(atPath: directory)
            return 0
        } catch {
            print("soak: seed \(seed) failed: \(error)\nthe stores and logs are in \(directory)")
            return 1
        }
    }

    private static func report(_ run: SoakRun, seed: UInt64) throws {
        let audit = SoakAudit(run: run)
        let found = try audit.check()
        let resources = try audit.checkResources()
        run.report(Int(run.minutes))
        print(
            """
            soak: passed, seed \(seed)
              \(run.ledger.writeCount) writes acknowledged, none lost; \(found.documentCount) documents at the hub, \
            \(found.comparedCount) equal at clients, \(found.evictedCount) evicted there
              \(resources.joined(separator: "\n  "))
              the hub's log: \(run.hub.events.sorted { $0.key < $1.key }.map { "\($0.value) \($0.key)" })
              clients noted: \(run.ledger.notes.sorted { $0.key < $1.key }.map { "\($0.value) \($0.key)" })
            """)
    }

    /// Whether somebody wants this process to end, which takes its children along.
    static let isInterrupted = Atomic<Bool>(false)

    private static func watchSignals() {
        isInterrupted.store(false, ordering: .relaxed)
        for number in [SIGINT, SIGTERM] {
            signal(number) { _ in Soak.isInterrupted.store(true, ordering: .relaxed) }
        }
    }
}
