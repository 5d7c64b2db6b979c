import DocDBCore
import DocDBStorage
import Testing

/// Random operations against a dictionary, with rollbacks, evictions, reopening and retention; the store must hold what
/// the dictionary holds, and its log must unwind to its start.
@Suite("A store under random operations")
struct StoreRandomTests {
    struct Model {
        var documents: [DocumentID: Value] = [:]
        /// What stood after each commit, for questions about the past.
        var past: [Int64: [DocumentID: Value]] = [:]
        var evicted: Set<DocumentID> = []
    }

    struct Abort: Error {}

    @Test("holds what a dictionary holds and unwinds to its start", arguments: 0..<40)
    func matchesModel(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        let place = TemporaryStore("random")
        let clock = ManualClock()
        let cuts = seed % 4 == 3
        func open() throws -> Store {
            try place.open {
                $0.clock = { clock.now }
                if cuts { $0.historyByteCount = 2_000 }
            }
        }
        var store = try open()
        var model = Model()
        for _ in 0..<120 {
            clock.advance(seconds: UInt64.random(in: 0...3, using: &random))
            switch Int.random(in: 0..<20, using: &random) {
            case 0:
                try store.close()
                store = try open()
            case 1:
                let before = model.documents
                #expect(throws: Abort.self) {
                    try store.write { transaction in
                        var copy = model
                        try Self.operate(transaction, &copy, &random)
                        throw Abort()
                    }
                }
                #expect(model.documents == before)
            case 2:
                guard let id = model.documents.keys.sorted(by: { "\($0)" < "\($1)" }).randomElement(using: &random)
                else {
                    continue
                }
                let wasEvicted = try store.write { try $0.evict(id) }
                #expect(wasEvicted)
                model.documents[id] = nil
                model.evicted.insert(id)
            default:
                try store.write { transaction in
                    for _ in 0..<Int.random(in: 1...4, using: &random) {
                        try Self.operate(transaction, &model, &random)
                    }
                }
            }
            model.past[try store.read { try ChangeLogReader(connection: $0.connection).lastSequence() }] =
                model.documents
            #expect(try store.all() == model.documents, "seed \(seed)")
        }
        let findings = try store.verify()
        #expect(findings.isEmpty, "seed \(seed): \(findings)")
        try Self.checkPast(store, model, seed)
    }

    /// Every retained moment must read as it was, but for documents evicted since.
    static func checkPast(_ store: Store, _ model: Model, _ seed: UInt64) throws {
        try store.read { context in
            guard let cars = try context.collection("cars") else { return }
            let oldest = try ChangeLogReader(connection: context.connection).oldestSequence()
            for (sequence, documents) in model.past.sorted(by: { $0.key < $1.key }) where sequence >= oldest {
                var found: [DocumentID: Value] = [:]
                try context.forEachDocument(in: cars, asOf: sequence) { _, id, body in
                    found[try DocumentID(canonicalCBOR: id)] = try Value.decode(body, names: context.names)
                }
                let expected = documents.filter { !model.evicted.contains($0.key) }
                #expect(
                    found.filter { !model.evicted.contains($0.key) } == expected, "seed \(seed), commit \(sequence)")
            }
        }
    }

    /// One random operation, in the store and in the model.
    static func operate(_ transaction: WriteTransaction, _ model: inout Model, _ random: inout SeededGenerator) throws {
        let id = DocumentID(Int64.random(in: 0..<8, using: &random))
        let name = ["a", "b", "c d", "m"].randomElement(using: &random) ?? "a"
        let value: Value = [1, 2.5, "text", nil, [1, ["x": 2]], true].randomElement(using: &random) ?? 1
        let current = model.documents[id]
        switch Int.random(in: 0..<10, using: &random) {
        case 0..<4:
            try transaction.put(.object(["_id": id.value, name: value]))
            var members = current?.objectValue ?? [:]
            members[name] = value
            model.documents[id] = .object(members)
        case 4:
            try transaction.put(.object(["_id": id.value, name: value, "n": ["x": 1]]), .replace)
            model.documents[id] = .object([name: value, "n": ["x": 1]])
        case 5, 6:
            #expect(try transaction.set(["m", name], to: value, of: id) == (current != nil))
            guard var members = current?.objectValue else { return }
            var inner = members["m"]?.objectValue ?? [:]
            inner[name] = value
            members["m"] = .object(inner)
            model.documents[id] = .object(members)
        case 7:
            let outcome = try transaction.put(.object(["_id": id.value, name: value]), .insertIfAbsent)
            #expect((outcome == .unchanged) == (current != nil))
            if current == nil {
                model.documents[id] = .object([name: value])
            }
        default:
            #expect(try transaction.remove(id) == (current != nil))
            model.documents[id] = nil
        }
    }
}
