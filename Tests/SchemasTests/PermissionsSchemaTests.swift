import DocDBAuth
import DocDBCore
import Foundation
import Testing

/// `Schemas/permissions.schema.json` against what the code takes for permissions.
@Suite("The schema of permissions")
struct PermissionsSchemaTests {
    static func schema() throws -> JSONSchema { try JSONSchema(SchemaFiles.text("permissions.schema.json")) }

    /// Whether a user whose token has some claims gets permissions from a text.
    private static func isAccepted(_ json: String) -> Bool {
        guard let value = try? StrictJSON.value([UInt8](json.utf8)), let permissions = try? Permissions(value) else {
            return false
        }
        let binding = PermissionBinding(userID: "auth|user", claims: ["dealers": ["a", "b"]])
        return (try? permissions.bound(to: binding)) != nil
    }

    private static func isDescribed(_ json: String) throws -> Bool {
        try schema().accepts(DataItem(json: [UInt8](json.utf8)))
    }

    @Test("its own examples are valid, and permissions to the code")
    func examples() throws {
        let schema = try Self.schema()
        #expect(schema.examples.count == 2)
        for example in schema.examples { #expect(try schema.accepts(example)) }
        let text = try SchemaFiles.text("permissions.schema.json")
        let members = try #require(JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any])
        for example in try #require(members["examples"] as? [Any]) {
            let json = String(decoding: try JSONSerialization.data(withJSONObject: example), as: UTF8.self)
            #expect(Self.isAccepted(json), "\(json)")
        }
    }

    /// Collections in a quantity, each without predicates.
    private static func collections(_ count: Int) -> String {
        let members = (0..<count).map { "\"c\($0)\": []" }.joined(separator: ",")
        return "{\"read\": {\"queriesByCollection\": {\(members)}}}"
    }

    static let accepted = [
        "{}", #"{"read": {}}"#, #"{"write": {"everything": true}}"#, #"{"more": 1, "read": {"other": null}}"#,
        #"{"read": {"everything": false, "queriesByCollection": {"cars": ["a == 1", "b == 2"]}}}"#,
        #"{"read": {"everything": true, "queriesByCollection": {}}}"#,
        #"{"read": {"queriesByCollection": {"cars": []}}}"#,
        #"{"read": {"queriesByCollection": {"größe _": ["x in $claims.dealers"]}}}"#,
        #"{"read": {"queriesByCollection": {"_a": ["true"], "a__": ["true"]}}}"#,
        "{\"read\": {\"queriesByCollection\": {\"\(String(repeating: "x", count: 128))\": []}}}", collections(256),
    ]

    static let refused = [
        "[]", "null", "7", #""read""#, #"{"read": []}"#, #"{"read": null}"#, #"{"write": true}"#,
        #"{"read": {"everything": 1}}"#, #"{"read": {"everything": "true"}}"#, #"{"read": {"everything": null}}"#,
        #"{"read": {"everything": true, "queriesByCollection": {"cars": []}}}"#,
        #"{"read": {"queriesByCollection": []}}"#, #"{"read": {"queriesByCollection": {"cars": "true"}}}"#,
        #"{"read": {"queriesByCollection": {"cars": [1]}}}"#, #"{"read": {"queriesByCollection": {"cars": [""]}}}"#,
        #"{"read": {"queriesByCollection": {"": ["true"]}}}"#, #"{"read": {"queriesByCollection": {"__x": []}}}"#,
        #"{"read": {"queriesByCollection": {"a\u0000b": []}}}"#,
        "{\"read\": {\"queriesByCollection\": {\"\(String(repeating: "x", count: 129))\": []}}}", collections(257),
    ]

    @Test("accepts what the code accepts", arguments: accepted)
    func accepts(_ json: String) throws {
        #expect(try Self.isDescribed(json))
        #expect(Self.isAccepted(json))
    }

    @Test("refuses what the code refuses", arguments: refused)
    func refuses(_ json: String) throws {
        #expect(try !Self.isDescribed(json))
        #expect(!Self.isAccepted(json))
    }

    @Test("judges random permissions as the code does")
    func random() throws {
        let schema = try Self.schema()
        let seed = UInt64.random(in: 0...UInt64.max)
        var random = SeededGenerator(seed: seed)
        var counts = [false: 0, true: 0]
        for _ in 0..<3_000 {
            let json = Self.permissions(&random)
            let isAccepted = Self.isAccepted(json)
            #expect(
                try schema.accepts(DataItem(json: [UInt8](json.utf8))) == isAccepted, "seed \(seed): \(json)")
            counts[isAccepted, default: 0] += 1
        }
        #expect(counts.values.allSatisfy { $0 > 200 }, "\(counts)")
    }

    @Test("each of its constraints is needed: without one, something refused is accepted")
    func constraints() throws {
        let text = try SchemaFiles.text("permissions.schema.json")
        // What each keyword is renamed to has no meaning, as that of an annotation.
        let keywords = [
            "\"type\"", "\"minLength\"", "\"maxLength\"", "\"pattern\"", "\"maxProperties\"", "\"items\"", "\"if\"",
            "\"propertyNames\"", "\"additionalProperties\"", "\"properties\"",
        ]
        for keyword in keywords {
            let weaker = try JSONSchema(text.replacing(keyword, with: "\"title\""))
            let isWeaker = try Self.refused.contains { try weaker.accepts(DataItem(json: [UInt8]($0.utf8))) }
            #expect(isWeaker, "\(keyword) makes no difference")
        }
    }

    private static func permissions(_ random: inout SeededGenerator) -> String {
        func pick(_ choices: [String]) -> String { choices[Int.random(in: 0..<choices.count, using: &random)] }
        func list() -> String {
            pick(["[]", "[\"a == 1\"]", "[\"true\", \"b\"]", "[\"true\"]", "[\"\"]", "[1]", "null"])
        }
        func queries() -> String {
            let names = ["cars", "boats", "a b", "ü"].filter { _ in Int.random(in: 0...3, using: &random) == 0 }
            let odd = Int.random(in: 0...7, using: &random) == 0 ? [pick(["", "__a"])] : []
            return "{" + (names + odd).map { "\"\($0)\": \(list())" }.joined(separator: ",") + "}"
        }
        func rules() -> String {
            if Int.random(in: 0...11, using: &random) == 0 { return pick(["null", "[]", "1", "\"everything\""]) }
            var members: [String] = []
            if Bool.random(using: &random) {
                members.append("\"everything\": \(pick(["true", "false", "false", "false", "0"]))")
            }
            if Bool.random(using: &random) { members.append("\"queriesByCollection\": \(queries())") }
            return "{" + members.joined(separator: ",") + "}"
        }
        var members: [String] = []
        for direction in ["read", "write"] where Int.random(in: 0...3, using: &random) > 0 {
            members.append("\"\(direction)\": \(rules())")
        }
        return "{" + members.joined(separator: ",") + "}"
    }
}
