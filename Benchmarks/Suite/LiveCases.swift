import Dispatch
import DocDB

extension BenchmarkCase {
    /// Live queries; the peer is the same work without open queries, or running the query again.
    static let live: [BenchmarkCase] = [
        byID(count: 1_000, bar: 1.3),
        byID(count: 10_000, bar: 1.6),
        BenchmarkCase(
            name: "live-range-1000",
            work: "commits of one document with 1,000 open range queries, one concerned, event delivered; without",
            bars: [.ratio(1.6)], operations: { LiveWork.commitCount($0) },
            docdb: { bench in
                let work = try LiveWork(bench, .price)
                let ranges = try work.ranges()
                let observations = try work.observe(ranges.map(\.query))
                defer { observations.forEach { $0.cancel() } }
                return try bench.measure(repeats: 5) { try work.commit(ranges.map(\.id), waiting: true) }
            },
            peer: { bench in
                let work = try LiveWork(bench, .price)
                let ids = try work.ranges().map(\.id)
                return try bench.measure(repeats: 5) { try work.commit(ids, waiting: false) }
            }),
        BenchmarkCase(
            name: "live-large-result",
            work: "update of one document in a sorted query of 60,000, event delivered; running the query again",
            bars: [.ratio(0.02)], operations: { _ in 1 },
            docdb: { bench in
                let work = try LiveWork(bench)
                let query = try work.forSale()
                let ids = try Array(query.ids().prefix(20))
                let observations = try work.observe([query])
                defer { observations.forEach { $0.cancel() } }
                var next = 0
                return try bench.measure(repeats: 100) {
                    defer { next += 1 }
                    try work.update(ids[next % ids.count])
                    work.waitForEvent()
                    return Checksum()
                }
            },
            peer: { bench in
                let query = try LiveWork(bench).forSale()
                return try bench.measure {
                    guard try !query.documents().isEmpty else { throw BenchmarkError("no documents for sale") }
                    return Checksum()
                }
            }),
        BenchmarkCase(
            name: "live-bulk", work: "a commit of 10,000 changes with 10 open queries over all documents; without",
            bars: [.ratio(2.0)], operations: { LiveWork.bulkCount($0) },
            docdb: { bench in
                let work = try LiveWork(bench)
                let all = work.cars.cars.findAll()
                let paths = ["price", "make", "model", "year", "mileage"]
                let observations = try work.observe(
                    paths.map { all.sort($0) } + paths.map { all.sort($0, .descending) })
                defer { observations.forEach { $0.cancel() } }
                return try bench.measure { try work.commitBulk() }
            },
            peer: { bench in
                let work = try LiveWork(bench)
                return try bench.measure { try work.commitBulk() }
            }),
    ]

    private static func byID(count: Int, bar: Double) -> BenchmarkCase {
        BenchmarkCase(
            name: "live-by-id-\(count)",
            work: "commits of one document with \(count) open queries for an _id, none concerned; without",
            bars: [.ratio(bar)], operations: { LiveWork.commitCount($0) },
            docdb: { bench in
                let work = try LiveWork(bench)
                let observed = bench.readIDs.prefix(min(count, bench.readIDs.count / 2))
                let observations = try work.observe(
                    observed.map { try work.cars.cars.find("_id == $id", ["id": $0.value]) })
                defer { observations.forEach { $0.cancel() } }
                return try bench.measure { try work.commit(bench.readIDs.suffix(100), waiting: false) }
            },
            peer: { bench in
                let work = try LiveWork(bench)
                return try bench.measure { try work.commit(bench.readIDs.suffix(100), waiting: false) }
            })
    }
}

/// Commits to the store that all live cases share, and the observations of one run.
private final class LiveWork: Sendable {
    let cars: DocDBCars
    private let size: CarsWorkload.Size
    private let queue = DispatchQueue(label: "benchmarks.live")
    private let event = DispatchSemaphore(value: 0)
    private let bulkIDs: [DocumentID]

    init(_ bench: Workbench, _ indexing: Indexing = .none) throws {
        cars = try bench.sharedDocDB(indexing)
        size = bench.workload.size
        bulkIDs = Array(bench.readIDs.prefix(Self.bulkCount(size)))
    }

    static func commitCount(_ size: CarsWorkload.Size) -> Int { size.extraDocuments / 2 }
    static func bulkCount(_ size: CarsWorkload.Size) -> Int { size.documents / 10 }

    /// Observes the queries and waits for their initial events.
    func observe(_ queries: [Query]) throws -> [LiveObservation] {
        let observations = try queries.map { query in
            try query.observe(on: queue) { [event] _, _ in event.signal() }
        }
        for _ in queries { event.wait() }
        return observations
    }

    func waitForEvent() { event.wait() }

    /// Changes a field of a document that no query looks at, in a commit of its own.
    func update(_ id: DocumentID) throws {
        try cars.database.write { try $0.collection("cars").increment("views", id: id) }
    }

    /// Commits one document after another; where it waits, each concerns another query, and all events are awaited.
    func commit(_ ids: some RandomAccessCollection<DocumentID>, waiting: Bool) throws -> Checksum {
        let ids = Array(ids)
        let count = waiting ? min(ids.count, Self.commitCount(size)) : Self.commitCount(size)
        for number in 0..<count { try update(ids[number % ids.count]) }
        if waiting { for _ in 0..<count { event.wait() } }
        return Checksum(count: Self.commitCount(size))
    }

    func commitBulk() throws -> Checksum {
        try cars.database.write { transaction in
            let cars = transaction.collection("cars")
            for id in bulkIDs { try cars.increment("views", id: id) }
        }
        return Checksum(count: bulkIDs.count)
    }

    func forSale() throws -> Query { try cars.cars.find("state == 'for sale'").sort("price") }

    /// Disjoint ranges of prices with about twenty documents each, and one document of each that has one.
    func ranges() throws -> [(query: Query, id: DocumentID)] {
        let count = size.documents / 100
        let step = 89_500 / count
        return try (0..<count).compactMap { number in
            let query = try cars.cars.find(
                "price >= $a && price < $b",
                ["a": .int(Int64(500 + number * step)), "b": .int(Int64(500 + number * step + step / 5))])
            return try query.first().map { (query, $0.id) }
        }
    }
}
