package import DocDBCore

/// A key that signatures are checked with, pinned to what its type can do.
package struct VerificationKey: Sendable {
    package enum KeyType: String, Sendable {
        case rsa = "RSA"
        case p256 = "EC"
        case ed25519 = "OKP"
        case symmetric = "oct"
    }

    private enum Material: Sendable {
        case publicKey(KeyHandle)
        case secret([UInt8])
    }

    /// The key id (`kid`), where it has one.
    package let id: String?
    package let type: KeyType
    /// The only algorithm the key may be used with, where its `alg` names one.
    package let algorithm: SignatureAlgorithm?
    private let material: Material

    private init(_ type: KeyType, _ material: Material, id: String?, algorithm: SignatureAlgorithm?) {
        (self.type, self.material, self.id, self.algorithm) = (type, material, id, algorithm)
    }

    /// A peer's key, whose id is its thumbprint.
    package init(_ key: PeerPublicKey) throws(DocDBError) {
        guard let handle = KeyHandle.ed25519(publicKey: key.bytes) else { throw Self.failure("it is damaged") }
        self.init(.ed25519, .publicKey(handle), id: key.thumbprint, algorithm: .edDSA)
    }

    /// Tells whether the key may check signatures of an algorithm: by its type, and by its own `alg`.
    package func permits(_ algorithm: SignatureAlgorithm) -> Bool {
        guard self.algorithm == nil || self.algorithm == algorithm else { return false }
        return switch algorithm {
        case .rs256, .ps256: type == .rsa
        case .es256: type == .p256
        case .edDSA: type == .ed25519
        case .hs256: type == .symmetric
        }
    }

    func isValid(_ signature: [UInt8], of message: [UInt8], algorithm: SignatureAlgorithm) -> Bool {
        switch (material, algorithm) {
        case (.publicKey(let key), .rs256): key.isValid(signature, of: message, scheme: .rsaPKCS1)
        case (.publicKey(let key), .ps256): key.isValid(signature, of: message, scheme: .rsaPSS)
        case (.publicKey(let key), .es256): key.isValid(signature, of: message, scheme: .ecdsa)
        case (.publicKey(let key), .edDSA): key.isValid(signature, of: message, scheme: .ed25519)
        case (.secret(let key), .hs256): Digest.areEqual(Digest.hmac(message, key: key), signature)
        default: false
        }
    }
}

// JWK (RFC 7517, RFC 7518 section 6, RFC 8037).
extension VerificationKey {
    /// Reads one JWK; nil where it is of a kind, or meant for a use, that is none of ours.
    ///
    /// - Throws: `invalidKey` where it is of a kind we take, but malformed or too weak.
    package static func read(jsonWebKey value: Value) throws(DocDBError) -> VerificationKey? {
        guard case .object(let members) = value, let kind = try text("kty", members) else {
            throw failure("it is no object with a text 'kty'")
        }
        guard let type = KeyType(rawValue: kind), try isForVerification(members) else { return nil }
        let id = try text("kid", members)
        var algorithm: SignatureAlgorithm?
        if let name = try text("alg", members) {
            guard let known = SignatureAlgorithm(rawValue: name) else { return nil }
            algorithm = known
        }
        guard let material = try readMaterial(type, members) else { return nil }
        let key = VerificationKey(type, material, id: id, algorithm: algorithm)
        guard algorithm.map({ key.permits($0) }) ?? true else { throw failure("its 'alg' is not one for its 'kty'") }
        return key
    }

    private static func readMaterial(_ type: KeyType, _ members: [String: Value]) throws(DocDBError) -> Material? {
        switch type {
        case .symmetric:
            let secret = try bytes("k", members)
            guard secret.count >= AuthenticationLimits.secretByteCount else {
                throw failure("a shared secret has at least \(AuthenticationLimits.secretByteCount) bytes")
            }
            return .secret(secret)
        case .rsa: return .publicKey(try readRSA(members))
        case .p256:
            guard try text("crv", members) == "P-256" else { return nil }
            guard let key = KeyHandle.p256(x: try bytes("x", members), y: try bytes("y", members)) else {
                throw failure("it is no point of P-256 with coordinates of 32 bytes")
            }
            return .publicKey(key)
        case .ed25519:
            guard try text("crv", members) == "Ed25519" else { return nil }
            let point = try bytes("x", members)
            guard Ed25519Check.isAcceptable(point), let key = KeyHandle.ed25519(publicKey: point) else {
                throw failure("it is no usable Ed25519 key of 32 bytes")
            }
            return .publicKey(key)
        }
    }

    private static func readRSA(_ members: [String: Value]) throws(DocDBError) -> KeyHandle {
        let modulus = [UInt8](try bytes("n", members).drop { $0 == 0 })
        let exponent = [UInt8](try bytes("e", members).drop { $0 == 0 })
        let bitCount = modulus.count * 8 - (modulus.first?.leadingZeroBitCount ?? 0)
        guard AuthenticationLimits.rsaBitCount.contains(bitCount) else {
            let allowed = AuthenticationLimits.rsaBitCount
            throw failure("an RSA modulus has \(allowed.lowerBound) to \(allowed.upperBound) bits")
        }
        // An odd number from 3 to 2^32: a greater one serves nobody and costs much.
        guard (1...4).contains(exponent.count), exponent != [1], exponent.last.map({ $0 & 1 == 1 }) ?? false else {
            throw failure("its public exponent is none that is in use, such as 65537")
        }
        guard modulus.last.map({ $0 & 1 == 1 }) ?? false,
            let key = KeyHandle.rsa(modulus: modulus, exponent: exponent)
        else { throw failure("it is no RSA key") }
        return key
    }

    /// Tells whether `use` and `key_ops` leave room for checking signatures.
    private static func isForVerification(_ members: [String: Value]) throws(DocDBError) -> Bool {
        if let use = try text("use", members), use != "sig" { return false }
        guard let operations = members["key_ops"] else { return true }
        guard case .array(let names) = operations else { throw failure("its 'key_ops' is no array") }
        return names.contains(.string("verify"))
    }

    private static func text(_ name: String, _ members: [String: Value]) throws(DocDBError) -> String? {
        guard let value = members[name] else { return nil }
        guard case .string(let text) = value else { throw failure("its '\(name)' is no text") }
        return text
    }

    private static func bytes(_ name: String, _ members: [String: Value]) throws(DocDBError) -> [UInt8] {
        guard let text = try text(name, members), let bytes = Base64URL.decode(text) else {
            throw failure("its '\(name)' is not base64url without padding")
        }
        return bytes
    }

    private static func failure(_ reason: String) -> DocDBError {
        DocDBError(.invalidKey, "a key (JWK) cannot be used: \(reason)")
    }
}
