import DocDBAuth
import DocDBCore
import DocDBReplication
import DocDBStorage
import DocDBTransport

/// The command line of `docdb-hub`.
package enum HubCommand {
    package static let usage = """
        docdb-hub serve --store DIR --listen ADDR:PORT [--tls-cert FILE --tls-key FILE] --config hub.json [--log-level LEVEL]
        docdb-hub keys new --store DIR --config hub.json --root FILE      make the app's root key, and the hub's first key
        docdb-hub keys rotate --store DIR --root FILE                     add a new signing key; a hub that runs takes it up
        docdb-hub token --config hub.json [--provider NAME] USER          development only: a user's token of a static provider
        docdb-hub revoke --store DIR USER                                 end what was granted to a user (provider|subject)
        docdb-hub revoke --store DIR --grant ID                           end one grant, by its 'jti'

        The root key's file belongs on another machine, offline: it is needed for 'keys' alone.
        LEVEL is debug, info, warning or error; the log goes to standard error, one JSON object a line.
        """

    /// Runs a command line and returns the process's exit status: 0, 1 for a failure, 2 for a wrong command line.
    ///
    /// - Parameter waitForEnd: returns when a hub that serves is to stop.
    package static func run(
        _ arguments: [String], output: @escaping @Sendable (String) -> Void,
        errors: @escaping @Sendable (String) -> Void, waitForEnd: () -> Void
    ) -> Int32 {
        do {
            let line = try HubArguments(arguments)
            switch line.command {
            case "help": output(usage)
            case "serve": try serve(line, errors, waitForEnd)
            case "keys new": try makeKeys(line, output)
            case "keys rotate": try rotateKeys(line, output)
            case "token": try printToken(line, output, errors)
            case "revoke": try revoke(line, output)
            default: throw UsageFailure(message: "unknown command \(line.command)")
            }
            return 0
        } catch let failure as UsageFailure {
            errors("docdb-hub: \(failure.message)\n\n\(usage)")
            return 2
        } catch {
            errors("docdb-hub: \((error as? DocDBError)?.message ?? "\(error)")")
            return 1
        }
    }

    private static var now: UnixTime { UnixTime(nanoseconds: Platform.wallClockNanoseconds()) }

    // MARK: Commands

    private static func serve(
        _ line: HubArguments, _ errors: @escaping @Sendable (String) -> Void, _ waitForEnd: () -> Void
    ) throws {
        try line.check(["store", "listen", "tls-cert", "tls-key", "config", "log-level"], operands: 0)
        let text = try line.required("listen")
        guard var listen = ReplicationConfiguration.ListenAddress(text: text) else {
            throw UsageFailure(message: "--listen takes an address and a port, such as 127.0.0.1:4430")
        }
        listen.certificateFile = line.options["tls-cert"]
        listen.keyFile = line.options["tls-key"]
        guard (listen.certificateFile == nil) == (listen.keyFile == nil) else {
            throw UsageFailure(message: "--tls-cert and --tls-key belong together")
        }
        let level = line.options["log-level"] ?? "info"
        guard let least = HubLog.Level.allCases.first(where: { $0.name == level }) else {
            throw UsageFailure(message: "--log-level is none of debug, info, warning and error")
        }
        let log = HubLog(least: least, clock: { Platform.wallClockNanoseconds() }, write: errors)
        let hub = try Hub(
            files: HubFiles(directory: try line.required("store")), configuration: try configuration(line),
            listen: listen, log: log)
        try hub.start()
        waitForEnd()
        log.note(.info, "stopping")
        try hub.stop()
    }

    private static func makeKeys(_ line: HubArguments, _ output: (String) -> Void) throws {
        try line.check(["store", "config", "root"], operands: 0)
        let files = HubFiles(directory: try line.required("store"))
        try files.prepare()
        let rootFile = try line.required("root")
        guard try HubFiles.read(files.keys) == nil else {
            throw DocDBError(.misuse, "the hub has keys already; 'keys rotate' adds another")
        }
        let root: PeerKeyPair
        if let stored = try HubFiles.read(rootFile) {
            root = try PeerKeyPair(storedForm: stored)
        } else {
            root = try PeerKeyPair.generate()
            try HubFiles.replace(rootFile, with: root.storedForm())
        }
        let keys = try HubKeys.new(appID: try configuration(line).appID, root: root, now: now)
        try HubFiles.replace(files.keys, with: keys.storedForm())
        output("root key \(root.publicKey.thumbprint): keep \(rootFile) offline")
        output("for apps that pin it: \(Base64URL.encode(root.publicKey.bytes))")
    }

    private static func rotateKeys(_ line: HubArguments, _ output: (String) -> Void) throws {
        try line.check(["store", "root"], operands: 0)
        let files = HubFiles(directory: try line.required("store"))
        guard let stored = try HubFiles.read(try line.required("root")) else {
            throw DocDBError(.invalidKey, "there is no root key at the path of --root")
        }
        var keys = try HubKeys.load(files)
        try keys.rotate(root: try PeerKeyPair(storedForm: stored), now: now)
        try HubFiles.replace(files.keys, with: keys.storedForm())
        output("the hub has \(keys.keys.count) keys; it signs with the new one, also where it runs already")
    }

    private static func printToken(
        _ line: HubArguments, _ output: (String) -> Void, _ errors: (String) -> Void
    ) throws {
        try line.check(["config", "provider"], operands: 1)
        let path = try line.required("config")
        guard let bytes = try HubFiles.read(path),
            case .object(let providers) = try StrictJSON.object(bytes)["providers"] ?? .null
        else { throw DocDBError(.invalidConfiguration, "there is no configuration with providers at \(path)") }
        for (name, provider) in providers.sorted(by: { $0.key < $1.key })
        where provider["type"]?.stringValue == "static" && line.options["provider"].map({ $0 == name }) ?? true {
            var list = provider["tokens"]
            if let file = provider["file"]?.stringValue {
                list = try HubFiles.read(resolved(file, beside: path)).map { try StrictJSON.value($0) }
            }
            guard case .array(let entries) = list else { continue }
            for entry in entries where entry["userID"]?.stringValue == line.operands[0] {
                guard let token = entry["token"]?.stringValue else { continue }
                errors("DEVELOPMENT ONLY: a token of the static provider '\(name)'")
                return output(token)
            }
        }
        throw DocDBError(.authenticationFailed, "no static provider of the configuration has a token of this user")
    }

    private static func revoke(_ line: HubArguments, _ output: (String) -> Void) throws {
        let grant = line.options["grant"]
        try line.check(["store", "grant"], operands: grant == nil ? 1 : 0)
        let files = HubFiles(directory: try line.required("store"))
        let subject = grant.map { Revocation.Subject.grant(ExactString($0)) } ?? .user(ExactString(line.operands[0]))
        if case .user(let user) = subject, !UserID.isValid(user.text) {
            throw UsageFailure(message: "a user is named as provider|subject, such as 'auth0|64f1c0ffee'")
        }
        try HubLedger(files).revoke(subject, try HubKeys.load(files), now: now)
        output("what was granted until now is revoked; a hub that runs ends the sessions within a second")
    }

    // MARK: Configuration

    private static func configuration(_ line: HubArguments) throws -> HubConfiguration {
        let path = try line.required("config")
        guard let bytes = try HubFiles.read(path, limit: AuthenticationLimits.configurationByteCount) else {
            throw DocDBError(.invalidConfiguration, "there is no file \(path)")
        }
        let http = HTTPClient()
        let fetch: @Sendable (CertificateTrust) -> KeySource.Fetch = { trust in
            { url, limit in
                let response = try await http.send(
                    HTTPClientRequest(url: url, trust: trust), limits: HTTPClientLimits(responseByteCount: limit))
                guard response.status == 200 else {
                    throw DocDBError(.providerUnavailable, "the server of the keys answered \(response.status)")
                }
                return response.body
            }
        }
        var surroundings = Provider.Surroundings(
            readFile: { file in
                guard let content = try HubFiles.read(resolved(file, beside: path)) else {
                    throw DocDBError(.invalidConfiguration, "there is no file \(file)")
                }
                return content
            }, fetchKeys: fetch(.system))
        surroundings.fetchKeysTrusting = { fetch(.authorities(file: $0)) }
        surroundings.locate = { resolved($0, beside: path) }
        return try HubConfiguration(bytes, surroundings)
    }

    /// A path in a configuration, which is relative to where that is.
    private static func resolved(_ file: String, beside path: String) -> String {
        guard !file.hasPrefix("/"), let slash = path.lastIndex(of: "/") else { return file }
        return String(path[...slash]) + file
    }
}

/// A command line that cannot be understood.
struct UsageFailure: Error {
    var message: String
}

/// A command line: the command, options with their values, operands.
struct HubArguments {
    var command: String
    var options: [String: String] = [:]
    var operands: [String] = []

    init(_ arguments: [String]) throws(UsageFailure) {
        var rest = arguments[...]
        guard let first = rest.popFirst() else { throw UsageFailure(message: "no command given") }
        command = ["-h", "--help"].contains(first) ? "help" : first
        if command == "keys" {
            guard let second = rest.popFirst() else { throw UsageFailure(message: "keys takes 'new' or 'rotate'") }
            command += " " + second
        }
        while let argument = rest.popFirst() {
            guard argument.hasPrefix("--") else {
                operands.append(argument)
                continue
            }
            let name = String(argument.dropFirst(2))
            guard let value = rest.popFirst() else { throw UsageFailure(message: "\(argument) takes a value") }
            guard options.updateValue(value, forKey: name) == nil else {
                throw UsageFailure(message: "\(argument) is given twice")
            }
        }
    }

    func check(_ known: [String], operands count: Int) throws(UsageFailure) {
        if let unknown = options.keys.filter({ !known.contains($0) }).min() {
            throw UsageFailure(message: "\(command) has no option --\(unknown)")
        }
        guard operands.count == count else {
            throw UsageFailure(message: count == 0 ? "\(command) takes no operands" : "\(command) takes one user")
        }
    }

    func required(_ name: String) throws(UsageFailure) -> String {
        guard let value = options[name] else { throw UsageFailure(message: "\(command) needs --\(name)") }
        return value
    }
}
