package import DocDBCore
package import DocDBSync

extension ModelReplica {
    /// One operation of a local transaction.
    package enum Operation {
        case set(String, Int64)
        case increment(String, Int64)
        case delete
    }

    /// What a local transaction wrote.
    package struct Written {
        package var stamp: Stamp
        /// Per document what the stamp alone stands for.
        package var deltas: [(reference: DocumentReference, id: [UInt8], delta: DocumentDelta)] = []
        /// Evicted documents that came back, with the peers that had told them.
        package var returned: [(DocumentReference, [Int64])] = []
    }

    private func path(_ name: String) -> [UInt8] {
        var buffer = ByteBuffer()
        Array(name.utf8).withUnsafeBytes { buffer.appendCBORKey($0, names: names, interning: true) }
        return buffer.array
    }

    /// Commits local writes under one stamp.
    @discardableResult
    package func write(_ operations: [(id: [UInt8], operation: Operation)], skew: Int64 = 0) throws -> Written {
        let writer = ModelWriter(self)
        let collection = try writer.makeCollection(named: "documents")
        for (id, _) in operations {
            let reference = try id.withUnsafeBytes { try writer.makeReference(collection: collection, id: $0) }
            if writer.storage.documents[reference]?.state.needsActorRotation(writer.storage.actor) ?? false {
                writer.storage.mustRotate = true
            }
        }
        if writer.storage.mustRotate {
            writer.storage.actor = ActorID(bytes: makeFreshID()) ?? writer.storage.actor
            writer.storage.mustRotate = false
        }
        let wallTime = UInt64(clamping: Int64(clamping: wall) + skew)
        clock = max(clock + 1, wallTime)
        let stamp = Stamp(time: HybridTime(rawValue: clock), actor: writer.storage.actor)
        var written = Written(stamp: stamp)
        var states: [DocumentReference: DocumentState] = [:]
        for (id, operation) in operations {
            let reference = try id.withUnsafeBytes { try writer.makeReference(collection: collection, id: $0) }
            var state = states[reference] ?? writer.storage.documents[reference]?.state ?? DocumentState()
            try apply(operation, to: &state, stamp)
            states[reference] = state
        }
        for (reference, state) in states.sorted(by: { $0.key < $1.key }) where !state.isUnwritten {
            let old = writer.storage.documents[reference]?.state ?? DocumentState()
            guard old.seen != state.seen || old.deleted != state.deleted else { continue }
            if writer.storage.evicted.contains(reference), !disabledRules.contains(.evictionReturn) {
                written.returned.append((reference, try writer.removeTold(reference, except: 0)))
            }
            let id = writer.storage.ids[reference] ?? []
            var others = state.seen
            others.join(state.deleted)
            others.set(stamp.actor, to: HybridTime(rawValue: stamp.time.rawValue - 1))
            written.deltas.append(
                (reference, id, DocumentDelta(base: VersionVector(), state: state.delta(since: others).state)))
            writer.put(state, reference, id, isPending: true)
        }
        finish(writer)
        return written
    }

    private func apply(_ operation: Operation, to state: inout DocumentState, _ stamp: Stamp) throws {
        switch operation {
        case .delete: state.delete(stamp: stamp, forgets: forgets)
        case .increment(let name, let amount):
            try path(name).withUnsafeBytes { try state.increment($0, by: .int(amount), stamp: stamp) }
        case .set(let name, let value):
            var payload = ByteBuffer()
            payload.appendCBOR(value)
            try path(name).withUnsafeBytes { try state.set($0, to: payload.bytes, stamp: stamp) }
        }
    }

    package func evict(_ reference: DocumentReference, force: Bool) throws -> Bool {
        let writer = ModelWriter(self)
        guard try writer.evict(reference, force: force) else { return false }
        finish(writer)
        survivors = [storage]
        return true
    }
}
