import DocDBCore

// The limits of the peer's user, whatever the number of devices.
extension Session {
    /// Takes part in the account of the peer's user; hubs, peers of full trust and identities without users have none.
    ///
    /// - Throws: `limitReached` where the user has too many sessions.
    func joinAccount(_ rights: PeerRights) throws {
        guard let accounts = configuration.accounts, let userID = rights.userID, !rights.isHub, !rights.mayRelay else {
            return leaveAccount()
        }
        guard account == nil else { return }
        let joined = try accounts.account(of: userID, at: time.monotonicNanoseconds) {
            try replica.read { try $0.usage(of: userID) }
        }
        guard joined.begin(store: handshake.hello.storeID) else {
            throw SessionFailure(CloseCode.limitReached, UserLimit.sessions.message)
        }
        account = joined
    }

    func leaveAccount() {
        account?.end(store: handshake.hello.storeID, predicateCount: predicateCount)
        account = nil
        predicateCount = 0
    }

    /// Counts the predicates that the peer asks by.
    func countPredicates(_ count: Int) throws {
        guard let account else { return }
        guard account.ask(by: count, insteadOf: predicateCount) else {
            throw SessionFailure(CloseCode.limitReached, UserLimit.predicates.message)
        }
        predicateCount = count
    }

    /// Tells whether the user may bring the actors of a document that the store does not know, and counts them.
    func mayBringActors(of document: IncomingDocument) -> Bool {
        guard let account else { return true }
        var news: Set<ActorID> = []
        func note(_ actor: ActorID) {
            if replica.actors.number(of: actor) == nil { news.insert(actor) }
        }
        switch document.content {
        case .none: break
        case .fresh(_, let stamp): note(stamp.actor)
        case .delta(let delta):
            for element in delta.state.seen.elements { note(element.actor) }
            for element in delta.state.deleted.elements { note(element.actor) }
            // What counters and unknown entries stand on need not be seen.
            for tally in delta.state.tallies { note(tally.base.actor) }
            for entry in delta.state.unknowns { note(entry.base.actor) }
        }
        return news.isEmpty || account.bring(actors: news.count)
    }

    /// Whether another delta of the peer's may wait because of its times.
    func mayQuarantine(byteCount: Int, _ reference: DocumentReference, _ writer: any ReplicaWriter) throws -> Bool {
        guard let account else { return true }
        try writer.setUser(account.userID, ofPeer: peer.number)
        var waiting = try writer.quarantineTotal(user: account.userID)
        // It replaces the one that waits.
        if apart.quarantined[reference] != nil { waiting.count -= 1 }
        return account.maySetApart(byteCount: byteCount, beside: waiting)
    }

    /// Refuses a document because of a limit of its user.
    func refuse(
        _ document: IncomingDocument, _ reference: DocumentReference, _ limit: UserLimit,
        _ result: inout SnapshotApplication, _ writer: any ReplicaWriter
    ) throws -> Acceptance {
        refusedLimit = limit
        try refuse(document, reference, .userLimit, &result, writer)
        return .refused(.userLimit)
    }

    /// Writes down what the user has brought; the result is for `didSaveUsage`, once the commit stands.
    func saveUsage(_ writer: any ReplicaWriter) throws -> UserUsage? {
        guard let account, account.isChanged else { return nil }
        let usage = account.usage
        try writer.setUsage(usage, of: account.userID)
        return usage
    }

    func didSave(_ usage: UserUsage?) {
        if let usage { account?.didSave(usage) }
    }
}
