import DocDBCore
import DocDBQuery
import DocDBStorage
import DocDBSync

/// What a database keeps of a peer that it has met.
package struct KnownPeer: Sendable {
    package var id: PeerID
    package var name: String
    package var isKeeper: Bool
    /// Nil where the peer was never connected for long enough to tell.
    package var lastSeen: HybridTime?
    /// What the peer asks for: canonical predicates by collection, in order; nil where it asks for everything.
    package var interest: [(collection: String, predicate: String)]?
    /// Where the pull from the peer resumes in the peer's log; nil where there is no place.
    package var cursor: Int64?
    /// How many documents the peer has told as in scope.
    package var toldCount: Int64
    /// The newest own commit up to which the peer has acknowledged all that concerns it.
    package var acknowledgedThrough: Int64
    /// Documents that concern the peer and that have changed since; nil where the log does not reach back that far.
    package var unacknowledgedCount: Int?
    /// Documents that the peer has not taken, that were not taken here, and that wait here for their time.
    package var refusedThereCount: Int
    package var refusedHereCount: Int
    package var quarantinedCount: Int
}

extension Database {
    /// The peers that the database has ever met, in the order of first meeting.
    ///
    /// Works without an identity, and on a database open for reading only.
    ///
    /// - Throws: `DocDBError` with the code `databaseClosed` or `storageFailed`.
    /// - Complexity: O(changes that a peer has not acknowledged) for each peer.
    package func knownPeers() throws -> [KnownPeer] {
        try store.readReplica { reader in try reader.peers().map { try KnownPeer($0, reader, store.names) } } ?? []
    }
}

extension KnownPeer {
    init(_ record: PeerRecord, _ reader: any ReplicaReader, _ names: FieldNames) throws {
        id = PeerID(record.storeID)
        name = record.name
        isKeeper = record.isKeeper
        lastSeen =
            record.lastSeenNanoseconds == 0 ? nil : HybridTime(nanosecondsSince1970: record.lastSeenNanoseconds)
        interest =
            switch record.interest {
            case .everything: nil
            case .collections(let elements): elements.map { ($0.collection, $0.predicate) }
            case nil: []
            }
        cursor = record.cursor?.sequence
        toldCount = record.currentCount
        acknowledgedThrough = record.acknowledgedSequence
        refusedThereCount = try reader.apart(peer: record.number, side: .there).count
        refusedHereCount = try reader.apart(peer: record.number, side: .here).count
        quarantinedCount = try reader.quarantine(peer: record.number).count
        unacknowledgedCount = try Self.unacknowledgedCount(record, reader, names)
    }

    private static func unacknowledgedCount(
        _ record: PeerRecord, _ reader: any ReplicaReader, _ names: FieldNames
    ) throws -> Int? {
        guard let interest = record.interest else { return 0 }
        var changed: Set<DocumentReference> = []
        let isKnown = try reader.forEachChange(after: record.acknowledgedSequence, takenFrom: record.number) {
            reference, _, isTaken in
            if !isTaken { changed.insert(reference) }
        }
        guard isKnown else { return nil }
        let scope = InterestScope(interest, names)
        var count = 0
        for reference in changed {
            guard let collection = try reader.name(ofCollection: reference.collection) else { continue }
            try reader.withDocument(reference) { if scope.covers($0, collection) { count += 1 } }
        }
        return count
    }
}

/// An interest whose predicates are compiled as they are needed.
private final class InterestScope {
    private let interest: Interest
    private let names: FieldNames
    private var evaluators: [CollectionName: Evaluator?] = [:]

    init(_ interest: Interest, _ names: FieldNames) {
        self.interest = interest
        self.names = names
    }

    func covers(_ document: StoredDocument, _ collection: String) -> Bool {
        guard case .collections(let elements) = interest else { return true }
        guard let element = elements.first(where: { CollectionName($0.collection) == CollectionName(collection) })
        else { return false }
        if element.predicate == Filter.everything.description { return true }
        guard let body = document.body else { return false }
        let evaluator =
            evaluators[CollectionName(collection)]
            ?? (try? Filter.parse(element.predicate)).map { Evaluator($0, names: names) }
        evaluators[CollectionName(collection)] = .some(evaluator)
        return evaluator?.matches(body: body, id: document.id) ?? false
    }
}
