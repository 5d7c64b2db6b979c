package import DocDBAuth
import DocDBQuery
package import DocDBSync

extension PeerRights {
    /// The rights of a peer whose authority was verified, in the form that sessions judge by.
    package init(_ authority: PeerAuthority) {
        switch authority {
        case .hub(let certificate):
            self.init(isHub: true, expiresNanoseconds: certificate.expiresAt.nanoseconds)
        case .user(let grant):
            self.init(
                read: Interest(grant.permissions.read), write: Interest(grant.permissions.write),
                mayRelay: grant.isRelay, epoch: UInt64(clamping: grant.epoch),
                expiresNanoseconds: grant.expiresAt.nanoseconds, userID: grant.userID,
                grant: GrantName(id: grant.id, issuedSeconds: grant.issuedAt.seconds))
        case .unrestricted: self.init()
        }
    }
}

extension Interest {
    /// One direction of a user's permissions: collections that they do not name are in no scope.
    init(_ rules: BoundRules) {
        if rules.isEverything {
            self = .everything
        } else {
            self = .collections(
                rules.collections.map { Element(collection: $0, predicate: rules.filter(for: $0).description) })
        }
    }
}
