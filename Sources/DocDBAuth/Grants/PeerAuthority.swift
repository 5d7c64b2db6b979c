package import DocDBCore
package import DocDBQuery

/// What a peer that has proved its key may do in a session, and until when.
package enum PeerAuthority: Equatable, Sendable {
    /// A hub: a keeper, which may read and bring everything.
    case hub(HubCertificate)
    /// A user's peer.
    case user(Grant)
    /// A peer of the shared-key identity or of the playground, where all may do everything.
    case unrestricted

    /// The documents of a collection that may be sent to the peer.
    package func readFilter(_ collection: String) -> Filter { permissions.readFilter(collection) }

    /// The documents of a collection that the peer may change, before and after the change.
    package func writeFilter(_ collection: String) -> Filter { permissions.writeFilter(collection) }

    private var permissions: BoundPermissions {
        if case .user(let grant) = self { grant.permissions } else { .everything }
    }

    /// The first second in which nothing more may be sent or accepted; nil where there is no end.
    package var expiresAt: UnixTime? {
        switch self {
        case .hub(let certificate): certificate.expiresAt
        case .user(let grant): grant.expiresAt
        case .unrestricted: nil
        }
    }

    /// Tells whether the authority has ended, without leeway.
    package func isExpired(at now: UnixTime) -> Bool { expiresAt.map { now >= $0 } ?? false }

    /// Whether the peer's acknowledgements, refusals and `left` let a device evict.
    package var isHub: Bool { if case .hub = self { true } else { false } }

    /// Whether the peer may bring dots of actors that are not its own.
    package var mayRelay: Bool {
        switch self {
        case .hub, .unrestricted: true
        case .user(let grant): grant.isRelay
        }
    }

    /// The user whose peer it is, where there is one.
    package var userID: String? { if case .user(let grant) = self { grant.userID } else { nil } }

    /// The number of the user's permissions, which belongs to cursors and refusals; zero where there are none to change.
    package var epoch: Int64 { if case .user(let grant) = self { grant.epoch } else { 0 } }
}

extension GrantVerifier {
    /// What a peer may do that has proved its key: a hub by its certificate, anybody else by the grant it presents.
    ///
    /// - Throws: `invalidGrant` with reason `noGrant` where it presents none, and what `verify` throws.
    package func authority(
        of peer: PeerPublicKey, presenting grant: String?, now: UnixTime, revocations: RevocationList,
        highestEpoch: (String) -> Int64?
    ) throws(DocDBError) -> PeerAuthority {
        if let certificate = hubCertificate(of: peer, now: now) { return .hub(certificate) }
        guard let grant else {
            throw DocDBError(
                .invalidGrant, "the peer presents no grant, and is no hub; log in first", context: ["reason": "noGrant"]
            )
        }
        return .user(
            try verify(
                grant, presentedBy: peer, now: now, revocations: revocations, highestEpoch: highestEpoch))
    }
}
