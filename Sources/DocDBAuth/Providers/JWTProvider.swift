package import DocDBCore

/// A provider whose tokens are JWTs, checked against the keys it publishes.
package struct JWTProvider: Sendable {
    /// Where a user's permissions come from.
    package enum PermissionSource: Sendable {
        /// The claim holds the permissions object, or its JSON as a text.
        case claim(ClaimPath)
        /// Each rule that applies adds its permissions.
        case rules([Rule])
    }

    /// Permissions for all whose token meets a condition; for everybody where it has none.
    package struct Rule: Sendable {
        package let condition: ClaimsPolicy.Requirement?
        package let permissions: Permissions

        package init(condition: ClaimsPolicy.Requirement?, permissions: Permissions) {
            self.condition = condition
            self.permissions = permissions
        }
    }

    /// The types of tokens that may log in: plain ones, and access tokens (RFC 9068).
    private static let types: Set<String> = ["jwt", "at+jwt"]

    package let name: String
    package let policy: ClaimsPolicy
    package let keys: KeySource
    package let algorithms: Set<SignatureAlgorithm>
    package let userID: ClaimPath
    package let permissions: PermissionSource
    package let clientInfo: [ClaimPath]
    package let aliases: [String: ClaimPath]

    package init(
        name: String, policy: ClaimsPolicy, keys: KeySource, algorithms: Set<SignatureAlgorithm>,
        userID: ClaimPath = "sub", permissions: PermissionSource, clientInfo: [ClaimPath] = [],
        aliases: [String: ClaimPath] = [:]
    ) {
        self.name = name
        self.policy = policy
        self.keys = keys
        self.algorithms = algorithms
        self.userID = userID
        self.permissions = permissions
        self.clientInfo = clientInfo
        self.aliases = aliases
    }

    /// Verifies a token and says who it is about.
    ///
    /// - Throws: `invalidToken`, `tokenExpired`, `authenticationFailed`, `invalidPermissions`, `providerUnavailable`,
    ///   `invalidKey`; the context's `reason` and `claim` say more, without the claim's value.
    package func identity(token text: String, now: UnixTime) async throws(DocDBError) -> ProviderIdentity {
        let token: JSONWebSignature
        do throws(TokenFailure) {
            token = try JSONWebSignature(text)
            // DocDB's own tokens and those for other purposes name themselves by their type.
            guard token.type.map({ Self.types.contains($0) }) ?? true else { throw TokenFailure.wrongType }
            guard algorithms.contains(token.algorithm) else { throw TokenFailure.algorithmNotPermitted }
        } catch { throw error.error }
        try await verify(token, now: now)
        let claims: [String: Value]
        do throws(TokenFailure) { claims = try token.claims() } catch { throw error.error }
        let expiry = try policy.check(claims, now: now)
        guard let subject = userID.value(in: claims) else {
            throw TokenFailure.missingClaim.error(.invalidToken, claim: userID.description)
        }
        guard case .string(let subject) = subject else {
            throw TokenFailure.invalidClaim.error(.invalidToken, claim: userID.description)
        }
        return try ProviderIdentity(
            userID: try UserID.make(provider: name, subject: subject), expiresAt: expiry,
            clientInfo: info(of: claims), permissions: try permissions(of: claims), claims: claims, aliases: aliases)
    }

    private func verify(_ token: JSONWebSignature, now: UnixTime) async throws(DocDBError) {
        let key = try await keys.key(for: token, now: now)
        var failure: TokenFailure
        do throws(TokenFailure) { return try token.verify(with: key) } catch { failure = error }
        if failure == .invalidSignature, let other = try await keys.otherKey(for: token, now: now) {
            do throws(TokenFailure) { return try token.verify(with: other) } catch { failure = error }
        }
        throw failure.error
    }

    private func info(of claims: [String: Value]) -> Value {
        var members: [String: Value] = [:]
        for path in clientInfo {
            if let name = path.names.last, let value = path.value(in: claims) { members[name] = value }
        }
        return members.isEmpty ? .null : .object(members)
    }

    private func permissions(of claims: [String: Value]) throws(DocDBError) -> Permissions {
        switch permissions {
        case .claim(let path):
            guard let value = path.value(in: claims) else {
                throw TokenFailure.missingClaim.error(.invalidPermissions, claim: path.description)
            }
            guard case .string(let text) = value else { return try Permissions(value) }
            guard let object = try? StrictJSON.value([UInt8](text.utf8)) else {
                throw TokenFailure.invalidClaim.error(.invalidPermissions, claim: path.description)
            }
            return try Permissions(object)
        case .rules(let rules):
            let applying = rules.filter { rule in
                rule.condition.map { ClaimsPolicy.meets($0, claims) } ?? true
            }
            guard let first = applying.first else {
                throw DocDBError(
                    .authenticationFailed, "no rule of the provider's permissions applies to the user",
                    context: ["reason": "noRule"])
            }
            return applying.dropFirst().reduce(first.permissions) { $0.union($1.permissions) }
        }
    }
}
