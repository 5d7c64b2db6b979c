import DocDBCore
import Synchronization

/// The id by which other stores know a store; a copy takes a new one when it is written to first.
final class StoreIdentity: Sendable {
    static let byteCount = 16

    private let current: Lock<[UInt8]>

    init(_ id: [UInt8]) { current = Lock(id) }

    var id: [UInt8] {
        get { current.withLock { $0 } }
        set { current.withLock { $0 = newValue } }
    }
}
