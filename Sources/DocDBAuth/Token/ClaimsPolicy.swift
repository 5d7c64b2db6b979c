package import DocDBCore

/// What the claims of an issuer's tokens must be for a login.
package struct ClaimsPolicy: Sendable {
    /// What one claim must be.
    package enum Requirement: Sendable {
        /// The claim is one of these values, or an array that holds one of them.
        case oneOf(ClaimPath, [Value])
        /// The claim is a text of words with spaces between them, such as `scope`, and this is one of them.
        case word(ClaimPath, String)
    }

    package let issuer: String
    /// One of these must be the audience.
    package let audiences: [String]
    /// Where the audience stands: `aud`, or `azp` or `client_id` for some issuers.
    package let audienceClaim: ClaimPath
    package let requirements: [Requirement]
    /// How far the issuer's clock may be off, in seconds.
    package let leeway: Int64

    package init(
        issuer: String, audiences: [String], audienceClaim: ClaimPath = "aud", requirements: [Requirement] = [],
        leeway: Int64 = AuthenticationLimits.leeway
    ) {
        self.issuer = issuer
        self.audiences = audiences
        self.audienceClaim = audienceClaim
        self.requirements = requirements
        self.leeway = min(max(leeway, 0), AuthenticationLimits.greatestLeeway)
    }

    /// Checks claims, and returns when the token expires.
    ///
    /// - Throws: `invalidToken` or `tokenExpired`, whose context names the reason, and the claim.
    package func check(_ claims: [String: Value], now: UnixTime) throws(DocDBError) -> UnixTime {
        let expiry = try checkTimes(claims, now: now)
        guard let issuer = claims["iss"] else { throw Self.failure(.missingClaim, "iss") }
        guard case .string(let issuer) = issuer, issuer.isExactly(self.issuer) else {
            throw Self.failure(.wrongIssuer, "iss")
        }
        try checkAudience(claims)
        for requirement in requirements { try Self.check(requirement, claims) }
        return expiry
    }

    private func checkTimes(_ claims: [String: Value], now: UnixTime) throws(DocDBError) -> UnixTime {
        guard let expiry = try Self.time("exp", claims) else { throw Self.failure(.missingClaim, "exp") }
        guard now < expiry.adding(leeway) else { throw Self.failure(.expired, "exp") }
        if let start = try Self.time("nbf", claims), now.adding(leeway) < start {
            throw Self.failure(.notYetValid, "nbf")
        }
        if let issue = try Self.time("iat", claims), now.adding(leeway) < issue {
            throw Self.failure(.issuedInFuture, "iat")
        }
        return expiry
    }

    private func checkAudience(_ claims: [String: Value]) throws(DocDBError) {
        let place = audienceClaim.description
        guard let value = audienceClaim.value(in: claims) else { throw Self.failure(.missingClaim, place) }
        let named: [Value] = if case .array(let elements) = value { elements } else { [value] }
        let texts = named.compactMap(\.stringValue)
        guard texts.count == named.count else { throw Self.failure(.invalidClaim, place) }
        guard texts.contains(where: { text in audiences.contains { $0.isExactly(text) } }) else {
            throw Self.failure(.wrongAudience, place)
        }
    }

    private static func check(_ requirement: Requirement, _ claims: [String: Value]) throws(DocDBError) {
        switch requirement {
        case .oneOf(let path, let values):
            guard let value = path.value(in: claims) else { throw failure(.missingClaim, path.description) }
            guard Self.matches(value, anyOf: values) else { throw failure(.claimNotAsRequired, path.description) }
        case .word(let path, let word):
            guard let value = path.value(in: claims) else { throw failure(.missingClaim, path.description) }
            guard case .string(let text) = value,
                text.utf8.split(separator: UInt8(ascii: " ")).contains(where: { $0.elementsEqual(word.utf8) })
            else { throw failure(.claimNotAsRequired, path.description) }
        }
    }

    /// Tells whether claims are as required.
    static func meets(_ requirement: Requirement, _ claims: [String: Value]) -> Bool {
        (try? check(requirement, claims)) != nil
    }

    /// Tells whether a claim is one of some values, or an array that holds one of them.
    static func matches(_ claim: Value, anyOf values: [Value]) -> Bool {
        if values.contains(claim) { return true }
        guard case .array(let elements) = claim else { return false }
        return elements.contains { values.contains($0) }
    }

    /// A claim that is a time; nil where it is absent.
    static func time(_ name: String, _ claims: [String: Value]) throws(DocDBError) -> UnixTime? {
        guard let value = claims[name] else { return nil }
        guard let time = UnixTime(numericDate: value) else { throw failure(.invalidClaim, name) }
        return time
    }

    private static func failure(_ failure: TokenFailure, _ claim: String) -> DocDBError {
        failure.error(.invalidToken, claim: claim)
    }
}
