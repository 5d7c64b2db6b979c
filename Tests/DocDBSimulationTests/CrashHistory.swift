import DocDB
import DocDBSimulation
import DocDBStorage
import Testing

/// How a run of a task ends.
enum CrashEnd: CustomStringConvertible {
    /// The process is killed.
    case process
    /// The power goes, with all that was not synchronised.
    case powerWithAll
    /// The power goes; any of the writes that were not synchronised survive, in whole or in parts.
    case powerWithSome, powerTorn

    var description: String {
        switch self {
        case .process: "process killed"
        case .powerWithAll: "power cut, nothing survives"
        case .powerWithSome: "power cut, some writes survive"
        case .powerTorn: "power cut, torn pages"
        }
    }

    static let powerCuts = [CrashEnd.powerWithAll, .powerWithSome, .powerTorn]

    var isPowerCut: Bool { self != .process }

    func happen(to disk: SimulatedDisk, seed: UInt64) {
        switch self {
        case .process: disk.endProcess()
        case .powerWithAll: disk.cutPower(.losesUnsynchronized, seed: seed)
        case .powerWithSome: disk.cutPower(.keepsSomeWrites, seed: seed)
        case .powerTorn: disk.cutPower(.tearsPages, seed: seed)
        }
    }
}

/// Numbered commits to a database, and what of them must be found again.
///
/// Commit n writes document n, with a filler, and sets `last` to n, both in one transaction; so what is found must be the
/// documents 1 to m, whole, for some m.
final class CrashHistory {
    static let path = "/cars.docdb"

    let disk: SimulatedDisk
    /// A clock that stands still unless a test moves it, so that times rise by the store's own doing alone.
    let clock = SimulatedTime(seed: 0).makeClock()
    private var open: Database?
    /// The newest commit that was begun, that was acknowledged, and that was acknowledged as durable.
    private(set) var begun: Int64 = 0
    private(set) var acknowledged: Int64 = 0
    private(set) var durable: Int64 = 0
    /// The newest time of a commit that was seen.
    private var newestTime = HybridTime.zero

    init(_ disk: SimulatedDisk) { self.disk = disk }

    /// The database, opened where it is not.
    func db() throws -> Database {
        if let open { return open }
        let db = try Database(at: Self.path, options: .simulated(on: disk, clock: clock))
        open = db
        return db
    }

    func forget() { open = nil }

    func close() throws {
        try open?.close()
        open = nil
        durable = acknowledged
    }

    /// Takes what the disk holds as acknowledged, after a preparation that went well.
    static func prepared(_ disk: SimulatedDisk, count: Int64) -> CrashHistory {
        let history = CrashHistory(disk)
        history.begun = count
        history.acknowledged = count
        history.durable = count
        return history
    }

    func commit(_ durability: Durability = .normal, fillerCount: Int = 40) throws {
        begun += 1
        let number = begun
        try db().write(durability: durability) { transaction in
            let cars = transaction.collection("cars")
            try cars.upsert(["_id": .int(number), "filler": .string(Self.filler(number, fillerCount))])
            try cars.upsert(["_id": "last", "n": .int(number)])
        }
        acknowledged = number
        if durability == .full { durable = number }
        try noteTime()
    }

    /// Checks that the newest commit has a time that no commit had before, those included that were lost.
    private func noteTime() throws {
        let time = try db().log().last?.time ?? .zero
        #expect(time > newestTime, "a time was issued twice")
        newestTime = time
    }

    func synchronize() throws {
        let reached = acknowledged
        try db().synchronize()
        durable = reached
    }

    private static func filler(_ number: Int64, _ count: Int) -> String {
        String(repeating: Character(Unicode.Scalar(UInt8(97 + number % 26))), count: count)
    }

    /// Checks what is found after an end, and that a durable commit then outlives a power cut; commits that were lost are
    /// forgotten.
    ///
    /// - Parameter evicted: documents that may be missing.
    func check(after end: CrashEnd, evicted: Set<Int64> = [], _ comment: Comment) throws {
        forget()
        let db = try db()
        let cars = db.collection("cars")
        let last = try cars.find(id: "last")?["n"]?.intValue ?? 0
        #expect(last <= begun, comment)
        #expect(last >= (end.isPowerCut ? durable : acknowledged), comment)
        for number in stride(from: Int64(1), through: last, by: 1) {
            guard let document = try cars.find(id: DocumentID(number)) else {
                #expect(evicted.contains(number), "document \(number) of \(last) is missing: \(comment)")
                continue
            }
            let filler = document["filler"]?.stringValue ?? ""
            #expect(filler == Self.filler(number, filler.utf8.count) && !filler.isEmpty, comment)
        }
        #expect(
            try cars.find("_id > $last", ["last": .int(last)]).sort("_id").limit(1).ids().filter { $0 != "last" } == [],
            comment)
        let findings = try db.verify()
        #expect(findings.isEmpty, "\(findings): \(comment)")
        begun = last
        acknowledged = last
        durable = 0
        try commit(.full)
        forget()
        disk.cutPower(.losesUnsynchronized)
        #expect(try self.db().collection("cars").find(id: "last")?["n"]?.intValue == durable, comment)
    }
}

extension Value {
    var intValue: Int64? { if case .int(let value) = self { value } else { nil } }
    var stringValue: String? { if case .string(let value) = self { value } else { nil } }
}
