import DocDB

/// DocDB's side: the same work through the public API, as an app would write it.
struct DocDBCars: Sendable {
    let database: Database
    let cars: Collection

    /// Opens the store at `path`, making it where there is none.
    ///
    /// - Parameter replicating: whether it has an identity to replicate with.
    init(at path: String, replicating: Bool = false) throws {
        database =
            try replicating
            ? Database(at: path, identity: .offlinePlayground(appID: Self.appID)) : Database(at: path)
        cars = database.collection("cars")
    }

    init(_ database: Database) {
        self.database = database
        cars = database.collection("cars")
    }

    /// Inserts all documents that cases start from.
    func load(_ workload: CarsWorkload) throws {
        try insert(workload.documentRange, of: workload, batch: workload.size.batch)
        try checkpoint()
    }

    func close() throws { try database.close() }

    /// Moves the write-ahead log into the database file and empties it.
    func checkpoint() throws { try database.checkpoint() }

    static let appID = "org.docdb.benchmarks"

    // MARK: Writing

    /// Inserts these documents in transactions of `batch`.
    func insert(_ positions: Range<Int>, of workload: CarsWorkload, batch: Int) throws {
        for start in stride(from: positions.lowerBound, to: positions.upperBound, by: batch) {
            try database.write { transaction in
                let cars = transaction.collection("cars")
                for position in start..<min(start + batch, positions.upperBound) {
                    try cars.insert(json: UnsafeRawBufferPointer(workload.texts[position]))
                }
            }
        }
    }

    /// Sets new prices in transactions of `batch`.
    ///
    /// - Parameter ids: the ids of the documents, in the order of the workload's updates.
    func update(_ workload: CarsWorkload, ids: [DocumentID], batch: Int) throws {
        let updates = workload.updates
        for start in stride(from: 0, to: updates.count, by: batch) {
            try database.write { transaction in
                let cars = transaction.collection("cars")
                for offset in start..<min(start + batch, updates.count) {
                    try cars.update(ids[offset]) { $0["price"] = .int(Int64(updates[offset].price)) }
                }
            }
        }
    }

    /// Inserts these documents one a transaction from `tasks` tasks at once, each on the disk before its call returns.
    func insertConcurrently(_ positions: Range<Int>, of workload: CarsWorkload, tasks: Int) async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            for task in 0..<tasks {
                group.addTask {
                    for position in stride(from: positions.lowerBound + task, to: positions.upperBound, by: tasks) {
                        try await database.write(durability: .full) { transaction in
                            _ = try transaction.collection("cars")
                                .insert(json: UnsafeRawBufferPointer(workload.texts[position]))
                        }
                    }
                }
            }
            try await group.waitForAll()
        }
    }

    // MARK: Reading

    /// Reads the price of each document in one snapshot.
    func get(_ ids: [DocumentID]) throws -> Checksum {
        try database.read { snapshot in
            let cars = snapshot.collection("cars")
            var checksum = Checksum()
            for id in ids { checksum.add(price: try price(of: cars.find(id: id))) }
            return checksum
        }
    }

    /// Reads the price of one document.
    func price(of id: DocumentID) throws -> Checksum {
        var checksum = Checksum()
        checksum.add(price: try price(of: cars.find(id: id)))
        return checksum
    }

    private func price(of car: Document?) throws -> Int {
        guard case .int(let price)? = car?["price"] else { throw BenchmarkError("DocDB misses a document") }
        return Int(price)
    }

    private func cheapForSale() throws -> Query { try cars.find("state == 'for sale' && price < 20000") }

    /// Counts the cars for sale under 20,000, by a scan or from the index where there is one.
    func countCheapForSale() throws -> Checksum { Checksum(count: try cheapForSale().count()) }

    /// Decodes the cars for sale under 20,000.
    func decodeCheapForSale() throws -> Checksum {
        var checksum = Checksum()
        for car in try cheapForSale().documents(as: Car.self) { checksum.add(car) }
        return checksum
    }

    /// Returns the cheapest 20 cars, by a scan or from the index where there is one.
    func cheapest() throws -> Checksum {
        var checksum = Checksum()
        for car in try cars.findAll().sort("price").limit(20).documents() {
            guard let id = car["_id"]?.stringValue else { throw BenchmarkError("DocDB misses a document") }
            checksum.add(id: id)
        }
        return checksum
    }

    /// Counts all documents and adds up their prices.
    func checksumOfAll() throws -> Checksum {
        var checksum = Checksum()
        try cars.findAll().forEach { checksum.add(price: try price(of: $0)) }
        return checksum
    }
}
