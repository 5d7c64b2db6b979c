import DocDBCore
import DocDBStorage
import DocDBSync
import Foundation
import Testing

@Suite("References of evicted and reserved documents")
struct EvictionReferenceTests {
    @Test("are given back to a document that returns from a peer")
    func returnsFromPeer() throws {
        let replica = try ReplicaPlace().open()
        let peer = try replica.addPeer(1)
        let (id, state) = try remoteState(["_id": 1, "a": 1], replica, time: ReplicaClock.start)
        let reference = try replica.write { writer in
            let reference = try writer.join(state, id: id, from: peer.number, replica)
            try writer.setTold(peer: peer.number, reference, testDigest(1))
            return reference
        }
        let wasEvicted = try replica.write { try $0.evict(reference, force: true) }
        #expect(wasEvicted)
        try replica.read { reader in
            #expect(try reader.isEvicted(reference))
            #expect(try reader.evicted(limit: 10).map(\.id) == [id])
            #expect(try reader.id(of: reference) == id)
            #expect(try reader.told(peer: peer.number, reference) == testDigest(1), "told stays told")
            let isStored = try reader.withDocument(reference) { _ in }
            #expect(!isStored)
        }
        #expect(try replica.reference(1) == reference)
        // The fast path is not for it, as others may have told more.
        let fresh = try replica.write { writer in
            try replica.freshBody(["a": 3]).withUnsafeBytes { body in
                try id.withUnsafeBytes { id in
                    try writer.storeFresh(
                        body: body, stamp: Stamp(time: HybridTime(rawValue: 1 << 20), actor: actor(3)),
                        collection: reference.collection, id: id, from: peer.number)
                }
            }
        }
        #expect(fresh == nil)
        let again = try replica.join((id, state), from: peer)
        #expect(again == reference)
        #expect(try replica.read { try $0.isEvicted(reference) } == false)
        #expect(try replica.value(1) == ["a": 1])
        #expect(try replica.findings().isEmpty)
    }

    @Test("are given back to a document that is written locally, and what peers told of it is struck")
    func returnsByWrite() throws {
        let replica = try ReplicaPlace().open()
        let peers = try [1, 2].map { try replica.addPeer(UInt8($0)) }
        let reference = try replica.put(["_id": 1, "a": 1])
        try replica.put(["_id": 2])
        try replica.write { writer in
            for (index, peer) in peers.enumerated() {
                try writer.setTold(peer: peer.number, reference, testDigest(UInt64(index)))
            }
            _ = try writer.evict(reference, force: true)
        }
        #expect(try replica.put(["_id": 1, "b": 2]) == reference)
        #expect(try replica.value(1) == ["b": 2])
        #expect(try replica.read { try $0.peers().map(\.currentCount) } == [0, 0])
        #expect(try replica.read { try $0.peers().map(\.currentSum) } == [DigestSum(), DigestSum()])
        #expect(try replica.findings().isEmpty)
    }

    @Test("stay for as long as something is known of a document, and no longer")
    func areReleased() throws {
        let place = ReplicaPlace()
        var replica = try place.open()
        let peer = try replica.addPeer(1)
        let id = encoded("never stored")
        func reserve(_ keeps: Bool) throws -> DocumentReference {
            try replica.write { writer in
                let collection = try writer.makeCollection(named: "cars")
                return try id.withUnsafeBytes { bytes in
                    let reference = try writer.makeReference(collection: collection, id: bytes)
                    #expect(try writer.makeReference(collection: collection, id: bytes) == reference)
                    #expect(try writer.reference(collection: collection, id: bytes) == reference)
                    #expect(try writer.id(of: reference) == id)
                    if keeps {
                        try writer.setApart(
                            ApartDocument(
                                peer: peer.number, side: .here, reference: reference, code: .denied, epoch: 1,
                                reason: "")
                        )
                    }
                    return reference
                }
            }
        }
        let unused = try reserve(false)
        #expect(try replica.reference(id) == nil)
        let used = try reserve(true)
        #expect(used != unused)
        try replica.store.close()
        replica = try place.open()
        #expect(try replica.reference(id) == used)
        #expect(try replica.read { try $0.isEvicted(used) } == false)
        #expect(try replica.read { try $0.evicted(limit: 10).isEmpty })
        try replica.write { try $0.removeApart(peer: peer.number, side: .here, used) }
        #expect(try replica.reference(id) == nil)
        #expect(try replica.findings().isEmpty)
    }

    @Test("leave no value behind, also not in quarantine")
    func erases() throws {
        let place = ReplicaPlace()
        let replica = try place.open()
        let peer = try replica.addPeer(1)
        let marker = "ERASE-ME-" + String(repeating: "zyx", count: 20)
        let reference = try replica.put(["_id": 1, "text": .string(marker)])
        try replica.write { writer in
            let displaced = try writer.setQuarantined(
                QuarantinedDelta(
                    peer: peer.number, reference: reference, newestTime: HybridTime(rawValue: 1),
                    bytes: Array(marker.utf8)))
            #expect(displaced == nil)
        }
        try replica.write { _ = try $0.evict(reference, force: true) }
        var bytes = Data()
        for name in try FileManager.default.contentsOfDirectory(atPath: place.path) {
            bytes.append(FileManager.default.contents(atPath: place.path + "/" + name) ?? Data())
        }
        #expect(bytes.range(of: Data(marker.utf8)) == nil)
        #expect(try replica.read { try $0.quarantine(peer: nil).isEmpty })
    }

    @Test("are forgotten by compaction once the log no longer tells of the eviction")
    func compacts() throws {
        let replica = try ReplicaPlace().open { $0.historyByteCount = 1 }
        let peer = try replica.addPeer(1)
        let forgotten = try replica.put(["_id": "forgotten"])
        let told = try replica.put(["_id": "told"])
        try replica.write { writer in
            try writer.setTold(peer: peer.number, told, testDigest(1))
            _ = try writer.evict(forgotten, force: true)
            _ = try writer.evict(told, force: true)
        }
        try replica.store.compact()
        #expect(try replica.reference("forgotten") == forgotten, "the log still tells of it")
        for number in 0..<4_000 { try replica.put(["_id": .int(Int64(number % 7)), "n": .int(Int64(number))]) }
        try replica.store.compact()
        #expect(try replica.reference("forgotten") == nil)
        #expect(try replica.reference("told") == told)
        #expect(try replica.findings().isEmpty)
    }
}

extension StoreReplica {
    /// The encoded body of a document without `_id`.
    func freshBody(_ document: Value) throws -> [UInt8] {
        var body = ByteBuffer()
        var id = ByteBuffer()
        try document.appendDocument(names: names, body: &body, id: &id)
        return body.array
    }
}
