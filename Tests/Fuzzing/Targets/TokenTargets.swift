import DocDBAuth
import DocDBCore
import DocDBQuery

/// Keys and tokens that the targets of authentication share.
private enum Fixture {
    static let now = UnixTime(seconds: 1_800_000_000)
    static let appID = "cars"

    static func pair(_ number: UInt8) -> PeerKeyPair? { try? PeerKeyPair(seed: [UInt8](repeating: number, count: 32)) }

    static let issuer = pair(1)
    static let root = pair(2)
    static let hub = pair(3)
    static let peer = pair(4)

    /// A token of just these bytes as header and payload.
    static func token(_ header: [UInt8], _ payload: [UInt8], _ pair: PeerKeyPair) throws -> String {
        let input = Base64URL.encode(header) + "." + Base64URL.encode(payload)
        return input + "." + Base64URL.encode(try pair.signature(of: [UInt8](input.utf8)))
    }

    /// A token of a type, signed by a key that its header names.
    static func token(type: String, _ payload: [UInt8], _ pair: PeerKeyPair) throws -> String {
        let header: [String: Value] = [
            "alg": "EdDSA", "typ": .string(type), "kid": .string(pair.publicKey.thumbprint),
        ]
        return try token(try StrictJSON.text(header), payload, pair)
    }

    static func required(_ pair: PeerKeyPair?) throws -> PeerKeyPair {
        guard let pair else { throw FuzzFailure(description: "a key cannot be made") }
        return pair
    }

    static let claims =
        #"{"iss":"https://issuer.example/","aud":["x","cars-app"],"sub":"user-1","iat":1799999990,"nbf":1799999990,"#
        + #""exp":1800003600,"scope":"openid cars","tenant":"t-7","roles":["dealer"]}"#

    static func seed(_ mode: UInt8, _ parts: String...) -> [UInt8] {
        [mode] + parts.map { Array($0.utf8) }.joined(separator: [0])
    }

    /// The parts of an input behind its first byte, at least two.
    static func parts(_ bytes: [UInt8]) -> [[UInt8]] {
        bytes.dropFirst().split(separator: 0, maxSplits: 1, omittingEmptySubsequences: false).map(Array.init) + [[]]
    }

    static let words = [
        "\"alg\":\"EdDSA\"", "\"kid\":", "\"typ\":", "\"iss\":", "\"aud\":", "\"sub\":", "\"exp\":", "\"iat\":",
        "\"nbf\":", "\"kty\":\"OKP\"", "\"kty\":\"EC\"", "\"kty\":\"RSA\"", "\"kty\":\"oct\"", "\"crv\":\"P-256\"",
        "\"cnf\":{\"jwk\":", "\"permissions\":", "\"everything\":true", "\"queriesByCollection\":", "\"read\":",
        "\"write\":", "\"epoch\":", "\"uses\":[\"sign\",\"peer\"]", "\"issuedBefore\":", "\"seq\":", "$user.id",
        "$claims.tenant", "\"authenticated\":true", "\"userID\":", "\"expirationSeconds\":", "\"type\":\"jwt\"",
    ]
}

extension FuzzTarget {
    /// After a first byte: 0 a token as it is, 1 header, zero and payload of a token that is signed, 2 a set of keys.
    static let token = FuzzTarget(
        name: "token", words: Fixture.words,
        seeds: {
            let issuer = try Fixture.required(Fixture.issuer)
            let header = #"{"alg":"EdDSA","typ":"JWT","kid":"k"}"#
            let key =
                #"{"kty":"OKP","crv":"Ed25519","kid":"k","alg":"EdDSA","use":"sig","x":"\#(Base64URL.encode(issuer.publicKey.bytes))"}"#
            let modulus = Base64URL.encode([0xC5] + [UInt8](repeating: 0xA7, count: 255))
            return [
                Fixture.seed(0, try Fixture.token(Array(header.utf8), Array(Fixture.claims.utf8), issuer)),
                Fixture.seed(1, header, Fixture.claims),
                Fixture.seed(1, #"{"alg":"EdDSA","crit":["x"],"b64":true}"#, #"{"exp":1.8e9,"iss":1}"#),
                Fixture.seed(2, #"{"keys":[\#(key),{"kty":"x"}]}"#), Fixture.seed(2, key),
                Fixture.seed(2, #"{"kty":"RSA","kid":"r","e":"AQAB","n":"\#(modulus)"}"#),
                Fixture.seed(
                    2,
                    #"{"kty":"EC","crv":"P-256","kid":"e","x":"glho1jih2on_aDNHjFvu8Hx9OcEPSoCyGRSWwjRRv_k","#
                        + #""y":"RsK6gBXp-0PZwYM8t3v3DFvKyF7qRnLpjZgNSZJ7sUY"}"#),
                Fixture.seed(2, #"{"kty":"oct","kid":"s","k":"ZGVmZ2hpamtsbW5vcHFyc3R1dnd4eXp7fH1-f4CBgoM"}"#),
            ]
        },
        run: { bytes in
            let parts = Fixture.parts(bytes)
            switch bytes.first {
            case 0: try runToken(bytes.dropFirst())
            case 1: try runClaims(header: parts[0], payload: parts[1])
            case 2: try runKeys(Array(bytes.dropFirst()))
            default: break
            }
        })

    private static func refused<R>(_ body: () throws -> R) throws -> R? {
        do { return try body() } catch is TokenFailure { return nil } catch let error as DocDBError {
            let codes: [DocDBError.Code] = [
                .invalidToken, .tokenExpired, .invalidKey, .invalidGrant, .grantExpired, .invalidPermissions,
                .authenticationFailed, .providerUnavailable, .invalidConfiguration, .protocolError, .proofFailed,
            ]
            try require(codes.contains(error.code), "refused with \(error)")
            return nil
        }
    }

    private static func runToken(_ bytes: ArraySlice<UInt8>) throws {
        guard let text = String(validating: bytes, as: UTF8.self) else { return }
        guard let token = try refused({ try JSONWebSignature(text) }) else { return }
        let issuer = try Fixture.required(Fixture.issuer)
        guard try refused({ try token.verify(with: try VerificationKey(issuer.publicKey)) }) != nil else { return }
        // Nobody else has the key: only the seed's very text can be signed.
        let header = #"{"alg":"EdDSA","typ":"JWT","kid":"k"}"#
        let known = try Fixture.token(Array(header.utf8), Array(Fixture.claims.utf8), issuer)
        try require(text == known, "a token is accepted that nobody signed")
    }

    private static func runClaims(header: [UInt8], payload: [UInt8]) throws {
        let issuer = try Fixture.required(Fixture.issuer)
        let text = try Fixture.token(header, payload, issuer)
        guard let token = try refused({ try JSONWebSignature(text) }) else { return }
        try require(token.payload == payload, "a token has another payload than was signed")
        let isValid = try refused { try token.verify(with: try VerificationKey(issuer.publicKey)) } != nil
        try require(isValid == (token.algorithm == .edDSA), "a signature counts for the wrong algorithm")
        guard let claims = try refused({ try token.claims() }) else { return }
        let policy = ClaimsPolicy(
            issuer: "https://issuer.example/", audiences: ["cars-app"],
            requirements: [.word("scope", "cars"), .oneOf("roles", ["dealer"])])
        guard let expiry = try refused({ try policy.check(claims, now: Fixture.now) }) else { return }
        try require(Fixture.now < expiry.adding(policy.leeway), "an expired token is accepted")
        try require(claims["iss"] == "https://issuer.example/", "a token of another issuer is accepted")
    }

    private static func runKeys(_ bytes: [UInt8]) throws {
        guard let set = try refused({ try JSONWebKeySet(bytes, allowsSecrets: bytes.count % 2 == 0) }) else { return }
        try require(
            !set.keys.isEmpty && set.keys.count <= AuthenticationLimits.keyCount, "a set has no or too many keys")
        for algorithm in SignatureAlgorithm.allCases {
            let header = #"{"alg":"\#(algorithm.rawValue)","kid":"k"}"#
            let text =
                Base64URL.encode([UInt8](header.utf8)) + ".e30." + Base64URL.encode([UInt8](repeating: 7, count: 64))
            let token = try JSONWebSignature(text)
            _ = try refused { try set.key(for: token) }
            for key in set.keys {
                try require(
                    try refused { try token.verify(with: key) } == nil, "a signature of nobody is valid")
            }
        }
    }

    // MARK: Permissions

    /// Permissions as JSON, a zero byte, and a user's claims as JSON.
    static let permissions = FuzzTarget(
        name: "permissions", words: Fixture.words,
        seeds: {
            let texts = [
                #"{"read":{"everything":true},"write":{"queriesByCollection":{"cars":["owner == $user.id","a == 1"]}}}"#,
                #"{"read":{"queriesByCollection":{"cars":["tenant == $claims.tenant","x in $claims.roles"],"b":[]}}}"#,
                #"{"write":{"everything":false,"queriesByCollection":{"__x":["true"]}},"other":1}"#, "{}",
            ]
            return texts.map { Array($0.utf8) + [0] + Array(Fixture.claims.utf8) }
        },
        run: { bytes in
            let parts = Fixture.parts([0] + bytes)
            guard let value = try? StrictJSON.value(parts[0]) else { return }
            try runPermissions(value, claims: (try? StrictJSON.object(parts[1])) ?? [:])
        })

    private static func runPermissions(_ value: Value, claims: [String: Value]) throws {
        guard let permissions = try accepted([.invalidPermissions], { try Permissions(value) }) else { return }
        let binding = PermissionBinding(
            userID: "p|user-1", claims: claims,
            aliases: ["tenant": ClaimPath(["tenant"]), "deep": ClaimPath(["a", "b"])])
        guard let bound = try accepted([.invalidPermissions], { try permissions.bound(to: binding) }) else { return }
        let again: BoundPermissions
        do { again = try BoundPermissions(bound.value) } catch {
            throw FuzzFailure(description: "bound permissions do not read: \(error)")
        }
        try require(again == bound && again.value == bound.value, "bound permissions read as others")
        let text = try StrictJSON.text(bound.value)
        try require((try? StrictJSON.value(text)) == bound.value, "the text of permissions reads as others")
        for name in ["__users", "", "nobody's"] where bound.read.collections.contains(name) == false {
            try require(
                bound.read.isEverything && name == "nobody's" || bound.readFilter(name) == .nothing,
                "a collection that is not named is permitted")
        }
        guard let both = try accepted([.invalidPermissions], { try permissions.union(permissions).bound(to: binding) })
        else { return }
        try require(both == bound, "permissions together with themselves are others")
    }

    // MARK: Providers

    /// After a first byte: 0 a webhook's answer, 1 providers' configuration and the file it names, 2 a hub's answer to a
    /// login, 3 a request for a login. The bits above are the status.
    static let provider = FuzzTarget(
        name: "provider", words: Fixture.words,
        seeds: {
            let answer =
                #"{"authenticated":true,"userID":"u","expirationSeconds":60,"clientInfo":{"a":1},"#
                + #""permissions":{"read":{"everything":true}}}"#
            let jwt =
                #"{"p":{"type":"jwt","issuer":"i","audience":["a"],"jwks":"f","permissions":{"claim":["a","b"]},"#
                + #""requiredClaims":[{"claim":"scope","word":"cars"}],"claims":{"x":["a","b"]},"leeway":10}}"#
            let fixed = #"{"s":{"type":"static","tokens":"f"},"w":{"type":"webhook","url":"https://x/","timeout":5}}"#
            let peer = try Fixture.required(Fixture.peer)
            let request = try LoginRequest.loginRequest(
                appID: Fixture.appID, provider: "p", token: "t", nonce: [UInt8](repeating: 5, count: 16), pair: peer)
            let accepted = LoginAnswer.accepted(
                .init(grant: "g", certificates: ["c"], roots: [peer.publicKey], time: Fixture.now))
            return [
                Fixture.seed(0, answer), Fixture.seed(4, #"{"authenticated":false,"reason":"no","userInfo":[1]}"#),
                Fixture.seed(1, jwt, #"{"kty":"oct","k":"ZGVmZ2hpamtsbW5vcHFyc3R1dnd4eXp7fH1-f4CBgoM"}"#),
                Fixture.seed(1, fixed, #"{"t":{"userID":"u","permissions":{}}}"#),
                Fixture.seed(2, String(decoding: try accepted.encoded().body, as: UTF8.self)),
                Fixture.seed(2, #"{"nonce":"AAAAAAAAAAAAAAAAAAAAAA"}"#),
                Fixture.seed(6, #"{"code":"invalidToken","message":"m","reason":"r"}"#),
                Fixture.seed(3, String(decoding: request, as: UTF8.self)), Fixture.seed(3, #"{"appID":"cars"}"#),
            ]
        },
        run: { bytes in
            let parts = Fixture.parts(bytes)
            let status = [200, 401, 403, 302, 500, 503, 429][Int((bytes.first ?? 0) >> 2) % 7]
            switch (bytes.first ?? 0) & 3 {
            case 0: try runWebhook(status, Array(bytes.dropFirst()))
            case 1: try runConfiguration(parts[0], file: parts[1])
            case 2: try runAnswer(status, Array(bytes.dropFirst()))
            default: _ = try refused { try readRequest(Array(bytes.dropFirst())) }
            }
        })

    private static func runWebhook(_ status: Int, _ body: [UInt8]) throws {
        let webhook = try WebhookProvider(name: "p", url: "https://provider.example/")
        guard let answer = try refused({ try webhook.answer(status: status, body: body, now: Fixture.now) }) else {
            return
        }
        guard case .accepted(let identity) = answer else { return }
        try require(status == 200 && identity.userID.hasPrefix("p|"), "a provider speaks for another's users")
        guard let expiry = identity.expiresAt else { throw FuzzFailure(description: "an identity never expires") }
        try require(Fixture.now < expiry, "an identity has expired already")
        _ = try refused { try identity.boundPermissions() }
    }

    private static func runConfiguration(_ text: [UInt8], file: [UInt8]) throws {
        guard let value = try? StrictJSON.value(text) else { return }
        let surroundings = Provider.Surroundings(readFile: { _ in file }, fetchKeys: { _, _ in [] })
        guard
            let providers = try accepted(
                [.invalidConfiguration, .invalidPermissions, .invalidKey, .documentTooDeep, .authenticationFailed],
                { try Provider.read(value, surroundings) })
        else { return }
        try require(!providers.isEmpty, "a configuration has no providers")
    }

    private static func runAnswer(_ status: Int, _ body: [UInt8]) throws {
        guard let answer = try refused({ try LoginAnswer(status: status, body: body) }) else { return }
        let encoded = try answer.encoded()
        let again: LoginAnswer
        do { again = try LoginAnswer(status: encoded.status, body: encoded.body) } catch {
            throw FuzzFailure(description: "an answer that is written does not read: \(error)")
        }
        try require(try again.encoded() == encoded, "an answer that is written reads as another")
        if case .refused(let refused) = answer { _ = refused.error }
    }

    private static func readRequest(_ bytes: [UInt8]) throws {
        guard case .login(let login) = try LoginRequest(bytes) else { return }
        try login.verifyProof(appID: Fixture.appID)
        let peer = try Fixture.required(Fixture.peer)
        try require(login.peer == peer.publicKey, "a proof holds of another peer's key")
    }

    // MARK: Grants

    /// After a first byte: the claims of a 0 grant, 1 certificate or 2 revocation that is signed, 3 notices between
    /// peers, 4 such a text as it is, 5 stored credentials, 6 a notice of refused changes that is signed.
    static let grant = FuzzTarget(
        name: "grant", words: Fixture.words, seeds: { try grantSeeds() },
        run: { bytes in
            let rest = Array(bytes.dropFirst())
            let (root, hub) = (try Fixture.required(Fixture.root), try Fixture.required(Fixture.hub))
            var verifier = GrantVerifier(appID: Fixture.appID, roots: [root.publicKey])
            _ = try verifier.learn(certificate: try hubCertificate().text, now: Fixture.now)
            switch bytes.first {
            case 0: try runGrant(try Fixture.token(type: "docdb-grant+jwt", rest, hub), verifier)
            case 1: try runCertificate(try Fixture.token(type: "docdb-hub-certificate+jwt", rest, root), &verifier)
            case 2: try runRevocation(try Fixture.token(type: "docdb-revocation+jwt", rest, hub), verifier)
            case 3: try runNotices(rest)
            case 4:
                guard let text = String(validating: rest, as: UTF8.self) else { return }
                _ = try refused { try GrantVerifier.kind(ofNotice: text) }
                try runGrant(text, verifier)
                try runRevocation(text, verifier)
                try runVoided(text, verifier)
            case 5:
                let peer = try Fixture.required(Fixture.peer)
                _ = try refused {
                    try Credentials(storedForm: rest, appID: Fixture.appID, peer: peer.publicKey, pinnedRoots: [])
                }
            case 6: try runVoided(try Fixture.token(type: "docdb-voided+jwt", rest, hub), verifier)
            default: break
            }
        })

    private static func hubCertificate() throws -> HubCertificate {
        try HubCertificate.issue(
            for: try Fixture.required(Fixture.hub).publicKey, appID: Fixture.appID,
            validFrom: Fixture.now.adding(-100_000), expiresAt: Fixture.now.adding(10_000_000),
            root: try Fixture.required(Fixture.root))
    }

    private static func runGrant(_ text: String, _ verifier: GrantVerifier) throws {
        let peer = try Fixture.required(Fixture.peer)
        let grant = try refused {
            try verifier.verify(
                text, presentedBy: peer.publicKey, now: Fixture.now, revocations: RevocationList(),
                highestEpoch: { _ in nil })
        }
        guard let grant else { return }
        try require(
            grant.peer == peer.publicKey && grant.appID == Fixture.appID && !grant.isExpired(at: Fixture.now),
            "a grant is accepted that does not hold here and now")
        try require(
            (try? BoundPermissions(grant.permissions.value)) == grant.permissions,
            "a grant's permissions read as others")
        try require(try grant.permissions.hash().count == 32, "permissions have no hash")
    }

    private static func runCertificate(_ text: String, _ verifier: inout GrantVerifier) throws {
        guard let certificate = try refused({ try verifier.learn(certificate: text, now: Fixture.now) }) else { return }
        try require(certificate.appID == Fixture.appID, "a certificate of another app is accepted")
        try require(
            try refused { try verifier.isNews(certificate: text, now: Fixture.now) } != true,
            "a known certificate is news")
        for use in HubCertificate.Use.allCases { _ = certificate.permits(use, at: Fixture.now) }
    }

    private static func runVoided(_ text: String, _ verifier: GrantVerifier) throws {
        guard let notice = try refused({ try verifier.verify(voided: text) }) else { return }
        var list = VoidedList()
        let isNews = list.add(notice, now: Fixture.now)
        try require(isNews == (Fixture.now < notice.forgetAfter), "a notice is kept after its end, or not till then")
        try require(!list.add(notice, now: Fixture.now), "a known notice is news")
        try require(list.notices(of: notice.subject.document) == (isNews ? [notice] : []), "a list holds other notices")
        list.forget(now: notice.forgetAfter)
        try require(list.isEmpty, "a notice is kept beyond its end")
    }

    private static func runRevocation(_ text: String, _ verifier: GrantVerifier) throws {
        guard let revocation = try refused({ try verifier.verify(revocation: text) }) else { return }
        var list = RevocationList()
        let isNews = try list.add(revocation, now: Fixture.now)
        try require(
            isNews == (Fixture.now < revocation.forgetAfter), "a revocation is kept after its end, or not till then")
        try require(try !list.add(revocation, now: Fixture.now), "a known revocation is news")
        try require(
            list.holds(text) == isNews && list.texts == (isNews ? [text] : []), "a list holds other revocations")
        list.forget(now: revocation.forgetAfter)
        try require(list.count == 0, "a revocation is kept beyond its end")
    }

    private static func runNotices(_ bytes: [UInt8]) throws {
        guard let message = try accepted([.protocolError], { try NoticeMessage(bytes) }) else { return }
        try require((try? NoticeMessage(message.encoded)) == message, "notices that are written read as others")
        guard case .notices(let texts) = message else { return }
        try require(texts.count <= AuthenticationLimits.noticeCountOfMessage, "a message has too many notices")
        _ = NoticeDigest(texts).summary
    }

    private static func grantSeeds() throws -> [[UInt8]] {
        let peer = try Fixture.required(Fixture.peer)
        let jwk = String(decoding: try StrictJSON.text(peer.publicKey.jsonWebKey), as: UTF8.self)
        let grant =
            #"{"iss":"docdb-hub","jti":"1","aud":"cars","sub":"p|user-1","cnf":{"jwk":\#(jwk)},"epoch":3,"#
            + #""permissions":{"read":{"everything":true},"write":{"queriesByCollection":{"cars":["a == 1"]}}},"#
            + #""iat":1799999990,"exp":1800003600,"relay":false,"client":{"name":"x"}}"#
        let certificate =
            #"{"aud":"cars","cnf":{"jwk":\#(jwk)},"iat":1799999990,"nbf":1799999990,"exp":1800003600,"#
            + #""uses":["sign","peer"]}"#
        let revocation =
            #"{"aud":"cars","iat":1799999990,"exp":1800003600,"seq":4,"issuedBefore":1799999995,"sub":"p|u"}"#
        let hub = try Fixture.required(Fixture.hub)
        let signed = try Fixture.token(type: "docdb-grant+jwt", Array(grant.utf8), hub)
        let answer = LoginAnswer.Accepted(
            grant: signed, certificates: [try hubCertificate().text],
            roots: [try Fixture.required(Fixture.root).publicKey], time: Fixture.now)
        let credentials = try Credentials(answer, appID: Fixture.appID, peer: peer.publicKey, pinnedRoots: [])
        return [
            Fixture.seed(0, grant), Fixture.seed(1, certificate), Fixture.seed(2, revocation),
            Fixture.seed(2, revocation.replacing(#""sub":"p|u""#, with: #""grant":"1""#)),
            [3] + NoticeMessage.summary([UInt8](repeating: 1, count: 16)).encoded,
            [3] + NoticeMessage.buckets([UInt64](repeating: 9, count: 64)).encoded,
            [3] + NoticeMessage.notices(["a", "b"]).encoded, Fixture.seed(4, signed),
            [5] + (try credentials.storedForm()),
        ]
    }
}
