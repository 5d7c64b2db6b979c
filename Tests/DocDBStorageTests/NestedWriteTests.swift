import DocDBCore
import DocDBStorage
import Testing

@Suite("Writes within the closure of an edit")
struct NestedWriteTests {
    @Test("are refused, and leave the edit and the transaction as they were")
    func refused() throws {
        let place = TemporaryStore("nested")
        let store = try place.open()
        try store.put(["_id": 1, "a": 1])
        try store.put(["_id": 2, "a": 1])
        var id = ByteBuffer()
        DocumentID(1).appendCBOR(to: &id)
        let bytes = id.array
        try store.write { transaction in
            _ = try bytes.withUnsafeBytes { id in
                try transaction.edit(id: id, collection: "cars") { _, _ in
                    #expect { try transaction.set(["a"], to: 9, of: 2) } throws: {
                        ($0 as? DocDBError)?.code == .misuse
                    }
                    #expect { try transaction.put(["_id": 3]) } throws: { ($0 as? DocDBError)?.code == .misuse }
                    #expect { try transaction.remove(2) } throws: { ($0 as? DocDBError)?.code == .misuse }
                    #expect { try transaction.evict(2) } throws: { ($0 as? DocDBError)?.code == .misuse }
                    return false
                }
            }
            try transaction.set(["a"], to: 2, of: 1)
        }
        #expect(try store.all() == [1: ["a": 2], 2: ["a": 1]])
        #expect(try store.verify().isEmpty)
    }
}
