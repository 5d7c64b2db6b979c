import DocDBCore
import DocDBQuery

/// What one peer may read and write here: every document sent and every change received passes through it.
struct Gate {
    /// Replaced only by rights that permit the same, until another time.
    var rights: PeerRights
    let readable: ScopeFilter
    let writable: ScopeFilter

    init(_ rights: PeerRights, names: FieldNames) throws(DocDBError) {
        self.rights = rights
        // Permissions come from the hub, which may want more of a document than a peer may ask.
        let stepCount = QueryLimits.evaluationStepCount
        readable = try ScopeFilter(.everything, permitted: rights.read, names: names, stepCount: stepCount)
        writable = try ScopeFilter(.everything, permitted: rights.write, names: names, stepCount: stepCount)
    }

    func refresh() {
        readable.refresh()
        writable.refresh()
    }

    /// Tells whether a document's content may go to the peer.
    func mayRead(
        body: UnsafeRawBufferPointer, id: UnsafeRawBufferPointer, collection: Int64, _ name: String
    ) -> Bool {
        readable.matches(body: body, id: id, collection: collection, name)
    }

    /// Whether every change is permitted, so that bodies need not be looked at.
    var mayWriteEverything: Bool { rights.write == .everything }

    /// Tells whether the peer may turn one body into another: both must match, where there is one.
    func mayWrite(
        before: UnsafeRawBufferPointer?, after: UnsafeRawBufferPointer?, id: UnsafeRawBufferPointer,
        collection: Int64, _ name: String
    ) -> Bool {
        if mayWriteEverything { return true }
        // A deletion of what was never here has no document that could match: it takes some right to the collection.
        if before == nil, after == nil { return !writable.hasNothing(of: name) }
        for case let body? in [before, after]
        where !writable.matches(body: body, id: id, collection: collection, name) { return false }
        return true
    }

    /// Tells whether the peer may bring other payloads under stamps of these actors.
    func mayRewrite(_ actors: Set<ActorID>, ownActors: Set<ActorID>) -> Bool {
        rights.mayRelay || actors.isSubset(of: ownActors)
    }

    /// Whether nothing of a collection may be changed.
    func mayWriteNothing(in collection: String) -> Bool { writable.hasNothing(of: collection) }

    /// Tells whether the changes that vectors add to what is here are ones that the peer may bring: its own, unless it
    /// relays.
    ///
    /// - Parameter ownActors: the actors that the peer has proven to be its own.
    func mayBring(
        seen: VersionVector, deleted: VersionVector, toSeen: VersionVector, deleted oldDeleted: VersionVector,
        ownActors: Set<ActorID>
    ) -> Bool {
        if rights.mayRelay { return true }
        for element in seen.elements + deleted.elements where !ownActors.contains(element.actor) {
            if element.time > max(toSeen[element.actor], oldDeleted[element.actor]) { return false }
        }
        return true
    }
}
