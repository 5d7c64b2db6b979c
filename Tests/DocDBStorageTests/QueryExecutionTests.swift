import DocDBCore
import DocDBQuery
import DocDBStorage
import Testing

@Suite("Running queries")
struct QueryExecutionTests {
    /// Random documents, some of them deleted, others changed.
    private func fill(_ store: Store, _ input: inout QueryInput, plainIDs: Bool) throws {
        var ids: [DocumentID] = []
        try store.write { transaction in
            for number in 0..<60 {
                var members = input.members()
                members["_id"] = input.id(number, plain: plainIDs)
                try transaction.put(.object(members))
                ids.append(try DocumentID(members["_id"] ?? .null))
            }
        }
        try store.write { transaction in
            for id in ids where input.chance(10) { try transaction.remove(id) }
            for id in ids where input.chance(20) { try transaction.set("a", to: input.scalar(), of: id) }
        }
    }

    private func check(_ query: QueryDefinition, _ context: ReadContext, _ reference: ReferenceQuery) throws {
        let execution = QueryExecution(query, in: context)
        let expected = try reference.results(query)
        let plan = try """
        \(query.filter)  sort \(query.sort.map { "\($0.path) \($0.isDescending)" }) limit \(query.limit ?? -1) \
        offset \(query.offset): \(execution.explain())
        """
        #expect(try execution.ids() == expected, "\(plan)")
        #expect(try execution.count() == expected.count, "\(plan)")
        #expect(try execution.exists() == !expected.isEmpty, "\(plan)")
        #expect(try execution.keys().count == expected.count, "\(plan)")
        var stable: [DocumentID] = []
        try execution.forEachStable { row in
            stable.append(try DocumentID(canonicalCBOR: row.id))
            return true
        }
        #expect(stable == expected, "\(plan)")
        #expect(try execution.first { try DocumentID(canonicalCBOR: $0.id) } == expected.first, "\(plan)")
    }

    @Test("gives what looking at every document gives, whatever the indexes", arguments: 0..<24 as Range<UInt64>)
    func differential(seed: UInt64) throws {
        var input = QueryInput(seed: seed)
        let place = TemporaryStore("query")
        let store = try place.open()
        try fill(store, &input, plainIDs: seed % 3 == 0)
        for _ in 0..<3 {
            let paths = QueryInput.indexes.filter { _ in input.chance(25) }
            let definitions = try paths.map { try IndexDefinition(paths: $0) }
            try store.write { transaction in
                for definition in definitions { try transaction.createIndex(definition, collection: "cars") }
            }
            try store.read { (context: ReadContext) throws in
                let reference = try ReferenceQuery(context, collection: "cars")
                for _ in 0..<50 {
                    let text = input.predicate()
                    let query = try QueryDefinition(
                        collection: "cars", predicate: text, sort: input.sort(),
                        limit: input.chance(40) ? input.next(12) : nil, offset: input.chance(25) ? input.next(8) : 0)
                    try check(query, context, reference)
                }
            }
            try store.write { transaction in
                for definition in definitions { try transaction.dropIndex(definition, collection: "cars") }
            }
        }
    }

    @Test("sees a transaction's own writes")
    func ownWrites() throws {
        let place = TemporaryStore("query")
        let store = try place.open()
        try store.put(["_id": 1, "price": 5])
        try store.write { transaction in
            try transaction.createIndex(IndexDefinition(paths: ["price"]), collection: "cars")
            let query = try QueryDefinition(collection: "cars", predicate: "price < 10")
            #expect(try QueryExecution(query, in: transaction.context).count() == 1)
            try transaction.put(["_id": 2, "price": 7])
            try transaction.put(["_id": 3, "cost": 7])
            #expect(try QueryExecution(query, in: transaction.context).ids() == [1, 2])
            let newName = try QueryDefinition(collection: "cars", predicate: "cost == 7")
            #expect(try QueryExecution(newName, in: transaction.context).ids() == [3])
        }
    }

    @Test("finds fields whose names are new since the query was compiled")
    func newNames() throws {
        let place = TemporaryStore("query")
        let store = try place.open()
        try store.put(["_id": 1, "a": 1])
        let query = try QueryDefinition(collection: "cars", predicate: "b == 1", sort: [SortKey("c")])
        #expect(try store.read { try QueryExecution(query, in: $0).count() } == 0)
        try store.put(["_id": 2, "b": 1, "c": 2])
        try store.put(["_id": 3, "b": 1, "c": 1])
        #expect(try store.read { try QueryExecution(query, in: $0).ids() } == [3, 2])
    }

    @Test("lets the body of a stable run change what is found")
    func stableRun() throws {
        let place = TemporaryStore("query")
        let store = try place.open()
        try store.write { transaction in
            try transaction.createIndex(IndexDefinition(paths: ["price"]), collection: "cars")
            for number in 0..<20 { try transaction.put(["_id": .int(Int64(number)), "price": .int(Int64(number))]) }
            let query = try QueryDefinition(collection: "cars", predicate: "price >= 0", sort: [SortKey("price")])
            var seen: [DocumentID] = []
            try QueryExecution(query, in: transaction.context).forEachStable { row in
                let id = try DocumentID(canonicalCBOR: row.id)
                seen.append(id)
                // Each moves to the end of the index, and the next one but one goes.
                try transaction.set("price", to: 1000, of: id)
                if case .int(let number) = id.value { try transaction.remove(DocumentID(number + 1)) }
                return true
            }
            #expect(seen == (0..<10).map { DocumentID(Int64($0) * 2) })
        }
    }

    @Test("may run a query within the results of the same query")
    func nested() throws {
        let place = TemporaryStore("query")
        let store = try place.open()
        try store.write { for number in 0..<5 { try $0.put(["_id": .int(Int64(number)), "n": .int(Int64(number))]) } }
        let query = try QueryDefinition(collection: "cars", predicate: "n < 3")
        try store.read { (context: ReadContext) throws in
            var pairCount = 0
            let execution = QueryExecution(query, in: context)
            try execution.forEach { _ in
                pairCount += try execution.ids().count
                return true
            }
            #expect(pairCount == 9)
        }
    }

    @Test("ends a run that throws, so that the query can be run again")
    func throwing() throws {
        struct Stop: Error {}
        let place = TemporaryStore("query")
        let store = try place.open()
        try store.put(["_id": 1])
        let query = try QueryDefinition(collection: "cars", predicate: "")
        try store.read { (context: ReadContext) throws in
            let execution = QueryExecution(query, in: context)
            #expect(throws: Stop.self) { try execution.forEach { _ in throw Stop() } }
            #expect(try execution.ids() == [1])
        }
    }

    @Test("finds nothing in a collection that does not exist")
    func noCollection() throws {
        let place = TemporaryStore("query")
        let store = try place.open()
        let query = try QueryDefinition(collection: "none", predicate: "a == 1", sort: [SortKey("a")])
        try store.read { (context: ReadContext) throws in
            let execution = QueryExecution(query, in: context)
            #expect(try execution.ids().isEmpty)
            #expect(try execution.count() == 0)
            #expect(try !execution.exists())
            #expect(try execution.first { $0.key } == nil)
            #expect(try execution.explain() == "no documents: there is no such collection")
        }
    }

    @Test("reports a damaged document with its collection and key, and not its contents")
    func damaged() throws {
        let place = TemporaryStore("query")
        let store = try place.open()
        try store.put(["_id": 1, "secret": "xyz"])
        try store.write { transaction in
            let number = try #require(transaction.context.catalog["cars"]?.number)
            try transaction.context.connection.execute("UPDATE documents_\(number) SET body = x'B9FFFF00'")
        }
        let query = try QueryDefinition(collection: "cars", predicate: "secret == 'xyz'")
        try store.read { (context: ReadContext) throws in
            let error = #expect(throws: DocDBError.self) { try QueryExecution(query, in: context).ids() }
            #expect(error?.code == .corrupted)
            #expect(error?.context["collection"] == "cars")
            #expect(error?.context["key"] == "1")
        }
    }

    @Test("keeps more than one page in a heap and sorts the rest", arguments: [1, 7, 100, 499, 500, 600])
    func largeSorts(limit: Int) throws {
        let place = TemporaryStore("query")
        let store = try place.open()
        var random = SeededGenerator(seed: UInt64(limit))
        var expected: [(Int64, Int64)] = []
        try store.write { transaction in
            for number in 0..<500 {
                let price = Int64.random(in: 0..<100, using: &random)
                expected.append((price, Int64(number)))
                try transaction.put(["_id": .int(Int64(number)), "price": .int(price)])
            }
        }
        expected.sort { $0 > $1 }
        let query = try QueryDefinition(
            collection: "cars", predicate: "", sort: [SortKey("price", descending: true)], limit: limit, offset: 3)
        let ids = try store.read { try QueryExecution(query, in: $0).ids() }
        #expect(ids == expected.dropFirst(3).prefix(limit).map { DocumentID($0.1) })
    }
}
