#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

extension SQLiteCars {
    /// Reads the price of each document in one snapshot.
    func get(_ positions: [Int], of workload: CarsWorkload) throws -> Checksum {
        let get = try statement("SELECT json_extract(doc, '$.price') FROM cars WHERE id = ?1")
        var checksum = Checksum()
        try statement("BEGIN").run()
        for position in positions {
            get.bind(workload.ids[position], at: 1)
            guard try get.next() else { throw BenchmarkError("SQLite misses a document") }
            checksum.add(price: get.integer(0))
            get.reset()
        }
        try statement("COMMIT").run()
        return checksum
    }

    /// Counts the cars for sale under 20,000, by a scan or from the index where there is one.
    func countCheapForSale() throws -> Checksum {
        let count = try statement(
            """
            SELECT count(*) FROM cars
            WHERE json_extract(doc, '$.state') = 'for sale' AND json_extract(doc, '$.price') < 20000
            """)
        guard try count.next() else { throw BenchmarkError("SQLite counts nothing") }
        defer { count.reset() }
        return Checksum(count: count.integer(0))
    }

    /// Decodes the cars for sale under 20,000.
    func decodeCheapForSale() throws -> Checksum {
        let select = try statement(
            """
            SELECT doc FROM cars
            WHERE json_extract(doc, '$.state') = 'for sale' AND json_extract(doc, '$.price') < 20000
            """)
        let decoder = JSONDecoder()
        var checksum = Checksum()
        while try select.next() {
            let text = select.text(0)
            let data = Data(
                bytesNoCopy: UnsafeMutableRawPointer(mutating: text.baseAddress!), count: text.count, deallocator: .none
            )
            checksum.add(try decoder.decode(Car.self, from: data))
        }
        return checksum
    }

    /// Returns the cheapest 20 cars, by a scan or from the index where there is one.
    func cheapest() throws -> Checksum {
        let select = try statement("SELECT id, doc FROM cars ORDER BY json_extract(doc, '$.price'), id LIMIT 20")
        var checksum = Checksum()
        while try select.next() {
            guard select.text(1).count > 0 else { throw BenchmarkError("SQLite misses a document") }
            checksum.add(id: String(decoding: select.text(0), as: UTF8.self))
        }
        return checksum
    }

    /// Reads the price of one document.
    func price(of id: UnsafeBufferPointer<UInt8>) throws -> Checksum {
        let get = try statement("SELECT json_extract(doc, '$.price') FROM cars WHERE id = ?1")
        get.bind(id, at: 1)
        guard try get.next() else { throw BenchmarkError("SQLite misses a document") }
        defer { get.reset() }
        var checksum = Checksum()
        checksum.add(price: get.integer(0))
        return checksum
    }

    /// Counts all documents and adds up their prices.
    func checksumOfAll() throws -> Checksum {
        let select = try statement("SELECT count(*), sum(json_extract(doc, '$.price')) FROM cars")
        guard try select.next() else { throw BenchmarkError("SQLite counts nothing") }
        defer { select.reset() }
        return Checksum(count: select.integer(0), sum: select.integer(1))
    }
}
