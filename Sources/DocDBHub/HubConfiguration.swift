package import DocDBAuth
package import DocDBCore
package import DocDBReplication
package import DocDBSync

/// What a hub is told in `hub.json`.
///
/// ```json
/// {"appID": "com.example.cars", "providers": {...}, "metrics": "127.0.0.1:9464"}
/// ```
package struct HubConfiguration: Sendable {
    package let appID: String
    package let providers: [Provider]
    /// Where metrics are served; nil for the hub's own port, if that is on loopback, and else for nowhere.
    package var metrics: ReplicationConfiguration.ListenAddress?
    /// Whether proofs name the TLS session; false behind a proxy that ends TLS.
    package var bindsChannel: Bool
    /// Whether other machines may connect without TLS, as behind such a proxy.
    package var permitsPlainNetwork: Bool
    package var allowedOrigins: [String]
    package var allowedHosts: [String]
    /// Requests to the login that one address may make in a minute.
    package var loginsPerMinute: Int
    package var connectionLimit: Int
    package var name: String
    /// The ids of users who may bring what others wrote, such as `auth|gateway`: they are trusted in full.
    package var relays: [String]
    /// What one user may take of the hub, over all devices.
    package var userLimits: UserLimits

    private static let members = [
        "appID", "providers", "metrics", "channelBinding", "permitsPlainNetwork", "allowedOrigins", "allowedHosts",
        "loginsPerMinute", "connectionLimit", "name", "relays", "limits",
    ]

    /// Reads a configuration file's content.
    ///
    /// - Throws: `invalidConfiguration`, whose message says where, and what the providers' own sections throw.
    package init(_ bytes: [UInt8], _ surroundings: Provider.Surroundings) throws(DocDBError) {
        let members: [String: Value]
        do { members = try StrictJSON.object(bytes) } catch {
            throw Self.failure("it is no JSON object: \(error.message)")
        }
        if let unknown = members.keys.filter({ !Self.members.contains($0) }).min() {
            throw Self.failure("'\(unknown)' is none of \(Self.members.joined(separator: ", "))")
        }
        guard let appID = members["appID"]?.stringValue, !appID.isEmpty else {
            throw Self.failure("'appID' is missing")
        }
        guard let providers = members["providers"] else { throw Self.failure("'providers' is missing") }
        self.appID = appID
        self.providers = try Provider.read(providers, surroundings)
        metrics = try Self.address(members["metrics"])
        switch members["channelBinding"] {
        case nil, .string("tls-exporter"): bindsChannel = true
        case .string("none"): bindsChannel = false
        default: throw Self.failure("'channelBinding' is neither 'tls-exporter' nor 'none'")
        }
        switch members["permitsPlainNetwork"] {
        case nil, .bool(false): permitsPlainNetwork = false
        case .bool(true): permitsPlainNetwork = true
        default: throw Self.failure("'permitsPlainNetwork' is neither true nor false")
        }
        allowedOrigins = try Self.texts("allowedOrigins", members)
        allowedHosts = try Self.texts("allowedHosts", members)
        loginsPerMinute = try Self.number("loginsPerMinute", members, in: 1...1_000_000) ?? 120
        connectionLimit = try Self.number("connectionLimit", members, in: 1...1_000_000) ?? 4_096
        guard let name = (members["name"] ?? "hub").stringValue else { throw Self.failure("'name' is no text") }
        self.name = name
        relays = try Self.texts("relays", members)
        userLimits = try Self.userLimits(members["limits"])
    }

    /// Tells whether a user may bring what others wrote. Ids are compared by their bytes.
    package func isRelay(_ userID: String) -> Bool { relays.contains { $0.utf8.elementsEqual(userID.utf8) } }

    private static func userLimits(_ value: Value?) throws(DocDBError) -> UserLimits {
        var limits = UserLimits()
        guard let value else { return limits }
        guard case .object(let members) = value else { throw failure("'limits' is no object") }
        let keys: [(String, WritableKeyPath<UserLimits, Int>)] = [
            ("sessions", \.sessionCount), ("predicates", \.predicateCount), ("bytesPerSecond", \.bytesPerSecond),
            ("actors", \.actorCount), ("quarantined", \.quarantineCount),
            ("quarantinedBytes", \.quarantineByteCount), ("fieldNames", \.fieldNameCount),
        ]
        if let unknown = members.keys.filter({ key in !keys.contains { $0.0 == key } }).min() {
            throw failure("'\(unknown)' of 'limits' is none of \(keys.map(\.0).joined(separator: ", "))")
        }
        for (name, path) in keys {
            // A rate of less would keep a frame longer than a session waits for a sign of life.
            let least: Int64 = name == "bytesPerSecond" ? 16 * 1024 : 1
            if let number = try number(name, members, in: least...1_000_000_000_000) {
                limits[keyPath: path] = number
            }
        }
        return limits
    }

    /// The names by which clients may call a hub that listens at an address. On this machine alone they are its own unless
    /// others are listed, lest a page in a browser here reaches the hub by a name of its own that leads here.
    package func allowedHosts(at address: ReplicationConfiguration.ListenAddress) -> [String] {
        guard allowedHosts.isEmpty, address.isLoopback else { return allowedHosts }
        return Array(Set(["localhost", "127.0.0.1", "::1", address.host])).sorted()
    }

    private static func address(_ value: Value?) throws(DocDBError) -> ReplicationConfiguration.ListenAddress? {
        guard let value else { return nil }
        // A port alone is one of this machine alone.
        let text = value.intValue.map { "127.0.0.1:\($0)" } ?? value.stringValue
        guard let text, let address = ReplicationConfiguration.ListenAddress(text: text) else {
            throw failure("'metrics' is neither a port nor an address and a port, such as 9464 and 127.0.0.1:9464")
        }
        return address
    }

    private static func texts(_ name: String, _ members: [String: Value]) throws(DocDBError) -> [String] {
        guard let value = members[name] else { return [] }
        guard case .array(let elements) = value else { throw failure("'\(name)' is no array of texts") }
        let texts = elements.compactMap(\.stringValue)
        guard texts.count == elements.count else { throw failure("'\(name)' is no array of texts") }
        return texts
    }

    private static func number(
        _ name: String, _ members: [String: Value], in range: ClosedRange<Int64>
    ) throws(DocDBError) -> Int? {
        guard let value = members[name] else { return nil }
        guard let number = value.intValue, range.contains(number) else {
            throw failure("'\(name)' is no whole number from \(range.lowerBound) to \(range.upperBound)")
        }
        return Int(number)
    }

    private static func failure(_ problem: String) -> DocDBError {
        DocDBError(.invalidConfiguration, "the hub's configuration cannot be used: \(problem)")
    }
}

extension ReplicationConfiguration.ListenAddress {
    /// Reads an address and a port, such as `127.0.0.1:4430` or `[::1]:4430`.
    package init?(text: String) {
        guard let colon = text.lastIndex(of: ":"), let port = UInt16(text[text.index(after: colon)...]) else {
            return nil
        }
        var host = String(text[..<colon])
        if host.hasPrefix("["), host.hasSuffix("]") { host = String(host.dropFirst().dropLast()) }
        guard !host.isEmpty else { return nil }
        self.init(host: host, port: port)
    }
}
