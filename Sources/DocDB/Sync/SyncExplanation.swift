import DocDBCore
import DocDBReplication
import DocDBSync

/// Why a document is, or is not, here and at each peer: from ``DatabaseSync/explain(_:_:)``.
public struct SyncExplanation: Sendable, CustomStringConvertible {
    /// How the document stands in this database.
    public enum Place: Hashable, Sendable {
        /// It is stored.
        case stored
        /// It was deleted, which replicates.
        case deleted
        /// It was evicted, and comes back when a peer changes it.
        case evicted
        /// It is not stored.
        case absent
    }

    /// What stands between the document and a peer.
    public enum Verdict: Hashable, Sendable {
        /// The peer has acknowledged all changes that this database has of it.
        case held
        /// No subscription of the peer matches it.
        case noSubscription
        /// The peer was never asked what it wants: the two have not replicated yet.
        case neverConnected
        /// The peer may not read it.
        case notPermitted
        /// The peer has it in quarantine, as a time in it lies too far ahead of the peer's clock.
        case quarantined
        /// The peer has refused it.
        case refused(SyncRefusal.Reason)
        /// It is yet to be sent, or to be acknowledged.
        case notYetSent
        /// This database has nothing of it to send.
        case notHere
    }

    /// How the document stands at one peer.
    public struct Peer: Sendable {
        /// The peer.
        public let id: PeerID
        /// What the peer calls itself.
        public let name: String
        /// Whether the peer is a keeper.
        public let isKeeper: Bool
        /// Whether the two are connected now.
        public let isConnected: Bool
        /// What stands between the document and the peer.
        public let verdict: Verdict
        /// Whether the peer has told the document as one that this database subscribes to.
        public let offersIt: Bool
        /// Why what the peer sent of it was not taken here; nil where it was, or nothing came.
        public let refusedHere: SyncRefusal.Reason?
    }

    /// How the document stands in this database.
    public let place: Place
    /// Whether a keeper holds all of its changes.
    public let isAcknowledged: Bool
    /// Whether it will be evicted once its changes are acknowledged.
    public let isLeaving: Bool
    /// The numbers of this database's subscriptions that match it; all of its collection where it is not stored.
    public let subscriptions: [UInt64]
    /// The peers that were ever met.
    public let peers: [Peer]

    init(_ explanation: DocumentExplanation) {
        place =
            switch explanation.place {
            case .stored: .stored
            case .deleted: .deleted
            case .evicted: .evicted
            case .absent: .absent
            }
        isAcknowledged = explanation.isAcknowledged
        isLeaving = explanation.isEvictionDeferred
        subscriptions = explanation.subscriptions
        peers = explanation.peers.map { peer in
            Peer(
                id: PeerID(peer.storeID), name: peer.name, isKeeper: peer.isKeeper, isConnected: peer.isConnected,
                verdict: Verdict(peer.verdict), offersIt: peer.hasTold,
                refusedHere: peer.refusedHere.map { SyncRefusal.Reason($0.code) })
        }
    }

    /// All of it in lines for people, without contents.
    public var description: String {
        var lines = [here]
        if peers.isEmpty { lines.append("no peer was ever met") }
        for peer in peers {
            let name = peer.name.isEmpty ? peer.id.description : peer.name
            lines.append("\(name)\(peer.isConnected ? "" : " (not connected)"): \(peer.verdict.text)")
            if let reason = peer.refusedHere { lines.append("  what it sent was not taken here: \(reason)") }
        }
        return lines.joined(separator: "\n")
    }

    private var here: String {
        let stands =
            switch place {
            case .stored: "stored here"
            case .deleted: "deleted here"
            case .evicted: "evicted here; it comes back when a peer changes it"
            case .absent:
                subscriptions.isEmpty ? "not here; no subscription matches it" : "not here; no peer has told it"
            }
        let held = isAcknowledged ? ", its changes are at a keeper" : ", its changes are at no keeper yet"
        return stands + (place == .stored || place == .deleted ? held : "") + (isLeaving ? ", to be evicted then" : "")
    }
}

extension SyncExplanation.Verdict {
    init(_ verdict: DocumentExplanation.Verdict) {
        self =
            switch verdict {
            case .held: .held
            case .notWanted: .noSubscription
            case .neverAsked: .neverConnected
            case .notPermitted: .notPermitted
            case .refused(.clock, _): .quarantined
            case .refused(let code, _): .refused(SyncRefusal.Reason(code))
            case .waiting: .notYetSent
            case .notHere: .notHere
            }
    }

    fileprivate var text: String {
        switch self {
        case .held: "holds all changes"
        case .noSubscription: "no subscription of the peer matches it"
        case .neverConnected: "has never said what it wants"
        case .notPermitted: "may not read it"
        case .quarantined: "waits there, as a time in it lies too far ahead"
        case .refused(let reason): "was refused: \(reason)"
        case .notYetSent: "not sent or not acknowledged yet"
        case .notHere: "there is nothing here to send"
        }
    }
}
