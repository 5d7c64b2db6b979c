import DocDB
import DocDBInspect
import Foundation
import Testing

/// Imports real files, where they lie beside the package, and counts them with an independent parser.
@Suite("Real files in a store")
struct SharedDataTests {
    struct Count: Sendable, CustomTestStringConvertible {
        let file: String
        let predicate: String
        let holds: @Sendable ([String: Any]) -> Bool
        var testDescription: String { "\(file): \(predicate)" }
    }

    static let counts = [
        Count(file: "cars.json", predicate: "Origin == 'USA'") { $0["Origin"] as? String == "USA" },
        Count(file: "cars.json", predicate: "Cylinders == 8 && Horsepower > 150") { car in
            car["Cylinders"] as? Int == 8 && (car["Horsepower"] as? Double ?? 0) > 150
        },
        Count(file: "cars.json", predicate: "Miles_per_Gallon == null") { $0["Miles_per_Gallon"] as? Double == nil },
        Count(file: "movies.json", predicate: "`Major Genre` == 'Drama'") { $0["Major Genre"] as? String == "Drama" },
        Count(file: "movies.json", predicate: "`IMDB Rating` >= 8.5") { ($0["IMDB Rating"] as? Double ?? 0) >= 8.5 },
    ]

    static func url(_ name: String) -> URL {
        URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
            .appending(path: "../shared/data/\(name)").standardized
    }

    @Test("counts agree with an independent parser's", arguments: counts)
    func count(_ count: Count) throws {
        let url = Self.url(count.file)
        guard let text = try? Data(contentsOf: url) else {
            print("skipped: there is no ../shared/data/\(count.file) beside the package")
            return
        }
        let records = try #require(try JSONSerialization.jsonObject(with: text) as? [[String: Any]])
        let expected = records.count(where: count.holds)
        #expect(expected > 0 && expected < records.count, "the predicate tells documents apart")
        let store = try InspectedStore()
        #expect(store.run("import", store.path, "c", url.path).code == 0)
        #expect(store.run("find", store.path, "c", count.predicate, "--count").output == "\(expected)\n")
        let lines = store.run("find", store.path, "c", count.predicate).output.split(separator: "\n")
        #expect(lines.count == expected)
    }

    @Test(
        "export gives back every record, and an import of it the same export", arguments: ["cars.json", "movies.json"])
    func roundTrip(name: String) throws {
        let url = Self.url(name)
        guard let text = try? Data(contentsOf: url) else {
            print("skipped: there is no ../shared/data/\(name) beside the package")
            return
        }
        let store = try InspectedStore()
        #expect(store.run("import", store.path, "c", url.path).code == 0)
        let exported = store.run("export", store.path, "c").output
        let records = try exported.split(separator: "\n").map { line in
            var record = try #require(try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any])
            #expect(record.removeValue(forKey: "_id") is String)
            return record as NSDictionary
        }
        let original = try #require(try JSONSerialization.jsonObject(with: text) as? [NSDictionary])
        // Ids that the store makes sort by the time they were made, so the records come in the order of the file.
        #expect(records == original)
        let copy = try InspectedStore()
        #expect(copy.run("import", copy.path, "c", "-", input: exported).code == 0)
        #expect(copy.run("export", copy.path, "c").output == exported)
        #expect(copy.run("verify", copy.path).output == "ok\n")
    }
}
