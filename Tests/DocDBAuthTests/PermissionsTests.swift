import DocDBAuth
import DocDBCore
import DocDBQuery
import Testing

@Suite("Permissions")
struct PermissionsTests {
    private static func read(_ text: String) throws -> Permissions {
        try Permissions(try StrictJSON.value(text.bytes))
    }

    private static func bind(
        _ predicates: [String], claims: [String: Value] = [:], aliases: [String: ClaimPath] = [:]
    ) throws -> Filter {
        let permissions = Permissions(read: .queriesByCollection(["cars": predicates]), write: .nothing)
        let binding = PermissionBinding(userID: "auth|user-1", claims: claims, aliases: aliases)
        return try permissions.bound(to: binding).readFilter("cars")
    }

    @Test("what is not stated is not permitted, and unknown members are passed over")
    func reading() throws {
        #expect(try Self.read("{}") == .nothing)
        #expect(try Self.read(#"{"read":{},"Write":{"everything":true},"writes":1}"#) == .nothing)
        #expect(try Self.read(#"{"read":{"everything":true}}"#) == Permissions(read: .everything, write: .nothing))
        #expect(
            try Self.read(#"{"read":{"everything":true,"queriesByCollection":{}},"write":{"everything":true,"x":[]}}"#)
                == .everything)
        let text = #"{"write":{"everything":false,"queriesByCollection":{"cars":["a == 1","b"],"é":[]}}}"#
        #expect(
            try Self.read(text)
                == Permissions(read: .nothing, write: .queriesByCollection(["cars": ["a == 1", "b"], "é": []])))
    }

    @Test(
        "wrong types, contradictions and impossible collections are refused",
        arguments: [
            "[]", "null", "true", "\"everything\"", #"{"read":true}"#, #"{"read":null}"#, #"{"read":[]}"#,
            #"{"read":{"everything":"true"}}"#, #"{"read":{"everything":1}}"#, #"{"read":{"everything":null}}"#,
            #"{"read":{"everything":true,"queriesByCollection":{"cars":["a"]}}}"#,
            #"{"read":{"everything":true,"queriesByCollection":{"cars":[]}}}"#,
            #"{"read":{"queriesByCollection":[]}}"#, #"{"read":{"queriesByCollection":null}}"#,
            #"{"read":{"queriesByCollection":{"cars":"a"}}}"#, #"{"read":{"queriesByCollection":{"cars":{}}}}"#,
            #"{"read":{"queriesByCollection":{"cars":[1]}}}"#, #"{"read":{"queriesByCollection":{"cars":["a",null]}}}"#,
            #"{"read":{"queriesByCollection":{"":["a"]}}}"#, #"{"read":{"queriesByCollection":{"__users":["a"]}}}"#,
            #"{"read":{"queriesByCollection":{"a\u0000":["a"]}}}"#,
        ])
    func refused(_ text: String) {
        #expect(outcome { try Self.read(text) } == Outcome(.invalidPermissions))
    }

    @Test("too many collections or predicates are refused")
    func counts() {
        let collections = (0...AuthenticationLimits.permissionCollectionCount).map { "\"c\($0)\":[]" }
        let many = "{\"read\":{\"queriesByCollection\":{\(collections.joined(separator: ","))}}}"
        #expect(outcome { try Self.read(many) } == Outcome(.invalidPermissions))
        let predicates = Array(repeating: "\"a\"", count: AuthenticationLimits.permissionPredicateCount + 1)
        let long = "{\"write\":{\"queriesByCollection\":{\"c\":[\(predicates.joined(separator: ","))]}}}"
        #expect(outcome { try Self.read(long) } == Outcome(.invalidPermissions))
    }

    @Test("user and claims become literals")
    func binding() throws {
        let claims: [String: Value] = [
            "tenant": "t-7", "roles": ["a", "b"], "realm": ["level": 3], "https://x.example/dealer.id": 9,
        ]
        let aliases: [String: ClaimPath] = [
            "dealer": "https://x.example/dealer.id", "level": ClaimPath(["realm", "level"]),
        ]
        func bound(_ text: String) throws -> String {
            try Self.bind([text], claims: claims, aliases: aliases).description
        }
        #expect(try bound("owner == $user.id") == "owner == 'auth|user-1'")
        #expect(
            try bound("tenant = $claims.tenant && role in $claims.roles") == "tenant == 't-7' && role in ['a', 'b']")
        #expect(try bound("level <= $claims.realm.level") == "level <= 3")
        #expect(try bound("level <= $claims.level && dealer == $claims.dealer") == "level <= 3 && dealer == 9")
        #expect(try bound("owner == $args.user.id") == "owner == 'auth|user-1'")
        #expect(try bound("price < 10") == "price < 10")
    }

    @Test("an array is an alternative; its order and repetitions make no difference")
    func alternatives() throws {
        #expect(try Self.bind(["b == 2", "a == 1", "b=2"]).description == "a == 1 || b == 2")
        #expect(try Self.bind(["a == 1", "b == 2"]) == Self.bind(["b == 2", "a == 1"]))
        #expect(try Self.bind([]) == .nothing)
        #expect(try Self.bind(["true"]) == .everything)
    }

    @Test(
        "a claim that is absent, null or holds null refuses, wherever it stands, and is named",
        arguments: [
            "x == $claims.absent", "!(x == $claims.absent)", "x != $claims.gone", "true || x == $claims.absent",
            "x in $claims.holes", "x == $claims.deep.a", "x == $claims.tenant.inner", "x like $claims.absent",
        ])
    func absentClaims(_ predicate: String) throws {
        let claims: [String: Value] = ["gone": .null, "holes": [1, .null], "deep": ["a": ["b": .null]], "tenant": "t"]
        let error = #expect(throws: DocDBError.self) { try Self.bind(["true", predicate], claims: claims) }
        #expect(error?.code == .invalidPermissions)
        #expect(error?.context["collection"] == "cars")
        #expect(error?.context["direction"] == "read")
        #expect(error?.context["index"] == "1")
        let name = try #require(error?.context["argument"])
        #expect(predicate.contains("$" + name))
    }

    @Test(
        "a predicate that does not parse, is empty or has other arguments refuses, and is named",
        arguments: [
            "", "  ", "\n", "a ==", "a == 'x", "(a", "owner == $user", "owner == $user.name", "x == $claims", "x == $y",
            "x == $claims.größe", "regex(x, '(')", "x == $user.id.y",
        ])
    func badPredicates(_ predicate: String) {
        let error = #expect(throws: DocDBError.self) {
            try Self.bind([predicate], claims: ["größe": 1, "y": 1])
        }
        #expect(error?.code == .invalidPermissions)
        #expect(error?.context["index"] == "0")
        #expect(error?.context["source"] == nil)
    }

    @Test("literals of predicates and values of claims stay out of errors")
    func silence() {
        for predicate in ["a == 'secret' b == 7", "regex(a, $claims.secret)", "a in $claims.secret"] {
            let error = #expect(throws: DocDBError.self) {
                try Self.bind([predicate], claims: ["secret": "secret("])
            }
            #expect(error.map { "\($0) \($0.context)".contains("secret(") || $0.message.contains("'secret'") } == false)
        }
    }

    @Test("claims that make a predicate too large are refused")
    func largeClaims() {
        let large = Value.array((0..<9_000).map { .string("value \($0)") })
        #expect(outcome { try Self.bind(["x in $claims.a"], claims: ["a": large]) } == Outcome(.invalidPermissions))
    }

    @Test("collections that are not named, and the system's own, are not permitted")
    func otherCollections() throws {
        let binding = PermissionBinding(userID: "auth|u")
        let named = try Permissions(read: .queriesByCollection(["cars": ["true"]]), write: .everything).bound(
            to: binding)
        #expect(named.readFilter("cars") == .everything)
        #expect(named.readFilter("Cars") == .nothing)
        #expect(named.writeFilter("cars") == .everything)
        for name in ["__cars", "", String(repeating: "a", count: 129)] {
            #expect(named.writeFilter(name) == .nothing)
        }
        let accented = try Permissions(read: .queriesByCollection(["caf\u{E9}": ["true"]]), write: .nothing)
            .bound(to: binding)
        #expect(accented.readFilter("caf\u{E9}") == .everything)
        #expect(accented.readFilter("cafe\u{301}") == .nothing)
    }

    @Test("the canonical form reads back the same, and its hash is another implementation's")
    func canonicalForm() throws {
        let permissions = Permissions(
            read: .everything,
            write: .queriesByCollection([
                "cars": ["owner=$user.id and state <> 'sold'", "owner == $user.id && state != \"sold\""], "b": [],
            ]))
        let bound = try permissions.bound(to: PermissionBinding(userID: "auth|user-1"))
        #expect(try Digest.hexadecimal(bound.hash()) == TokenVectors.permissionsHash)
        #expect(try BoundPermissions(bound.value) == bound)
        #expect(bound.write.collections == ["cars"])
    }

    @Test("permissions in a grant have no arguments left")
    func argumentsInGrants() {
        let value: Value = ["read": ["queriesByCollection": ["cars": ["owner == $user.id"]]]]
        #expect(outcome { try BoundPermissions(value) } == Outcome(.invalidPermissions))
    }

    @Test("the epoch rises with each change of the permissions, and with nothing else")
    func epochs() throws {
        let binding = PermissionBinding(userID: "auth|u")
        let first = try PermissionEpoch.following(nil, .everything)
        #expect(first.number == 1)
        #expect(try PermissionEpoch.following(first, .everything) == first)
        let narrow = try Permissions(read: .queriesByCollection(["a": ["x", "y"]]), write: .nothing).bound(to: binding)
        let same = try Permissions(read: .queriesByCollection(["a": ["y", "x"]]), write: .nothing).bound(to: binding)
        let second = try PermissionEpoch.following(first, narrow)
        #expect(second.number == 2)
        #expect(try PermissionEpoch.following(second, same) == second)
        #expect(try PermissionEpoch.following(second, .everything).number == 3)
    }

    @Test("both of two permissions together permit what either does")
    func union() {
        let cars = Rules.queriesByCollection(["cars": ["a"], "b": ["x"]])
        let more = Rules.queriesByCollection(["cars": ["c"], "d": []])
        #expect(cars.union(more) == .queriesByCollection(["cars": ["a", "c"], "b": ["x"], "d": []]))
        #expect(cars.union(.everything) == .everything)
        #expect(Rules.everything.union(.nothing) == .everything)
    }

    @Test("damaged permissions are refused or read, and never trap")
    func damaged() {
        var generator = SeededGenerator()
        let text =
            #"{"read":{"everything":false,"queriesByCollection":{"cars":["a == $user.id","b in $claims.c"],"d":[]}},"write":{"everything":true}}"#
        for _ in 0..<3000 {
            guard let value = try? StrictJSON.value(generator.damaged(text.bytes)) else { continue }
            let result = outcome {
                try Permissions(value).bound(to: PermissionBinding(userID: "a|b", claims: ["c": [1, "x"]]))
            }
            #expect(result == nil || result == Outcome(.invalidPermissions))
        }
    }
}
