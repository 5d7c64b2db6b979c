import DocDBCore
import DocDBStorage

/// What a handshake has brought so far.
struct HandshakeState {
    var channelBinding: [UInt8]?
    /// The frames of both hellos, which the proofs are made over.
    var ownHello: [UInt8] = []
    var peerHello: [UInt8] = []
    var hello = Hello()
    var nonce: [UInt8] = []
    /// The peer's proof, from when it came.
    var proof: Proof?
    /// Frames that came before the peer's grant.
    var early: [[UInt8]] = []
    /// How often the peer has asked for this side's grant.
    var grantRequestCount = 0
    /// The peer's clock ahead of this one, in nanoseconds.
    var skewNanoseconds: Int64 = 0
}

extension Session {
    func open(_ channelBinding: [UInt8]?) throws {
        guard phase == .new else { return }
        handshake.channelBinding = channelBinding
        var hello = configuration.hello
        hello.appID = authenticator.appID
        hello.storeID = replica.announcedID
        hello.identityKind = authenticator.kind
        hello.peerKey = authenticator.peerKey
        hello.wallNanoseconds = time.wallNanoseconds
        handshake.nonce = hello.nonce
        let frame = MessageCodec.frame(.hello(hello), compresses: false)
        handshake.ownHello = frame
        effects.append(.send(frame))
        phase = .greeting
        timers.opened = time.monotonicNanoseconds
        timers.lastReceived = time.monotonicNanoseconds
    }

    func receiveHandshake(_ message: Message, _ frame: [UInt8]) throws {
        switch (phase, message) {
        case (_, .close(let code, let message)):
            phase = .ended
            effects.append(.close(code: code, message: message))
        case (.greeting, .hello(var hello)):
            // The key is proven before anything is known or told of the store.
            if hello.storeID.count == 16 {
                hello.storeID = StoreIdentity.id(announced: hello.storeID, peerKey: hello.peerKey)
            }
            try check(hello)
            handshake.hello = hello
            try prove(hello.actors)
            handshake.peerHello = frame
            phase = .proving
            ownRights = authenticator.ownRights
            let proof = try authenticating { try authenticator.prove(transcript(isOwn: true), at: time) }
            sendNow(.proof(proof))
        case (.proving, .proof(let proof)) where handshake.proof == nil:
            handshake.proof = proof
            try judge(grant: nil)
        case (.proving, .grantRequest): try sendGrant()
        case (.proving, .grant(let grant)) where handshake.proof != nil: try judge(grant: grant)
        case (.proving, _) where handshake.proof != nil:
            try keepEarly(frame)
        default: throw SessionFailure.protocolError("a message came before the handshake was done")
        }
    }

    /// Sends this side's grant, which the peer has asked for; a peer that knows it has no reason to ask again.
    func sendGrant() throws {
        handshake.grantRequestCount += 1
        guard handshake.grantRequestCount <= SyncLimits.grantRequestCount else {
            throw SessionFailure(CloseCode.limitReached, "the grant was asked for too often")
        }
        // The peer has not the grant yet, and so takes no compressed frame for one.
        effects.append(.send(MessageCodec.frame(.grant(authenticator.grant), compresses: false)))
    }

    /// Keeps a frame until the peer's grant is here; its proof was accepted.
    func keepEarly(_ frame: [UInt8]) throws {
        guard handshake.early.count < SyncLimits.earlyFrameCount else {
            throw SessionFailure(CloseCode.limitReached, "too many frames came before the grant")
        }
        handshake.early.append(frame)
    }

    /// Checks that the two peers can talk at all, and says what to do where they cannot.
    private func check(_ hello: Hello) throws {
        let own = configuration.hello
        guard hello.lowestVersion <= own.highestVersion, own.lowestVersion <= hello.highestVersion else {
            throw SessionFailure(
                CloseCode.versionMismatch,
                "the peers speak protocol versions \(own.lowestVersion)-\(own.highestVersion) and "
                    + "\(hello.lowestVersion)-\(hello.highestVersion); update the older one")
        }
        guard hello.identityKind == authenticator.kind else {
            throw SessionFailure(
                CloseCode.identityMismatch,
                "the peers have identities of different kinds; open both stores with the same one")
        }
        guard hello.appID == authenticator.appID else {
            throw SessionFailure(CloseCode.appMismatch, "the peers belong to different apps; give both the same app id")
        }
        guard hello.storeID.count == 16, hello.nonce.count == 16 else {
            throw SessionFailure.protocolError("the hello's store id or nonce has not 16 bytes")
        }
        guard hello.storeID != replica.storeID else {
            throw SessionFailure(
                CloseCode.sameStore,
                "both peers have the same store id: one store is a copy of the other's files; make copies with a backup"
            )
        }
        guard hello.nonce != handshake.nonce else {
            throw SessionFailure(CloseCode.proofFailed, "the peer sent this side's own nonce back")
        }
        handshake.skewNanoseconds = Int64(clamping: hello.wallNanoseconds) &- Int64(clamping: time.wallNanoseconds)
    }

    /// What one side proves to have seen.
    private func transcript(isOwn: Bool) -> HandshakeTranscript {
        HandshakeTranscript(
            proverIsInitiator: isOwn == configuration.isInitiator,
            proverHello: isOwn ? handshake.ownHello : handshake.peerHello,
            verifierHello: isOwn ? handshake.peerHello : handshake.ownHello,
            channelBinding: handshake.channelBinding)
    }

    private func judge(grant: [UInt8]?) throws {
        guard let proof = handshake.proof else { return }
        let rights = try authenticating {
            try authenticator.judge(proof, transcript(isOwn: false), grant: grant, at: time)
        }
        guard let rights else {
            guard grant == nil else { throw SessionFailure(CloseCode.proofFailed, "the grant is not the one proven") }
            return sendNow(.grantRequest)
        }
        try establish(rights)
    }

    /// Says of what an authenticator throws why the session ends.
    private func authenticating<R>(_ body: () throws -> R) throws -> R {
        do { return try body() } catch let error as DocDBError {
            let code =
                switch error.code {
                case .grantExpired: CloseCode.expired
                case .grantRevoked: CloseCode.revoked
                default: CloseCode.proofFailed
                }
            throw SessionFailure(code, error.message)
        }
    }

    /// The peer is who it says: looks up what is known of it.
    private func establish(_ rights: PeerRights) throws {
        let hello = handshake.hello
        try joinAccount(rights)
        gate = try Gate(rights, names: replica.names)
        noteExpiry()
        let isKeeper = rights.isHub || authenticator.grant.isEmpty && hello.isKeeper || !isOn(.custody)
        let known = try replica.read { reader -> PeerRecord? in
            guard let record = try reader.peer(storeID: hello.storeID) else { return nil }
            try loadApart(record.number, reader)
            return record
        }
        if let known, known.name == hello.name, known.isKeeper == isKeeper {
            peer = known
        } else {
            peer = try replica.write { writer in
                var record = try writer.peer(storeID: hello.storeID) ?? PeerRecord(storeID: hello.storeID)
                record.name = hello.name
                record.isKeeper = isKeeper
                record.lastSeenNanoseconds = time.wallNanoseconds
                return try writer.setPeer(record)
            }
        }
        phase = .established
        flow.reset()
        effects.append(.established(hello, rights))
        effects.append(.frameLimit(SyncLimits.frameByteCount))
        if authenticator.ownRights != ownRights { try renew() }
        let early = handshake.early
        handshake.early = []
        for frame in early {
            guard phase == .established, let message = try MessageCodec.message(frame, decompresses: true) else {
                continue
            }
            try receive(message, byteCount: frame.count)
        }
    }

    private func loadApart(_ number: Int64, _ reader: any ReplicaReader) throws {
        for document in try reader.apart(peer: number, side: .here) { apart.here[document.reference] = document }
        for document in try reader.apart(peer: number, side: .there) { apart.there[document.reference] = document }
        for delta in try reader.quarantine(peer: number) { apart.quarantined[delta.reference] = delta.newestTime }
    }

    /// This peer's own grant was renewed: the peer gets it, and is asked anew under it (R3, R18).
    func renew() throws {
        send(.grant(authenticator.grant))
        let former = ownRights
        ownRights = authenticator.ownRights
        noteExpiry()
        if ownRights.permitsSame(as: former) { return }
        subscriber.scope = nil
        subscriber.interestHash = subscriber.interest.hash(for: ownRights.userID)
        subscriber.mustAsk = subscriber.isWanting
        try offerRefusedAgain()
    }

    /// The peer has renewed its grant.
    func receiveRenewal(_ grant: [UInt8]) throws {
        let rights = try authenticating { try authenticator.judge(renewal: grant, of: handshake.hello, at: time) }
        guard rights.userID == gate.rights.userID, rights.isHub == gate.rights.isHub else {
            throw SessionFailure(
                CloseCode.proofFailed, "the renewed grant is another user's; a store belongs to one user")
        }
        try change(rights)
    }

    /// Ends the session where the grant of either side has been revoked.
    func checkRevocations() throws {
        guard [gate.rights, ownRights].contains(where: authenticator.isRevoked) else { return }
        throw SessionFailure(CloseCode.revoked, "a grant of this session was revoked; its user must log in again")
    }

    /// What the peer may do has changed: its pull starts anew, so that it is told what it may read no more.
    func change(_ rights: PeerRights) throws {
        guard rights != gate.rights else { return }
        let former = gate.rights
        gate.rights = rights
        noteExpiry()
        if rights.permitsSame(as: former) { return }
        try joinAccount(rights)
        gate = try Gate(rights, names: replica.names)
        guard provider.number > 0 else { return }
        try rescope()
        // Empty: the peer is to ask anew, under a new number.
        send(.reconcile(RangesMessage(number: provider.number, bytes: [])))
    }

    /// The salt of reconciliations: both nonces and the number of the interest.
    func salt(_ number: UInt64) -> [UInt8] {
        let nonces =
            configuration.isInitiator
            ? handshake.nonce + handshake.hello.nonce : handshake.hello.nonce + handshake.nonce
        return nonces + (0..<8).map { UInt8(truncatingIfNeeded: number >> UInt64(56 - 8 * $0)) }
    }
}
