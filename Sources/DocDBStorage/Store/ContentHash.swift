import CCrypto
import CXXHash
package import DocDBCore

/// Hashes of stored content: fast ones that detect damage, and SHA-256 where somebody might want a collision.
package enum ContentHash {
    /// The hash of one stored document, of which the log keeps sums; zero stands for no document.
    ///
    /// Trailing zeros of `state` are padding and do not count. XXH3 (libxxhash), 64 bits.
    @inline(__always)
    package static func document(
        collection: Int64, key: Int64, body: UnsafeRawBufferPointer?, state: UnsafeRawBufferPointer
    ) -> UInt64 {
        let seed = UInt64(bitPattern: collection) &* 0x9E37_79B9_7F4A_7C15 &+ UInt64(bitPattern: key)
        var count = state.count
        while count > 0, state[count - 1] == 0 { count -= 1 }
        let ofState = XXH3_64bits_withSeed(state.baseAddress, count, seed)
        guard let body else { return ofState ^ 0xD1B5_4A32_D192_ED03 }
        return XXH3_64bits_withSeed(body.baseAddress, body.count, ofState)
    }

    /// The checksum of a log row's bytes.
    package static func checksum(_ bytes: UnsafeRawBufferPointer) -> UInt64 {
        XXH3_64bits(bytes.baseAddress, bytes.count)
    }

    /// SHA-256 (FIPS 180-4), from OpenSSL.
    package static func sha256(_ bytes: UnsafeRawBufferPointer) -> [UInt8] {
        [UInt8](unsafeUninitializedCapacity: 32) { output, count in
            // The input pointer may be null only where its length is zero.
            _ = SHA256(bytes.baseAddress?.assumingMemoryBound(to: UInt8.self), bytes.count, output.baseAddress)
            count = 32
        }
    }

    /// The first 128 bits of SHA-256, without an allocation: what documents' digests and fingerprints are.
    @inline(__always)
    package static func digest(_ bytes: UnsafeRawBufferPointer) -> StateDigest {
        var words: (UInt64, UInt64, UInt64, UInt64) = (0, 0, 0, 0)
        docdb_sha256(bytes.baseAddress, bytes.count, &words)
        return StateDigest(high: UInt64(bigEndian: words.0), low: UInt64(bigEndian: words.1))
    }
}
