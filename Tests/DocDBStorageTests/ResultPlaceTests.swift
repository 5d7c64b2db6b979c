import DocDBCore
import DocDBQuery
import DocDBStorage
import Testing

@Suite("Reading results on from a place")
struct ResultPlaceTests {
    private struct Found {
        var id: DocumentID
        var sortKey: [UInt8]
        var document: SharedDocument
    }

    /// All results of a query, with the sort keys that name their places.
    private func results(_ query: QueryDefinition, _ context: ReadContext) throws -> [Found] {
        let encoder = try SortKeyEncoder(query.sort, names: context.names)
        var found: [Found] = []
        try QueryExecution(query, in: context).forEach { row in
            var key = ByteBuffer()
            if query.sort.isEmpty {
                key.appendBigEndian(row.key)
            } else {
                #expect(encoder.append(body: row.body, id: row.id, to: &key))
            }
            let content = DocumentContent.make(id: row.id, body: row.body, names: context.names)
            found.append(
                Found(
                    id: try DocumentID(canonicalCBOR: row.id), sortKey: key.array, document: SharedDocument(content)))
            return true
        }
        return found
    }

    @Test(
        "gives what follows, whatever the order, the ids and the indexes, and whichever document is at hand",
        arguments: 0..<30 as Range<UInt64>)
    func differential(seed: UInt64) throws {
        var input = QueryInput(seed: seed)
        let directory = TemporaryStore("place")
        let store = try directory.open()
        try store.write { transaction in
            for number in 0..<80 {
                var members = input.members()
                members["_id"] = input.id(number, plain: seed % 3 != 0)
                try transaction.put(.object(members))
            }
            let paths = QueryInput.indexes.filter { _ in input.chance(30) }
            for path in paths { try transaction.createIndex(IndexDefinition(paths: path), collection: "cars") }
        }
        try store.read { (context: ReadContext) throws in
            for _ in 0..<120 {
                let text = input.chance(30) ? "" : input.predicate()
                let all = try QueryDefinition(collection: "cars", predicate: text, sort: input.sort())
                let expected = try results(all, context)
                guard !expected.isEmpty else { continue }
                let cut = input.next(expected.count)
                let document: Found? =
                    input.chance(20) ? nil : expected[input.chance(70) ? cut : input.next(cut + 1)]
                let place = ResultPlace(sortKey: expected[cut].sortKey, document: document?.document)
                let limit = input.chance(70) ? 1 + input.next(20) : nil
                let execution = QueryExecution(all.limited(to: limit, offset: 3), in: context)
                var rest: [DocumentID] = []
                try execution.forEach(beyond: place) { row in
                    rest.append(try DocumentID(canonicalCBOR: row.id))
                    return true
                }
                let wanted = expected[(cut + 1)...].prefix(limit ?? .max).map(\.id)
                let plan = try "seed \(seed): \(all.filter) by \(all.sort.map(\.path)): \(execution.explain())"
                #expect(rest == wanted, "\(plan)")
            }
        }
    }

    @Test("enters an index at the place: what lies before it is not looked at", arguments: [false, true])
    func entersIndexes(isDescending: Bool) throws {
        for path in ["price", "_id"] {
            let directory = TemporaryStore("place")
            let store = try directory.open()
            try store.write { transaction in
                try transaction.createIndex(IndexDefinition(paths: ["price"]), collection: "cars")
                for number in 0..<200 {
                    try transaction.put(["_id": .int(Int64(number)), "price": .int(Int64(number / 3)), "n": 1])
                }
            }
            let sort = [try SortKey(path, descending: isDescending)]
            let query = try QueryDefinition(collection: "cars", predicate: "n == 1", sort: sort, limit: 5)
            let all = try store.read { try results(query.limited(to: nil, offset: 0), $0) }
            // Documents before the place that cannot be read show whether it is tried.
            try store.write { transaction in
                let order = isDescending ? "id > 60" : "id < 140"
                try transaction.context.connection.execute("UPDATE documents_1 SET body = x'FF' WHERE \(order)")
            }
            try store.read { (context: ReadContext) throws in
                var ids: [DocumentID] = []
                let place = ResultPlace(sortKey: all[150].sortKey, document: all[150].document)
                try QueryExecution(query, in: context).forEach(beyond: place) { row in
                    ids.append(try DocumentID(canonicalCBOR: row.id))
                    return true
                }
                #expect(ids == all[151..<156].map(\.id))
                let blind = ResultPlace(sortKey: all[150].sortKey, document: nil)
                #expect(
                    errorCode { try QueryExecution(query, in: context).forEach(beyond: blind) { _ in true } }
                        == .corrupted)
            }
        }
    }
}
