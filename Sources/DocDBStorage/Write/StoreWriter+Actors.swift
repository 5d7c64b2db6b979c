package import DocDBCore

/// An actor of a store's own, with what proves that it is: its id is 128 bits of SHA-256 over key and nonce.
package struct OwnActor: Hashable, Sendable {
    /// The public key of the peer that the actor belongs to; empty for identities without keys.
    package let peerKey: [UInt8]
    /// 16 random bytes.
    package let nonce: [UInt8]

    package init(peerKey: [UInt8], nonce: [UInt8]) {
        self.peerKey = peerKey
        self.nonce = nonce
    }

    /// The actor's id.
    package var id: ActorID {
        let hash = (peerKey + nonce).withUnsafeBytes { ContentHash.sha256($0) }
        // Sixteen bytes always make an id.
        return ActorID(bytes: hash[..<16])!
    }
}

extension StoreWriter {
    /// A new actor of this store's own.
    func deriveActor() -> OwnActor { OwnActor(peerKey: options.peerKey, nonce: options.randomBytes(16)) }

    /// Writes an actor and that it writes from now on, within the transaction that runs.
    func persistActor(_ actor: OwnActor) throws(DocDBError) {
        let number = Int64(actors.intern(actor.id))
        state.persistedActorCount = try persistActors(from: state.persistedActorCount)
        let insert = try connection.prepare("INSERT INTO own_actors (number, nonce, peer_key) VALUES (?, ?, ?)")
        insert.bind(1, number)
        insert.bind(2, copying: actor.nonce)
        insert.bind(3, copying: actor.peerKey)
        try insert.run()
        try StoreMetadata.set(.actor, number, connection)
    }

    /// Whether the actor that writes is derived from the key that this peer has now.
    func isActorOfPeerKey() throws(DocDBError) -> Bool {
        guard let actor = state.actor, let number = actors.number(of: actor) else { return false }
        let select = try connection.prepare("SELECT peer_key FROM own_actors WHERE number = ?")
        select.bind(1, Int64(number))
        defer { select.reset() }
        return try select.step() && [UInt8](select.blob(0)) == options.peerKey
    }

    /// Takes an actor whose transaction has been committed.
    func adoptPersistedActor(_ actor: ActorID) { state.actor = actor }

    /// Takes a new actor within the transaction that runs; the stamps that follow are its own.
    func rotateActor() throws(DocDBError) {
        let actor = deriveActor()
        try persistActor(actor)
        state.actor = actor.id
    }

    /// Writes the actors that have been numbered since, and returns how many there are.
    func persistActors(from first: Int) throws(DocDBError) -> Int {
        let count = actors.count
        guard first < count else { return count }
        let insert = try connection.prepare("INSERT INTO actors (number, id) VALUES (?, ?)")
        for number in first..<count {
            guard let actor = actors.actor(UInt64(number)) else { continue }
            insert.bind(1, Int64(number))
            insert.bind(2, copying: actor.bytes)
            try insert.run()
        }
        return count
    }

    /// Writes the field names that have been interned since the last commit.
    func persistNames() throws(DocDBError) {
        let count = names.count
        guard state.persistedNameCount < count else { return }
        let insert = try connection.prepare("INSERT INTO field_names (number, name) VALUES (?, ?)")
        for number in state.persistedNameCount..<count {
            guard let name = names.name(number) else { continue }
            insert.bind(1, Int64(number))
            insert.bind(2, utf8: name)
            try insert.run()
        }
        state.persistedNameCount = count
    }
}
