import Testing

@Suite("Random histories of the document CRDT")
struct ModelHistoryTests {
    @Test("Replicas converge, agree with the model at every step, and every change can be undone", arguments: 0..<8)
    func converge(part: UInt64) throws {
        for seed in part * 250..<(part + 1) * 250 {
            let history = try ModelHistory(seed: seed)
            #expect(history.findings.isEmpty, "seed \(seed)")
            #expect(history.hasConverged, "seed \(seed)")
        }
    }

    @Test("Keeping the actor after sent changes were lost diverges")
    func divergeWithoutRotation() throws {
        let diverged = try (0..<UInt64(400)).contains { seed in
            try !ModelHistory(seed: seed, faults: ModelFaults(keepsActorAfterLoss: true)).hasConverged
        }
        #expect(diverged)
    }

    @Test("Writing under an actor whose own entries were forgotten diverges")
    func divergeWithoutGuard() throws {
        let diverged = try (0..<UInt64(4000)).contains { seed in
            try !ModelHistory(seed: seed, faults: ModelFaults(ignoresForgottenEntries: true)).hasConverged
        }
        #expect(diverged)
    }
}
