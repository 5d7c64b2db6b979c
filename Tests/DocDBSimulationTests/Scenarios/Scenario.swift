import DocDB
import DocDBSimulation
import Foundation

/// Runs scenarios with the seeds that are asked for.
///
/// `make simulate SEEDS=n` runs each with the seeds from 1 to n; `make simulate SEED=s SCENARIO=name` replays one.
enum Scenario {
    private static let environment = ProcessInfo.processInfo.environment

    static let seeds = seeds(usually: 2)

    /// - Parameter count: how many seeds are run where nobody asks for more.
    static func seeds(usually count: Int) -> [UInt64] {
        if let seed = environment["DOCDB_SIMULATION_SEED"].flatMap({ UInt64($0) }) { return [seed] }
        let wanted = environment["DOCDB_SIMULATION_SEEDS"].flatMap { Int($0) }
        let first = environment["DOCDB_SIMULATION_FIRST"].flatMap { UInt64($0) } ?? 1
        return (0..<UInt64(max(1, wanted ?? count))).map { first &+ $0 }
    }

    /// Runs a scenario; what fails names the seed and the command that replays it.
    static func run(_ name: String, _ seed: UInt64, _ body: (Simulation) throws -> Void) throws {
        if let wanted = environment["DOCDB_SIMULATION_SCENARIO"], !wanted.isEmpty, wanted != name { return }
        let simulation = Simulation(seed: seed, name: name)
        do {
            try body(simulation)
        } catch let failure as SimulationFailure {
            throw failure
        } catch {
            throw simulation.failure(0, "an operation failed: \(error)")
        }
    }
}

extension Simulation {
    func number(_ range: ClosedRange<Int>) -> Int { Int.random(in: range, using: &random) }

    func pick<T>(_ values: [T]) -> T { values[number(0...(values.count - 1))] }

    /// Lets a time pass that chance draws.
    func run(upTo milliseconds: Int) { run(for: .milliseconds(Int64(number(0...milliseconds)))) }

    /// A hub that keeps everything, and devices that are connected to it; nobody subscribes to anything but the hub.
    func addStar(_ count: Int, history: Int64? = nil) throws -> (hub: SimulatedPeer, devices: [SimulatedPeer]) {
        let hub = try addPeer("hub") {
            $0.isKeeper = true
            $0.historyByteCount = history
        }
        try hub.subscribe("cars")
        let devices = try (1...count).map { try addPeer("device\($0)") }
        for device in devices { connect(device, to: hub) }
        return (hub, devices)
    }
}

extension SimulatedPeer {
    /// Writes the fields of a document, those that it has beside left alone.
    func put(_ id: Int, _ fields: [String: Value], in collection: String = "cars") throws {
        var fields = fields
        fields["_id"] = .int(Int64(id))
        try write { try $0.collection(collection).upsert(.object(fields)) }
    }

    func delete(_ id: Int, in collection: String = "cars") throws {
        _ = try write { try $0.collection(collection).remove(DocumentID(Int64(id))) }
    }

    func find(_ id: Int, in collection: String = "cars") throws -> Document? {
        try db.collection(collection).find(id: DocumentID(Int64(id)))
    }

    func json(_ id: Int, in collection: String = "cars") throws -> String? { try find(id, in: collection)?.json() }

    func contents(_ collection: String = "cars") throws -> [String] {
        try db.collection(collection).findAll().sort("_id").documents().map { try $0.json() }
    }

    func count(_ collection: String = "cars") throws -> Int { try db.collection(collection).findAll().count() }

    /// Fills a collection with numbered documents, many to a transaction.
    func fill(_ ids: ClosedRange<Int>, in collection: String = "cars", _ fields: (Int) -> [String: Value]) throws {
        for start in stride(from: ids.lowerBound, through: ids.upperBound, by: 100) {
            try write { transaction in
                for id in start...min(start + 99, ids.upperBound) {
                    var document = fields(id)
                    document["_id"] = .int(Int64(id))
                    try transaction.collection(collection).upsert(.object(document))
                }
            }
        }
    }
}

extension Simulation {
    /// Checks that several peers hold the same documents, and that there are so many.
    func expectSame(_ peers: [SimulatedPeer], _ collection: String = "cars", count: Int? = nil) throws {
        let first = try peers[0].contents(collection)
        for peer in peers.dropFirst() {
            try expect(
                try peer.contents(collection) == first, "\(peer.name) holds other documents than \(peers[0].name)")
        }
        if let count { try expect(first.count == count, "there are \(first.count) documents, not \(count)") }
    }
}
