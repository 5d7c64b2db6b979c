import DocDBCore
import DocDBStorage
import DocDBSync
import Testing

@Suite("Acknowledgement of documents")
struct AcknowledgementTests {
    let place = ReplicaPlace()

    private func isHeld(_ reference: DocumentReference, _ replica: StoreReplica) throws -> Bool {
        let inReader = try replica.read { try $0.isAcknowledged(reference) }
        let inWriter = try replica.write { try $0.isAcknowledged(reference) }
        #expect(inReader == inWriter)
        return inReader
    }

    @Test("needs a keeper that has announced its interest and acknowledged the last change")
    func needsKeeper() throws {
        let replica = try place.open()
        let reference = try replica.put(["_id": 1, "a": 1])
        #expect(try !isHeld(reference, replica))
        var peer = try replica.addPeer(1) {
            $0.acknowledgedSequence = 1
            $0.interest = .everything
        }
        #expect(try !isHeld(reference, replica), "it is no keeper")
        peer.isKeeper = true
        peer.interest = nil
        peer = try replica.write { try $0.setPeer(peer) }
        #expect(try !isHeld(reference, replica), "its interest is not known")
        peer.interest = .everything
        peer = try replica.write { try $0.setPeer(peer) }
        #expect(try isHeld(reference, replica))
        try replica.put(["_id": 1, "a": 2])
        #expect(try !isHeld(reference, replica))
        #expect { try replica.evict(1, force: false) } throws: { ($0 as? DocDBError)?.code == .unsyncedChanges }
        #expect(try replica.write { try $0.evict(reference, force: false) } == false)
        peer.acknowledgedSequence = 2
        _ = try replica.write { try $0.setPeer(peer) }
        #expect(try isHeld(reference, replica))
        #expect(try replica.evict(1, force: false))
        #expect(try !isHeld(reference, replica), "it is not stored any more")
    }

    @Test("needs an interest that covers the document; a deleted one only an unconditional interest covers")
    func needsInterest() throws {
        let replica = try place.open()
        let sold = try replica.put(["_id": 1, "state": "sold"])
        let offered = try replica.put(["_id": 2, "state": "for sale"])
        let other = try replica.put(["_id": 1], in: "shops")
        let gone = try replica.put(["_id": 3, "state": "sold"])
        try replica.remove(3)
        var peer = try replica.addPeer(1) {
            $0.isKeeper = true
            $0.acknowledgedSequence = 5
            $0.interest = .collections([.init(collection: "cars", predicate: "state == 'sold'")])
        }
        #expect(try [sold, offered, other, gone].map { try isHeld($0, replica) } == [true, false, false, false])
        peer.interest = .collections([.init(collection: "cars", predicate: "true")])
        peer = try replica.write { try $0.setPeer(peer) }
        #expect(try [sold, offered, other, gone].map { try isHeld($0, replica) } == [true, true, false, true])
        peer.interest = .collections([.init(collection: "cars", predicate: "((")])
        _ = try replica.write { try $0.setPeer(peer) }
        #expect(try !isHeld(sold, replica), "a predicate that does not parse covers nothing")
    }

    @Test("ends where the keeper has refused the document")
    func endsByRefusal() throws {
        let replica = try place.open()
        let reference = try replica.put(["_id": 1, "a": 1])
        let peer = try replica.addPeer(1) {
            $0.isKeeper = true
            $0.acknowledgedSequence = 1
            $0.interest = .everything
        }
        for (side, isHeld) in [(ApartDocument.Side.here, true), (.there, false)] {
            try replica.write {
                try $0.setApart(
                    ApartDocument(
                        peer: peer.number, side: side, reference: reference, code: .denied, epoch: 0, reason: ""))
            }
            #expect(try self.isHeld(reference, replica) == isHeld)
        }
        try replica.write { try $0.removeApart(peer: peer.number, side: .there, reference) }
        #expect(try isHeld(reference, replica))
    }

    @Test("counts what came from a keeper as held, and what came from another peer as not", arguments: [false, true])
    func countsOrigins(isAcknowledgedBefore: Bool) throws {
        let replica = try place.open()
        let keeper = try replica.addPeer(1) {
            $0.isKeeper = true
            $0.acknowledgedSequence = isAcknowledgedBefore ? 1 : 0
            $0.interest = .everything
        }
        let other = try replica.addPeer(2)
        let reference = try replica.put(["_id": 1, "a": 1])
        let first = try remoteState(["_id": 1, "b": 1], replica, time: ReplicaClock.start + 1 << 20)
        try replica.join(first, from: keeper)
        #expect(try isHeld(reference, replica) == isAcknowledgedBefore, "the write before must have been acknowledged")
        let second = try remoteState(["_id": 1, "c": 1], replica, actor: 5, time: ReplicaClock.start + 2 << 20)
        try replica.join(second, from: other)
        #expect(try !isHeld(reference, replica), "what came from no keeper is pending here as well")
        let new = try remoteState(["_id": 2, "c": 1], replica, actor: 5, time: ReplicaClock.start + 2 << 20)
        let fromKeeper = try replica.join(new, from: keeper)
        #expect(try isHeld(fromKeeper, replica), "a keeper's own document is held whatever has been acknowledged")
    }

    @Test("is not assumed where the log does not reach back")
    func needsLog() throws {
        let replica = try place.open { $0.historyByteCount = 1 }
        let keeper = try replica.addPeer(1) {
            $0.isKeeper = true
            $0.interest = .everything
        }
        let (id, state) = try remoteState(["_id": "k", "c": 1], replica, time: ReplicaClock.start)
        let reference = try replica.join((id, state), from: keeper)
        #expect(try isHeld(reference, replica))
        for number in 0..<4_000 { try replica.put(["_id": .int(Int64(number % 7)), "n": .int(Int64(number))]) }
        #expect(try replica.read { $0.oldestSequence } > 1)
        #expect(try !isHeld(reference, replica))
    }

    @Test("lists what is pending, by the log where that tells it and by scanning where not", arguments: [false, true])
    func listsPending(isUnconditional: Bool) throws {
        let replica = try place.open()
        for number in 1...6 { try replica.put(["_id": .int(Int64(number)), "n": .int(Int64(number))]) }
        let peer = try replica.addPeer(1) {
            $0.isKeeper = true
            $0.acknowledgedSequence = 6
            $0.interest = .collections([
                .init(collection: "cars", predicate: isUnconditional ? "true" : "n != 2")
            ])
        }
        try replica.put(["_id": 3, "n": 33])
        try replica.remove(4)
        let refused = try #require(try replica.reference(5))
        try replica.write {
            try $0.setApart(
                ApartDocument(peer: peer.number, side: .there, reference: refused, code: .denied, epoch: 0, reason: ""))
        }
        func pending(limit: Int = .max) throws -> [DocumentID] {
            try replica.store.read { context in
                var ids: [DocumentID] = []
                let collection = try #require(try context.collection("cars"))
                try context.forEachPendingDocument(in: collection) { document in
                    ids.append(try document.id.withUnsafeBytes { try DocumentID(canonicalCBOR: $0) })
                    return ids.count < limit
                }
                return ids
            }
        }
        #expect(try pending() == (isUnconditional ? [3, 4, 5] : [2, 3, 4, 5]))
        #expect(try pending(limit: 1).count == 1)
    }
}
