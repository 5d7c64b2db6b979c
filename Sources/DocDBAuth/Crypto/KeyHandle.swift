import CCrypto
import DocDBCore

/// A public key of OpenSSL's, or a private one with its public part; freed with this object.
final class KeyHandle: @unchecked Sendable {
    // Unchecked: once made, OpenSSL only reads a key, and counts references to it atomically.
    let pointer: OpaquePointer

    init(owning pointer: OpaquePointer) { self.pointer = pointer }

    deinit { EVP_PKEY_free(pointer) }

    /// The public key of these 32 bytes for Ed25519 (RFC 8032).
    static func ed25519(publicKey bytes: [UInt8]) -> KeyHandle? {
        guard bytes.count == 32, let key = EVP_PKEY_new_raw_public_key(docdb_pkey_ed25519, nil, bytes, 32) else {
            return failed()
        }
        return KeyHandle(owning: key)
    }

    /// The private key that these 32 secret bytes stand for.
    static func ed25519(seed bytes: [UInt8]) -> KeyHandle? {
        guard bytes.count == 32, let key = EVP_PKEY_new_raw_private_key(docdb_pkey_ed25519, nil, bytes, 32) else {
            return failed()
        }
        return KeyHandle(owning: key)
    }

    /// The public key at a point of P-256; nil where the point is not on the curve.
    static func p256(x: [UInt8], y: [UInt8]) -> KeyHandle? {
        guard x.count == 32, y.count == 32 else { return nil }
        let point = [0x04] + x + y
        guard let key = docdb_pkey_p256(point, point.count) else { return failed() }
        return KeyHandle(owning: key)
    }

    /// The RSA key of a modulus and a public exponent, both big-endian.
    static func rsa(modulus: [UInt8], exponent: [UInt8]) -> KeyHandle? {
        let counts = (Int32(clamping: modulus.count), Int32(clamping: exponent.count))
        guard let key = docdb_pkey_rsa(modulus, counts.0, exponent, counts.1) else { return failed() }
        return KeyHandle(owning: key)
    }

    /// Forgets OpenSSL's notes of a failure: left in the thread's queue, they would pass for a failure of its next TLS call.
    static func failed<Result>() -> Result? {
        ERR_clear_error()
        return nil
    }
}

extension KeyHandle {
    /// How a signature is made.
    enum Scheme {
        /// Ed25519 (RFC 8032), which takes the message as it is.
        case ed25519
        /// ECDSA over P-256 with SHA-256.
        case ecdsa
        /// RSASSA-PKCS1-v1_5 with SHA-256.
        case rsaPKCS1
        /// RSASSA-PSS with SHA-256, a mask of the same, and a salt as long.
        case rsaPSS
    }

    /// Tells whether a signature of `message` was made with the private part of this key.
    ///
    /// - Parameter signature: 64 bytes for Ed25519 and ECDSA (`r` and `s`), as many as the modulus has for RSA.
    func isValid(_ signature: [UInt8], of message: [UInt8], scheme: Scheme) -> Bool {
        guard let context = EVP_MD_CTX_new() else { return false }
        defer { EVP_MD_CTX_free(context) }
        var keyContext: OpaquePointer?
        let hash = scheme == .ed25519 ? nil : EVP_sha256()
        guard EVP_DigestVerifyInit(context, &keyContext, hash, nil, pointer) == 1,
            Self.setPadding(keyContext, scheme)
        else { return Self.failed() ?? false }
        var encoded = signature
        switch scheme {
        case .ed25519: guard signature.count == 64 else { return false }
        case .ecdsa:
            guard let sequence = Self.derSignature(signature) else { return Self.failed() ?? false }
            encoded = sequence
        case .rsaPKCS1, .rsaPSS: guard signature.count == Int(EVP_PKEY_get_size(pointer)) else { return false }
        }
        if EVP_DigestVerify(context, encoded, encoded.count, message, message.count) == 1 { return true }
        return Self.failed() ?? false
    }

    private static func setPadding(_ context: OpaquePointer?, _ scheme: Scheme) -> Bool {
        switch scheme {
        case .ed25519, .ecdsa: true
        case .rsaPKCS1: EVP_PKEY_CTX_set_rsa_padding(context, docdb_rsa_pkcs1_padding) == 1
        case .rsaPSS:
            EVP_PKEY_CTX_set_rsa_padding(context, docdb_rsa_pss_padding) == 1
                && EVP_PKEY_CTX_set_rsa_mgf1_md(context, EVP_sha256()) == 1
                && EVP_PKEY_CTX_set_rsa_pss_saltlen(context, docdb_pss_salt_of_digest_length) == 1
        }
    }

    /// The numbers `r` and `s`, 32 bytes each, as the ASN.1 sequence that OpenSSL reads.
    private static func derSignature(_ signature: [UInt8]) -> [UInt8]? {
        guard signature.count == 64, let pair = ECDSA_SIG_new() else { return nil }
        defer { ECDSA_SIG_free(pair) }
        let r = signature.withUnsafeBufferPointer { BN_bin2bn($0.baseAddress, 32, nil) }
        let s = signature.withUnsafeBufferPointer { BN_bin2bn($0.baseAddress.map { $0 + 32 }, 32, nil) }
        guard let r, let s, ECDSA_SIG_set0(pair, r, s) == 1 else {
            BN_free(r)
            BN_free(s)
            return nil
        }
        let length = Int(i2d_ECDSA_SIG(pair, nil))
        guard length > 0 else { return nil }
        return [UInt8](unsafeUninitializedCapacity: length) { output, count in
            var end = output.baseAddress
            count = max(0, min(length, Int(i2d_ECDSA_SIG(pair, &end))))
        }
    }

    /// Signs a message with this private Ed25519 key: 64 bytes.
    func ed25519Signature(of message: [UInt8]) -> [UInt8]? {
        guard let context = EVP_MD_CTX_new() else { return nil }
        defer { EVP_MD_CTX_free(context) }
        guard EVP_DigestSignInit(context, nil, nil, nil, pointer) == 1 else { return Self.failed() }
        var signature = [UInt8](repeating: 0, count: 64)
        var count = 64
        guard EVP_DigestSign(context, &signature, &count, message, message.count) == 1, count == 64 else {
            return Self.failed()
        }
        return signature
    }

    /// The 32 public bytes of an Ed25519 key.
    var ed25519PublicBytes: [UInt8]? {
        var bytes = [UInt8](repeating: 0, count: 32)
        var count = 32
        guard EVP_PKEY_get_raw_public_key(pointer, &bytes, &count) == 1, count == 32 else { return Self.failed() }
        return bytes
    }
}
