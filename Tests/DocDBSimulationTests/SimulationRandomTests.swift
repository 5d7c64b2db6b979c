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

    @Test("are those of xoshiro256** after SplitMix64, worked out apart from this code")
    func reference() {
        var random = SimulationRandom(seed: 1)
        let first = (0..<4).map { _ in random.next() }
        #expect(first == Self.expected)
    }

    /// From an implementation in Python.
    static let expected: [UInt64] = [0xB3F2AF6D0FC710C5, 0x853B559647364CEA, 0x92F89756082A4514, 0x642E1C7BC266A3A7]

    @Test("split into generators that do not disturb each other")
    func splits() {
        var random = SimulationRandom(seed: 1)
        var part = random.split()
        let next = random.next()
        var again = SimulationRandom(seed: 1)
        var otherPart = again.split()
        for _ in 0..<10 { _ = otherPart.next() }
        #expect(again.next() == next)
        #expect(part.next() != next)
        #expect(random.bytes(count: 13).count == 13)
    }
}
