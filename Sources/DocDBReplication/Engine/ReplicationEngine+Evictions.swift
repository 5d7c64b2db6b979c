import DocDBCore
import DocDBQuery
import DocDBStorage
import DocDBSync

// Evicting what left the subscriptions, once a keeper holds it.
extension ReplicationEngine {
    /// Evicts documents that no subscription matches any more, or has them evicted once their changes are acknowledged;
    /// those that came back into one stay.
    func evictLeaving(_ leaving: [DocumentReference], entering: [DocumentReference]) {
        if hasDeferredEvictions, !entering.isEmpty {
            attempt { writer in
                for reference in try Set(writer.deferredEvictions()).intersection(entering) {
                    try writer.setDeferredEviction(reference, false)
                }
            }
        }
        var rest = leaving[...]
        while !rest.isEmpty {
            let batch = rest.prefix(ReplicationLimits.evictionBatchCount)
            rest = rest.dropFirst(batch.count)
            attempt { writer in
                for reference in batch where try !isWanted(reference, writer) {
                    if try writer.evict(reference, force: false) { continue }
                    try writer.setDeferredEviction(reference, true)
                    hasDeferredEvictions = true
                }
            }
        }
    }

    /// Evicts what waited for acknowledgements, as far as they have come.
    func retryDeferredEvictions() {
        guard hasDeferredEvictions else { return }
        do {
            let (all, ready) = try replica.read { reader in
                let all = try reader.deferredEvictions()
                return (all, try all.filter { try reader.isAcknowledged($0) })
            }
            hasDeferredEvictions = !all.isEmpty
            guard !ready.isEmpty else { return }
            attempt { writer in
                for reference in ready where try writer.evict(reference, force: false) {
                    try writer.setDeferredEviction(reference, false)
                }
            }
        } catch {
            noteTrouble(error)
        }
    }

    /// Removes what waits in quarantine; the peers that sent it are asked for it again. Only while replication has stopped.
    package func dropQuarantine() throws {
        try replica.write { writer in
            for delta in try writer.quarantine(peer: nil) {
                try writer.removeQuarantined(peer: delta.peer, delta.reference)
                // What was told and is not held makes the totals differ (R20).
                try writer.setTold(peer: delta.peer, delta.reference, nil)
            }
        }
    }

    private func attempt(_ body: (any ReplicaWriter) throws -> Void) {
        do {
            try replica.write(body)
        } catch {
            noteTrouble(error)
        }
    }

    /// Whether a subscription matches a document as it stands.
    private func isWanted(_ reference: DocumentReference, _ reader: any ReplicaReader) throws -> Bool {
        guard let name = try reader.name(ofCollection: reference.collection) else { return false }
        var isWanted = false
        try reader.withDocument(reference) { document in
            guard let body = document.body else { return }
            for subscription in subscriptions where CollectionName(subscription.collection) == CollectionName(name) {
                let evaluator = Evaluator(subscription.filter, names: replica.names)
                if evaluator.matches(body: body, id: document.id) { isWanted = true }
            }
        }
        return isWanted
    }

    private func noteTrouble(_ error: any Error) {
        noteTrouble(
            error as? DocDBError
                ?? DocDBError(.storageFailed, "evicting documents that left a subscription failed; see the store"))
    }
}
