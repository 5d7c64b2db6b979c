package import DocDBCore
import DocDBStorage

extension StoreReplicaWriter {
    package var hasVoided: Bool {
        get throws {
            if let knownHasVoided { return knownHasVoided }
            let rows = try statements[.hasVoided]
            defer { rows.reset() }
            let hasVoided = try rows.step()
            knownHasVoided = hasVoided
            return hasVoided
        }
    }

    package func voided(_ document: StateDigest) throws -> [VoidedChange] {
        let rows = try statements[.voided]
        rows.bind(1, copying: document.bytes)
        defer { rows.reset() }
        var changes: [VoidedChange] = []
        while try rows.step() {
            guard let actor = ActorID(bytes: rows.blob(0)) else {
                throw DocDBError(.corrupted, "a voided change names no actor; run 'docdb-inspect verify'")
            }
            changes.append(
                VoidedChange(
                    document: document, actor: actor, time: HybridTime(rawValue: UInt64(bitPattern: rows.int(1)))))
        }
        return changes
    }

    package func setVoided(_ change: VoidedChange) throws {
        let insert = try statements[.insertVoided]
        insert.bind(1, copying: change.document.bytes)
        insert.bind(2, copying: change.actor.bytes)
        insert.bind(3, Int64(bitPattern: change.time.rawValue))
        try insert.run()
        let trim = try statements[.trimVoided]
        trim.bind(1, Int64(SyncLimits.voidedChangeCount))
        try trim.run()
        knownHasVoided = true
    }

    package func removeVoided(document: StateDigest, actor: ActorID) throws {
        let remove = try statements[.removeVoided]
        remove.bind(1, copying: document.bytes)
        remove.bind(2, copying: actor.bytes)
        try remove.run()
    }
}
