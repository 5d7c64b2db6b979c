import DocDB
import DocDBCore
import DocDBSimulation
import DocDBStorage

/// Damage to the files of a sound store, told by an input.
///
/// The first byte says whether there is a write-ahead log, and whether its checksums are made to fit the damage, as those of
/// a disk that changed pages before they were written. The operations follow, each with a byte for its kind.
struct StoreDamage {
    private(set) var database: [UInt8]
    private(set) var log: [UInt8]

    static let databasePath = "/cars.docdb/store.sqlite"
    static let logPath = "/cars.docdb/store.sqlite-wal"
    private static let pageByteCount = 4096

    enum Kind {
        static let writePage: UInt8 = 0
        static let writeLog: UInt8 = 1
        static let copyPage: UInt8 = 2
        static let cutDatabase: UInt8 = 3
        static let cutLog: UInt8 = 4
        static let count: UInt8 = 5
    }

    init(_ bytes: [UInt8], of sound: SoundStore) {
        var input = FuzzInput(bytes)
        let flags = input.byte()
        database = sound.database
        log = flags & 1 == 1 ? sound.log.encoded : []
        // Each operation takes a byte at least, so that there are no more than the input is long.
        while !input.isAtEnd { apply(input.byte() % Kind.count, &input) }
        if flags & 2 == 2 { log = LogImage(log).encoded }
    }

    private mutating func apply(_ kind: UInt8, _ input: inout FuzzInput) {
        let number = Int(input.byte()) << 8 | Int(input.byte())
        switch kind {
        case Kind.writePage:
            let offset = Int(input.byte()) << 8 | Int(input.byte())
            Self.write(&input, to: &database, at: number * Self.pageByteCount + offset % Self.pageByteCount)
        case Kind.writeLog:
            let offset = Int(input.byte()) << 8 | Int(input.byte())
            Self.write(&input, to: &log, at: LogImage.offset(ofFrame: number) + offset % LogImage.frameByteCount)
        case Kind.copyPage:
            let source = (Int(input.byte()) << 8 | Int(input.byte())) * Self.pageByteCount
            let target = number * Self.pageByteCount
            guard max(source, target) + Self.pageByteCount <= database.count else { return }
            database.replaceSubrange(
                target..<target + Self.pageByteCount, with: Array(database[source..<source + Self.pageByteCount]))
        case Kind.cutDatabase: database = Array(database.prefix(number * 16))
        default: log = Array(log.prefix(number * 16))
        }
    }

    /// Writes what the input says over bytes: a byte for how many, then these.
    private static func write(_ input: inout FuzzInput, to bytes: inout [UInt8], at offset: Int) {
        let count = Int(input.byte())
        for index in 0..<count {
            let byte = input.byte()
            if offset + index < bytes.count { bytes[offset + index] = byte }
        }
    }
}

/// The frames of a write-ahead log of SQLite's, and how they are written (section 4 of its file format).
struct LogImage {
    private var frames: [(page: [UInt8], head: [UInt8])] = []
    static let frameByteCount = 24 + 4096
    private static let headerByteCount = 32

    static func offset(ofFrame number: Int) -> Int { headerByteCount + number * frameByteCount }

    /// Takes a log apart without a look at its sums.
    init(_ bytes: [UInt8]) {
        var offset = Self.headerByteCount
        while offset + Self.frameByteCount <= bytes.count {
            frames.append(
                (
                    Array(bytes[offset + 24..<offset + Self.frameByteCount]),
                    Array(bytes[offset..<offset + 8])
                ))
            offset += Self.frameByteCount
        }
    }

    /// The log with sums that fit, under salts that are always the same.
    var encoded: [UInt8] {
        func bytes(_ word: UInt32) -> [UInt8] { (0..<4).map { UInt8(truncatingIfNeeded: word >> (24 - 8 * $0)) } }
        var sums: (UInt32, UInt32) = (0, 0)
        func add(_ bytes: [UInt8]) {
            for offset in stride(from: 0, to: bytes.count, by: 8) {
                func word(_ at: Int) -> UInt32 { bytes[at..<at + 4].reduce(0) { $0 << 8 | UInt32($1) } }
                sums.0 &+= word(offset) &+ sums.1
                sums.1 &+= word(offset + 4) &+ sums.0
            }
        }
        let salts = bytes(0x1234_5678) + bytes(0x9ABC_DEF0)
        let header = bytes(0x377F_0683) + bytes(3_007_000) + bytes(4096) + bytes(0) + salts
        add(header)
        var result = header + bytes(sums.0) + bytes(sums.1)
        for frame in frames {
            add(frame.head)
            add(frame.page)
            result += frame.head + salts + bytes(sums.0) + bytes(sums.1) + frame.page
        }
        return result
    }
}

/// A sound store whose bytes are the same in every process.
struct SoundStore: Sendable {
    let snapshot: DiskSnapshot
    let database: [UInt8]
    let log: LogImage

    static let shared = Result { try SoundStore() }

    private init() throws {
        let disk = SimulatedDisk(seed: 3)
        var options = Database.Options.simulated(on: disk, seed: 4)
        options.clock = { 1_800_000_000_000_000_000 }
        let db = try Database(at: "cars.docdb", options: options)
        let cars = db.collection("cars")
        try cars.createIndex(["n"])
        for number in Int64(1)...24 {
            try cars.upsert(["_id": .int(number), "n": .int(number % 5), "text": .string("text \(number)")])
        }
        try cars.upsert(["_id": "long", "text": .string(String(repeating: "t", count: 9_000))])
        try db.collection("boats").upsert(["_id": ["k": 1], "deck": ["a": [1, 2.5, nil], "b": true]])
        _ = try cars.remove(3)
        try db.checkpoint()
        database = disk.content(of: StoreDamage.databasePath) ?? []
        try cars.upsert(["_id": 5, "late": true])
        _ = try cars.remove(6)
        try db.collection("boats").upsert(["_id": "late", "deck": 4])
        log = LogImage(disk.content(of: StoreDamage.logPath) ?? [])
        snapshot = disk.snapshot()
        disk.endProcess()
    }

    /// A disk with the store under the damage.
    func disk(_ damage: StoreDamage) -> SimulatedDisk {
        let disk = SimulatedDisk(seed: 5)
        disk.restore(snapshot, keepsIdentity: true)
        disk.overwrite(StoreDamage.databasePath, with: damage.database)
        disk.overwrite(StoreDamage.logPath, with: damage.log)
        return disk
    }
}

extension FuzzTarget {
    private static let storeCodes: [DocDBError.Code] = [.corrupted, .notAStore, .storeTooNew, .storageFailed]
    /// SQLite calls a database full whose pages say that it has as many as there can be.
    private static let useCodes = storeCodes + [.historyNotRetained, .diskFull]

    // MARK: Salvage

    /// Files of a damaged store, read without SQLite.
    static let salvage = FuzzTarget(name: "salvage", words: [], seeds: { damageSeeds }, run: runSalvage)

    private static func runSalvage(_ bytes: [UInt8]) throws {
        let sound = try SoundStore.shared.get()
        let damage = StoreDamage(bytes, of: sound)
        let disk = sound.disk(damage)
        var options = StoreOptions()
        options.fileSystem = disk.fileSystem
        let report = try accepted(storeCodes) {
            try StoreSalvage.run(from: "cars.docdb", to: "new.docdb", options: options)
        }
        try require(
            disk.content(of: StoreDamage.databasePath) == damage.database
                && disk.content(of: StoreDamage.logPath) == damage.log, "the damaged store is written to")
        guard let report else {
            try require(disk.files(beneath: "/new.docdb").isEmpty, "a salvage that is refused leaves a store")
            return
        }
        let db = try Database(at: "new.docdb", options: .simulated(on: disk))
        let findings = try db.verify()
        try require(findings.isEmpty, "a salvaged store is not sound: \(findings)")
        for collection in report.collections {
            let count = try db.collection(collection.name).findAll().count()
            try require(Int64(count) == collection.documentCount, "the report counts other documents than there are")
        }
        try db.collection("cars").upsert(["_id": "written after", "n": 1])
        try db.close()
    }

    // MARK: Opening

    /// Files of a damaged store, used as if they were sound: refused or read as far as they go.
    static let store = FuzzTarget(name: "store", words: [], seeds: { damageSeeds }, run: runStore)

    private static func runStore(_ bytes: [UInt8]) throws {
        let sound = try SoundStore.shared.get()
        let disk = sound.disk(StoreDamage(bytes, of: sound))
        guard let db = try accepted(storeCodes, { try Database(at: "cars.docdb", options: .simulated(on: disk)) })
        else { return }
        func attempt<R>(_ body: () throws -> R) throws -> R? { try accepted(useCodes, body) }
        _ = try attempt { try db.verify() }
        for name in try attempt({ try db.collectionNames() }) ?? [] {
            let collection = db.collection(name)
            for id in [1, 5, 24] as [DocumentID] { _ = try attempt { try collection.find(id: id)?.value } }
            _ = try attempt { try collection.find("n == 3").sort("n").documents().map { try $0.value } }
            _ = try attempt { try collection.findAll().documents().map { try $0.value } }
            _ = try attempt { try collection.history(of: 5) }
        }
        _ = try attempt { try db.log() }
        _ = try attempt { try db.statistics() }
        let cars = db.collection("cars")
        _ = try attempt { try cars.upsert(["_id": 5, "more": true]) }
        _ = try attempt { try cars.find("n == 2").remove() }
        _ = try attempt { try db.compact() }
        _ = try attempt { try db.close() }
    }

    private static let damageSeeds: [[UInt8]] = {
        typealias Kind = StoreDamage.Kind
        func page(_ number: UInt8, _ offset: Int, _ bytes: [UInt8]) -> [UInt8] {
            [Kind.writePage, 0, number, UInt8(offset >> 8), UInt8(offset & 255), UInt8(bytes.count)] + bytes
        }
        var seeds: [[UInt8]] = [[0], [1], [3]]
        // The size of pages, the schema's leaf, the first cells of some pages.
        seeds.append([0] + page(0, 16, [0x02, 0x00]))
        seeds.append([1] + page(0, 100, [0x05]) + page(0, 103, [0xFF, 0xFF]))
        for number in UInt8(1)..<40 { seeds.append([number & 3] + page(number, 0, [13, 0, 0, 0, 2])) }
        for number in UInt8(4)..<30 { seeds.append([number & 1] + page(number, 4000, [0x81, 0x80, 0x7F, 0xFF])) }
        seeds.append([3, Kind.writeLog, 0, 1, 0, 30, 4, 1, 2, 3, 4, Kind.writeLog, 0, 0, 0, 0, 4, 0, 0, 0, 9])
        seeds.append([1, Kind.copyPage, 0, 9, 0, 11, Kind.cutLog, 1, 0])
        seeds.append([0, Kind.cutDatabase, 0x20, 0])
        return seeds
    }()
}
