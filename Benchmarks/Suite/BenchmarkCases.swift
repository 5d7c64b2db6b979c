extension BenchmarkCase {
    /// All cases, in the order in which they run.
    static let all: [BenchmarkCase] = writing + reading + indexed + footprint + live + sync + hub

    // MARK: Writing

    private static let writing: [BenchmarkCase] = [
        BenchmarkCase(
            name: "insert-batched", work: "all documents from JSON text, in transactions of 1,000",
            bars: [.ratio(1.20)], operations: { $0.documents },
            docdb: { bench in
                let directory = try bench.newDirectory()
                let cars = try DocDBCars(at: directory.file("cars.docdb"))
                let workload = bench.workload
                var measurement = try bench.measure {
                    try cars.insert(workload.documentRange, of: workload, batch: workload.size.batch)
                    return Checksum()
                }
                measurement.checksum = try cars.checksumOfAll()
                try cars.checkpoint()
                measurement.bytes = try directory.byteCount()
                return measurement
            },
            peer: { bench in
                let directory = try bench.newDirectory()
                let cars = try SQLiteCars(at: directory.file("cars.sqlite"))
                let workload = bench.workload
                var measurement = try bench.measure {
                    try cars.insert(workload.documentRange, of: workload, batch: workload.size.batch)
                    return Checksum()
                }
                measurement.checksum = try cars.checksumOfAll()
                try cars.checkpoint()
                measurement.bytes = try directory.byteCount()
                return measurement
            }),
        BenchmarkCase(
            name: "insert-single", work: "2,000 more documents, each its own transaction",
            bars: [.ratio(1.35)], operations: { $0.extraDocuments },
            docdb: { bench in
                try bench.writing(try bench.loadedDocDB()) { try $0.insert($1.extraRange, of: $1, batch: 1) }
            },
            peer: { bench in
                try bench.writing(try bench.loadedSQLite()) { try $0.insert($1.extraRange, of: $1, batch: 1) }
            }),
        BenchmarkCase(
            name: "update-batched", work: "one field of 20,000 random documents, in transactions of 1,000",
            bars: [.ratio(1.05)], operations: { $0.updates },
            docdb: { bench in
                let ids = bench.updateIDs
                return try bench.writing(try bench.loadedDocDB()) { try $0.update($1, ids: ids, batch: $1.size.batch) }
            },
            peer: { bench in
                try bench.writing(try bench.loadedSQLite()) { try $0.update($1, batch: $1.size.batch) }
            }),
        BenchmarkCase(
            name: "group-commit", work: "2,000 writes of one document, durable before they return; DocDB from 8 tasks",
            bars: [.ratio(0.45)], operations: { $0.extraDocuments },
            docdb: { bench in
                let (directory, cars) = try bench.loadedDocDB()
                let workload = bench.workload
                var measurement = try await bench.measureAsync {
                    try await cars.insertConcurrently(workload.extraRange, of: workload, tasks: 8)
                }
                measurement.checksum = try cars.checksumOfAll()
                withExtendedLifetime(directory) {}
                return measurement
            },
            peer: { bench in
                try bench.writing(try bench.loadedSQLite(synchronous: "FULL")) {
                    try $0.insert($1.extraRange, of: $1, batch: 1)
                }
            }),
    ]

    // MARK: Reading

    private static let reading: [BenchmarkCase] = [
        BenchmarkCase(
            name: "get-by-id", work: "every document by its id in random order, one snapshot, one field read",
            bars: [.ratio(0.85)], operations: { $0.documents },
            docdb: { bench in
                let cars = try bench.sharedDocDB(.none)
                return try bench.measure { try cars.get(bench.readIDs) }
            },
            peer: { bench in
                let cars = try bench.sharedSQLite(.none)
                return try bench.measure { try cars.get(bench.workload.readOrder, of: bench.workload) }
            }),
        BenchmarkCase(
            name: "scan-count", work: "count of state == 'for sale' && price < 20000, no index",
            bars: [.ratio(0.25), .allocations(0.01)], operations: { $0.documents },
            docdb: { bench in
                let cars = try bench.sharedDocDB(.none)
                return try bench.measure(repeats: 3) { try cars.countCheapForSale() }
            },
            peer: { bench in
                let cars = try bench.sharedSQLite(.none)
                return try bench.measure(repeats: 3) { try cars.countCheapForSale() }
            }),
        BenchmarkCase(
            name: "scan-decode", work: "the same, each match decoded to a struct",
            bars: [.ratio(0.28)], operations: { $0.documents },
            docdb: { bench in
                let cars = try bench.sharedDocDB(.none)
                return try bench.measure { try cars.decodeCheapForSale() }
            },
            peer: { bench in
                let cars = try bench.sharedSQLite(.none)
                return try bench.measure { try cars.decodeCheapForSale() }
            }),
        BenchmarkCase(
            name: "sort-limit", work: "the cheapest 20, no index",
            bars: [.ratio(0.25)], operations: { $0.documents },
            docdb: { bench in
                let cars = try bench.sharedDocDB(.none)
                return try bench.measure(repeats: 3) { try cars.cheapest() }
            },
            peer: { bench in
                let cars = try bench.sharedSQLite(.none)
                return try bench.measure(repeats: 3) { try cars.cheapest() }
            }),
    ]

    private static let indexed: [BenchmarkCase] = [
        BenchmarkCase(
            name: "index-count", work: "the count of scan-count, from an index on state and price",
            bars: [.ratio(0.85)], operations: { _ in 1 },
            docdb: { bench in
                let cars = try bench.sharedDocDB(.stateAndPrice)
                return try bench.measure(repeats: 20) { try cars.countCheapForSale() }
            },
            peer: { bench in
                let cars = try bench.sharedSQLite(.stateAndPrice)
                return try bench.measure(repeats: 20) { try cars.countCheapForSale() }
            }),
        BenchmarkCase(
            name: "sort-limit-indexed", work: "the cheapest 20, from an index on price",
            bars: [.ratio(2.0)], operations: { _ in 1 },
            docdb: { bench in
                let cars = try bench.sharedDocDB(.price)
                return try bench.measure(repeats: 1_000) { try cars.cheapest() }
            },
            peer: { bench in
                let cars = try bench.sharedSQLite(.price)
                return try bench.measure(repeats: 1_000) { try cars.cheapest() }
            }),
    ]

    // MARK: Footprint

    private static let footprint: [BenchmarkCase] = [
        BenchmarkCase(
            name: "open-and-get", work: "a closed store opened, one document read by its id",
            bars: [.milliseconds(3)], operations: { _ in 1 },
            docdb: { bench in
                let (directory, loaded) = try bench.loadedDocDB()
                try loaded.close()
                var opened: DocDBCars?
                defer { try? opened?.close() }
                return try bench.measure {
                    let cars = try DocDBCars(at: directory.file("cars.docdb"))
                    opened = cars
                    return try cars.price(of: bench.readIDs[0])
                }
            },
            peer: { bench in
                let directory = try bench.loadedSQLite().directory
                var opened: SQLiteCars?
                defer { withExtendedLifetime(opened) {} }
                return try bench.measure {
                    let cars = try SQLiteCars(at: directory.file("cars.sqlite"))
                    opened = cars
                    return try cars.price(of: bench.workload.ids[bench.workload.readOrder[0]])
                }
            }),
        BenchmarkCase(
            name: "file-size", work: "bytes of all files after insert-batched and a checkpoint", quantity: .bytes,
            bars: [.ratio(0.65)], operations: { $0.documents },
            docdb: { bench in
                let directory = try bench.newDirectory()
                let cars = try DocDBCars(at: directory.file("cars.docdb"))
                var measurement = try bench.measure {
                    try cars.insert(bench.workload.documentRange, of: bench.workload, batch: bench.workload.size.batch)
                    try cars.checkpoint()
                    return Checksum()
                }
                measurement.bytes = try directory.byteCount()
                measurement.checksum = try cars.checksumOfAll()
                return measurement
            },
            peer: { bench in
                let directory = try bench.newDirectory()
                let cars = try SQLiteCars(at: directory.file("cars.sqlite"))
                var measurement = try bench.measure {
                    try cars.insert(bench.workload.documentRange, of: bench.workload, batch: bench.workload.size.batch)
                    try cars.checkpoint()
                    return Checksum()
                }
                measurement.bytes = try directory.byteCount()
                measurement.checksum = try cars.checksumOfAll()
                return measurement
            }),
        BenchmarkCase(
            name: "peak-memory", work: "growth of resident memory over the inserts", quantity: .bytes,
            bars: [.bytes(32 << 20)], operations: { $0.documents },
            docdb: { bench in
                let directory = try bench.newDirectory()
                return try bench.measurePeakMemory {
                    let cars = try DocDBCars(at: directory.file("cars.docdb"))
                    try cars.insert(bench.workload.documentRange, of: bench.workload, batch: bench.workload.size.batch)
                    return try cars.checksumOfAll()
                }
            },
            peer: { bench in
                let directory = try bench.newDirectory()
                return try bench.measurePeakMemory {
                    let cars = try SQLiteCars(at: directory.file("cars.sqlite"))
                    try cars.insert(bench.workload.documentRange, of: bench.workload, batch: bench.workload.size.batch)
                    return try cars.checksumOfAll()
                }
            }),
    ]
}

extension Workbench {
    /// Measures a write to a store of DocDB loaded for it, then reads the store back.
    fileprivate func writing(
        _ store: (directory: TemporaryDirectory, cars: DocDBCars), _ work: (DocDBCars, CarsWorkload) throws -> Void
    ) throws -> Measurement {
        var measurement = try measure {
            try work(store.cars, workload)
            return Checksum()
        }
        measurement.checksum = try store.cars.checksumOfAll()
        return measurement
    }

    /// Measures a write to a database of the peer loaded for it, then reads the database back.
    fileprivate func writing(
        _ store: (directory: TemporaryDirectory, cars: SQLiteCars), _ work: (SQLiteCars, CarsWorkload) throws -> Void
    ) throws -> Measurement {
        var measurement = try measure {
            try work(store.cars, workload)
            return Checksum()
        }
        measurement.checksum = try store.cars.checksumOfAll()
        return measurement
    }
}
