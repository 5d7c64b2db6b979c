package import DocDBCore

/// What a provider says of somebody whose token it accepts.
package struct ProviderIdentity: Sendable {
    /// `provider|subject`.
    package let userID: String
    /// When what the provider said ends; nil where it named no time.
    package let expiresAt: UnixTime?
    /// What the client is told about itself.
    package let clientInfo: Value
    /// What the user may do, not yet bound.
    package let permissions: Permissions
    /// The claims that `$claims` stands for.
    package let claims: [String: Value]
    package let aliases: [String: ClaimPath]

    package init(
        userID: String, expiresAt: UnixTime?, clientInfo: Value = .null, permissions: Permissions,
        claims: [String: Value] = [:], aliases: [String: ClaimPath] = [:]
    ) throws(DocDBError) {
        if clientInfo != .null {
            guard let text = try? StrictJSON.text(clientInfo),
                text.count <= AuthenticationLimits.clientInfoByteCount
            else {
                throw DocDBError(
                    .authenticationFailed,
                    "the provider's client info has more than \(AuthenticationLimits.clientInfoByteCount) bytes of JSON",
                    context: ["reason": "clientInfoTooLarge"])
            }
        }
        self.userID = userID
        self.expiresAt = expiresAt
        self.clientInfo = clientInfo
        self.permissions = permissions
        self.claims = claims
        self.aliases = aliases
    }

    /// The permissions with the user's id and claims in them.
    ///
    /// - Throws: `invalidPermissions`, which names the predicate.
    package func boundPermissions() throws(DocDBError) -> BoundPermissions {
        try permissions.bound(to: PermissionBinding(userID: userID, claims: claims, aliases: aliases))
    }
}

/// A provider's no: what the client may be told.
package struct ProviderRefusal: Error, Sendable {
    /// The provider's reason, where it is a text.
    package let reason: String?
    /// The provider's `userInfo`, where it gave one.
    package let userInfo: Value

    package init(reason: String? = nil, userInfo: Value = .null) {
        self.reason = reason
        self.userInfo = userInfo
    }

    /// The refusal as an error, for logs; what the provider said is for the client alone.
    package var error: DocDBError {
        DocDBError(
            .authenticationFailed, "the provider refused the login; log in again there",
            context: ["reason": "refusedByProvider"])
    }
}

/// What a provider answers about a token.
package enum ProviderAnswer: Sendable {
    case accepted(ProviderIdentity)
    case refused(ProviderRefusal)
}
