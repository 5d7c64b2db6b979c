import Foundation

/// The hub of a soak: the program that people run, started anew at another port each time.
final class SoakHub {
    private let program: String
    private let directory: String
    private(set) var child: ChildProcess?
    private(set) var startCount = 0
    private(set) var port: UInt16?
    /// How many lines its log had by level and event, those of the present process not yet counted.
    private(set) var events: [String: Int] = [:]
    private(set) var errors: [String] = []

    var store: String { directory + "/hub/hub.docdb" }
    var log: String { directory + "/hub.log" }
    private var arguments: [String] { ["--store", directory + "/hub", "--config", directory + "/hub.json"] }

    init(_ program: String, directory: String, webhook: String) throws {
        (self.program, self.directory) = (program, directory)
        let configuration = """
            {"appID": "\(SoakWorld.appID)", "loginsPerMinute": 1000000,
             "providers": {"\(SoakWorld.provider)": {"type": "webhook", "url": "\(webhook)", "timeout": 5}}}
            """
        try configuration.write(toFile: directory + "/hub.json", atomically: true, encoding: .utf8)
        let keys = try run(["keys", "new"] + arguments + ["--root", directory + "/root.key"])
        guard keys.waitForEnd(seconds: 60), keys.status == 0 else { throw SoakFailure("the hub's keys cannot be made") }
    }

    private func run(_ arguments: [String]) throws -> ChildProcess {
        try ChildProcess(program, arguments, output: directory + "/commands.log", errors: directory + "/commands.log")
    }

    func start() throws {
        child = try ChildProcess(
            program, ["serve"] + arguments + ["--listen", "127.0.0.1:0"], output: log, errors: log)
        port = nil
        startCount += 1
    }

    func kill() {
        child?.kill()
        try? readLog()
        (child, port) = (nil, nil)
    }

    /// Ends what was granted to a user; their devices must log in again.
    func revoke(_ user: String) throws {
        let revoking = try run(["revoke", "--store", directory + "/hub", SoakWorld.owner(user)])
        guard revoking.waitForEnd(seconds: 60), revoking.status == 0 else { throw SoakFailure("nobody can be revoked") }
    }

    /// Reads what the hub has logged, where it listens among it.
    func readLog() throws {
        for line in try child?.lines() ?? [] {
            guard let event = line.firstMatch(of: /"event":"([^"]*)"/)?.1,
                let level = line.firstMatch(of: /"level":"([^"]*)"/)?.1
            else {
                errors.append(String(line))
                continue
            }
            events["\(level): \(event)", default: 0] += 1
            if level == "error" { errors.append(String(line)) }
            if event == "listening" {
                port = line.firstMatch(of: /"address":"[^"]*:([0-9]+)"/).flatMap { UInt16($0.1) }
            }
        }
    }

    func stop() throws {
        child?.terminate()
        guard let child, child.waitForEnd(seconds: 120), child.status == 0 else {
            throw SoakFailure("the hub does not end in order")
        }
        try readLog()
    }
}

/// One client of a soak, over all its processes.
final class SoakPeer {
    let number: Int
    let proxy: SoakProxy
    let path: String
    let log: String
    private let output: String
    private(set) var child: ChildProcess?
    private(set) var startCount: Int64 = 0
    var offsetSeconds: Int64 = 0
    /// What it said last about coming to rest; nil where it is at rest.
    var restlessness: String? = "not asked"

    var user: String { SoakWorld.user(of: number) }
    var isSteady: Bool { SoakWorld.steadyClients.contains(number) }

    init(_ number: Int, directory: String) throws {
        self.number = number
        path = directory + "/client-\(number).docdb"
        log = directory + "/client-\(number).log"
        output = directory + "/client-\(number).lines"
        proxy = try SoakProxy(canary: SoakWorld.readsEverything(SoakWorld.user(of: number)) ? "" : SoakWorld.canary)
    }

    func start(seed: UInt64) throws {
        startCount += 1
        let settings = SoakClient.Settings(
            path: path, client: number, start: startCount, seed: seed, url: proxy.url, offsetSeconds: offsetSeconds)
        child = try ChildProcess(CommandLine.arguments[0], settings.arguments, output: output, errors: log)
    }

    /// Kills the process, and returns what it said last.
    func kill() throws -> [Substring] {
        child?.kill()
        defer { child = nil }
        return try child?.lines() ?? []
    }

    func send(_ command: ClientCommand) { child?.send(command.text) }

    func jump(toOffsetSeconds seconds: Int64) {
        offsetSeconds = seconds
        send(.jump(seconds))
    }
}
