import DocDB
import Foundation

// Writes a store, or checks one that another version wrote; Scripts/check-previous builds it with two versions of the
// library. It is in no package manifest, and keeps to what the first version of the library had.

/// What a store holds after so many rounds, each of which adds documents and changes those before.
enum Contents {
    static let perRound = 60

    /// The cars by their numbers: the price after the last round that set it.
    static func prices(afterRounds rounds: Int) -> [Int: Int] {
        var prices: [Int: Int] = [:]
        for round in 0..<rounds {
            for number in round * perRound..<(round + 1) * perRound { prices[number] = number }
            for number in prices.keys where number % 3 == 0 { prices[number] = number + 1_000 * (round + 1) }
            for number in prices.keys where number % 10 == 7 { prices[number] = nil }
            prices[round * perRound + 5] = nil
        }
        return prices
    }
}

struct Failure: Error, CustomStringConvertible {
    var description: String
}

func require(_ holds: Bool, _ what: String) throws { if !holds { throw Failure(description: what) } }

/// Adds a round: insertions, changes, sums, deletions and an eviction; the first one with an index and a checkpoint too.
func write(_ db: Database, round: Int) throws {
    let cars = db.collection("cars")
    let range = round * Contents.perRound..<(round + 1) * Contents.perRound
    for number in range {
        try cars.upsert([
            "_id": .int(Int64(number)), "price": .int(Int64(number)), "tags": ["a", .string("t\(number)")],
            "deep": ["text": .string(String(repeating: "x", count: number * 7 % 900)), "n": 0.5],
        ])
    }
    if round == 0 {
        _ = try cars.createIndex(["price"])
        try db.collection("other").upsert(["_id": ["part": 1, "of": "key"], "bytes": .bytes([1, 2, 3]), "none": nil])
        _ = try db.checkpoint()
    }
    for number in 0..<range.upperBound where number % 3 == 0 && number % 10 != 7 {
        guard try cars.find(id: DocumentID(Int64(number))) != nil else { continue }
        try cars.upsert(["_id": .int(Int64(number)), "price": .int(Int64(number + 1_000 * (round + 1)))])
        try cars.increment("sum", by: 2, id: DocumentID(Int64(number)))
    }
    for number in range where number % 10 == 7 { _ = try cars.remove(DocumentID(Int64(number))) }
    _ = try cars.evict(DocumentID(Int64(range.lowerBound + 5)), force: true)
}

func check(_ db: Database, rounds: Int) throws {
    let findings = try db.verify()
    try require(findings.isEmpty, "verification finds \(findings)")
    let cars = db.collection("cars")
    let prices = Contents.prices(afterRounds: rounds)
    try require(try cars.findAll().count() == prices.count, "there are \(try cars.findAll().count()) cars")
    for (number, price) in prices.sorted(by: { $0.key < $1.key }) {
        let found = try cars.find(id: DocumentID(Int64(number)))?.value
        try require(found?["price"] == .int(Int64(price)), "car \(number) has another price")
        try require(found?["tags"] == ["a", .string("t\(number)")], "car \(number) has other tags")
    }
    for bound in [10, 500, 1_050, 2_100] {
        let count = try cars.find("price < \(bound)").count()
        try require(count == prices.values.filter { $0 < bound }.count, "the index finds \(count) below \(bound)")
    }
    let other = try db.collection("other").find("bytes == x'010203' && none == null").count()
    try require(other == 1, "the other collection lacks its document")
    try require(try !cars.history(of: 3).isEmpty, "a car has no history")
}

let arguments = CommandLine.arguments
guard arguments.count == 4, let rounds = Int(arguments[3]) else {
    print("usage: previous write|check|crash STORE ROUNDS")
    exit(2)
}
do {
    let db = try Database(at: arguments[2])
    switch arguments[1] {
    case "write":
        try write(db, round: rounds - 1)
        try db.close()
    case "crash":
        try write(db, round: rounds - 1)
        // Neither the database nor SQLite closes anything.
        _exit(0)
    default:
        try check(db, rounds: rounds)
        try db.close()
    }
} catch let error as DocDBError {
    print("\(error.code): \(error.message)")
    exit(error.code == .storeTooNew ? 3 : 1)
} catch {
    print("\(error)")
    exit(1)
}
