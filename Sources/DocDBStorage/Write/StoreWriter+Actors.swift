import DocDBCore

extension StoreWriter {
    /// A new actor id: 128 bits of SHA-256 over what names the store and a random nonce.
    func deriveActor() -> ActorID {
        let hash = (storeID + options.randomBytes(16)).withUnsafeBytes { ContentHash.sha256($0) }
        // Sixteen bytes always make an id.
        return ActorID(bytes: hash[..<16])!
    }

    /// Writes an actor and that it writes from now on, within the transaction that runs.
    func persistActor(_ actor: ActorID) throws(DocDBError) {
        let number = actors.intern(actor)
        state.persistedActorCount = try persistActors(from: state.persistedActorCount)
        try StoreMetadata.set(.actor, Int64(number), connection)
    }

    /// Takes an actor whose transaction has been committed.
    func adoptPersistedActor(_ actor: ActorID) { state.actor = actor }

    /// Takes a new actor within the transaction that runs; the stamps that follow are its own.
    func rotateActor() throws(DocDBError) {
        let actor = deriveActor()
        try persistActor(actor)
        state.actor = actor
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
