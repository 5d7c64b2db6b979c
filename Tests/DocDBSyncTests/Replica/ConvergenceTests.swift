import DocDBCore
import DocDBStorage
import DocDBSync
import Testing

@Suite("Replicas that exchange whole states")
struct ConvergenceTests {
    @Test("hold the same documents, byte for byte and by digest, in whatever order", arguments: 0..<16)
    func converge(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        let places = (0..<3).map { _ in ReplicaPlace() }
        let clocks = (0..<3).map { _ in ReplicaClock() }
        let replicas = try places.indices.map { index in try places[index].open { $0.clock = { clocks[index].now } } }
        for (index, replica) in replicas.enumerated() {
            // Names get other numbers in each store.
            for name in ["a", "b", "c"].shuffled(using: &random) {
                try replica.put(.object(["_id": "names", name: 1]))
            }
            for other in replicas.indices where other != index { _ = try replica.addPeer(UInt8(other)) }
        }
        for _ in 0..<150 {
            let index = random.below(3)
            clocks[index].advance(seconds: UInt64(random.below(2)))
            if random.below(3) == 0 {
                let from = (index + 1 + random.below(2)) % 3
                for id in try Self.ids(replicas[from]) where random.below(2) == 0 {
                    try Self.send(id, from: replicas[from], to: replicas[index], peer: UInt8(from))
                }
            } else {
                try Self.write(replicas[index], &random)
            }
        }
        // Twice: where a deletion and a later life meet on the way, a replica that had forgotten the one learns in the second
        // round what others still know of it.
        for (from, to) in [(0, 1), (1, 2), (2, 1), (1, 0), (0, 1), (1, 2)] {
            for id in try Self.ids(replicas[from]).shuffled(using: &random) {
                try Self.send(id, from: replicas[from], to: replicas[to], peer: UInt8(from))
            }
        }
        let expected = try Self.contents(replicas[0])
        #expect(expected.count > 4, "seed \(seed)")
        for replica in replicas {
            #expect(try Self.contents(replica) == expected, "seed \(seed)")
            let findings = try replica.findings()
            #expect(findings.isEmpty, "seed \(seed): \(findings)")
        }
    }

    private static func ids(_ replica: StoreReplica) throws -> [[UInt8]] {
        var ids: [[UInt8]] = []
        try replica.read { reader in
            guard let cars = try reader.collection(named: "cars") else { return }
            try reader.forEachDocument(collection: cars, after: 0) {
                ids.append([UInt8]($0.id))
                return true
            }
        }
        return ids
    }

    private static func send(_ id: [UInt8], from: StoreReplica, to: StoreReplica, peer: UInt8) throws {
        guard let reference = try from.reference(id),
            let state = try from.read({ try $0.state(reference, from) })
        else { return }
        let number = try to.read { try $0.peer(storeID: [UInt8](repeating: peer, count: 16))?.number } ?? 0
        let named = try state.transcoded(from: from.names, to: to.names)
        _ = try to.write { try $0.join(named, id: id, from: number, to) }
    }

    private static func write(_ replica: StoreReplica, _ random: inout SeededGenerator) throws {
        let id = DocumentID(Int64(random.below(6)))
        let name = ["a", "b", "c", "d \(random.below(3))"][random.below(4)]
        let value: Value = [1, 2.5, "text", nil, [1, ["x": 2]], true, ["y": 1]][random.below(7)]
        switch random.below(6) {
        case 0: try replica.remove(id)
        case 1: try replica.put(.object(["_id": id.value, name: value]), .replace)
        case 2: try replica.put(.object(["_id": id.value, name: value]), .insertDefault)
        case 3: try increment(id, name, replica)
        default: try replica.put(.object(["_id": id.value, name: value]))
        }
    }

    private static func increment(_ id: DocumentID, _ name: String, _ replica: StoreReplica) throws {
        _ = try replica.store.write { transaction in
            var path = ByteBuffer()
            FieldPath(stringLiteral: "count").appendEncoded(
                names: transaction.context.names, to: &path, interning: true)
            return try encoded(id).withUnsafeBytes { id in
                try transaction.edit(id: id, collection: "cars") { state, stamp in
                    try state.increment(path.bytes, by: .int(1), stamp: stamp)
                    return true
                }
            }
        }
    }

    /// Per id the canonical state, the visible document with names spelt out, and the digest.
    private static func contents(_ replica: StoreReplica) throws -> [[UInt8]: [[UInt8]]] {
        var contents: [[UInt8]: [[UInt8]]] = [:]
        try replica.read { reader in
            guard let cars = try reader.collection(named: "cars") else { return }
            try reader.forEachDocument(collection: cars, after: 0) { document in
                let state = try DocumentState(body: document.body, state: document.state, actors: replica.actors)
                var canonical = ByteBuffer()
                try state.appendCanonical(to: &canonical, names: replica.names)
                let body = try document.body.map {
                    try CBORTranscoder(from: replica.names, to: nil).transcodedValue($0)
                }
                var vectors: [UInt8] = []
                _ = state.digest(collection: "cars", id: document.id) {
                    vectors = [UInt8]($0)
                    return StateDigest(high: 0, low: 0)
                }
                contents[[UInt8](document.id)] = [canonical.array, body ?? [], vectors]
                return true
            }
        }
        return contents
    }
}
