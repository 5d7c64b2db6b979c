import DocDB

/// Numbered writes to a few documents, of which the newest number tells exactly what each document must be.
///
/// Write n sets document `n % slotCount` and the document `last` in one transaction. So a collection that holds a prefix of
/// the writes, and each whole, has one form for each number.
struct CrashModel {
    let collection: String

    static let slotCount: Int64 = 200
    /// One collection for each way to write.
    static let full = CrashModel(collection: "full")
    static let normal = CrashModel(collection: "normal")
    /// Documents of their own tasks, committed in groups.
    static let grouped = "grouped"
    static let groupCount = 6

    static var collections: [String] { [full.collection, normal.collection, grouped] }

    private static func text(_ number: Int64) -> String {
        String(repeating: Character(Unicode.Scalar(UInt8(97 + number % 26))), count: Int(number * 37 % 400))
    }

    func write(_ number: Int64, to database: Database, _ durability: Durability) throws {
        try database.write(durability: durability) { transaction in
            let documents = transaction.collection(collection)
            try documents.upsert([
                "_id": .int(number % Self.slotCount), "n": .int(number), "text": .string(Self.text(number)),
            ])
            try documents.upsert(["_id": "last", "n": .int(number)])
        }
    }

    static func number(of document: Document?) -> Int64 {
        if case .int(let number) = document?["n"] { return number }
        return 0
    }

    /// The number of the newest write that a database holds.
    func last(in database: Database) throws -> Int64 {
        Self.number(of: try database.collection(collection).find(id: "last"))
    }

    /// Checks that a database holds a prefix of the writes, each whole, and returns the number of the newest.
    func check(_ database: Database) throws -> Int64 {
        let documents = database.collection(collection)
        let last = try last(in: database)
        for slot in 0..<Self.slotCount {
            let newest = last - (last - slot + Self.slotCount * 2) % Self.slotCount
            let found = try documents.find(id: DocumentID(slot))
            guard newest >= 1 else {
                guard found == nil else { throw CrashFailure("\(collection): a document is there before its write") }
                continue
            }
            guard Self.number(of: found) == newest, found?["text"] == .string(Self.text(newest)) else {
                throw CrashFailure(
                    "\(collection): of \(last) writes document \(slot) has number \(Self.number(of: found)), not \(newest)"
                )
            }
        }
        return last
    }

    /// All documents of a database, to be compared.
    static func contents(_ database: Database) throws -> [String] {
        try collections.flatMap { name in
            try database.collection(name).findAll().sort("_id").documents().map { try name + $0.json() }
        }
    }
}

/// What a round found wrong.
struct CrashFailure: Error, CustomStringConvertible {
    let description: String
    init(_ description: String) { self.description = description }
}

/// A small generator of random numbers whose seed replays it (SplitMix64).
struct SeededGenerator: RandomNumberGenerator {
    private var state: UInt64
    init(seed: UInt64) { state = seed }
    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }
}

/// How all databases of the loop are opened.
enum CrashDatabase {
    static func open(_ path: String) throws -> Database {
        var options = Database.Options()
        // Small enough to be cut every few rounds.
        options.historyByteCount = 256 * 1024
        return try Database(at: path, options: options, identity: .offlinePlayground(appID: "crash-loop"))
    }

    static func subscribe(_ database: Database) throws {
        for name in CrashModel.collections { try database.collection(name).findAll().subscribe() }
    }
}
