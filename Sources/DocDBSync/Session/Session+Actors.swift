import DocDBCore
import DocDBStorage

/// The actors that each side has proven to the other to be its own.
struct ActorIndex {
    /// The peer's: changes of others it may bring only where it relays.
    var proven: Set<ActorID> = []
    /// This store's that the peer was told of.
    var told: Set<ActorID> = []
    /// The actor that wrote here when the peer was told last; nil before that.
    var writing: ActorID?
}

extension Session {
    /// Takes the actors that a peer names: of those, the ones derived from the key that it has proven to hold are its own.
    func prove(_ actors: [Hello.OwnedActor]) throws {
        let key = handshake.hello.peerKey
        for actor in actors where key.isEmpty || OwnActor(peerKey: key, nonce: actor.nonce).id == actor.actor {
            self.actors.proven.insert(actor.actor)
        }
        guard self.actors.proven.count <= 2 * SyncLimits.ownedActorCount else {
            throw SessionFailure(CloseCode.limitReached, "the peer has named too many actors in one session")
        }
    }

    /// Tells the peer of actors that it does not know to be this store's own, before it gets anything that they wrote: older
    /// ones, for which the hello has no room, and those taken since, as after an eviction.
    func tellActors(_ reader: any ReplicaReader) throws {
        guard !authenticator.peerKey.isEmpty, let actor = reader.actor, actor != actors.writing else { return }
        if actors.writing == nil { actors.told = Set(configuration.hello.actors.map(\.actor)) }
        actors.writing = actor
        var news: [Hello.OwnedActor] = []
        for own in try reader.ownActors().suffix(SyncLimits.ownedActorCount) {
            let id = own.id
            if actors.told.insert(id).inserted { news.append(Hello.OwnedActor(actor: id, nonce: own.nonce)) }
        }
        if !news.isEmpty { sendNow(.actors(news)) }
    }
}
