import DocDBCore
import Synchronization

/// The id by which other stores know a store; a copy takes a new one when it is written to first.
package final class StoreIdentity: Sendable {
    static let byteCount = 16

    private let current: Lock<[UInt8]>

    /// The id by which peers know a store: where they prove to hold keys, one that no other key can claim.
    package static func id(announced: [UInt8], peerKey: [UInt8]) -> [UInt8] {
        guard !peerKey.isEmpty else { return announced }
        let input = Array("docdb-store-1".utf8) + peerKey + announced
        return Array(input.withUnsafeBytes { ContentHash.sha256($0) }[..<byteCount])
    }

    init(_ id: [UInt8]) { current = Lock(id) }

    var id: [UInt8] {
        get { current.withLock { $0 } }
        set { current.withLock { $0 = newValue } }
    }
}
