import DocDB
import DocDBInspect
import Foundation
import Testing

@Suite("Commands on stores")
struct StoreCommandTests {
    private static func store() throws -> InspectedStore {
        let store = try InspectedStore(cars: "{\"_id\":1,\"state\":\"sold\",\"price\":5}{\"_id\":2,\"state\":\"new\"}")
        #expect(store.run("import", store.path, "boats", "-", input: "{\"_id\":\"b\",\"tags\":[1,2]}").code == 0)
        return store
    }

    @Test("collections are listed by name with their documents")
    func collections() throws {
        let store = try Self.store()
        #expect(
            store.run("collections", store.path).output == """
                {"name":"boats","documents":1,"indexes":0}
                {"name":"cars","documents":2,"indexes":0}

                """)
        let terminal = Terminal(outputIsTerminal: true, width: 80, refusesColour: true)
        #expect(
            store.run("collections", store.path, terminal: terminal).output == """
                name   documents  indexes
                boats          1        0
                cars           2        0

                """)
    }

    @Test("indexes are created, listed, used and dropped")
    func indexes() throws {
        let store = try Self.store()
        let created = store.run("index", "create", store.path, "cars", "state", "price:desc")
        #expect(created == .init(code: 0, output: "created an index of cars on state, price:desc\n"))
        #expect(store.run("index", "create", store.path, "boats", "tags[*]").code == 0)
        #expect(
            store.run("index", "list", store.path, "cars").output
                == "{\"paths\":[\"state\",\"price:desc\"],\"entries\":2}\n")
        #expect(store.run("index", "list", store.path, "boats").output == "{\"paths\":[\"tags[*]\"],\"entries\":2}\n")
        let explained = store.run("find", store.path, "cars", "state == 'new'", "--count", "--explain").output
        #expect(explained.hasPrefix("index scan on (state, price desc) state == ?"))

        let twice = store.run("index", "create", store.path, "cars", "state", "price:desc")
        #expect(twice.code == 1)
        #expect(twice.error.contains("has this index already"))
        let other = store.run("index", "drop", store.path, "cars", "state", "price")
        #expect(other.code == 1)
        #expect(other.error.contains("no such index"))
        let faulty = store.run("index", "create", store.path, "cars", "a..b")
        #expect(faulty.code == 1)
        #expect(faulty.error.hasSuffix("\na..b\n  ^\n"))

        #expect(store.run("verify", store.path).output == "ok\n")
        let dropped = store.run("index", "drop", store.path, "cars", "state", "price:desc")
        #expect(dropped == .init(code: 0, output: "dropped the index of cars on state, price:desc\n"))
        #expect(store.run("index", "list", store.path, "cars") == .init(code: 0))
    }

    @Test("stat tells documents, tombstones, the change log, indexes and bytes")
    func statistics() throws {
        let store = try Self.store()
        #expect(store.run("index", "create", store.path, "cars", "state").code == 0)
        let database = try Database(at: store.path)
        try database.collection("cars").remove(2)
        try database.close()
        let outcome = store.run("stat", store.path)
        #expect(outcome.code == 0)
        let lines = outcome.output.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
        let size = try FileManager.default.attributesOfItem(atPath: store.databaseFile)[.size] as? Int
        let grouped = try #require(size.map(Figures.grouped))
        #expect(lines.contains { $0.hasPrefix("  database         ") && $0.hasSuffix("(\(grouped))") })
        let sizes = ["  database", "  of that free", "  bytes", "  uncompressed", "  ratio"]
        #expect(
            lines.filter { line in !sizes.contains { line.hasPrefix($0 + " ") } }.joined(separator: "\n") == """
                store \(store.path)
                  documents        2
                  tombstones       1
                  write-ahead log  0 B
                  field names      3
                  actors           1

                change log
                  records          3 (1 to 3)
                  blocks           0
                  not in a block   3 records

                collection boats
                  documents        1
                  tombstones       0

                collection cars
                  documents        1
                  tombstones       1
                  index            state: 1 entry

                """)
    }

    @Test("compact gives back what removed documents took")
    func compacts() throws {
        let filler = String(repeating: "f", count: 10_000)
        let store = try InspectedStore(cars: (0..<200).map { "{\"_id\":\($0),\"f\":\"\(filler)\"}" }.joined())
        let database = try Database(at: store.path)
        let evictedCount = try database.write { try $0.collection("cars").findAll().evict(force: true) }
        #expect(evictedCount == 200)
        try database.close()
        let size = { try FileManager.default.attributesOfItem(atPath: store.databaseFile)[.size] as? Int ?? 0 }
        let before = try size()
        let outcome = store.run("compact", store.path)
        #expect(
            outcome == .init(code: 0, output: "\(Figures.bytes(before)) before, \(Figures.bytes(try size())) after\n"))
        #expect(try size() < before / 4)
        #expect(store.run("verify", store.path).output == "ok\n")
    }
}
