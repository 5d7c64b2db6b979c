import DocDBCore

extension JWTProvider {
    private static let members = [
        "type", "issuer", "audience", "audienceClaim", "jwks", "algorithms", "userID", "requiredClaims", "permissions",
        "clientInfo", "claims", "leeway", "maxGrantSeconds", "authorities",
    ]

    init(
        name: String, configuration value: Value, at place: String, _ surroundings: Provider.Surroundings
    ) throws(DocDBError) {
        let reader = try ConfigurationReader(value, at: place, known: Self.members)
        guard let audiences = try reader.texts("audience") else { throw reader.failure("audience", "is missing") }
        let policy = ClaimsPolicy(
            issuer: try reader.requiredText("issuer"), audiences: audiences,
            audienceClaim: try reader.claim("audienceClaim") ?? "aud",
            requirements: try Self.requirements(reader),
            leeway: try reader.number("leeway", in: 0...AuthenticationLimits.greatestLeeway)
                ?? AuthenticationLimits.leeway)
        self.init(
            name: name, policy: policy, keys: try Self.keys(reader, surroundings),
            algorithms: try Self.algorithms(reader), userID: try reader.claim("userID") ?? "sub",
            permissions: try Self.permissions(reader, surroundings), clientInfo: try Self.clientInfo(reader),
            aliases: try Self.aliases(reader))
    }

    /// An HTTPS URL is fetched from; anything else is a file.
    private static func keys(
        _ reader: ConfigurationReader, _ surroundings: Provider.Surroundings
    ) throws(DocDBError) -> KeySource {
        let origin = try reader.requiredText("jwks")
        if origin.utf8.count > 8, origin.asciiLowercased.hasPrefix("https://") {
            let fetch = try surroundings.authorities(reader).map(surroundings.fetchKeysTrusting)
            return try KeySource(url: origin, fetch: fetch ?? surroundings.fetchKeys)
        }
        guard reader["authorities"] == nil else {
            throw reader.failure("authorities", "is given, though the keys come from no https:// URL")
        }
        guard !origin.asciiLowercased.hasPrefix("http://") else {
            throw reader.failure("jwks", "is a URL without TLS; write https:// or the path of a file")
        }
        return try KeySource(content: try surroundings.content(of: origin, at: "\(reader.place).jwks"))
    }

    /// All algorithms with public keys where none is named; HS256 only by name, and alone.
    private static func algorithms(_ reader: ConfigurationReader) throws(DocDBError) -> Set<SignatureAlgorithm> {
        guard let names = try reader.texts("algorithms") else { return [.rs256, .ps256, .es256, .edDSA] }
        let algorithms = names.compactMap(SignatureAlgorithm.init(rawValue:))
        guard algorithms.count == names.count else {
            throw reader.failure("algorithms", "names others than RS256, PS256, ES256, EdDSA and HS256")
        }
        guard !algorithms.contains(.hs256) || Set(algorithms) == [.hs256] else {
            throw reader.failure("algorithms", "mixes HS256, whose key is a shared secret, with others")
        }
        return Set(algorithms)
    }

    /// An object of claims at the top and their values, or an array of conditions.
    private static func requirements(
        _ reader: ConfigurationReader
    ) throws(DocDBError) -> [ClaimsPolicy.Requirement] {
        switch reader["requiredClaims"] {
        case nil: return []
        case .object(let members):
            return members.keys.sorted().map { name in
                .oneOf(ClaimPath([name]), values(of: members[name] ?? .null))
            }
        case .array(let elements):
            var requirements: [ClaimsPolicy.Requirement] = []
            for (index, element) in elements.enumerated() {
                requirements.append(try condition(element, at: "\(reader.place).requiredClaims[\(index)]"))
            }
            return requirements
        default: throw reader.failure("requiredClaims", "is neither an object nor an array")
        }
    }

    private static func values(of value: Value) -> [Value] {
        if case .array(let elements) = value { elements } else { [value] }
    }

    /// `{claim, value}`, where an array of values means one of them, or `{claim, word}`.
    private static func condition(_ value: Value, at place: String) throws(DocDBError) -> ClaimsPolicy.Requirement {
        let reader = try ConfigurationReader(value, at: place, known: ["claim", "value", "word"])
        guard let claim = try reader.claim("claim") else { throw reader.failure("claim", "is missing") }
        switch (reader["value"], try reader.text("word")) {
        case (let value?, nil): return .oneOf(claim, values(of: value))
        case (nil, let word?): return .word(claim, word)
        default: throw reader.failure("value", "or 'word' is needed, and just one of them")
        }
    }

    /// `{claim}`, `{rules}` or `{file}`, a file that holds the rules.
    private static func permissions(
        _ reader: ConfigurationReader, _ surroundings: Provider.Surroundings
    ) throws(DocDBError) -> PermissionSource {
        guard let value = reader["permissions"] else { throw reader.failure("permissions", "is missing") }
        let place = "\(reader.place).permissions"
        let source = try ConfigurationReader(value, at: place, known: ["claim", "rules", "file"])
        guard source.members.count == 1 else {
            throw ConfigurationReader.failure("\(place) needs just one of 'claim', 'rules' and 'file'")
        }
        if let claim = try source.claim("claim") { return .claim(claim) }
        if let rules = source["rules"] { return .rules(try Self.rules(rules, at: "\(place).rules")) }
        let content = try surroundings.json(of: try source.requiredText("file"), at: "\(place).file")
        let rules: Value
        if case .object = content {
            let file = try ConfigurationReader(content, at: "\(place).file", known: ["rules"])
            guard let list = file["rules"] else { throw file.failure("rules", "is missing") }
            rules = list
        } else {
            rules = content
        }
        return .rules(try Self.rules(rules, at: "\(place).file"))
    }

    private static func rules(_ value: Value, at place: String) throws(DocDBError) -> [Rule] {
        guard case .array(let elements) = value, !elements.isEmpty else {
            throw ConfigurationReader.failure("\(place) is no array of rules")
        }
        var rules: [Rule] = []
        for (index, element) in elements.enumerated() {
            let reader = try ConfigurationReader(element, at: "\(place)[\(index)]", known: ["when", "permissions"])
            guard let permissions = reader["permissions"] else { throw reader.failure("permissions", "is missing") }
            let condition = try reader["when"].map { value throws(DocDBError) in
                try Self.condition(value, at: "\(reader.place).when")
            }
            rules.append(Rule(condition: condition, permissions: try Permissions(permissions)))
        }
        return rules
    }

    private static func clientInfo(_ reader: ConfigurationReader) throws(DocDBError) -> [ClaimPath] {
        guard let value = reader["clientInfo"] else { return [] }
        guard case .array(let elements) = value else { throw reader.failure("clientInfo", "is no array of claims") }
        var paths: [ClaimPath] = []
        for (index, element) in elements.enumerated() {
            paths.append(try ClaimPath(configuration: element, at: "\(reader.place).clientInfo[\(index)]"))
        }
        return paths
    }

    /// `{name: claim}`: what `$claims.name` stands for, where the claim is nested or its name no identifier.
    private static func aliases(_ reader: ConfigurationReader) throws(DocDBError) -> [String: ClaimPath] {
        guard let value = reader["claims"] else { return [:] }
        guard case .object(let members) = value else { throw reader.failure("claims", "is no object") }
        var aliases: [String: ClaimPath] = [:]
        for name in members.keys.sorted() {
            guard FieldPath.isPlain(name) else {
                throw reader.failure("claims", "names '\(name)', which is no identifier that can follow $claims.")
            }
            aliases[name] = try ClaimPath(configuration: members[name] ?? .null, at: "\(reader.place).claims.\(name)")
        }
        return aliases
    }
}

extension WebhookProvider {
    init(
        name: String, configuration value: Value, at place: String, _ surroundings: Provider.Surroundings
    ) throws(DocDBError) {
        let reader = try ConfigurationReader(
            value, at: place,
            known: ["type", "url", "timeout", "maxBytes", "secret", "secretFile", "maxGrantSeconds", "authorities"])
        var secret = try reader.text("secret").map { [UInt8]($0.utf8) }
        if let file = try reader.text("secretFile") {
            guard secret == nil else { throw reader.failure("secretFile", "is given beside 'secret'") }
            let content = try surroundings.content(of: file, at: "\(place).secretFile")
            // A file that an editor wrote ends with a line feed.
            secret = content.last == 0x0A ? Array(content.dropLast()) : content
        }
        let byteLimit = try reader.number(
            "maxBytes", in: 1024...Int64(AuthenticationLimits.greatestWebhookAnswerByteCount))
        try self.init(
            name: name, url: try reader.requiredText("url"), timeout: try reader.number("timeout", in: 1...60) ?? 10,
            byteLimit: byteLimit.map { Int($0) } ?? AuthenticationLimits.webhookAnswerByteCount, secret: secret,
            authorities: try surroundings.authorities(reader))
    }
}

extension StaticProvider {
    init(
        name: String, configuration value: Value, at place: String, _ surroundings: Provider.Surroundings
    ) throws(DocDBError) {
        let reader = try ConfigurationReader(
            value, at: place, known: ["type", "developmentOnly", "tokens", "file", "maxGrantSeconds"])
        guard reader["developmentOnly"] == .bool(true) else {
            throw reader.failure(
                "developmentOnly", "is not true: static tokens are for development only, and must say so")
        }
        var list = reader["tokens"]
        if let file = try reader.text("file") {
            guard list == nil else { throw reader.failure("file", "is given beside 'tokens'") }
            list = try surroundings.json(of: file, at: "\(place).file")
        }
        guard case .array(let elements) = list else { throw reader.failure("tokens", "is no array") }
        var entries: [Entry] = []
        for (index, element) in elements.enumerated() {
            entries.append(try Self.entry(element, at: "\(place).tokens[\(index)]"))
        }
        self.init(name: name, entries: entries)
    }

    private static func entry(_ value: Value, at place: String) throws(DocDBError) -> Entry {
        let reader = try ConfigurationReader(
            value, at: place, known: ["token", "userID", "expirationSeconds", "clientInfo", "permissions"])
        guard let permissions = reader["permissions"] else { throw reader.failure("permissions", "is missing") }
        return try Entry(
            token: try reader.requiredText("token"), userID: try reader.requiredText("userID"),
            expirationSeconds: try reader.number(
                "expirationSeconds", in: 1...AuthenticationLimits.greatestGrantSeconds),
            clientInfo: reader["clientInfo"] ?? .null, permissions: try Permissions(permissions))
    }
}
