import DocDBAuth
import DocDBCore
import Testing

/// The examples printed in the RFCs.
@Suite("Examples of the RFCs")
struct RFCExampleTests {
    private static func verified(_ token: String, with key: String) throws -> [UInt8] {
        let signature = try JSONWebSignature(token)
        let keys = try JSONWebKeySet(key.bytes, allowsSecrets: true)
        try signature.verify(with: try #require(try keys.key(for: signature)))
        return signature.payload
    }

    private static let joe = "{\"iss\":\"joe\",\r\n \"exp\":1300819380,\r\n \"http://example.com/is_root\":true}"
    private static let joePayload =
        "eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVlfQ"

    @Test("RFC 7515 A.1, which is the JWT of RFC 7519 3.1: HS256")
    func hs256() throws {
        let token =
            "eyJ0eXAiOiJKV1QiLA0KICJhbGciOiJIUzI1NiJ9.\(Self.joePayload).dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"
        let key = """
            {"kty":"oct","k":"AyM1SysPpbyDfgZld3umj1qzKObwVMkoqQ-EstJQLr_T-1qS0gZH75aKtMN3Yj0iPS4hcgUuTwjAzZr1Z9CAow"}
            """
        #expect(try Self.verified(token, with: key) == Self.joe.bytes)
        let claims = try JSONWebSignature(token).claims()
        #expect(claims == ["iss": "joe", "exp": 1_300_819_380, "http://example.com/is_root": true])
        let policy = ClaimsPolicy(issuer: "joe", audiences: ["any"])
        #expect(
            outcome { try policy.check(claims, now: UnixTime(seconds: 1_300_819_380 + 60)) }
                == Outcome(.tokenExpired, "expired"))
    }

    @Test("RFC 7515 A.2: RS256")
    func rs256() throws {
        let token = """
            eyJhbGciOiJSUzI1NiJ9.\(Self.joePayload).\
            cC4hiUPoj9Eetdgtv3hF80EGrhuB__dzERat0XF9g2VtQgr9PJbu3XOiZj5RZmh7AAuHIm4Bh-0Qc_lF5YKt_O8W2Fp5jujGbds9uJdb\
            F9CUAr7t1dnZcAcQjbKBYNX4BAynRFdiuB--f_nZLgrnbyTyWzO75vRK5h6xBArLIARNPvkSjtQBMHlb1L07Qe7K0GarZRmB_eSN9383\
            LcOLn6_dO--xi12jzDwusC-eOkHWEsqtFZESc6BfI7noOPqvhJ1phCnvWh6IeYI2w9QOYEUipUTI8np6LbgGY9Fs98rqVt5AXLIhWkWy\
            wlVmtVrBp0igcN_IoypGlUPQGe77Rw
            """
        let key = """
            {"kty":"RSA","e":"AQAB","n":"\
            ofgWCuLjybRlzo0tZWJjNiuSfb4p4fAkd_wWJcyQoTbji9k0l8W26mPddxHmfHQp-Vaw-4qPCJrcS2mJPMEzP1Pt0Bm4d4QlL-yRT-SF\
            d2lZS-pCgNMsD1W_YpRPEwOWvG6b32690r2jZ47soMZo9wGzjb_7OMg0LOL-bSf63kpaSHSXndS5z5rexMdbBYUsLA9e-KXBdQOS-UTo\
            7WTBEMa2R2CapHg665xsmtdVMTBQY4uDZlxvb3qCo5ZwKh9kG4LT6_I5IhlJH7aGhyxXFvUK-DWNmoudF8NAco9_h9iaGNj8q2ethFkM\
            Ls91kzk2PAcDTW9gb54h4FRWyuXpoQ"}
            """
        #expect(try Self.verified(token, with: key) == Self.joe.bytes)
    }

    @Test("RFC 7515 A.3: ES256")
    func es256() throws {
        let token = """
            eyJhbGciOiJFUzI1NiJ9.\(Self.joePayload).\
            DtEhU3ljbEg8L38VWAfUAqOyKAM6-Xx-F4GawxaepmXFCgfTjDxw5djxLa8ISlSApmWQxfKTUJqPP3-Kg6NU1Q
            """
        let key = """
            {"kty":"EC","crv":"P-256","x":"f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU",
             "y":"x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0"}
            """
        #expect(try Self.verified(token, with: key) == Self.joe.bytes)
    }

    @Test("RFC 7515 A.5: a token without a signature is refused")
    func unsecured() {
        #expect(
            outcome { try JSONWebSignature("eyJhbGciOiJub25lIn0.\(Self.joePayload).") }
                == Outcome(.invalidToken, "unsupportedAlgorithm"))
    }

    @Test("RFC 7515 E: a header with 'crit' is refused")
    func critical() {
        let header =
            "eyJhbGciOiJub25lIiwNCiAiY3JpdCI6WyJodHRwOi8vZXhhbXBsZS5jb20vVU5ERUZJTkVEIl0sDQogImh0dHA6Ly9leGFtcGxlLmNvbS9VTkRFRklORUQiOnRydWUNCn0"
        #expect(outcome { try JSONWebSignature("\(header).RkFJTA.") } == Outcome(.invalidToken, "criticalExtension"))
    }

    @Test("RFC 8037 A: EdDSA, and the key's thumbprint")
    func edDSA() throws {
        let token = """
            eyJhbGciOiJFZERTQSJ9.RXhhbXBsZSBvZiBFZDI1NTE5IHNpZ25pbmc.\
            hgyY0il_MGCjP0JzlnLWG1PPOt7-09PGcvMg3AIbQR6dWbhijcNR4ki4iylGjg5BhVsPt9g7sVvpAr_MuM0KAg
            """
        let key = #"{"kty":"OKP","crv":"Ed25519","x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}"#
        #expect(try Self.verified(token, with: key) == "Example of Ed25519 signing".bytes)
        let seed = try #require(Base64URL.decode("nWGxne_9WmC6hEr0kuwsxERJxWl7MmkZcDusAxyuf2A"))
        let pair = try PeerKeyPair(seed: seed)
        #expect(pair.publicKey.thumbprint == "kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k")
        #expect(
            try TestToken.edDSA(#"{"alg":"EdDSA"}"#, "Example of Ed25519 signing", key: pair) == token,
            "Ed25519 signatures are deterministic")
    }

    @Test("RFC 7520 4.1: RS256 with a key id")
    func cookbook() throws {
        let token = """
            eyJhbGciOiJSUzI1NiIsImtpZCI6ImJpbGJvLmJhZ2dpbnNAaG9iYml0b24uZXhhbXBsZSJ9.\
            SXTigJlzIGEgZGFuZ2Vyb3VzIGJ1c2luZXNzLCBGcm9kbywgZ29pbmcgb3V0IHlvdXIgZG9vci4gWW91IHN0ZXAgb250byB0aGUgcm9h\
            ZCwgYW5kIGlmIHlvdSBkb24ndCBrZWVwIHlvdXIgZmVldCwgdGhlcmXigJlzIG5vIGtub3dpbmcgd2hlcmUgeW91IG1pZ2h0IGJlIHN3\
            ZXB0IG9mZiB0by4.\
            MRjdkly7_-oTPTS3AXP41iQIGKa80A0ZmTuV5MEaHoxnW2e5CZ5NlKtainoFmKZopdHM1O2U4mwzJdQx996ivp83xuglII7PNDi84wnB\
            -BDkoBwA78185hX-Es4JIwmDLJK3lfWRa-XtL0RnltuYv746iYTh_qHRD68BNt1uSNCrUCTJDt5aAE6x8wW1Kt9eRo4QPocSadnHXFxn\
            t8Is9UzpERV0ePPQdLuW3IS_de3xyIrDaLGdjluPxUAhb6L2aXic1U12podGU0KLUQSE_oI-ZnmKJ3F4uOZDnd6QZWJushZ41Axf_fcI\
            e8u9ipH84ogoree7vjbU5y18kDquDg
            """
        let key = """
            {"kty":"RSA","kid":"bilbo.baggins@hobbiton.example","use":"sig","e":"AQAB","n":"\
            n4EPtAOCc9AlkeQHPzHStgAbgs7bTZLwUBZdR8_KuKPEHLd4rHVTeT-O-XV2jRojdNhxJWTDvNd7nqQ0VEiZQHz_AJmSCpMaJMRBSFKr\
            Kb2wqVwGU_NsYOYL-QtiWN2lbzcEe6XC0dApr5ydQLrHqkHHig3RBordaZ6Aj-oBHqFEHYpPe7Tpe-OfVfHd1E6cS6M1FZcD1NNLYD5l\
            FHpPI9bTwJlsde3uhGqC0ZCuEHg8lhzwOHrtIQbS0FVbb9k3-tVTU4fg_3L_vniUFAKwuCLqKnS2BYwdq_mzSnbLY7h_qixoR7jig3__\
            kRhuaxwUkRz5iaiQkqgc5gHdrNP5zw"}
            """
        #expect(try Self.verified(token, with: key).starts(with: "It\u{2019}s a dangerous business, Frodo".utf8))
    }

    @Test("RFC 4648 10, in the alphabet for URLs, there and back")
    func base64() {
        let pairs = [
            ("", ""), ("f", "Zg"), ("fo", "Zm8"), ("foo", "Zm9v"), ("foob", "Zm9vYg"), ("fooba", "Zm9vYmE"),
            ("foobar", "Zm9vYmFy"),
        ]
        for (text, encoded) in pairs {
            #expect(Base64URL.encode(text.bytes) == encoded)
            #expect(Base64URL.decode(encoded) == text.bytes)
        }
        for bad in ["Zg==", "Zh", "Zm9", "Zm9=", "Z", "Zm9v\n", " Zg", "Zm+v", "Zm/v", "Zm9vZ", "\u{212A}m9v"] {
            #expect(Base64URL.decode(bad) == nil, "\(bad)")
        }
    }
}
