import DocDBCore
import DocDBStorage
import Foundation
import Testing

@Suite("Eviction")
struct EvictionTests {
    /// A text that a search of the files finds wherever it stands whole.
    static func marker(_ number: Int) -> String { "EVICT-ME-\(number)-" + String(repeating: "x\(number)y", count: 12) }

    /// The id of a document, which is to be erased with it.
    static func id(_ number: Int) throws -> DocumentID {
        number < 20 || number == 99 ? try DocumentID("id of " + marker(number)) : DocumentID(Int64(number))
    }

    @Test("leaves no byte of the document in the store's files", arguments: 0..<12)
    func erases(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        let place = TemporaryStore("evict")
        let store = try place.open()
        // Neighbours and updates make pages split, rows move and log blocks fold while the values stand in them.
        for round in 0..<30 {
            try store.write { transaction in
                for number in 0..<60 {
                    let id = try Self.id(number)
                    let filler = String(repeating: "f", count: Int.random(in: 0...400, using: &random))
                    let text = number < 20 ? Self.marker(number) : "kept \(number)"
                    try transaction.put([
                        "_id": id.value, "text": .string(text), "filler": .string(filler), "round": .int(Int64(round)),
                    ])
                }
                for number in 20..<60 where Bool.random(using: &random) {
                    try transaction.put(["_id": .int(Int64(1000 + round * 60 + number)), "text": "new"])
                }
            }
            try store.write { transaction in
                for number in 0..<20 where number % 3 == round % 3 {
                    try transaction.set(["text"], to: .string("other " + Self.marker(number)), of: Self.id(number))
                }
            }
        }
        // A large one has overflow pages, and shrinks.
        let large = Self.marker(99)
        try store.put(["_id": Self.id(99).value, "text": .string(String(repeating: large, count: 400))])
        try store.put(["_id": Self.id(99).value, "text": .string(large)])
        for number in 0..<20 {
            let wasThere = try store.write { try $0.evict(Self.id(number)) }
            #expect(wasThere)
            #expect(place.fileBytes.range(of: Data(Self.marker(number).utf8)) == nil, "marker \(number), seed \(seed)")
        }
        #expect(try store.write { try $0.evict(Self.id(99)) })
        let bytes = place.fileBytes
        for number in Array(0..<20) + [99] {
            #expect(bytes.range(of: Data(Self.marker(number).utf8)) == nil, "marker \(number), seed \(seed)")
        }
        #expect(bytes.range(of: Data("kept 30".utf8)) != nil, "the search finds what is there")
        #expect(try store.verify().isEmpty)
        #expect(try store.statistics().isErasurePending == false)
    }

    @Test("is refused where nothing says that a keeper holds the changes")
    func refuses() throws {
        let place = TemporaryStore("evict")
        let store = try place.open()
        try store.put(["_id": 1, "a": 1])
        #expect { try store.write { try $0.evict(1, force: false) } } throws: {
            ($0 as? DocDBError)?.code == .unsyncedChanges
        }
        #expect(try store.get(1) == ["a": 1])
    }

    @Test("of own changes takes a new actor for what is written next")
    func rotatesActor() throws {
        let place = TemporaryStore("evict")
        let store = try place.open()
        try store.put(["_id": 1, "a": 1])
        try store.put(["_id": 2, "a": 1])
        _ = try store.write { try $0.evict(1) }
        try store.put(["_id": 1, "a": 2])
        let actors = try store.read { context in
            let reader = ChangeLogReader(connection: context.connection)
            return try [1, 2, 4].map { try reader.record(Int64($0))?.stamps.map(\.actorNumber) }
        }
        #expect(actors[0] == actors[1])
        #expect(actors[2] != actors[1])
    }

    @Test("waits for a reader that still needs the old pages, and says so")
    func pending() throws {
        let place = TemporaryStore("evict")
        let store = try place.open()
        try store.put(["_id": 1, "text": .string(Self.marker(1))])
        try store.read { context in
            _ = try store.write { try $0.evict(1) }
            #expect(try context.get(1) != nil)
            #expect(try store.statistics().isErasurePending)
        }
        #expect(try store.checkpoint())
        #expect(try store.statistics().isErasurePending == false)
        #expect(place.fileBytes.range(of: Data(Self.marker(1).utf8)) == nil)
    }
}
