import DocDBCore
import Synchronization

/// One generator that several threads draw from; what each gets depends on their order.
package final class SharedRandom: Sendable {
    private let random: Lock<SimulationRandom>

    package init(seed: UInt64) { random = Lock(SimulationRandom(seed: seed)) }

    package func bytes(count: Int) -> [UInt8] { random.withLock { $0.bytes(count: count) } }
}
