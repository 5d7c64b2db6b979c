import CCrypto

/// Hashes, secrets and random bytes, all from OpenSSL.
package enum Digest {
    /// SHA-256 (FIPS 180-4).
    package static func sha256(_ bytes: [UInt8]) -> [UInt8] {
        [UInt8](unsafeUninitializedCapacity: 32) { output, count in
            _ = SHA256(bytes, bytes.count, output.baseAddress)
            count = 32
        }
    }

    /// SHA-256 of a text's UTF-8 bytes.
    package static func sha256(_ text: String) -> [UInt8] { sha256([UInt8](text.utf8)) }

    /// HMAC-SHA256 (RFC 2104).
    package static func hmac(_ bytes: [UInt8], key: [UInt8]) -> [UInt8] {
        [UInt8](unsafeUninitializedCapacity: 32) { output, count in
            var length: UInt32 = 0
            let result = HMAC(
                EVP_sha256(), key, Int32(clamping: key.count), bytes, bytes.count, output.baseAddress, &length)
            precondition(result != nil && length == 32, "HMAC-SHA256 is part of every OpenSSL")
            count = 32
        }
    }

    /// Tells whether two runs of bytes are equal, in a time that depends on their lengths alone.
    package static func areEqual(_ left: [UInt8], _ right: [UInt8]) -> Bool {
        left.count == right.count && CRYPTO_memcmp(left, right, left.count) == 0
    }

    /// Bytes from the system's secure source.
    package static func randomBytes(_ count: Int) -> [UInt8] {
        [UInt8](unsafeUninitializedCapacity: count) { output, initializedCount in
            precondition(RAND_bytes(output.baseAddress, Int32(count)) == 1, "the system has no source of random bytes")
            initializedCount = count
        }
    }

    /// Bytes as lower-case hexadecimal digits.
    package static func hexadecimal(_ bytes: [UInt8]) -> String {
        let digits = [UInt8]("0123456789abcdef".utf8)
        return String(decoding: bytes.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }, as: UTF8.self)
    }
}
