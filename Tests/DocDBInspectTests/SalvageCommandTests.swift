import DocDB
import DocDBInspect
import Foundation
import Testing

@Suite("docdb-inspect salvage")
struct SalvageCommandTests {
    @Test("of a sound store says what was written, ends with 0, and the new store has the same documents")
    func sound() throws {
        let store = try InspectedStore(cars: "{\"_id\":1,\"state\":\"sold\"}{\"_id\":\"b\",\"state\":\"new\"}")
        #expect(store.run("index", "create", store.path, "cars", "state").code == 0)
        let target = store.directory + "/new.docdb"
        #expect(store.run("salvage", store.path, target) == .init(code: 0, output: "cars: 2 documents\n"))
        #expect(store.run("export", target, "cars") == store.run("export", store.path, "cars"))
        #expect(store.run("index", "list", target, "cars") == store.run("index", "list", store.path, "cars"))
        #expect(store.run("verify", target).output == "ok\n")
        let again = store.run("salvage", store.path, target)
        #expect(again.code == 1)
        #expect(again.error.contains("exists already"))
    }

    @Test("of a damaged store names what is lost, and ends with 1")
    func damaged() throws {
        let filler = String(repeating: "f", count: 2_000)
        let lines = (0..<10).map { "{\"_id\":\"car \($0)\",\"f\":\"\(filler)\"}" }.joined()
        let store = try InspectedStore(cars: lines)
        let target = store.directory + "/new.docdb"
        // The page that the document lies in begins where a multiple of 4,096 does, and comes after that of the index of ids.
        try store.damage { data in
            let place = try #require(data.range(of: Data("car 4".utf8), options: .backwards))
            let start = data.startIndex + place.lowerBound / 4096 * 4096
            data.replaceSubrange(start..<start + 4096, with: Data(count: 4096))
        }
        let outcome = store.run("salvage", store.path, target)
        #expect(outcome.code == 1, "\(outcome.output)")
        #expect(outcome.output.contains("  lost: \"car 4\"\n"))
        #expect(outcome.error.contains("not everything could be read"))
        #expect(store.run("get", target, "cars", "car 4").code == 1)
        #expect(store.run("get", target, "cars", "car 9").code == 0)
        #expect(store.run("verify", target).output == "ok\n")
    }
}
