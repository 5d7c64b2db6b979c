package import DocDBCore

/// The keys of one issuer (JWK set, RFC 7517): either public ones or shared secrets, never both.
package struct JSONWebKeySet: Sendable {
    package let keys: [VerificationKey]

    /// Reads a set, or a single JWK as a set of one.
    ///
    /// Keys of other kinds or for other uses are passed over, as issuers publish those beside; a weak or malformed key
    /// refuses the whole set.
    ///
    /// - Parameter allowsSecrets: false for what anybody can fetch, where a shared secret would be none.
    /// - Throws: `invalidKey`, also where no usable key is left, or two keys cannot be told apart.
    package init(_ bytes: [UInt8], allowsSecrets: Bool) throws(DocDBError) {
        guard bytes.count <= AuthenticationLimits.keySetByteCount else {
            throw Self.failure("it is larger than \(AuthenticationLimits.keySetByteCount) bytes")
        }
        let members: [String: Value]
        do { members = try StrictJSON.object(bytes) } catch {
            throw Self.failure("it is no JSON object (\(error.message))")
        }
        var values = [Value.object(members)]
        if let list = members["keys"] {
            guard case .array(let elements) = list else { throw Self.failure("its 'keys' is no array") }
            values = elements
        }
        guard values.count <= AuthenticationLimits.keyCount else {
            throw Self.failure("it has more than \(AuthenticationLimits.keyCount) keys")
        }
        var keys: [VerificationKey] = []
        for value in values {
            if let key = try VerificationKey.read(jsonWebKey: value) { keys.append(key) }
        }
        try self.init(keys: keys, allowsSecrets: allowsSecrets)
    }

    init(keys: [VerificationKey], allowsSecrets: Bool) throws(DocDBError) {
        guard !keys.isEmpty else { throw Self.failure("it has no key for signatures that is supported") }
        let secretCount = keys.count { $0.type == .symmetric }
        guard secretCount == 0 || allowsSecrets else {
            throw Self.failure("it publishes a shared secret; put it into a file of the hub instead")
        }
        guard secretCount == 0 || secretCount == keys.count else {
            throw Self.failure("it mixes shared secrets with public keys; use one set for each")
        }
        var ids = Set<ExactString>()
        for key in keys {
            let id = "\(key.type.rawValue) \(key.algorithm?.rawValue ?? "") \(key.id ?? "")"
            guard key.id == nil || ids.insert(ExactString(id)).inserted else {
                throw Self.failure("two of its keys have one 'kid'")
            }
        }
        self.keys = keys
    }

    /// The key that a token names; nil where there is none of that id, which a newer set may have.
    ///
    /// - Throws: `ambiguousKey` where the token names none and there are several; `wrongKeyType` where only keys for
    ///   other algorithms have that id.
    package func key(for token: JSONWebSignature) throws(TokenFailure) -> VerificationKey? {
        let named = keys.filter { key in
            guard let wanted = token.keyID else { return true }
            return key.id.map { $0.isExactly(wanted) } ?? false
        }
        if named.isEmpty { return nil }
        let fitting = named.filter { $0.permits(token.algorithm) }
        guard let key = fitting.first else { throw .wrongKeyType }
        guard fitting.count == 1 else { throw .ambiguousKey }
        return key
    }

    private static func failure(_ reason: String) -> DocDBError {
        DocDBError(.invalidKey, "a set of keys (JWKS) cannot be used: \(reason)")
    }
}
