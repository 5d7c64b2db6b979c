import DocDBAuth
import DocDBCore
import Foundation
import Testing

/// `Schemas/grant.cddl` and `Schemas/grant.md` against tokens, logins and proofs that the code makes.
@Suite("The schema of grants")
struct GrantSchemaTests {
    static let now = UnixTime(seconds: 1_800_000_000)

    /// The keys of an app's root, a hub, a peer and another one.
    static func pair(_ number: UInt8) throws -> PeerKeyPair {
        try PeerKeyPair(seed: [UInt8](repeating: number, count: 32))
    }

    static func schema() throws -> DataSchema { try DataSchema(SchemaFiles.text("grant.cddl")) }

    /// What base64url stands for, by Foundation's reader.
    static func decoded(_ text: Substring) throws -> [UInt8] {
        var base64 = text.replacing("-", with: "+").replacing("_", with: "/")
        while base64.count % 4 != 0 { base64 += "=" }
        return [UInt8](try #require(Data(base64Encoded: String(base64))))
    }

    static func parts(_ token: String) throws -> (header: DataItem, payload: DataItem) {
        let parts = token.split(separator: ".")
        #expect(parts.count == 3)
        return (try DataItem(json: decoded(parts[0])), try DataItem(json: decoded(parts[1])))
    }

    private static func grant(
        _ issuer: GrantIssuer, _ peer: PeerPublicKey, info: Value, isRelay: Bool
    ) throws -> String {
        let rules = Permissions(
            read: .everything, write: .queriesByCollection(["cars": ["owner == $user.id", "b == 1"]]))
        let identity = try ProviderIdentity(
            userID: "auth|user", expiresAt: nil, clientInfo: info, permissions: rules)
        let request = GrantIssuer.Request(
            identity: identity, permissions: try identity.boundPermissions(),
            epoch: PermissionEpoch(number: 3, hash: []), peer: peer, isRelay: isRelay)
        return try issuer.issue(request, now: now).text
    }

    /// Every kind of item that the schema has a rule for, with and without what is optional.
    static func samples() throws -> [(rule: String, item: DataItem)] {
        let (root, hub, peer) = (try pair(1), try pair(2), try pair(3))
        let certificate = try HubCertificate.issue(
            for: hub.publicKey, appID: "cars", validFrom: now.adding(-100), expiresAt: now.adding(100_000), root: root)
        let issuer = try GrantIssuer(
            appID: "cars", keys: [GrantIssuer.Key(pair: hub, certificate: certificate)])
        let grants = [
            try grant(issuer, peer.publicKey, info: nil, isRelay: false),
            try grant(issuer, peer.publicKey, info: ["plan": [1, nil]], isRelay: true),
        ]
        let revocations = [
            try issuer.revoke(.user("auth|user"), sequence: 1, now: now),
            try issuer.revoke(.grant("id"), sequence: 2, now: now),
        ].map(\.text)
        let voided = try issuer.void(
            VoidedNotice.Subject(document: StateDigest(high: 1, low: 2), actor: ActorID(high: 3, low: 4)),
            after: HybridTime(rawValue: 5), through: HybridTime(rawValue: 6), sequence: 7, now: now)
        var samples: [(String, DataItem)] = []
        let kinds: [(rule: String, tokens: [String])] = [
            ("certificate", [certificate.text]), ("grant", grants), ("revocation", revocations),
            ("voided", [voided.text]),
        ]
        for (rule, tokens) in kinds {
            for token in tokens {
                let parts = try parts(token)
                samples += [("header", parts.header), (rule, parts.payload)]
            }
        }
        samples.append(("private-jwk", try DataItem(json: peer.storedForm())))
        return try samples + logins(grants[0], certificate.text) + notices()
    }

    private static func logins(_ grant: String, _ certificate: String) throws -> [(String, DataItem)] {
        let nonce = [UInt8](repeating: 9, count: 16)
        let accepted = LoginAnswer.Accepted(
            grant: grant, certificates: [certificate], roots: [try pair(1).publicKey], time: now)
        let refusals = [
            LoginAnswer.Refused(ProviderRefusal(reason: "no", userInfo: ["until": 7])),
            LoginAnswer.Refused(DocDBError(.limitReached, "later")),
        ]
        let request = try LoginRequest.loginRequest(
            appID: "cars", provider: "auth", token: "t", nonce: nonce, pair: pair(3))
        var samples = [
            ("nonce-request", try LoginRequest.nonceRequest(appID: "cars")),
            ("nonce-answer", try LoginAnswer.nonce(nonce).encoded().body), ("login-request", request),
            ("login-answer", try LoginAnswer.accepted(accepted).encoded().body),
        ]
        for refusal in refusals { samples.append(("login-refusal", try LoginAnswer.refused(refusal).encoded().body)) }
        return try samples.map { ($0.0, try DataItem(json: $0.1)) }
    }

    private static func notices() throws -> [(String, DataItem)] {
        let messages: [NoticeMessage] = [
            .summary([UInt8](repeating: 1, count: 16)), .buckets([UInt64](repeating: 2, count: 64)),
            .notices(["a", "b"]),
        ]
        return try messages.map { ("notice-message", try DataItem(cbor: $0.encoded)) }
    }

    @Test("describes tokens, logins and notices that the code makes")
    func describes() throws {
        let schema = try Self.schema()
        let samples = try Self.samples()
        #expect(samples.count == 12 + 1 + 6 + 3)
        for sample in samples { #expect(schema.describes(sample.item, as: sample.rule), "\(sample)") }
    }

    @Test("no longer describes these where it is changed in any one place")
    func mutations() throws {
        let samples = try Self.samples()
        let mutations = try SchemaMutations.all(of: SchemaFiles.text("grant.cddl"))
        #expect(mutations.count > 60)
        for mutation in mutations {
            let schema = try DataSchema(mutation.text)
            #expect(
                samples.contains { !schema.describes($0.item, as: $0.rule) }, "\(mutation.place) makes no difference")
        }
    }

    @Test("the page's table of tokens tells their types and sizes")
    func tokens() throws {
        let rows = SchemaFiles.rows(of: try SchemaFiles.section("Tokens", of: "grant.md"))
        let sizes = [AuthenticationLimits.certificateByteCount, AuthenticationLimits.grantByteCount]
        let samples = try Self.samples()
        #expect(rows.map { $0[0] } == ["certificate", "grant", "revocation", "refused changes"])
        let rules = ["certificate", "grant", "revocation", "voided"]
        for ((row, rule), size) in zip(zip(rows, rules), [sizes[0], sizes[1], sizes[0], sizes[0]]) {
            #expect(SchemaFiles.number(row[3]) == size)
            let index = try #require(samples.firstIndex { $0.rule == rule })
            // A token's header comes before its payload.
            #expect(samples[index - 1].item["typ"]?.text == row[1].trimmingCharacters(in: ["`"]))
        }
        let keyID = samples[0].item["kid"]?.text
        let x = Data(try Self.pair(1).publicKey.bytes).base64EncodedString().replacing("+", with: "-")
            .replacing("/", with: "_").replacing("=", with: "")
        let page = try SchemaFiles.text("grant.md")
        let template = try #require(page.firstMatch(of: /RFC 7638 over `([^`]*)`/)).output.1
        let thumbprint = Digest.sha256(String(template).replacing("...", with: x))
        #expect(try Self.decoded(Substring(keyID ?? "")) == thumbprint)
    }

    /// The parts of a proof as a block of the page puts them together.
    private func assembled(_ block: String, _ values: [String: [UInt8]]) throws -> [UInt8] {
        var result: [UInt8] = []
        for word in block.split(whereSeparator: \.isWhitespace) {
            guard let part = word.wholeMatch(of: /frame\((.*)\)/) else {
                result += try #require(values[String(word)], "the page names '\(word)'")
                continue
            }
            let name = String(part.output.1)
            let bytes =
                try name.hasPrefix("\"")
                ? [UInt8](name.dropFirst().dropLast().utf8) : #require(values[name], "the page names '\(name)'")
            result += (0..<4).map { UInt8(truncatingIfNeeded: bytes.count >> (24 - 8 * $0)) } + bytes
        }
        return result
    }

    @Test("a session's proof is over the bytes that the page puts together")
    func sessionProof() throws {
        let block = try #require(
            SchemaFiles.blocks(of: try SchemaFiles.section("Proof of a session", of: "grant.md")).first)
        let initiator = ProofTranscript.Side(
            key: try Self.pair(3).publicKey, nonce: [UInt8](repeating: 1, count: 16), hello: [1, 2],
            grantHash: [UInt8](repeating: 3, count: 32))
        let responder = ProofTranscript.Side(
            key: try Self.pair(4).publicKey, nonce: [UInt8](repeating: 5, count: 20), hello: [6, 7, 8],
            grantHash: [UInt8](repeating: 9, count: 32))
        let binding = [UInt8](repeating: 10, count: 32)
        let transcript = try ProofTranscript(
            appID: "cars", initiator: initiator, responder: responder, channelBinding: binding)
        var values: [String: [UInt8]] = ["appID": [UInt8]("cars".utf8), "channelBinding": binding]
        for (suffix, side) in [("_i", initiator), ("_r", responder)] {
            values["key" + suffix] = side.key.bytes
            values["nonce" + suffix] = side.nonce
            values["hello" + suffix] = side.hello
            values["grantHash" + suffix] = side.grantHash
        }
        for (role, number) in [(ProofTranscript.Role.initiator, UInt8(1)), (.responder, 2)] {
            values["role"] = [number]
            #expect(try assembled(block, values) == transcript.bytes(role))
        }
    }

    @Test("a login's proof is over the bytes that the page puts together")
    func loginProof() throws {
        let block = try #require(
            SchemaFiles.blocks(of: try SchemaFiles.section("Proof of a login", of: "grant.md")).first)
        let (pair, nonce) = (try Self.pair(3), [UInt8](repeating: 7, count: 24))
        let proof = try LoginProof(
            appID: "cars", hubNonce: nonce, peer: pair.publicKey, provider: "auth", token: "secret",
            channelBinding: [1, 2])
        let bytes = try assembled(
            block,
            [
                "appID": [UInt8]("cars".utf8), "hubNonce": nonce, "key": pair.publicKey.bytes,
                "provider": [UInt8]("auth".utf8), "SHA-256(token)": Digest.sha256("secret"),
                "channelBinding": [1, 2],
            ])
        #expect(pair.publicKey.isValid(try proof.sign(with: pair), of: bytes))
    }

    @Test("the page's requests and answers of a login have the members that the code writes")
    func loginForms() throws {
        let blocks = SchemaFiles.blocks(of: try SchemaFiles.section("Login", of: "grant.md"))
        let forms = blocks.joined().split(separator: "\n").filter { $0.contains("{") }
        let rules = ["nonce-request", "nonce-answer", "login-request", "login-answer", "login-refusal"]
        #expect(forms.count == rules.count)
        let samples = try Self.samples()
        for (form, rule) in zip(forms, rules) {
            let names = form.matches(of: /"(\w+)":/).map { String($0.output.1) }
            let item = try #require(samples.first { $0.rule == rule }).item
            guard case .map(let members) = item else { continue }
            #expect(Set(members.compactMap(\.key.text)) == Set(names), "\(rule)")
            let statuses = form.matches(of: /\b[245]\d\d\b/).map { String($0.output) }
            let expected = ["nonce-answer": ["200"], "login-answer": ["200"], "login-refusal": ["401", "429", "503"]]
            #expect(Array(statuses.prefix(3)) == expected[rule] ?? [], "\(rule)")
        }
    }

    @Test("an actor's id is what the page makes of key and nonce")
    func actors() throws {
        let key = try Self.pair(3).publicKey
        let nonce: [UInt8] = [1, 2, 3, 4]
        let expected = Array(Digest.sha256(key.bytes + nonce).prefix(16))
        #expect(ActorID(peer: key, incarnationNonce: nonce) == ActorID(bytes: expected))
    }
}
