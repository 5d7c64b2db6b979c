package import DocDBCore

/// How often a user's permissions have changed: peers refuse grants of an epoch below the highest they have seen.
///
/// The hub keeps one of these for each user.
package struct PermissionEpoch: Equatable, Sendable {
    package let number: Int64
    /// The hash of the permissions of this epoch.
    package let hash: [UInt8]

    package init(number: Int64, hash: [UInt8]) {
        self.number = number
        self.hash = hash
    }

    /// The epoch of a user's permissions after the one before, which is nil for a user who logs in for the first time.
    package static func following(
        _ previous: PermissionEpoch?, _ permissions: BoundPermissions
    ) throws(DocDBError) -> PermissionEpoch {
        let hash = try permissions.hash()
        guard let previous else { return PermissionEpoch(number: 1, hash: hash) }
        if previous.hash == hash { return previous }
        guard previous.number < .max else {
            throw DocDBError(.limitReached, "the permission epoch of a user is used up")
        }
        return PermissionEpoch(number: previous.number + 1, hash: hash)
    }
}
