import DocDBAuth
import DocDBCore
import Testing

@Suite("JWK and JWK sets")
struct JSONWebKeyTests {
    private static func read(_ text: String, secrets: Bool = true) throws -> JSONWebKeySet {
        try JSONWebKeySet(text.bytes, allowsSecrets: secrets)
    }

    @Test("a set keeps the keys for signatures, and passes over others")
    func set() throws {
        let set = try Self.read(TokenVectors.keySet, secrets: false)
        #expect(set.keys.map(\.id) == ["rsa-1", "ec-1", "ed-1"])
        #expect(set.keys.map(\.type) == [.rsa, .p256, .ed25519])
        #expect(set.keys.map(\.algorithm) == [nil, nil, .edDSA])
    }

    @Test("each key permits the algorithms of its type alone")
    func permitted() throws {
        let keys = try Self.read(TokenVectors.keySet).keys + Self.read(TokenVectors.secretSet).keys
        let permitted = keys.map { key in SignatureAlgorithm.allCases.filter { key.permits($0) } }
        #expect(permitted == [[.rs256, .ps256], [.es256], [.edDSA], [.hs256]])
    }

    @Test(
        "sets that are weak, mixed, public secrets or no sets are refused",
        arguments: [
            TokenVectors.weakSet, TokenVectors.oddSet, TokenVectors.mixedSet, "", "{}", "[]", "{\"keys\":[]}",
            "{\"keys\":{}}", "{\"keys\":[7]}", "{\"keys\":[{}]}", "{\"keys\":[{\"kty\":\"unheard-of\"}]}",
            #"{"kty":"oct","k":"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"}"#,  // 31 bytes
            #"{"kty":"oct"}"#, #"{"kty":"oct","k":"A=="}"#, #"{"kty":"oct","k":5}"#, #"{"kty":1}"#,
            #"{"kty":"RSA","n":"AQAB","e":"AQAB"}"#, #"{"kty":"RSA"}"#, #"{"kty":"EC","crv":"P-256"}"#,
            #"{"kty":"EC","crv":"P-256","x":"AAAA","y":"AAAA"}"#, #"{"kty":"OKP","crv":"Ed25519","x":"AAAA"}"#,
            #"{"kty":"OKP","crv":"Ed25519","kty":"OKP","x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}"#,
            #"{"kty":"OKP","crv":"Ed25519","alg":"RS256","x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}"#,
            #"{"kty":"OKP","crv":"Ed25519","use":"enc","x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}"#,
            #"{"kty":"OKP","crv":"Ed25519","key_ops":["sign"],"x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}"#,
            #"{"kty":"OKP","crv":"X25519","x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}"#,
        ])
    func refused(_ text: String) {
        #expect(outcome { try Self.read(text) } == Outcome(.invalidKey))
    }

    @Test("a secret that is fetched from a URL, where anybody can, is refused")
    func publishedSecret() {
        #expect(outcome { try Self.read(TokenVectors.secretSet, secrets: false) } == Outcome(.invalidKey))
    }

    @Test("a point that is not on P-256, and an exponent that nobody uses, are refused")
    func wrongNumbers() throws {
        let off = TokenVectors.keySet.replacing(
            #""y":"#, with: #""y":"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA","z":"#)
        #expect(outcome { try Self.read(off) } == Outcome(.invalidKey))
        for exponent in ["AQ", "AA", "Ag", "AQABAQAB", ""] {
            let text = TokenVectors.keySet.replacing(#""e":"AQAB""#, with: "\"e\":\"\(exponent)\"")
            #expect(outcome { try Self.read(text) } == Outcome(.invalidKey), "\(exponent)")
        }
    }

    @Test("two keys of one type and 'kid' are refused, and a token without 'kid' needs a single key")
    func ambiguity() throws {
        let key = #"{"kty":"OKP","crv":"Ed25519","kid":"a","x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}"#
        #expect(outcome { try Self.read("{\"keys\":[\(key),\(key)]}") } == Outcome(.invalidKey))
        let set = try Self.read("{\"keys\":[\(key),\(key.replacing("\"a\"", with: "\"b\""))]}")
        let token = try JSONWebSignature(
            try TestToken.edDSA(#"{"alg":"EdDSA"}"#, "{}", key: try TestToken.issuerKey()))
        #expect(outcome { try set.key(for: token) } == Outcome(.invalidToken, "ambiguousKey"))
    }

    @Test("a set beyond its limits is refused")
    func size() {
        let filler = String(repeating: " ", count: AuthenticationLimits.keySetByteCount)
        #expect(outcome { try Self.read(TokenVectors.keySet + filler) } == Outcome(.invalidKey))
        let many = Array(repeating: "{\"kty\":\"x\"}", count: AuthenticationLimits.keyCount + 1).joined(separator: ",")
        #expect(outcome { try Self.read("{\"keys\":[\(many)]}") } == Outcome(.invalidKey))
    }

    @Test("damaged sets are refused or read, and never trap")
    func damagedSets() {
        var generator = SeededGenerator()
        for text in [TokenVectors.keySet, TokenVectors.secretSet, TokenVectors.mixedSet] {
            for _ in 0..<500 {
                let outcome = outcome { try JSONWebKeySet(generator.damaged(text.bytes), allowsSecrets: true) }
                #expect(outcome == nil || outcome == Outcome(.invalidKey))
            }
        }
    }

    /// The eight points of small order and their other encodings, computed apart by doubling points of the curve.
    static let smallOrderKeys = [
        "0000000000000000000000000000000000000000000000000000000000000000",
        "0000000000000000000000000000000000000000000000000000000000000080",
        "0100000000000000000000000000000000000000000000000000000000000000",
        "0100000000000000000000000000000000000000000000000000000000000080",
        "ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
        "ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff",
        "edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
        "edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff",
        "eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
        "eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff",
        "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05",
        "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc85",
        "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a",
        "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac03fa",
    ]

    @Test("Ed25519 keys of small order are refused, whatever their encoding", arguments: smallOrderKeys)
    func smallOrder(_ key: String) {
        #expect(outcome { try PeerPublicKey(bytes: key.hexadecimalBytes) } == Outcome(.invalidKey))
        let text = "{\"kty\":\"OKP\",\"crv\":\"Ed25519\",\"x\":\"\(TestToken.base64URL(key.hexadecimalBytes))\"}"
        #expect(outcome { try Self.read(text) } == Outcome(.invalidKey))
    }
}
