import DocDB
import Foundation
import Synchronization

/// Rounds of a worker that is killed at a random moment, its store checked, and brought together with its peer again.
final class CrashLoop {
    struct Figures {
        var rounds = 0
        var fullCount: Int64 = 0
        var normalCount: Int64 = 0
        var groupedCount: Int64 = 0
        var restoredCount = 0
        var lostCount: Int64 = 0
        var longestConvergence: Duration = .zero
    }

    private let directory: String
    private let inspector: String
    private var random: SeededGenerator
    private let peer: Database
    private let url: String
    private(set) var figures = Figures()
    /// The newest number of each task that was acknowledged, or that a check has found.
    private var grouped = [Int64](repeating: 0, count: CrashModel.groupCount)

    private var store: String { directory + "/worker.docdb" }
    private var copy: String { directory + "/copy.docdb" }
    private static let convergenceLimit: Duration = .seconds(120)

    init(directory: String, inspector: String, seed: UInt64) throws {
        self.directory = directory
        self.inspector = inspector
        random = SeededGenerator(seed: seed)
        peer = try CrashDatabase.open(directory + "/peer.docdb")
        try CrashDatabase.subscribe(peer)
        peer.sync.configuration.listen = SyncConfiguration.Listen(port: 0)
        peer.sync.configuration.isKeeper = true
        try peer.sync.start()
        guard let port = peer.sync.status.listeningPort else { throw CrashFailure("the peer does not listen") }
        url = "ws://127.0.0.1:\(port)"
    }

    /// What a round does to the store beside killing its process.
    private enum Loss: CaseIterable {
        case none
        /// The store is put back to what it was before the round, and so has lost what the peer has seen.
        case restored
    }

    func run(round: Int) throws {
        let files = FileManager.default
        let loss = files.fileExists(atPath: store) && Int.random(in: 0..<3, using: &random) == 0 ? Loss.restored : .none
        if loss == .restored {
            try files.copyItem(atPath: store, toPath: copy)
        }
        let told = try killedWorker(seed: random.next())
        figures.fullCount += told.fullCount
        figures.normalCount += told.normalCount
        figures.groupedCount += told.groupedCount
        if loss == .restored {
            try files.removeItem(atPath: store)
            try files.moveItem(atPath: copy, toPath: store)
            figures.restoredCount += 1
        }
        if files.fileExists(atPath: store + "/store.sqlite") { try inspect() }
        let database = try CrashDatabase.open(store)
        let (full, normal) = (try CrashModel.full.check(database), try CrashModel.normal.check(database))
        if loss == .none {
            guard full >= told.full else { throw CrashFailure("of \(told.full) full writes \(full) are there") }
            // A killed process has handed its writes to the system, which keeps them.
            guard normal >= told.normal else { throw CrashFailure("of \(told.normal) writes \(normal) are there") }
            for (group, number) in told.grouped {
                let found = try database.collection(CrashModel.grouped).find(id: DocumentID(Int64(group)))
                guard CrashModel.number(of: found) >= number else {
                    throw CrashFailure("of \(number) grouped writes \(CrashModel.number(of: found)) are there")
                }
            }
        }
        try converge(database, found: (full, normal), isRestored: loss == .restored)
        try database.close()
        figures.rounds += 1
    }

    /// Connects the store with the peer until both hold the same.
    private func converge(_ database: Database, found: (full: Int64, normal: Int64), isRestored: Bool) throws {
        let (peerFull, peerNormal) = (try CrashModel.full.last(in: peer), try CrashModel.normal.last(in: peer))
        guard isRestored || (peerFull <= found.full && peerNormal <= found.normal) else {
            throw CrashFailure(
                "the peer has writes that the store has lost: \(peerFull) of \(found.full), \(peerNormal) of \(found.normal)"
            )
        }
        figures.lostCount += max(0, peerFull - found.full) + max(0, peerNormal - found.normal)
        let started = ContinuousClock.now
        try CrashDatabase.subscribe(database)
        database.sync.configuration.connect = [url]
        try database.sync.start()
        while try CrashModel.contents(database) != CrashModel.contents(peer) {
            guard ContinuousClock.now - started < Self.convergenceLimit else {
                throw CrashFailure("store and peer do not converge: \(database.sync.status.peers)")
            }
            usleep(10_000)
        }
        figures.longestConvergence = max(figures.longestConvergence, ContinuousClock.now - started)
        let full = try CrashModel.full.check(database)
        let normal = try CrashModel.normal.check(database)
        guard full >= max(found.full, peerFull), normal >= max(found.normal, peerNormal) else {
            throw CrashFailure("a write that either side had is gone after both met")
        }
        database.sync.stop()
    }

    /// Checks everything once more, the peer included.
    func finish() throws {
        peer.sync.stop()
        let findings = try peer.verify()
        guard findings.isEmpty else { throw CrashFailure("the peer: \(findings)") }
        try peer.close()
    }

    private func inspect() throws {
        let process = Process()
        process.executableURL = URL(filePath: inspector)
        process.arguments = ["verify", store]
        let output = Pipe()
        process.standardOutput = output
        try process.run()
        let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        process.waitUntilExit()
        guard process.terminationStatus == 0, text == "ok\n" else { throw CrashFailure("verify: \(text)") }
    }
}

/// The writes that a worker has acknowledged.
struct Acknowledged {
    var full: Int64 = 0
    var normal: Int64 = 0
    var grouped: [Int: Int64] = [:]
    var fullCount: Int64 = 0
    var normalCount: Int64 = 0
    var groupedCount: Int64 = 0

    mutating func add(_ line: Substring) throws {
        let parts = line.split(separator: " ")
        guard parts.first != "error", let number = parts.last.flatMap({ Int64($0) }) else {
            throw CrashFailure("the worker says: \(line)")
        }
        switch parts[0] {
        case "f":
            full = number
            fullCount += 1
        case "n":
            normal = number
            normalCount += 1
        default:
            grouped[Int(parts[1]) ?? 0] = number
            groupedCount += 1
        }
    }
}

extension CrashLoop {
    /// Runs a worker, kills it at a random moment, and returns what it has acknowledged.
    private func killedWorker(seed: UInt64) throws -> Acknowledged {
        let process = Process()
        process.executableURL = URL(filePath: CommandLine.arguments[0])
        process.arguments = ["work", store, url, String(seed)]
        let pipe = Pipe()
        process.standardOutput = pipe
        try process.run()
        try pipe.fileHandleForWriting.close()
        let output = WorkerOutput(pipe.fileHandleForReading)
        // Now and then while it opens the store; else when it has begun to write.
        let isEarly = Int.random(in: 0..<6, using: &random) == 0
        let deadline = ContinuousClock.now + .seconds(60)
        while !isEarly, process.isRunning, ContinuousClock.now < deadline, output.text.isEmpty { usleep(1_000) }
        usleep(UInt32.random(in: 0..<(isEarly ? 80_000 : 700_000), using: &random))
        kill(process.processIdentifier, SIGKILL)
        let text = output.waitForEnd()
        process.waitUntilExit()
        guard process.terminationReason == .uncaughtSignal else {
            throw CrashFailure("the worker ended by itself: \(text.suffix(500))")
        }
        var told = Acknowledged()
        for line in text.prefix(upTo: text.lastIndex(of: "\n") ?? text.startIndex).split(separator: "\n") {
            try told.add(line)
        }
        return told
    }
}

/// What a worker prints, read while it runs.
private final class WorkerOutput: Sendable {
    private let received = Mutex(Data())
    private let ended = DispatchSemaphore(value: 0)

    init(_ handle: FileHandle) {
        let descriptor = dup(handle.fileDescriptor)
        Thread.detachNewThread { [self] in
            let reading = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
            while let data = try? reading.read(upToCount: 4096), !data.isEmpty {
                received.withLock { $0.append(data) }
            }
            ended.signal()
        }
    }

    var text: String { String(decoding: received.withLock { $0 }, as: UTF8.self) }

    /// Waits until nobody can write any more, and returns everything.
    func waitForEnd() -> String {
        ended.wait()
        return text
    }
}
