import DocDB
import Testing

/// Random operations on a database beside the same ones on a dictionary. A failure names the seed that replays it.
@Suite("Database against a dictionary") struct ModelTests {
    private struct Abort: Error {}

    /// One collection as a dictionary.
    private struct Model: Equatable {
        var documents: [DocumentID: [String: Value]] = [:]

        mutating func merge(_ new: [String: Value], _ id: DocumentID) {
            documents[id, default: [:]].merge(new) { _, new in new }
        }
    }

    private struct Run {
        let database: TemporaryDatabase
        var generator: SeededNumbers
        var model = Model()
        /// The model after each commit, by its sequence number.
        var past: [Int64: Model] = [0: Model()]

        private mutating func id() -> DocumentID { DocumentID(Int64(generator.next(below: 12))) }

        private mutating func fields() -> [String: Value] {
            var fields: [String: Value] = [:]
            for name in ["a", "b", "c"] where generator.next(below: 2) == 0 {
                fields[name] = generator.next(below: 8) == 0 ? .null : .int(Int64(generator.next(below: 10)))
            }
            return fields
        }

        /// Does one random operation in a transaction and in a model.
        private mutating func operate(_ cars: TransactionCollection, _ model: inout Model) throws {
            let id = id()
            let fields = fields()
            let document = Value.object(fields.merging(["_id": id.value]) { $1 })
            switch generator.next(below: 8) {
            case 0:
                let exists = model.documents[id] != nil
                #expect((errorCode { try cars.insert(document) } == .documentExists) == exists)
                if !exists { model.documents[id] = fields }
            case 1:
                try cars.upsert(document)
                model.merge(fields, id)
            case 2:
                try cars.upsert(document, strategy: .replace)
                model.documents[id] = fields
            case 3:
                try cars.upsert(document, strategy: .insertIfAbsent)
                if model.documents[id] == nil { model.documents[id] = fields }
            case 4:
                #expect(try cars.remove(id) == (model.documents.removeValue(forKey: id) != nil))
            case 5:
                let outcome = errorCode {
                    try cars.update(id) {
                        $0["a"] = nil; $0["n"].increment(by: 3)
                    }
                }
                #expect((outcome == .documentNotFound) == (model.documents[id] == nil))
                guard model.documents[id] != nil else { return }
                model.documents[id]?["a"] = nil
                let sum = (model.documents[id]?["n"]?.intValue ?? 0) + 3
                model.documents[id]?["n"] = .int(sum)
            case 6:
                let count = try cars.find("b > 5").update { $0["b"] = 1 }
                let matches = model.documents.filter { ($0.value["b"]?.intValue ?? 0) > 5 }.keys
                #expect(count == matches.count)
                for id in matches { model.documents[id]?["b"] = 1 }
            default:
                try expect(model, cars.findAll(), cars.find(id: id), id)
            }
        }

        func expect(_ model: Model, _ all: Query, _ one: Document?, _ id: DocumentID) throws {
            var found = Model()
            try all.forEach { document in
                var members = try document.value.objectValue ?? [:]
                members["_id"] = nil
                found.documents[document.id] = members
            }
            #expect(found == model)
            #expect((one == nil) == (model.documents[id] == nil))
        }

        mutating func step() throws {
            var next = model
            let aborts = generator.next(below: 4) == 0
            let count = 1 + generator.next(below: 5)
            do {
                try database.db.write { tx in
                    for _ in 0..<count { try operate(tx.collection("cars"), &next) }
                    if aborts { throw Abort() }
                }
                model = next
            } catch is Abort {}
            past[try database.db.read { try $0.sequence() }] = model
        }

        mutating func check() throws {
            let least = Int64(generator.next(below: 10))
            let cars = database.cars
            try expect(model, cars.findAll(), cars.find(id: 3), 3)
            let matches = model.documents.filter { ($0.value["b"]?.intValue ?? -1) >= least }
            let query = try cars.find("b >= $least", ["least": .int(least)])
            #expect(try Set(query.ids()) == Set(matches.keys))
            #expect(try query.count() == matches.count)
            let sorted = matches.sorted {
                let (a, b) = ($0.value["b"]?.intValue ?? 0, $1.value["b"]?.intValue ?? 0)
                return a == b ? ($0.key.value.intValue ?? 0) > ($1.key.value.intValue ?? 0) : a > b
            }
            #expect(
                try query.sort("b", .descending).offset(1).limit(3).ids() == sorted.dropFirst().prefix(3).map(\.key))
            let sequences = past.keys.sorted()
            let sequence = sequences[generator.next(below: sequences.count)]
            let then = try database.db.asOf(sequence: sequence).collection("cars")
            try expect(past[sequence] ?? Model(), then.findAll(), then.find(id: 5), 5)
        }
    }

    @Test(
        "holds what the dictionary holds, now and at every commit of the past", arguments: 1...4 as ClosedRange<UInt64>)
    func randomOperations(_ seed: UInt64) throws {
        var run = Run(database: try TemporaryDatabase(), generator: SeededNumbers(seed: seed))
        for step in 0..<60 {
            try run.step()
            if step == 20 { try run.database.cars.createIndex(["b:desc"]) }
            if step == 40 { try run.database.cars.dropIndex(["b:desc"]) }
            if step % 4 == 0 { try run.check() }
        }
        #expect(try run.database.db.verify().isEmpty, "seed \(seed)")
    }
}
