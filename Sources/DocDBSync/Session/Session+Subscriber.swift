import DocDBCore

// Asking.
extension Session {
    /// Takes what is wanted from the peer, and asks for it.
    func want(_ announced: [AnnouncedInterest]) throws {
        guard !subscriber.isWanting || announced != subscriber.announced else { return }
        let interest = try Interest.union(announced.map(\.interest))
        subscriber.announced = announced
        subscriber.isWanting = true
        if interest != subscriber.interest || subscriber.number == 0 {
            subscriber.interest = interest
            subscriber.interestHash = interest.hash(for: ownRights.userID)
            subscriber.scope = nil
        }
        subscriber.mustAsk = true
        if subscriber.number == 0 { try giveUpVoided() }
    }

    /// What the peer may send: what is wanted AND what this peer itself may read.
    func ownScope() throws -> ScopeFilter {
        if let scope = subscriber.scope { return scope }
        let scope = try ScopeFilter(
            subscriber.interest, permitted: ownRights.read, names: replica.names)
        subscriber.scope = scope
        return scope
    }

    /// Asks for documents whole, beside what is wanted anyway.
    func ask(for references: [DocumentReference]) {
        guard subscriber.isWanting, !references.isEmpty else { return }
        subscriber.outstanding.formUnion(references)
        subscriber.mustAsk = true
    }

    /// Asks for everything anew, without a cursor.
    func askFresh() {
        subscriber.mustAsk = true
        subscriber.asksFresh = true
    }

    /// What the peer has told at present, in count and sum.
    var currentTotal: ScopeTotal { ScopeTotal(count: peer.currentCount, sum: peer.currentSum) }

    /// Where to go on: the place that is stored, or the one that this session alone knows.
    private var presentedPlace: Subscriber.Place? {
        guard let cursor = peer.cursor else { return subscriber.place }
        return Subscriber.Place(cursor: cursor, total: ScopeTotal(count: peer.toldCount, sum: peer.toldSum))
    }

    /// What was told is wrong: nothing resumes from it, also not a later session.
    private func forgetCursor() throws {
        subscriber.place = nil
        guard peer.cursor != nil else { return }
        try replica.write { writer in
            guard var record = try writer.peer(storeID: peer.storeID) else { return }
            record.cursor = nil
            peer = try writer.setPeer(record)
        }
    }

    /// Sends the interest under a new number: whatever is under way for the old one is void (R3).
    func ask() throws {
        try sendAcknowledgements()
        if subscriber.outstanding.count > SyncLimits.outstandingCount {
            subscriber.outstanding = []
            subscriber.asksFresh = true
        }
        if subscriber.asksFresh { try forgetCursor() }
        subscriber.number += 1
        var message = InterestMessage()
        message.number = subscriber.number
        message.origins = subscriber.announced
        message.epoch = ownRights.epoch
        try replica.read { reader in
            if let record = try reader.peer(storeID: peer.storeID) { peer = record }
            message.apart = try apartOutcomes(reader)
            if !subscriber.asksFresh, message.apart.count <= SyncLimits.apartCount, let place = presentedPlace,
                place.cursor.interestHash == subscriber.interestHash, place.cursor.epoch == message.epoch
            {
                message.cursor = place.cursor
                message.toldCount = place.total.count
                message.toldSum = place.total.sum
            } else {
                message.apart = Array(message.apart.prefix(SyncLimits.apartCount))
            }
            for reference in subscriber.outstanding.sorted() {
                guard let name = try name(of: reference, reader) else { continue }
                var seen = VersionVector()
                try reader.withDocument(reference) { seen = try state($0).seen }
                message.have.append(HeldDocument(name: name, seen: seen))
            }
        }
        subscriber.mustAsk = false
        subscriber.asksFresh = false
        subscriber.buffer = nil
        endReconciliation()
        subscriber.receivedCount = 0
        subscriber.expectedCount = nil
        send(.interest(message))
        report(.asking)
    }

    /// The documents up to the cursor that were not joined: the peer is to know even where the refusal was lost (R10).
    private func apartOutcomes(_ reader: any ReplicaReader) throws -> [DocumentOutcome] {
        var outcomes: [DocumentOutcome] = []
        func add(_ reference: DocumentReference, _ code: RefusalCode, _ epoch: UInt64, _ reason: String) throws {
            guard outcomes.count <= SyncLimits.apartCount, let name = try name(of: reference, reader) else { return }
            outcomes.append(DocumentOutcome(name: name, code: code, epoch: epoch, reason: reason))
        }
        for document in apart.here.values.sorted(by: { $0.reference < $1.reference }) {
            try add(document.reference, document.code, document.epoch, document.reason)
        }
        for reference in apart.quarantined.keys.sorted() {
            try add(reference, .clock, gate.rights.epoch, Self.reason(.clock))
        }
        // Only a keeper's acknowledgement lets the peer evict, so only a keeper must say what it evicted itself.
        if configuration.hello.isKeeper {
            for (reference, _) in try reader.evicted(limit: SyncLimits.apartCount + 1) {
                try add(reference, .evicted, gate.rights.epoch, Self.reason(.evicted))
            }
        }
        return outcomes
    }

    func report(_ phase: PullProgress.Phase) {
        effects.append(
            .progress(
                PullProgress(
                    phase: phase, receivedCount: subscriber.receivedCount, expectedCount: subscriber.expectedCount)))
    }

    /// The state of a stored document.
    func state(_ document: StoredDocument) throws -> DocumentState {
        try DocumentState(body: document.body, state: document.state, actors: replica.actors)
    }

    /// Why a document is not joined, for people: of those refused because of a limit the one that was refused last.
    func reason(_ code: RefusalCode) -> String { code == .userLimit ? refusedLimit.message : Self.reason(code) }

    /// Why a document is not joined, for people.
    static func reason(_ code: RefusalCode) -> String {
        switch code {
        case .denied: "the write permission does not match the document before and after the change"
        case .clock: "a time of the change lies too far ahead; check the clock of the device that made it"
        case .relay: "the peer may not bring changes of others"
        case .limit:
            "the document is too large to be sent: it has more than \(SyncLimits.documentByteCount >> 20) MiB, or too many "
                + "fields or writers; split it"
        case .malformed: "the change does not decode"
        case .evicted: "the document was evicted"
        case .notHeld: "the document is not held"
        case .voided: "the hub has refused a change of another that was taken here; the document is as it was before"
        default: ""
        }
    }
}

// Receiving.
extension Session {
    /// Tells whether a frame answers the interest that stands.
    private func isCurrent(_ number: UInt64) -> Bool { number == subscriber.number || !isOn(.number) }

    func receive(_ begin: Begin) throws {
        guard isCurrent(begin.number) else { return }
        subscriber.buffer = SnapshotBuffer(begin: begin)
        if let remaining = begin.remainingCount {
            subscriber.expectedCount = subscriber.receivedCount.addingReportingOverflow(remaining).partialValue
        }
    }

    func receive(_ message: DocumentsMessage) throws {
        guard isCurrent(message.number) else { return }
        guard subscriber.buffer != nil else { throw SessionFailure.protocolError("documents came outside a snapshot") }
        subscriber.buffer?.contents.append(message.content)
        subscriber.buffer?.byteCount += message.content.count + SyncLimits.keptFrameByteCount
        guard (subscriber.buffer?.byteCount ?? 0) <= SyncLimits.snapshotBufferByteCount else {
            throw SessionFailure(CloseCode.limitReached, "a snapshot is too large to be applied whole")
        }
    }

    func receive(_ end: End) throws {
        guard isCurrent(end.number) else { return }
        guard let buffer = subscriber.buffer else {
            throw SessionFailure.protocolError("a snapshot ended that never began")
        }
        subscriber.buffer = nil
        if let position = end.position {
            guard position.incarnation.count == 16, position.sequence >= 0 else {
                throw SessionFailure.protocolError("a position is malformed")
            }
            subscriber.incarnation = position.incarnation
        }
        try finish(buffer, end.position, end.total)
    }

    func receive(_ commit: CommitMessage) throws {
        guard isCurrent(commit.number) else { return }
        guard let incarnation = subscriber.incarnation, subscriber.buffer == nil, commit.sequence >= 0 else {
            throw SessionFailure.protocolError("a commit came before the pull had begun")
        }
        var buffer = SnapshotBuffer(begin: Begin(number: commit.number, snapshot: commit.snapshot))
        buffer.contents = [commit.content]
        try finish(buffer, End.Position(incarnation: incarnation, sequence: commit.sequence), nil)
    }

    func receive(_ message: SumMessage) throws {
        guard isCurrent(message.number), message.snapshot == subscriber.appliedSnapshot, subscriber.buffer == nil,
            subscriber.listed == nil
        else { return }
        try replica.read { reader in
            if let record = try reader.peer(storeID: peer.storeID) { peer = record }
        }
        try compare(message.total)
    }

    /// Compares the provider's total with what it has told here (R1); where they differ, everything is asked anew.
    func compare(_ total: ScopeTotal) throws {
        var own = currentTotal
        if !isOn(.told) { own = try matchingTotal() }
        if total == own {
            subscriber.mismatchCount = 0
            return
        }
        guard subscriber.outstanding.isEmpty || !subscriber.mustAsk else { return }
        if subscriber.hasJustReconciled { subscriber.mismatchCount += 1 }
        if subscriber.mismatchCount > SyncLimits.mismatchCount {
            effects.append(
                .warning(
                    DocDBError(
                        .protocolError,
                        "the peer's totals differ from what it sends again and again; update it, or report this")))
            return
        }
        askFresh()
    }

    /// The total of what matches here, whatever was told: the rule that R1 replaces.
    private func matchingTotal() throws -> ScopeTotal {
        var total = ScopeTotal()
        let scope = try ownScope()
        try replica.read { reader in
            scope.refresh()
            try forEachMatch(scope, reader) { document, digest in
                total.count += 1
                total.sum.add(digest)
            }
        }
        return total
    }

    /// Applies a snapshot that has come whole, and notes its acknowledgement.
    private func finish(_ buffer: SnapshotBuffer, _ position: End.Position?, _ total: ScopeTotal?) throws {
        let begin = buffer.begin
        var application = SnapshotApplication(begin: begin, position: position, total: position == nil ? nil : total)
        let dictionary = receivingDictionary(begin.number)
        for content in buffer.contents {
            application.documents += try DocumentsReader.documents(
                content, dictionary: dictionary, names: replica.names)
        }
        try apply(&application)
        if !application.needs.isEmpty {
            if !isOn(.accumulation) { subscriber.outstanding = [] }
            if begin.isReconciled || begin.isChunk { subscriber.asksFresh = true }
            return ask(for: application.needs)
        }
        subscriber.appliedSnapshot = begin.snapshot
        subscriber.outstanding = []
        subscriber.acknowledgements.append(
            Acknowledge(
                number: begin.number, snapshot: begin.snapshot, except: isOn(.exceptions) ? application.except : []))
        subscriber.receivedCount += UInt64(application.documents.count)
        noteHeard(application.heard, at: application.sequence)
        for reference in application.claimed { offerAgain(reference) }
        effects += application.effects
        tellEvicted(application.evicted)
        if application.changedCount > 0 || !application.documents.isEmpty {
            effects.append(.applied(count: application.changedCount, sequence: application.sequence))
        }
        if position != nil { endReconciliation() }
        subscriber.hasJustReconciled = begin.isReconciled || begin.isChunk
        report(position == nil && begin.isChunk ? .receiving : .current)
        if !isOn(.acknowledgeDurable) { try sendAcknowledgements() }
        if let total, position != nil { try compare(total) }
        if !application.again.isEmpty { ask(for: application.again) }
    }

    /// Acknowledges what was applied, once it is on the disk itself (R15): one synchronization for all that came together.
    func sendAcknowledgements() throws {
        guard !subscriber.acknowledgements.isEmpty else { return }
        if isOn(.acknowledgeDurable), subscriber.isUnsynchronized { _ = try replica.synchronize() }
        subscriber.isUnsynchronized = false
        for acknowledgement in subscriber.acknowledgements { send(.acknowledge(acknowledgement)) }
        subscriber.acknowledgements = []
    }

    /// What the peer has defined under this number.
    private func receivingDictionary(_ number: UInt64) -> ReceivingDictionary {
        if let known = receiving, known.number == number || !isOn(.number) { return known.dictionary }
        let dictionary = ReceivingDictionary(allowance: account?.fieldNames)
        receiving = (number, dictionary)
        return dictionary
    }
}
