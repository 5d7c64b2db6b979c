import DocDBCore
import DocDBStorage
import Foundation
import Testing

@Suite("The limits of a store")
struct StoreLimitsTests {
    @Test("take a document of just 5 MiB, and not one byte more")
    func documentSize() throws {
        let place = TemporaryStore("limits")
        let store = try place.open()
        // A map's head, the number of the first name, a text's head of five bytes, and the text.
        let room = 5 * 1024 * 1024 - 1 - 1 - 5
        let largest = String(repeating: "x", count: room)
        try store.put(["_id": 1, "t": .string(largest)])
        #expect(errorCode { try store.put(["_id": 2, "t": .string(largest + "y")]) } == .documentTooLarge)
        #expect(errorCode { try store.put(["_id": 1, "u": 1]) } == .documentTooLarge)
        #expect(try store.all().keys.sorted { "\($0)" < "\($1)" } == [1])
        #expect(try store.get(1)?["t"]?.stringValue?.utf8.count == room)
        try store.put(["_id": 1, "t": "short"], .replace)
        #expect(try store.all(asOf: 1)[1]?["t"]?.stringValue?.utf8.count == room)
        #expect(try store.verify().isEmpty)
    }

    @Test("refuse a write whose result is too large, and the transaction goes on")
    func mergedSize() throws {
        let place = TemporaryStore("limits")
        let store = try place.open()
        let half = Value.string(String(repeating: "h", count: 3 * 1024 * 1024))
        try store.put(["_id": 1, "a": half])
        try store.write { transaction in
            #expect(errorCode { try transaction.put(["_id": 1, "b": half]) } == .documentTooLarge)
            #expect(errorCode { try transaction.set(["c"], to: half, of: 1) } == .documentTooLarge)
            try transaction.put(["_id": 1, "d": 1])
        }
        #expect(try store.get(1) == ["a": half, "d": 1])
        #expect(try store.verify().isEmpty)
    }

    /// A document with `depth` levels, itself counted as one.
    static func nested(_ depth: Int, isArray: Bool) -> Value {
        var value: Value = isArray ? [] : [:]
        for _ in 0..<(depth - 2) { value = isArray ? [value] : ["m": value] }
        return ["_id": 1, "top": value]
    }

    @Test("take 64 levels of nesting and not 65", arguments: [true, false])
    func depth(isArray: Bool) throws {
        let place = TemporaryStore("limits")
        let store = try place.open()
        #expect(errorCode { try store.put(Self.nested(65, isArray: isArray)) } == .documentTooDeep)
        #expect(try store.put(Self.nested(64, isArray: isArray)) == .inserted)
        let top = try #require(Self.nested(64, isArray: isArray)["top"])
        #expect(try store.get(1) == ["top": top])
        let path = try FieldPath(components: ["top"] + Array(repeating: "m", count: 63))
        if !isArray {
            #expect(errorCode { try store.write { _ = try $0.set(path, to: ["x": 1], of: 1) } } == .documentTooDeep)
        }
        #expect(try store.verify().isEmpty)
    }

    @Test(
        "take odd names of collections",
        arguments: [
            "a", "with space", "_one", "a__b", "documents_1", "sqlite_master", "quote'\"`]", "Zürich 汽车", "\u{1}",
            String(repeating: "n", count: 128), String(repeating: "ü", count: 64), "log", "meta", "A",
            "x;DROP TABLE log",
        ])
    func collectionNames(name: String) throws {
        let place = TemporaryStore("limits")
        var store = try place.open()
        try store.put(["_id": 1, "a": 1], in: name)
        try store.put(["_id": 1, "a": 2], in: name + (name.utf8.count < 128 ? "2" : ""))
        try store.close()
        store = try place.open()
        #expect(try store.get(1, in: name)?["a"] == (name.utf8.count < 128 ? 1 : 2))
        #expect(try store.verify().isEmpty)
    }

    @Test(
        "refuse other names of collections",
        arguments: [
            "", "__", "__private", "a\0b", "\0", String(repeating: "n", count: 129), String(repeating: "ü", count: 65),
        ])
    func refusedCollectionNames(name: String) throws {
        let place = TemporaryStore("limits")
        let store = try place.open()
        #expect(errorCode { try store.put(["_id": 1], in: name) } == .invalidCollectionName)
        #expect(try store.read { $0.catalog.names } == [])
    }

    @Test("tell collections apart that differ in case")
    func similarCollections() throws {
        let place = TemporaryStore("limits")
        var store = try place.open()
        let names = ["cars", "Cars", "CARS"]
        for (number, name) in names.enumerated() { try store.put(["_id": 1, "n": .int(Int64(number))], in: name) }
        try store.close()
        store = try place.open()
        for (number, name) in names.enumerated() {
            #expect(try store.get(1, in: name) == ["n": .int(Int64(number))])
        }
        #expect(try store.verify().isEmpty)
    }

    @Test("store names beyond 4,096 as text, and read and change them all the same")
    func fieldNames() throws {
        let place = TemporaryStore("limits")
        var store = try place.open()
        var first: [String: Value] = [:]
        for number in 0..<5_000 { first["name\(number)"] = .int(Int64(number)) }
        try store.put(.object(first.merging(["_id": 1]) { $1 }))
        try store.put(["_id": 2, "name0": 1, "beyond": 2, "m": ["beyond too": 3, "further": ["name4999": 4]]])
        try store.close()
        store = try place.open()
        #expect(store.names.count == 4_096)
        #expect(try store.get(1) == .object(first))
        #expect(try store.get(2) == ["name0": 1, "beyond": 2, "m": ["beyond too": 3, "further": ["name4999": 4]]])
        try store.write { transaction in
            try transaction.put(["_id": 2, "beyond": 5, "m": ["further": ["name4999": 6]]])
            try transaction.set(["m", "beyond too"], to: 7, of: 2)
            try transaction.put(["_id": 1, "name4999": -1, "name0": -2])
        }
        #expect(try store.get(2) == ["name0": 1, "beyond": 5, "m": ["beyond too": 7, "further": ["name4999": 6]]])
        first["name4999"] = -1
        first["name0"] = -2
        #expect(try store.get(1) == .object(first))
        #expect(
            try store.all(asOf: 2)[2] == ["name0": 1, "beyond": 2, "m": ["beyond too": 3, "further": ["name4999": 4]]])
        #expect(try store.verify().isEmpty)
    }

    @Test("tell ids of every type apart")
    func ids() throws {
        let place = TemporaryStore("limits")
        var store = try place.open()
        let ids: [Value] = [
            0, 1, -1, .int(.max), .int(.min), "1", "", "\0", "a\0b", "a", "a\0", true, false, .bytes([]),
            .bytes([0x31]),
            .bytes([0x61, 0x31]), [], [1], ["1"], [[1]], [nil], [true, ["a": 1]], ["a": 1], ["a": "1"], ["b": 1],
            ["a": 1, "b": 1], ["a": ["b": 1]], [:], "é", "e\u{301}", "汽车", .string(String(repeating: "i", count: 254)),
            .bytes([UInt8](repeating: 7, count: 254)),
        ]
        for (number, id) in ids.enumerated() {
            #expect(try store.put(["_id": id, "n": .int(Int64(number))]) == .inserted, "\(id)")
        }
        try store.close()
        store = try place.open()
        for (number, id) in ids.enumerated() {
            #expect(try store.get(DocumentID(id)) == ["n": .int(Int64(number))], "\(id)")
            #expect(try store.put(["_id": id, "n": -1]) == .updated, "\(id)")
        }
        #expect(try store.statistics().collections.map(\.documentCount) == [Int64(ids.count)])
        let removed = try store.write { transaction in try ids.map { try transaction.remove(DocumentID($0)) } }
        #expect(removed == ids.map { _ in true })
        #expect(try store.all() == [:])
        #expect(try store.verify().isEmpty)
    }

    @Test("take one object for an id, however its keys are ordered")
    func objectIDs() throws {
        let place = TemporaryStore("limits")
        let store = try place.open()
        func put(_ json: String) throws {
            var id = ByteBuffer()
            var json = json
            try json.withUTF8 { bytes in
                try store.write { transaction in
                    _ = try transaction.put(
                        json: UnsafeRawBufferPointer(bytes), collection: "cars", strategy: .merge, id: &id)
                }
            }
        }
        try put(#"{"_id": {"storeID": 7, "number": "A"}, "n": 1}"#)
        try put(#"{"n": 2, "_id": {"number": "A", "storeID": 7}}"#)
        #expect(try store.all() == [DocumentID(["number": "A", "storeID": 7]): ["n": 2]])
    }

    @Test(
        "refuse ids that cannot be",
        arguments: [
            nil, 1.5, 1.0, .float(.nan), .string(String(repeating: "i", count: 255)),
            .bytes([UInt8](repeating: 7, count: 255)), [.string(String(repeating: "i", count: 254))],
        ] as [Value])
    func refusedIDs(id: Value) throws {
        let place = TemporaryStore("limits")
        let store = try place.open()
        let code = errorCode { try store.put(["_id": id, "n": 1]) }
        #expect(code == .invalidDocumentID || code == .invalidValue)
        #expect(try store.all() == [:])
    }

    @Test("take empty documents, NUL in strings, and odd field names")
    func oddDocuments() throws {
        let place = TemporaryStore("limits")
        var store = try place.open()
        let odd: Value = [
            "": 1, "\0": "a\0b", "_id2": "\0", "a.b": ["": ["": nil]], "with space": [], "0": true, "é": "é",
            "e\u{301}x": "e\u{301}", "quote\"'": .bytes([0, 255]), String(repeating: "l", count: 5_000): -1,
        ]
        try store.put(["_id": 1])
        try store.put(["_id": ""])
        try store.put(.object(odd.objectValue!.merging(["_id": 2]) { $1 }))
        try store.close()
        store = try place.open()
        #expect(try store.get(1) == [:])
        #expect(try store.get("") == [:])
        #expect(try store.get(2) == odd)
        #expect(try store.put(.object(odd.objectValue!.merging(["_id": 2]) { $1 })) == .unchanged)
        #expect(try store.put(["_id": 1, "": ["": 2]]) == .updated)
        #expect(try store.get(1) == ["": ["": 2]])
        #expect(try store.verify().isEmpty)
    }

    @Test("refuse numbers that are none", arguments: [Double.nan, .infinity, -.infinity])
    func numbers(number: Double) throws {
        let place = TemporaryStore("limits")
        let store = try place.open()
        #expect(errorCode { try store.put(["_id": 1, "a": [.float(number)]]) } == .invalidValue)
        #expect(try store.all() == [:])
    }

    @Test("leave a transaction as it was where one document of it is refused")
    func refusalWithinTransaction() throws {
        let place = TemporaryStore("limits")
        let store = try place.open()
        try store.write { transaction in
            try transaction.put(["_id": 1])
            #expect(errorCode { try transaction.put(["_id": nil]) } == .invalidDocumentID)
            #expect(errorCode { try transaction.put(["_id": 1], .insert) } == .documentExists)
            #expect(errorCode { try transaction.put(["_id": 1], in: "__x") } == .invalidCollectionName)
            try transaction.put(["_id": 2])
        }
        #expect(try store.all() == [1: [:], 2: [:]])
        #expect(try store.verify().isEmpty)
    }
}
