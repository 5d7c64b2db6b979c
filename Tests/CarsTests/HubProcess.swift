import Dispatch
import DocDB
import Foundation
import TestSupport

/// A hub as people run it, with the users of `Examples/Cars/hub.json`, and a directory for all that belongs to it.
final class HubProcess: Sendable {
    let directory: String
    let url: String
    private let process: RunningProcess

    init() async throws {
        let directory = FileManager.default.temporaryDirectory.path + "/docdb-cars-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
        self.directory = directory
        let hub = ["--store", directory + "/hub", "--config", Self.configuration]
        let made = try await Executable.run(
            "docdb-hub", ["keys", "new"] + hub + ["--root", directory + "/root.key"], in: directory)
        guard made.status == 0 else { throw Failure(message: made.output) }
        process = try RunningProcess("docdb-hub", ["serve"] + hub + ["--listen", "127.0.0.1:0"], in: directory)
        url = "http://" + (try await process.address())
    }

    deinit {
        process.stop()
        try? FileManager.default.removeItem(atPath: directory)
    }

    /// Runs a user's app with a script to its end.
    func runCars(_ user: String, _ script: String) async throws -> (status: Int32, output: String) {
        let file = directory + "/\(UUID().uuidString).script"
        try script.write(toFile: file, atomically: true, encoding: .utf8)
        return try await Executable.run(
            "cars", ["--hub", url, "--store", "\(directory)/\(user).docdb", "--script", file], in: directory)
    }

    /// A user's token, as a login at an identity provider would give one.
    func token(of user: String) async throws -> String {
        let printed = try await Executable.run(
            "docdb-hub", ["token", "--config", Self.configuration, user], in: directory)
        let line = printed.output.split(separator: "\n").last { !$0.contains("DEVELOPMENT") }
        guard printed.status == 0, let line else { throw Failure(message: printed.output) }
        return String(line)
    }

    /// Ends what was granted to a user.
    func revoke(_ user: String) async throws {
        let run = try await Executable.run("docdb-hub", ["revoke", "--store", directory + "/hub", user], in: directory)
        guard run.status == 0 else { throw Failure(message: run.output) }
    }

    static let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().path
    private static let configuration = root + "/Examples/Cars/hub.json"
}

struct Failure: Error { var message: String }

/// The programs of this package, which are built with its tests and lie beside them.
enum Executable {
    /// Runs a program to its end; its output holds its errors, too.
    static func run(
        _ name: String, _ arguments: [String], in directory: String
    ) async throws -> (status: Int32, output: String) {
        let process = try RunningProcess(name, arguments, in: directory)
        let status = await process.end()
        return (status, try process.output())
    }
}

/// A program that runs, and writes into a file.
final class RunningProcess: Sendable {
    private let process: ChildProcess
    private let log: String

    init(_ name: String, _ arguments: [String], in directory: String) throws {
        log = directory + "/\(UUID().uuidString).log"
        try Data().write(to: URL(filePath: log))
        process = try ChildProcess(try BuiltProgram.path(name), arguments, outputPath: log)
    }

    func output() throws -> String { String(decoding: try Data(contentsOf: URL(filePath: log)), as: UTF8.self) }

    /// Waits for the end, and returns the exit status.
    func end() async -> Int32 { await process.end() }

    func stop() { process.stop() }

    /// The address that a hub says it listens at, once it does.
    func address() async throws -> String {
        let (looks, continuation) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        let timer = DispatchSource.makeTimerSource()
        timer.setEventHandler { continuation.yield() }
        timer.schedule(deadline: .now(), repeating: .milliseconds(10))
        timer.activate()
        defer { timer.cancel() }
        for await _ in looks {
            let isRunning = process.isRunning
            let lines = try output().split(separator: "\n", omittingEmptySubsequences: false).dropLast()
            if let line = lines.first(where: { $0.contains("\"listening\"") }),
                let address = line.firstMatch(of: /"address":"([^"]*)"/)?.1
            {
                return String(address)
            }
            guard isRunning else { throw Failure(message: try output()) }
        }
        throw CancellationError()
    }
}
