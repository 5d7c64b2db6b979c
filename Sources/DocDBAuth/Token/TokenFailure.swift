package import DocDBCore

/// Why a signed token is refused. The raw value stands in the error's context as `reason`.
package enum TokenFailure: String, Error, Sendable, CaseIterable {
    case tooLarge, notCompact, invalidBase64, invalidHeader, invalidPayload
    case unsupportedAlgorithm, criticalExtension, detachedPayload, wrongType
    case unknownKey, ambiguousKey, wrongKeyType, algorithmNotPermitted, invalidSignature
    case missingClaim, invalidClaim, wrongIssuer, wrongAudience, claimNotAsRequired
    case expired, notYetValid, issuedInFuture

    /// The error to throw: of the code for tokens, or for their time.
    package var error: DocDBError { error(.invalidToken) }

    /// The error to throw, of a code for what the token is.
    func error(_ code: DocDBError.Code, claim: String? = nil) -> DocDBError {
        let isOfTime = self == .expired || self == .notYetValid || self == .issuedInFuture
        var context = ["reason": rawValue]
        if let claim { context["claim"] = claim }
        let subject = claim.map { "\(message) (claim '\($0)')" } ?? message
        return DocDBError(isOfTime && code == .invalidToken ? .tokenExpired : code, subject, context: context)
    }

    private var message: String {
        switch self {
        case .tooLarge: "the token is larger than allowed; ask its issuer for fewer claims"
        case .notCompact: "the token is not three parts with points between them (JWS compact form)"
        case .invalidBase64: "a part of the token is not base64url without padding"
        case .invalidHeader: "the token's header is not a JSON object with a text 'alg' and each name once"
        case .invalidPayload: "the token's payload is not a JSON object with each name once"
        case .unsupportedAlgorithm: "the token's algorithm is none of RS256, PS256, ES256, EdDSA and HS256"
        case .criticalExtension: "the token demands extensions ('crit') that are not supported"
        case .detachedPayload: "the token's payload is detached or not encoded ('b64'), which is not supported"
        case .wrongType: "the token's 'typ' is not that of a login token"
        case .unknownKey: "the token is signed with a key that its issuer does not publish"
        case .ambiguousKey: "the token names no key and its issuer has several; set 'kid' in its header"
        case .wrongKeyType: "the token's algorithm does not belong to the type of the key it names"
        case .algorithmNotPermitted: "the token's algorithm is not among those permitted for its issuer"
        case .invalidSignature: "the token's signature is not that of its issuer's key"
        case .missingClaim: "the token lacks a claim that is required"
        case .invalidClaim: "a claim of the token has the wrong type or a value out of range"
        case .wrongIssuer: "the token comes from another issuer"
        case .wrongAudience: "the token is meant for another audience"
        case .claimNotAsRequired: "a claim of the token is not as the configuration requires"
        case .expired: "the token has expired; get a new one"
        case .notYetValid: "the token is not valid yet; check the clocks"
        case .issuedInFuture: "the token claims to be issued in the future; check the clocks"
        }
    }
}
