import DocDBCore
import DocDBStorage

// Changes of others that were taken here provisionally, and that a hub has refused to their author, are given up: the document
// goes back to how it stood before them, as far as that loses nothing that was written here.
extension Session {
    /// What hubs have refused of a document that this store has not written itself.
    private func voidedRanges(
        _ name: DocumentName, _ reader: any ReplicaReader
    ) throws -> (ranges: [VoidedRange], own: Set<ActorID>) {
        let told = authenticator.voided(Self.voidedName(name)).filter { !$0.isLifted }
        guard !told.isEmpty else { return ([], []) }
        // What this store's own writes are to become, its user decides.
        let own = Set(try reader.ownActors().map(\.id) + ownActors + [reader.actor].compactMap { $0 })
        return (told.filter { !own.contains($0.actor) }, own)
    }

    /// Tells whether a document brings changes that hubs have told to be refused. What comes from a hub decides itself.
    func isToldVoided(
        _ document: IncomingDocument, _ old: DocumentState, _ reader: any ReplicaReader
    ) throws -> Bool {
        guard !gate.rights.isHub, authenticator.hasVoided else { return false }
        return try voidedRanges(document.name, reader).ranges.contains { range in
            let (held, brought) = (old.newest(of: range.actor), document.newest(of: range.actor))
            return brought > held && brought > range.after && range.through > held
        }
    }

    /// A hub sends changes that were said to be refused: it has taken them since, and a notice of that is on its way.
    func overruleVoided(_ document: IncomingDocument) {
        guard !configuration.voidsRefused, authenticator.hasVoided else { return }
        for range in authenticator.voided(Self.voidedName(document.name))
        where document.newest(of: range.actor) > range.after { authenticator.overrule(range) }
    }

    /// Gives up what hubs have told to be refused, and asks for what they take after all.
    func giveUpVoided() throws {
        guard !configuration.voidsRefused, authenticator.hasVoided, peer.number != 0 else { return }
        var found: [DocumentReference] = []
        var lifted: [DocumentReference] = []
        try replica.read { reader in
            for reference in try pendingDocuments(reader) {
                guard let name = try name(of: reference, reader) else { continue }
                let ranges = try voidedRanges(name, reader).ranges
                if ranges.isEmpty { continue }
                var isHeld = false
                try reader.withDocument(reference) { isHeld = try Self.holds(ranges, state($0)) }
                if isHeld { found.append(reference) }
            }
            for (reference, document) in apart.here where document.code == .denied {
                guard !apart.lifted.contains(reference), let name = try name(of: reference, reader) else { continue }
                let told = authenticator.voided(Self.voidedName(name))
                if !told.isEmpty, told.allSatisfy(\.isLifted) { lifted.append(reference) }
            }
        }
        for reference in found.sorted() { try giveUp(reference) }
        apart.lifted.formUnion(lifted)
        ask(for: lifted)
    }

    /// Whether a state holds changes of these ranges.
    private static func holds(_ ranges: [VoidedRange], _ state: DocumentState) -> Bool {
        ranges.contains { state.newest(of: $0.actor) > $0.after }
    }

    /// The documents that may hold what no hub has: those that one has refused, and those changed since it acknowledged all.
    ///
    /// - Complexity: O(changes since then).
    private func pendingDocuments(_ reader: any ReplicaReader) throws -> Set<DocumentReference> {
        let keepers = try reader.peers().filter { $0.isKeeper && $0.interest == .everything }
        var pending: Set<DocumentReference> = []
        var acknowledged: Int64 = 0
        if let keeper = keepers.max(by: { $0.acknowledgedSequence < $1.acknowledgedSequence }) {
            acknowledged = keeper.acknowledgedSequence
            for document in try reader.apart(peer: keeper.number, side: .there) { pending.insert(document.reference) }
        }
        let isWhole = try reader.forEachChange(after: acknowledged, takenFrom: 0) { reference, _, _ in
            pending.insert(reference)
        }
        if isWhole { return pending }
        for (number, _) in try reader.collections() {
            try reader.forEachDocument(collection: number, after: .min) { document in
                pending.insert(document.reference)
                return true
            }
        }
        return pending
    }

    /// How a document is brought back.
    private enum Return {
        /// To a state that it had here before.
        case restored(DocumentState)
        /// It goes, as it was nothing before; with what a hub that is connected says of it in its place.
        case evicted(isAsked: Bool)
        /// It stays, refused as a whole, until its user decides: something written here would be lost.
        case kept
    }

    private func giveUp(_ reference: DocumentReference) throws {
        var toldBy: [Int64] = []
        var outcome = Return.kept
        try replica.write { writer in
            guard let name = try name(of: reference, writer) else { return }
            let (ranges, own) = try voidedRanges(name, writer)
            var old = DocumentState()
            guard try writer.withDocument(reference, { old = try state($0) }), Self.holds(ranges, old) else { return }
            outcome = try wayBack(of: reference, old, ranges, own, writer)
            if case .kept = outcome { return }
            let isDeferred = try writer.deferredEvictions().contains(reference)
            guard try writer.evict(reference, force: true) else { return outcome = .kept }
            // Whatever was refused of it was refused together with what goes.
            for peer in try writer.peers() { try writer.removeApart(peer: peer.number, side: .there, reference) }
            switch outcome {
            case .restored(let state):
                // Not as a peer's: what of it was written here is still to be acknowledged.
                try name.id.withUnsafeBytes { try writer.store(state, reference, id: $0, from: 0) }
                if isDeferred { try writer.setDeferredEviction(reference, true) }
            case .evicted(let isAsked): if isAsked { try forgetTold(reference, writer) }
            case .kept: break
            }
            // Who told it is asked again: what is refused then is remembered, and comes once a hub takes it after all.
            toldBy = try writer.removeTold(reference, except: 0)
            if let record = try writer.peer(storeID: peer.storeID) { peer = record }
        }
        try report(reference, outcome, toldBy: toldBy)
    }

    private func report(_ reference: DocumentReference, _ outcome: Return, toldBy: [Int64]) throws {
        if case .kept = outcome { return }
        if apart.there.removeValue(forKey: reference) != nil {
            effects.append(.settled(reference, peer: peer.number, .there))
        }
        effects.append(
            .apart(
                ApartDocument(
                    peer: peer.number, side: .here, reference: reference, code: .voided, epoch: gate.rights.epoch,
                    reason: Self.reason(.voided))))
        if !toldBy.isEmpty { effects.append(.returned(reference, toldBy: toldBy)) }
        tellEvicted([reference])
        if case .evicted(isAsked: true) = outcome { ask(for: [reference]) }
    }

    /// How a document goes back to before what was refused of it.
    private func wayBack(
        of reference: DocumentReference, _ old: DocumentState, _ ranges: [VoidedRange], _ own: Set<ActorID>,
        _ writer: any ReplicaWriter
    ) throws -> Return {
        let isRefused = Set(ranges.map(\.actor))
        let others = (old.seen.elements + old.deleted.elements).filter { !isRefused.contains($0.actor) }
        func isLost(_ element: VersionVector.Element, in state: DocumentState) -> Bool {
            element.time > state.newest(of: element.actor)
        }
        func isPending(_ element: VersionVector.Element) -> Bool {
            own.contains(element.actor) || ownRights.mayRelay
        }
        switch try lastState(of: reference, without: ranges, writer) {
        case .stored(let state):
            let lost = others.filter { isLost($0, in: state) }
            return lost.contains(where: isPending) ? .kept : .restored(state)
        case .absent where others.isEmpty && ranges.allSatisfy({ $0.after == .zero }): return .evicted(isAsked: false)
        case .absent, .unknown:
            // Only a hub has what it was without.
            return gate.rights.isHub && !others.contains(where: isPending) ? .evicted(isAsked: true) : .kept
        }
    }

    /// The newest state of a document that held nothing of these ranges, as far as the log tells.
    ///
    /// - Complexity: O(log n) unwindings for n commits in the log.
    private func lastState(
        of reference: DocumentReference, without ranges: [VoidedRange], _ reader: any ReplicaReader
    ) throws -> PastState {
        var low = reader.oldestSequence - 1
        var high = reader.sequence
        var found = try reader.state(of: reference, after: low)
        if case .stored(let state) = found, Self.holds(ranges, state) { return .unknown }
        // A state that holds them is held by all that follow, until now.
        while high - low > 1 {
            let middle = low + (high - low) / 2
            let past = try reader.state(of: reference, after: middle)
            if case .stored(let state) = past, Self.holds(ranges, state) {
                high = middle
            } else {
                (low, found) = (middle, past)
            }
        }
        return found
    }
}
