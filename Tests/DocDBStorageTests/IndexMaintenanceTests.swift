import DocDBCore
import DocDBQuery
import DocDBStorage
import Testing

@Suite("Keeping indexes in step with the documents")
struct IndexMaintenanceTests {
    struct Abort: Error {}

    /// The entries of an index, in order.
    private func entries(_ definition: IndexDefinition, _ context: ReadContext) throws -> [String] {
        let index = try #require(context.catalog["cars"]?.indexes.first { $0.definition == definition })
        let rows = try context.connection.prepareOnce(
            "SELECT hex(value) || ' ' || key FROM index_\(index.number) ORDER BY value, key")
        var entries: [String] = []
        while try rows.step() { entries.append(rows.text(0)) }
        return entries
    }

    @Test(
        "equals an index built anew after any changes, also those that were rolled back",
        arguments: 0..<12 as Range<UInt64>)
    func randomChanges(seed: UInt64) throws {
        var input = QueryInput(seed: seed)
        let place = TemporaryStore("index")
        let store = try place.open()
        let definitions = try QueryInput.indexes.filter { _ in input.chance(40) }.map { try IndexDefinition(paths: $0) }
        try store.write { transaction in
            for definition in definitions { try transaction.createIndex(definition, collection: "cars") }
        }
        let ids = try (0..<25).map { try DocumentID(input.id($0, plain: false)) }
        for _ in 0..<30 {
            let isAborted = input.chance(25)
            do {
                try store.write { transaction in
                    for _ in 0..<input.next(6) { try change(input.pick(ids), transaction, &input) }
                    if isAborted { throw Abort() }
                }
            } catch is Abort {}
        }
        #expect(try store.verify() == [])
        let before = try store.read { context in try definitions.map { try entries($0, context) } }
        try store.write { transaction in
            for definition in definitions {
                try transaction.dropIndex(definition, collection: "cars")
                try transaction.createIndex(definition, collection: "cars")
            }
        }
        let after = try store.read { context in try definitions.map { try entries($0, context) } }
        #expect(before == after)
        #expect(try store.verify() == [])
    }

    private func change(_ id: DocumentID, _ transaction: WriteTransaction, _ input: inout QueryInput) throws {
        switch input.next(6) {
        case 0: try transaction.remove(id)
        case 1: try transaction.set("a", to: input.scalar(), of: id)
        case 2: try transaction.set("c", to: input.array(), of: id)
        case 3:
            do {
                try transaction.evict(id)
            } catch let error as DocDBError where error.code == .misuse {
                // The transaction has changed the document before.
            }
        default:
            var members = input.members()
            members["_id"] = id.value
            try transaction.put(.object(members), input.chance(50) ? .replace : .merge)
        }
    }

    @Test("gives each document one entry for each distinct element, and one where there is none")
    func arrayEntries() throws {
        let place = TemporaryStore("index")
        let store = try place.open()
        let definition = try IndexDefinition(paths: ["tags[*]"])
        try store.write { transaction in
            try transaction.createIndex(definition, collection: "cars")
            try transaction.put(["_id": 1, "tags": ["a", "b", "a", 1, 1.0]])
            try transaction.put(["_id": 2, "tags": []])
            try transaction.put(["_id": 3, "tags": "a"])
            try transaction.put(["_id": 4])
            try transaction.put(["_id": 5, "tags": [nil, "b"]])
        }
        func ids(_ predicate: String) throws -> [DocumentID] {
            try store.read {
                try QueryExecution(QueryDefinition(collection: "cars", predicate: predicate), in: $0).ids()
            }
        }
        #expect(try store.read { try entries(definition, $0).count } == 3 + 1 + 1 + 1 + 2)
        #expect(try ids("tags[*] == 'a'") == [1])
        #expect(try ids("tags[*] in ['a', 'b', 1]") == [1, 5])
        #expect(try ids("'b' in tags") == [1, 5])
        #expect(try ids("tags[*] > 'a'") == [1, 5])
        #expect(try ids("tags[*] > 'a' && tags[*] < 'b'") == [1])
        #expect(try ids("tags[*] == null") == [2, 3, 4, 5])
        #expect(try ids("exists(tags[*])") == [1, 5])
        #expect(try ids("is_missing(tags[*])") == [2, 3, 4])
    }

    @Test("lists indexes, creates none twice, and refuses to drop one that is not there")
    func createAndDrop() throws {
        let place = TemporaryStore("index")
        let store = try place.open()
        let price = try IndexDefinition(paths: ["price:desc"])
        let state = try IndexDefinition(paths: ["state", "price"])
        try store.write { transaction in
            try transaction.createIndex(price, collection: "cars")
            try transaction.createIndex(state, collection: "cars")
        }
        #expect(try store.write { $0.indexes(collection: "cars") } == [price, state])
        #expect(try !store.write { try $0.createIndex(price, collection: "cars") })
        #expect(try store.write { $0.indexes(collection: "cars") } == [price, state])
        try store.write { try $0.dropIndex(price, collection: "cars") }
        #expect(try store.read { $0.catalog["cars"]?.indexes.map(\.definition) } == [state])
        let gone = #expect(throws: DocDBError.self) { try store.write { try $0.dropIndex(price, collection: "cars") } }
        #expect(gone?.code == .invalidIndex)
        let other = #expect(throws: DocDBError.self) { try store.write { try $0.dropIndex(price, collection: "none") } }
        #expect(other?.code == .invalidIndex)
        try store.close()
        let reopened = try place.open()
        #expect(try reopened.read { $0.catalog["cars"]?.indexes.map(\.definition) } == [state])
    }

    @Test("forgets what a transaction that failed did to indexes")
    func rollback() throws {
        let place = TemporaryStore("index")
        let store = try place.open()
        let price = try IndexDefinition(paths: ["price"])
        let year = try IndexDefinition(paths: ["year"])
        try store.write { transaction in
            try transaction.put(["_id": 1, "price": 5])
            try transaction.createIndex(price, collection: "cars")
        }
        #expect(throws: Abort.self) {
            try store.write { transaction in
                try transaction.dropIndex(price, collection: "cars")
                try transaction.createIndex(year, collection: "cars")
                try transaction.put(["_id": 2, "price": 6])
                throw Abort()
            }
        }
        let query = try QueryDefinition(collection: "cars", predicate: "price > 0", sort: [SortKey("price")])
        try store.read { (context: ReadContext) throws in
            #expect(context.catalog["cars"]?.indexes.map(\.definition) == [price])
            let execution = QueryExecution(query, in: context)
            #expect(try execution.explain().hasPrefix("index scan on (price)"))
            #expect(try execution.ids() == [1])
        }
        try store.put(["_id": 3, "price": 4])
        #expect(try store.read { try QueryExecution(query, in: $0).ids() } == [3, 1])
        #expect(try store.verify() == [])
    }

    @Test("lets readers of an older moment go on with an index that is dropped, and new ones without it")
    func dropBesideReaders() throws {
        let place = TemporaryStore("index")
        let store = try place.open()
        let price = try IndexDefinition(paths: ["price"])
        try store.write { transaction in
            for number in Int64(0)..<50 { try transaction.put(["_id": .int(number), "price": .int(number % 7)]) }
            try transaction.createIndex(price, collection: "cars")
        }
        let query = try QueryDefinition(collection: "cars", predicate: "price == 3")
        let expected = (Int64(0)..<50).filter { $0 % 7 == 3 }.map { DocumentID($0) }
        try store.read { (old: ReadContext) throws in
            try store.write { transaction in
                try transaction.dropIndex(price, collection: "cars")
                // Before the commit, new readers already do without it.
                try store.read { (new: ReadContext) throws in
                    #expect(try QueryExecution(query, in: new).explain().hasPrefix("full scan"))
                    #expect(try QueryExecution(query, in: new).ids() == expected)
                }
            }
            #expect(try QueryExecution(query, in: old).explain().hasPrefix("index scan"))
            #expect(try QueryExecution(query, in: old).ids() == expected)
        }
        #expect(try store.read { try QueryExecution(query, in: $0).ids() } == expected)
    }

    @Test("fills an index in more batches than one where there is much to sort")
    func largeFill() throws {
        let place = TemporaryStore("index")
        let store = try place.open()
        let definition = try IndexDefinition(paths: ["text:desc"])
        let padding = String(repeating: "x", count: 100_000)
        try store.write { transaction in
            for number in Int64(0)..<200 {
                try transaction.put(["_id": .int(number), "text": .string("\(number * 7919 % 200) \(padding)")])
            }
            try transaction.createIndex(definition, collection: "cars")
        }
        #expect(try store.read { try entries(definition, $0).count } == 200)
        #expect(try store.verify() == [])
    }

    @Test("is found out of step by verification, both ways")
    func verification() throws {
        let place = TemporaryStore("index")
        let store = try place.open()
        try store.write { transaction in
            try transaction.createIndex(IndexDefinition(paths: ["price"]), collection: "cars")
            for number in Int64(0)..<3 { try transaction.put(["_id": .int(number), "price": .int(number)]) }
        }
        func findings(_ sql: String) throws -> [VerificationFinding] {
            let number = try store.read { $0.catalog["cars"]?.indexes.first?.number ?? 0 }
            var found: [VerificationFinding] = []
            _ = try? store.write { transaction in
                try transaction.context.connection.execute(
                    sql.split(separator: "TABLE", omittingEmptySubsequences: false).joined(separator: "index_\(number)")
                )
            }
            found = try store.verify()
            return found
        }
        #expect(try findings("SELECT 1") == [])
        let lacking = try findings("DELETE FROM TABLE WHERE key = 2")
        #expect(lacking.map(\.location) == ["index (price) of cars, key 2"])
        #expect(lacking.first?.message.contains("lacks") == true)
        let surplus = try findings("INSERT INTO TABLE SELECT value, 2 FROM TABLE WHERE key = 1")
        #expect(surplus.map(\.location) == ["index (price) of cars, key 2", "index (price) of cars, key 2"])
        let stray = try findings("INSERT INTO TABLE VALUES (x'10', 99)")
        #expect(stray.contains { $0.location == "index (price) of cars, key 99" })
    }

    @Test("limits how many indexes a collection has")
    func countLimit() throws {
        let place = TemporaryStore("index")
        let store = try place.open()
        try store.write { transaction in
            for number in 0..<IndexDefinition.indexCountLimit {
                try transaction.createIndex(IndexDefinition(paths: ["field\(number)"]), collection: "cars")
            }
            let error = #expect(throws: DocDBError.self) {
                try transaction.createIndex(IndexDefinition(paths: ["more"]), collection: "cars")
            }
            #expect(error?.code == .invalidIndex)
        }
        #expect(try store.write { $0.indexes(collection: "cars").count } == IndexDefinition.indexCountLimit)
    }
}
