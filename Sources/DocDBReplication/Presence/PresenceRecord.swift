/// What one peer tells of itself: who it is, and to whom it is connected.
package struct PresenceRecord: Hashable, Sendable {
    /// One link of the peer.
    package struct Neighbour: Hashable, Sendable {
        /// The 16 bytes that name the other store.
        package var peer: [UInt8]
        package var kind: LinkKind
        /// When the link was established, in nanoseconds since 1970 by the clock of the peer that tells it.
        package var sinceNanoseconds: UInt64

        package init(peer: [UInt8], kind: LinkKind, sinceNanoseconds: UInt64) {
            self.peer = peer
            self.kind = kind
            self.sinceNanoseconds = sinceNanoseconds
        }
    }

    /// How the frames of a link travel; numbers from newer versions are kept.
    package struct LinkKind: Hashable, Sendable, RawRepresentable {
        package var rawValue: UInt64
        package init(rawValue: UInt64) { self.rawValue = rawValue }
        package static let inMemory = Self(rawValue: 0)
        package static let webSocket = Self(rawValue: 1)
        package static let webSocketTLS = Self(rawValue: 2)
    }

    /// The 16 bytes that name the peer's store.
    package var peer: [UInt8]
    /// Rises with each news of the peer, over restarts too.
    package var sequence: UInt64
    package var name = ""
    package var operatingSystem = ""
    package var softwareVersion = ""
    package var isKeeper = false
    /// Sorted by peer; none where there are more than are told.
    package var neighbours: [Neighbour] = []

    package init(peer: [UInt8], sequence: UInt64) {
        self.peer = peer
        self.sequence = sequence
    }
}
