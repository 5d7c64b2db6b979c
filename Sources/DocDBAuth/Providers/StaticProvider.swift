package import DocDBCore

/// A provider for development only: its tokens stand in a file in the clear.
package struct StaticProvider: Sendable {
    /// What one token stands for.
    package struct Entry: Sendable {
        /// The SHA-256 of the token.
        let tokenHash: [UInt8]
        let userID: String
        let expirationSeconds: Int64?
        let clientInfo: Value
        let permissions: Permissions

        /// - Throws: `invalidConfiguration` for an empty token.
        package init(
            token: String, userID: String, expirationSeconds: Int64? = nil, clientInfo: Value = .null,
            permissions: Permissions
        ) throws(DocDBError) {
            guard !token.isEmpty else {
                throw DocDBError(.invalidConfiguration, "a token of a static provider is empty")
            }
            tokenHash = Digest.sha256(token)
            self.userID = userID
            self.expirationSeconds = expirationSeconds
            self.clientInfo = clientInfo
            self.permissions = permissions
        }
    }

    package let name: String
    private let entries: [Entry]

    package init(name: String, entries: [Entry]) {
        self.name = name
        self.entries = entries
    }

    /// Looks a token up, in a time that does not tell how much of it is right.
    package func identity(token: String, now: UnixTime) throws(DocDBError) -> ProviderIdentity {
        guard token.utf8.count <= AuthenticationLimits.tokenByteCount else { throw TokenFailure.tooLarge.error }
        let hash = Digest.sha256(token)
        var found: Entry?
        for entry in entries where Digest.areEqual(entry.tokenHash, hash) { found = entry }
        guard let entry = found else {
            throw DocDBError(
                .authenticationFailed, "the static provider does not know the token",
                context: ["reason": "unknownToken"])
        }
        return try ProviderIdentity(
            userID: try UserID.make(provider: name, subject: entry.userID),
            expiresAt: entry.expirationSeconds.map { now.adding($0) }, clientInfo: entry.clientInfo,
            permissions: entry.permissions)
    }
}
