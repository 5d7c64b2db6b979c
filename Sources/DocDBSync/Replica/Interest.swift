/// What a peer wants, or may have, of each collection: everything, or the documents that match a predicate.
///
/// Predicates are canonical (`Filter.description`), collections sorted by the bytes of their names, so that one interest has one encoding and hash.
package enum Interest: Hashable, Sendable {
    case everything
    /// Predicates by collection; a collection that is not named is not wanted. `true` is all of a collection.
    case collections([Element])

    package struct Element: Hashable, Sendable {
        package var collection: String
        package var predicate: String

        package init(collection: String, predicate: String) {
            self.collection = collection
            self.predicate = predicate
        }
    }

    /// Nothing at all.
    package static let nothing = Interest.collections([])
}

/// What a peer may do: the two halves of its grant; everything for identities without grants.
package struct PeerRights: Hashable, Sendable {
    package var read: Interest
    package var write: Interest
    /// Whether the peer may bring other actors' changes: a hub, or a relay of full trust.
    package var mayRelay: Bool
    package var isHub: Bool
    /// Rises with each change of the rights.
    package var epoch: UInt64
    /// When the rights end, in nanoseconds since 1970; nil for never.
    package var expiresNanoseconds: UInt64?
    /// Whose peer it is, `provider|subject`; nil for hubs and for identities without users.
    package var userID: String?
    /// The grant that gives the rights; nil where none does.
    package var grant: GrantName?

    /// By what a grant can be revoked, beside its user.
    package struct GrantName: Hashable, Sendable {
        package var id: String
        /// When it was issued, in seconds since 1970.
        package var issuedSeconds: Int64

        package init(id: String, issuedSeconds: Int64) {
            self.id = id
            self.issuedSeconds = issuedSeconds
        }
    }

    package init(
        read: Interest = .everything, write: Interest = .everything, mayRelay: Bool = true, isHub: Bool = false,
        epoch: UInt64 = 0, expiresNanoseconds: UInt64? = nil, userID: String? = nil, grant: GrantName? = nil
    ) {
        self.read = read
        self.write = write
        self.mayRelay = mayRelay
        self.isHub = isHub
        self.epoch = epoch
        self.expiresNanoseconds = expiresNanoseconds
        self.userID = userID
        self.grant = grant
    }

    /// Whether these rights permit the same as others, whenever either ends.
    package func permitsSame(as other: PeerRights) -> Bool {
        var other = other
        other.grant = grant
        other.expiresNanoseconds = expiresNanoseconds
        return self == other
    }
}
