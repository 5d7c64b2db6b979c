package import DocDBCore

/// The public key that names a peer: Ed25519, never a key of small order.
package struct PeerPublicKey: Hashable, Sendable {
    /// The 32 bytes of the key.
    package let bytes: [UInt8]
    private let handle: KeyHandle

    /// Takes 32 bytes for a key.
    ///
    /// - Throws: `invalidKey` where they are none, or one that anybody could sign for.
    package init(bytes: [UInt8]) throws(DocDBError) {
        guard Ed25519Check.isAcceptable(bytes), let handle = KeyHandle.ed25519(publicKey: bytes) else {
            throw DocDBError(.invalidKey, "the peer's key is no usable Ed25519 key; generate a new one")
        }
        self.bytes = bytes
        self.handle = handle
    }

    /// Tells whether a signature of `message` was made with this key.
    package func isValid(_ signature: [UInt8], of message: [UInt8]) -> Bool {
        handle.isValid(signature, of: message, scheme: .ed25519)
    }

    /// The key's thumbprint (RFC 7638, RFC 8037), which serves as its key id.
    package var thumbprint: String {
        Base64URL.encode(
            Digest.sha256("{\"crv\":\"Ed25519\",\"kty\":\"OKP\",\"x\":\"\(Base64URL.encode(bytes))\"}"))
    }

    /// The key as a JWK (RFC 8037).
    package var jsonWebKey: Value {
        ["kty": "OKP", "crv": "Ed25519", "x": .string(Base64URL.encode(bytes))]
    }

    /// Reads a JWK of just this kind.
    package init(jsonWebKey value: Value) throws(DocDBError) {
        guard value["kty"]?.stringValue == "OKP", value["crv"]?.stringValue == "Ed25519",
            let text = value["x"]?.stringValue, let bytes = Base64URL.decode(text)
        else { throw DocDBError(.invalidKey, "the peer's key is no Ed25519 key (kty OKP, crv Ed25519)") }
        try self.init(bytes: bytes)
    }

    package static func == (left: PeerPublicKey, right: PeerPublicKey) -> Bool { left.bytes == right.bytes }

    package func hash(into hasher: inout Hasher) { hasher.combine(bytes) }
}

/// The key pair of a peer or a hub; its secret leaves it only to be stored.
package final class PeerKeyPair: Sendable, CustomStringConvertible {
    package let publicKey: PeerPublicKey
    private let handle: KeyHandle
    private let seed: [UInt8]

    /// Makes the pair of a secret of 32 bytes.
    package init(seed: [UInt8]) throws(DocDBError) {
        guard let handle = KeyHandle.ed25519(seed: seed), let publicBytes = handle.ed25519PublicBytes else {
            throw DocDBError(.invalidKey, "an Ed25519 key is made of 32 secret bytes; generate a new one")
        }
        self.seed = seed
        self.handle = handle
        publicKey = try PeerPublicKey(bytes: publicBytes)
    }

    /// Generates a new pair.
    package static func generate() throws(DocDBError) -> PeerKeyPair {
        try PeerKeyPair(seed: Digest.randomBytes(32))
    }

    /// Signs a message: 64 bytes.
    package func signature(of message: [UInt8]) throws(DocDBError) -> [UInt8] {
        guard let signature = handle.ed25519Signature(of: message) else {
            throw DocDBError(.invalidKey, "the key cannot sign; generate a new one")
        }
        return signature
    }

    /// Says nothing of the secret.
    package var description: String { "PeerKeyPair(\(publicKey.thumbprint))" }
}

/// Where secrets are kept: a file of mode 0600 beside no store, or a keychain.
package protocol KeyStorage: Sendable {
    /// The bytes saved last, or nil where there are none.
    func load() throws -> [UInt8]?
    /// Saves bytes, durably and readable for this user alone.
    func save(_ bytes: [UInt8]) throws
}

extension PeerKeyPair {
    /// The pair as a private JWK in JSON, to be stored.
    package func storedForm() throws(DocDBError) -> [UInt8] {
        try StrictJSON.text([
            "kty": "OKP", "crv": "Ed25519", "x": .string(Base64URL.encode(publicKey.bytes)),
            "d": .string(Base64URL.encode(seed)),
        ])
    }

    /// Reads what `storedForm` gave.
    ///
    /// - Throws: `invalidKey` where the bytes are damaged, or their two parts do not belong together.
    package convenience init(storedForm bytes: [UInt8]) throws(DocDBError) {
        guard bytes.count <= AuthenticationLimits.certificateByteCount,
            let key = try? StrictJSON.object(bytes), let text = key["d"]?.stringValue,
            let seed = Base64URL.decode(text)
        else {
            throw DocDBError(.invalidKey, "the stored key is damaged; remove its file to generate a new one")
        }
        try self.init(seed: seed)
        guard try PeerPublicKey(jsonWebKey: .object(key)) == publicKey else {
            throw DocDBError(
                .invalidKey, "the stored key's two parts do not belong together; remove its file to generate a new one")
        }
    }

    /// The stored pair, or a new one, which is stored before it is returned.
    package static func loadOrGenerate(in storage: some KeyStorage) throws -> PeerKeyPair {
        if let bytes = try storage.load() { return try PeerKeyPair(storedForm: bytes) }
        let pair = try generate()
        try storage.save(pair.storedForm())
        return pair
    }
}
