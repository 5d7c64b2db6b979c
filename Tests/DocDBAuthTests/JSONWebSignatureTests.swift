import DocDBAuth
import DocDBCore
import Testing

@Suite("JWS in compact form")
struct JSONWebSignatureTests {
    private static let publicKeys = try? JSONWebKeySet(TokenVectors.keySet.bytes, allowsSecrets: false)
    private static let secretKeys = try? JSONWebKeySet(TokenVectors.secretSet.bytes, allowsSecrets: true)

    /// Verifies as a provider does; returns the claims.
    static func verify(_ token: String, secret: Bool = false) throws -> [String: Value] {
        let keys = try #require(secret ? secretKeys : publicKeys)
        let signature = try JSONWebSignature(token)
        guard let key = try keys.key(for: signature) else { throw TokenFailure.unknownKey }
        try signature.verify(with: key)
        return try signature.claims()
    }

    private static let valid = [
        TokenVectors.rs256, TokenVectors.ps256, TokenVectors.es256, TokenVectors.edDSA, TokenVectors.embeddedKeyIgnored,
    ]

    @Test("tokens of another implementation verify, and keys that a header brings are ignored", arguments: valid)
    func vectors(_ token: String) throws {
        #expect(try Self.verify(token)["sub"] == "user-1")
    }

    @Test("HS256 verifies with a shared secret only")
    func sharedSecret() throws {
        #expect(try Self.verify(TokenVectors.hs256, secret: true)["sub"] == "user-1")
        #expect(outcome { try Self.verify(TokenVectors.hs256) } == Outcome(.invalidToken, "unknownKey"))
    }

    @Test(
        "tokens that are signed wrongly are refused",
        arguments: [
            (TokenVectors.confusionPem, "wrongKeyType"), (TokenVectors.confusionDer, "wrongKeyType"),
            (TokenVectors.confusionModulus, "wrongKeyType"), (TokenVectors.otherKey, "invalidSignature"),
            (TokenVectors.pssLongSalt, "invalidSignature"), (TokenVectors.rs256AsPS256, "invalidSignature"),
            (TokenVectors.es256Der, "invalidSignature"), (TokenVectors.embeddedKey, "invalidSignature"),
        ])
    func wronglySigned(_ token: String, _ reason: String) {
        #expect(outcome { try Self.verify(token) } == Outcome(.invalidToken, reason))
    }

    @Test(
        "headers that are not what they must be are refused",
        arguments: [
            (#"{"alg":"none"}"#, "unsupportedAlgorithm"), (#"{"alg":"NONE"}"#, "unsupportedAlgorithm"),
            (#"{"alg":"RS512"}"#, "unsupportedAlgorithm"), (#"{"alg":"edDSA"}"#, "unsupportedAlgorithm"),
            (#"{"alg":""}"#, "unsupportedAlgorithm"), (#"{"alg":null}"#, "invalidHeader"), ("{}", "invalidHeader"),
            (#"{"alg":["EdDSA"]}"#, "invalidHeader"), (#"{"alg":"EdDSA","alg":"EdDSA"}"#, "invalidHeader"),
            (#"{"alg":"EdDSA","\u0061lg":"none"}"#, "invalidHeader"), (#"{"alg":"EdDSA","kid":7}"#, "invalidHeader"),
            (#"{"alg":"EdDSA","typ":[]}"#, "invalidHeader"), (#"["alg","EdDSA"]"#, "invalidHeader"),
            (#"{"alg":"EdDSA"} {}"#, "invalidHeader"), (#"{"alg":"EdDSA","crit":["exp"]}"#, "criticalExtension"),
            (#"{"alg":"EdDSA","crit":[]}"#, "criticalExtension"),
            (#"{"alg":"EdDSA","crit":null}"#, "criticalExtension"),
            (#"{"alg":"EdDSA","b64":false}"#, "detachedPayload"), (#"{"alg":"EdDSA","b64":0}"#, "detachedPayload"),
            (#"{"alg":"EdDSA","kid":"unheard-of"}"#, "unknownKey"), (#"{"alg":"EdDSA","kid":""}"#, "unknownKey"),
            (#"{"alg":"ES256","kid":"ed-1"}"#, "wrongKeyType"), (#"{"alg":"RS256","kid":"ed-1"}"#, "wrongKeyType"),
            (#"{"alg":"RS256","kid":"encryption-1"}"#, "unknownKey"), (#"{"alg":"EdDSA"}"#, nil),
        ] as [(String, String?)])
    func headers(_ header: String, _ reason: String?) throws {
        let token = try TestToken.edDSA(header, try TestToken.claims(), key: try TestToken.issuerKey())
        #expect(outcome { try Self.verify(token) } == reason.map { Outcome(.invalidToken, $0) })
    }

    @Test(
        "payloads that are no claims are refused",
        arguments: [
            "", "null", "[]", "\"a\"", "{\"a\":1,\"a\":1}", "{\"a\":1}x", "{\"a\":01}", "{\"a\":1e999}", "{'a':1}",
        ])
    func payloads(_ payload: String) throws {
        let token = try TestToken.edDSA(#"{"alg":"EdDSA","kid":"ed-1"}"#, payload, key: try TestToken.issuerKey())
        #expect(outcome { try Self.verify(token) } == Outcome(.invalidToken, "invalidPayload"))
    }

    @Test("names that a Swift dictionary would take for one are refused")
    func equivalentNames() throws {
        let payload = "{\"caf\u{E9}\":1,\"cafe\u{301}\":2}"
        let token = try TestToken.edDSA(#"{"alg":"EdDSA","kid":"ed-1"}"#, payload, key: try TestToken.issuerKey())
        #expect(outcome { try Self.verify(token) } == Outcome(.invalidToken, "invalidPayload"))
    }

    @Test(
        "texts that are not three parts of base64url are refused",
        arguments: [
            "", ".", "..", "...", "a", "a.b", "a.b.c.d", "a.b.c.d.e", " ", "\u{1F980}.\u{1F980}.\u{1F980}", "\0.\0.\0",
        ])
    func shapes(_ text: String) {
        let reasons = ["notCompact", "invalidBase64"].map { Outcome(.invalidToken, $0) }
        #expect(outcome { try Self.verify(text) }.map { reasons.contains($0) } == true)
    }

    @Test("white space and padding around a good token are refused")
    func decoration() {
        let token = TokenVectors.edDSA
        for text in [
            " " + token, token + " ", token + "\n", token + "=", token.replacing(".", with: "=."), token + ".",
        ] {
            #expect(outcome { try Self.verify(text) } != nil)
        }
    }

    @Test("a token beyond the limit is refused unread")
    func size() throws {
        let long = try TestToken.token(["padding": String(repeating: "a", count: AuthenticationLimits.tokenByteCount)])
        #expect(outcome { try Self.verify(long) } == Outcome(.invalidToken, "tooLarge"))
    }

    @Test("RSA signatures of another length, and ECDSA signatures of zeros, are refused")
    func signatureLengths() {
        let parts = TokenVectors.rs256.split(separator: ".")
        let zeros = "\(parts[0]).\(parts[1])."
        for count in [0, 1, 64, 255, 256, 257, 1024] {
            let text = zeros + TestToken.base64URL([UInt8](repeating: 0, count: count))
            #expect(outcome { try Self.verify(text) } == Outcome(.invalidToken, "invalidSignature"))
        }
        let ecdsa = TokenVectors.es256.split(separator: ".")
        for count in [0, 63, 64, 65, 128] {
            for byte in [UInt8(0), 0xFF] {
                let text = "\(ecdsa[0]).\(ecdsa[1])." + TestToken.base64URL([UInt8](repeating: byte, count: count))
                #expect(outcome { try Self.verify(text) } == Outcome(.invalidToken, "invalidSignature"))
            }
        }
    }

    @Test("any single byte of a token that is changed, removed or added makes it refused")
    func singleByteChanges() throws {
        var generator = SeededGenerator()
        let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.".utf8)
        for (token, secret) in Self.valid.map({ ($0, false) }) + [(TokenVectors.hs256, true)] {
            #expect(outcome { try Self.verify(token, secret: secret) } == nil)
            let bytes = Array(token.utf8)
            for place in bytes.indices {
                var changed = bytes
                changed[place] = alphabet.filter { $0 != bytes[place] }.randomElement(using: &generator) ?? 0
                var shorter = bytes
                shorter.remove(at: place)
                var longer = bytes
                longer.insert(alphabet.randomElement(using: &generator) ?? 0, at: place)
                for variant in place % 4 == 0 ? [changed, shorter, longer] : [changed] where variant != bytes {
                    let text = String(decoding: variant, as: UTF8.self)
                    #expect(outcome { try Self.verify(text, secret: secret) } != nil, "byte \(place)")
                }
            }
        }
    }

    @Test("hostile bytes are refused and never trap")
    func hostileBytes() throws {
        var generator = SeededGenerator()
        let tokens = Self.valid + [TokenVectors.hs256, TokenVectors.grant]
        let header = #"{"alg":"EdDSA","kid":"ed-1","typ":"JWT"}"#.bytes
        let key = try TestToken.issuerKey()
        for round in 0..<3000 {
            let token = tokens[round % tokens.count]
            let damaged = generator.damaged(Array(token.utf8))
            if damaged != Array(token.utf8) {
                #expect(outcome { try Self.verify(String(decoding: damaged, as: UTF8.self)) } != nil)
            }
            let headerText = TestToken.base64URL(generator.damaged(header))
            let payload = TestToken.base64URL(generator.damaged(try TestToken.claims().bytes))
            let input = headerText + "." + payload
            let signed = input + "." + TestToken.base64URL(try key.signature(of: input.bytes))
            _ = try? Self.verify(signed)
        }
    }
}
