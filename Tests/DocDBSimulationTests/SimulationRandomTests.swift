import DocDBSimulation
import Testing

@Suite("Random numbers of a simulation")
struct SimulationRandomTests {
    @Test("chance() is true as often as its probability says")
    func chances() {
        var random = SimulationRandom(seed: 7)
        for probability in [0.0, 0.1, 0.5, 0.9, 1.0] {
            let count = (0..<20_000).count { _ in random.chance(probability) }
            #expect(abs(Double(count) / 20_000 - probability) < 0.02)
        }
    }
}
