import DocDBAuth
import DocDBCore
import DocDBQuery
import Foundation
import Testing

/// Logs in with every example of `docs/providers.md`.
@Suite("The page about providers")
struct ProviderPageTests {
    /// The JSON texts of the page by the headings they stand under.
    private static func examples() throws -> [String: [String]] {
        let file = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent().appending(path: "docs/providers.md")
        let page = String(decoding: try Data(contentsOf: file), as: UTF8.self)
        var examples: [String: [String]] = [:]
        var heading = ""
        var open: [Substring]?
        for line in page.split(separator: "\n", omittingEmptySubsequences: false) {
            if line.hasPrefix("## ") { heading = String(line.dropFirst(3)) }
            if line == "```json" {
                open = []
            } else if line == "```", let lines = open {
                examples[heading, default: []].append(lines.joined(separator: "\n"))
                open = nil
            } else {
                open?.append(line)
            }
        }
        return examples
    }

    private static func provider(_ configuration: String) throws -> Provider {
        let surroundings = Provider.Surroundings(
            readFile: { _ in "0123456789abcdef0123456789abcdef\n".bytes },
            fetchKeys: { _, _ in TokenVectors.keySet.bytes })
        return try #require(try Provider.read(try StrictJSON.value(configuration.bytes), surroundings).first)
    }

    @Test(
        "the tokens of the examples log in, and bind what the rules say",
        arguments: [
            ("Auth0", "auth0|auth0|64f1c0ffee", "dealer == 'd-7' || state == 'for sale'", "dealer == 'd-7'", .null),
            (
                "Keycloak", "keycloak|0b6c2c5e-7a7e-4b53-9d6e-1f6a3f6f2d11",
                "audience in ['public', 'default-roles-cars']",
                "owner == 'keycloak|0b6c2c5e-7a7e-4b53-9d6e-1f6a3f6f2d11'", ["preferred_username": "ada"]
            ),
            (
                "Firebase", "firebase|kQ3xyzUID", "owner == 'firebase|kQ3xyzUID' || state == 'for sale'",
                "owner == 'firebase|kQ3xyzUID'", ["name": "Ada"]
            ),
            (
                "Cognito", "cognito|5c1f0a8e-93a1-4c56-8a57-1d2c3b4a5f60", "group in ['dealers']", "false", .null
            ),
        ] as [(String, String, String, String, Value)])
    func tokens(_ name: String, _ userID: String, _ read: String, _ write: String, _ info: Value) async throws {
        let examples = try #require(try Self.examples()[name])
        try #require(examples.count == 2)
        // The services sign with RSA, whose private key no test has.
        let configuration = examples[0].replacing("RS256", with: "EdDSA")
        let provider = try Self.provider(configuration)
        func login(_ claims: String) async throws -> ProviderIdentity {
            let token = try TestToken.edDSA(
                #"{"alg":"EdDSA","kid":"ed-1","typ":"JWT"}"#, claims, key: try TestToken.issuerKey())
            let answer = try await provider.answer(token: token, appID: "cars", now: vectorTime) { _ in (500, []) }
            guard case .accepted(let identity) = answer else { throw TokenFailure.notCompact }
            return identity
        }
        let identity = try await login(examples[1])
        #expect(identity.userID == userID)
        #expect(identity.clientInfo == info)
        let permissions = try identity.boundPermissions()
        #expect(permissions.readFilter("cars").description == read)
        #expect(permissions.writeFilter("cars").description == write)
        // Each claim of the example that a condition names is needed.
        for claim in ["iss", "exp", "sub"] {
            let without = examples[1].replacing("\"\(claim)\"", with: "\"x-\(claim)\"")
            #expect(await outcome { try await login(without) } == Outcome(.invalidToken, "missingClaim"))
        }
        let wrong = examples[1].replacing("\"aud\":", with: "\"aud2\":").replacing("\"azp\":", with: "\"azp2\":")
            .replacing("\"client_id\":", with: "\"client_id2\":")
        #expect(await outcome { try await login(wrong) } == Outcome(.invalidToken, "missingClaim"))
    }

    @Test("the webhook and the static provider of the examples work")
    func others() async throws {
        let examples = try Self.examples()
        let webhook = try #require(examples["A webhook"])
        let provider = try Self.provider(webhook[0])
        let answer = try await provider.answer(token: "t", appID: "cars", now: vectorTime) { request in
            #expect(request.headers["DocDB-Signature"]?.hasPrefix("t=1800000000,v1=") == true)
            #expect(request.byteLimit == 16_384)
            return (200, webhook[1].bytes)
        }
        guard case .accepted(let identity) = answer else {
            Issue.record("the example's answer is a refusal")
            return
        }
        #expect(try identity.boundPermissions().writeFilter("cars").description == "owner == 'own|ada'")
        let fixed = try Self.provider(try #require(examples["Static tokens, for development"]?.first))
        #expect(fixed.isForDevelopmentOnly)
        let development = try await fixed.answer(token: "ada-secret", appID: "cars", now: vectorTime) { _ in (500, []) }
        guard case .accepted(let ada) = development else {
            Issue.record("the example's token is refused")
            return
        }
        #expect(ada.userID == "dev|ada")
    }

    @Test("every example of the schema of permissions is read")
    func schema() throws {
        let file = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent().appending(path: "Schemas/permissions.schema.json")
        let schema = try StrictJSON.object([UInt8](try Data(contentsOf: file)))
        let examples = try #require(schema["examples"]?.arrayValue)
        #expect(examples.count == 2)
        for example in examples {
            let binding = PermissionBinding(userID: "a|b", claims: ["dealers": ["x"]])
            #expect(throws: Never.self) { try Permissions(example).bound(to: binding) }
        }
    }
}
