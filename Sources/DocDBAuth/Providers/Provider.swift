package import DocDBCore

/// One provider of a hub by its name: a kind of check, and the longest grant it leads to.
package struct Provider: Sendable {
    package enum Kind: Sendable {
        case jwt(JWTProvider)
        case webhook(WebhookProvider)
        /// For development only.
        case fixed(StaticProvider)
    }

    package let name: String
    package let kind: Kind
    package let maxGrantSeconds: Int64

    package init(name: String, kind: Kind, maxGrantSeconds: Int64 = AuthenticationLimits.grantSeconds) {
        self.name = name
        self.kind = kind
        self.maxGrantSeconds = maxGrantSeconds
    }

    /// Whether the provider must not be used but for development, which a hub says loudly when it starts.
    package var isForDevelopmentOnly: Bool { if case .fixed = kind { true } else { false } }

    /// Checks a login's token.
    ///
    /// - Parameter send: how a webhook is asked.
    /// - Throws: what the kind of provider throws: see there.
    package func answer(
        token: String, appID: String, now: UnixTime, send: WebhookProvider.Send
    ) async throws(DocDBError) -> ProviderAnswer {
        switch kind {
        case .jwt(let provider): .accepted(try await provider.identity(token: token, now: now))
        case .webhook(let provider):
            try await provider.answer(token: token, appID: appID, now: now, send: send)
        case .fixed(let provider): .accepted(try provider.identity(token: token, now: now))
        }
    }
}

// Configuration: the section `providers` of `hub.json`.
extension Provider {
    /// Where a configuration takes other things from.
    package struct Surroundings: Sendable {
        /// Reads a file that the configuration names: keys, rules, a webhook's secret, static tokens.
        package var readFile: @Sendable (String) throws -> [UInt8]
        package var fetchKeys: KeySource.Fetch
        /// Fetches keys, verifying the server by the certificate authorities of the file at a path, not by the system's.
        package var fetchKeysTrusting: @Sendable (_ authorities: String) -> KeySource.Fetch
        /// The path of a file that the configuration names.
        package var locate: @Sendable (String) -> String = { $0 }

        package init(readFile: @escaping @Sendable (String) throws -> [UInt8], fetchKeys: @escaping KeySource.Fetch) {
            self.readFile = readFile
            self.fetchKeys = fetchKeys
            fetchKeysTrusting = { _ in fetchKeys }
        }

        /// The path of the certificate authorities that a provider names, which must be readable from the start.
        func authorities(_ reader: ConfigurationReader) throws(DocDBError) -> String? {
            guard let file = try reader.text("authorities") else { return nil }
            _ = try content(of: file, at: "\(reader.place).authorities")
            return locate(file)
        }

        func content(of file: String, at place: String) throws(DocDBError) -> [UInt8] {
            let bytes: [UInt8]
            do { bytes = try readFile(file) } catch {
                throw ConfigurationReader.failure("\(place) names a file that cannot be read")
            }
            guard bytes.count <= AuthenticationLimits.configurationByteCount else {
                throw ConfigurationReader.failure("\(place) names a file that is too large")
            }
            return bytes
        }

        func json(of file: String, at place: String) throws(DocDBError) -> Value {
            do { return try StrictJSON.value(try content(of: file, at: place)) } catch  where error.code == .invalidJSON
            {
                throw ConfigurationReader.failure("\(place) names a file with \(error.message)")
            }
        }
    }

    /// Reads the providers by name, in the order of their names.
    ///
    /// - Throws: `invalidConfiguration`, `invalidPermissions`, `invalidKey`: the message says where.
    package static func read(_ value: Value, _ surroundings: Surroundings) throws(DocDBError) -> [Provider] {
        guard case .object(let members) = value, !members.isEmpty else {
            throw ConfigurationReader.failure("providers is no object with a provider in it")
        }
        var providers: [Provider] = []
        for name in members.keys.sorted() {
            guard UserID.isProviderName(name) else {
                throw ConfigurationReader.failure("a provider's name is not of ASCII letters, digits, '.', '_' and '-'")
            }
            providers.append(try read(name, members[name] ?? .null, surroundings))
        }
        return providers
    }

    private static func read(
        _ name: String, _ value: Value, _ surroundings: Surroundings
    ) throws(DocDBError) -> Provider {
        let place = "providers.\(name)"
        let kind: Kind
        switch value["type"]?.stringValue {
        case "jwt": kind = .jwt(try JWTProvider(name: name, configuration: value, at: place, surroundings))
        case "webhook": kind = .webhook(try WebhookProvider(name: name, configuration: value, at: place, surroundings))
        case "static": kind = .fixed(try StaticProvider(name: name, configuration: value, at: place, surroundings))
        default: throw ConfigurationReader.failure("\(place).type is none of 'jwt', 'webhook' and 'static'")
        }
        let seconds = value["maxGrantSeconds"].map(\.intValue) ?? AuthenticationLimits.grantSeconds
        guard let seconds, (1...AuthenticationLimits.greatestGrantSeconds).contains(seconds) else {
            throw ConfigurationReader.failure(
                "\(place).maxGrantSeconds is no whole number from 1 to \(AuthenticationLimits.greatestGrantSeconds)")
        }
        return Provider(name: name, kind: kind, maxGrantSeconds: seconds)
    }
}
