import CCrypto
import DocDB
import DocDBAuth

/// The key of a made-up identity provider: signs tokens with ES256 (ECDSA over P-256 with SHA-256, RFC 7518).
final class TokenSigner: @unchecked Sendable {
    // Unchecked: once made, OpenSSL only reads a key.
    private let key: OpaquePointer
    /// The public key, as the content of a JWK set.
    let keySet: [UInt8]

    static let issuer = "https://login.example.com/"
    static let audience = "cars"
    private static let keyID = "benchmarks"

    init() throws {
        guard let context = EVP_PKEY_CTX_new_id(EVP_PKEY_EC, nil) else { throw Self.failure }
        defer { EVP_PKEY_CTX_free(context) }
        var made: OpaquePointer?
        guard EVP_PKEY_keygen_init(context) == 1,
            EVP_PKEY_CTX_set_ec_paramgen_curve_nid(context, NID_X9_62_prime256v1) == 1,
            EVP_PKEY_keygen(context, &made) == 1, let made
        else { throw Self.failure }
        key = made
        // The uncompressed point: one byte, then both coordinates.
        var point = [UInt8](repeating: 0, count: 65)
        var count = 0
        guard EVP_PKEY_get_octet_string_param(made, OSSL_PKEY_PARAM_PUB_KEY, &point, point.count, &count) == 1,
            count == 65
        else { throw Self.failure }
        keySet = try StrictJSON.text([
            "keys": [
                [
                    "kty": "EC", "crv": "P-256", "kid": .string(Self.keyID), "alg": "ES256", "use": "sig",
                    "x": .string(Base64URL.encode(Array(point[1..<33]))),
                    "y": .string(Base64URL.encode(Array(point[33..<65]))),
                ]
            ]
        ])
    }

    deinit { EVP_PKEY_free(key) }

    /// A token of a user that is good for an hour.
    ///
    /// - Parameter plan: a claim that the hub's rules go by.
    func token(user: String, plan: String, seconds: Int64) throws -> String {
        let header = try StrictJSON.text(["alg": "ES256", "kid": .string(Self.keyID), "typ": "JWT"])
        let claims = try StrictJSON.text([
            "iss": .string(Self.issuer), "aud": .string(Self.audience), "sub": .string(user), "plan": .string(plan),
            "iat": .int(seconds), "exp": .int(seconds + 3600),
        ])
        let input = Base64URL.encode(header) + "." + Base64URL.encode(claims)
        return input + "." + Base64URL.encode(try signature(of: Array(input.utf8)))
    }

    private func signature(of message: [UInt8]) throws -> [UInt8] {
        guard let context = EVP_MD_CTX_new() else { throw Self.failure }
        defer { EVP_MD_CTX_free(context) }
        var sequence = [UInt8](repeating: 0, count: 80)
        var count = sequence.count
        guard EVP_DigestSignInit(context, nil, EVP_sha256(), nil, key) == 1,
            EVP_DigestSign(context, &sequence, &count, message, message.count) == 1
        else { throw Self.failure }
        return try Self.numbers(of: sequence[..<count])
    }

    /// The two numbers of an ASN.1 sequence, 32 bytes each, as tokens have them.
    private static func numbers(of sequence: ArraySlice<UInt8>) throws -> [UInt8] {
        var rest = sequence.dropFirst(2)
        var numbers: [UInt8] = []
        for _ in 0..<2 {
            let length = Int(rest.dropFirst().first ?? 0)
            let number = rest.dropFirst(2).prefix(length).drop { $0 == 0 }
            guard number.count <= 32 else { throw failure }
            numbers += [UInt8](repeating: 0, count: 32 - number.count) + number
            rest = rest.dropFirst(2 + length)
        }
        return numbers
    }

    private static var failure: BenchmarkError { BenchmarkError("OpenSSL makes no key or signature on P-256") }
}
