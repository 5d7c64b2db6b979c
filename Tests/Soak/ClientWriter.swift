import DocDB
import DocDBSimulation
import Foundation

/// Writes, reads, subscribes, evicts and tidies up at random, and prints each write that has returned.
struct ClientWriter {
    private let soak: SoakClient
    private let db: Database
    private let client: Int
    private let user: String
    private let own: Value
    private var random: SimulationRandom
    private var number: Int64
    private var subscriptions: [SyncSubscription] = []

    private static let numbersPerStart: Int64 = 10_000_000
    private static let pauseMicroseconds = 20_000..<140_000

    init(_ soak: SoakClient) {
        self.soak = soak
        db = soak.db
        client = soak.settings.client
        user = soak.user
        own = .string(SoakWorld.owner(soak.user))
        random = SimulationRandom(seed: soak.settings.seed)
        number = soak.settings.start * Self.numbersPerStart
    }

    /// Does one thing, and rests.
    mutating func step() throws {
        if subscriptions.isEmpty { try subscribeAnew() }
        number += 1
        switch Int.random(in: 0..<100, using: &random) {
        case 0..<30: try writeItem(durability: random.chance(0.2) ? .full : .normal)
        case 30..<48: try writeShared()
        case 48..<56: try writeBoth()
        case 56..<68: try writeTemporary()
        case 68..<73: try removeTemporary()
        case 73..<79: try writeForeign()
        case 79..<88: try query()
        case 88..<91: try evict()
        case 91..<94: try subscribeAnew()
        case 94..<97: settleRefusals()
        default: try tidyUp()
        }
        usleep(UInt32(Int.random(in: Self.pauseMicroseconds, using: &random)))
    }

    // MARK: Writing

    private mutating func item() -> (DocumentID, Value) {
        var members: [String: Value] = ["owner": own, SoakWorld.field(of: client): .int(number)]
        let id: DocumentID
        if SoakWorld.readsEverything(user), random.chance(0.2) {
            id = SoakWorld.vault(&random)
            members["level"] = .int(SoakWorld.vaultLevel)
            members["text"] = .string("\(SoakWorld.canary) \(number)")
        } else {
            id = SoakWorld.item(of: user, &random)
            if random.chance(0.3) { members["level"] = .int(Int64.random(in: 0..<9, using: &random)) }
            if random.chance(0.3) { members["text"] = SoakWorld.text(&random) }
            if random.chance(0.1) { members["inner"] = ["a": .int(number), "b": [.int(number), .null]] }
        }
        members["_id"] = id.value
        return (id, .object(members))
    }

    private mutating func writeItem(durability: Durability) throws {
        let (id, document) = item()
        try db.write(durability: durability) { _ = try $0.collection(SoakWorld.items).upsert(document) }
        ClientLine.wrote(SoakWorld.items, "\(id.value.text)", number: number).tell()
    }

    private mutating func writeShared() throws {
        let id = SoakWorld.shared(&random)
        let increments = random.chance(0.5)
        let field = SoakWorld.field(of: client)
        let count = number
        try db.write { transaction in
            let documents = transaction.collection(SoakWorld.shared)
            try documents.upsert(["_id": id.value, field: .int(count)])
            if increments { try documents.increment("hits", id: id) }
        }
        ClientLine.wrote(SoakWorld.shared, id.value.text, number: number).tell()
        if increments { ClientLine.incremented(id.value.text).tell() }
    }

    private mutating func writeBoth() throws {
        let (id, document) = item()
        let shared = SoakWorld.shared(&random)
        let field = SoakWorld.field(of: client)
        let count = number
        try db.write { transaction in
            _ = try transaction.collection(SoakWorld.items).upsert(document)
            _ = try transaction.collection(SoakWorld.shared).upsert(["_id": shared.value, field: .int(count)])
        }
        ClientLine.wrote(SoakWorld.items, id.value.text, number: number).tell()
        ClientLine.wrote(SoakWorld.shared, shared.value.text, number: number).tell()
    }

    private mutating func writeTemporary() throws {
        let id = SoakWorld.temporary(of: client, &random)
        ClientLine.began(SoakWorld.temporary, id.value.text).tell()
        try db.collection(SoakWorld.temporary).upsert(["_id": id.value, "owner": own, "n": .int(number)])
        ClientLine.wrote(SoakWorld.temporary, id.value.text, number: number).tell()
    }

    private mutating func removeTemporary() throws {
        let id = SoakWorld.temporary(of: client, &random)
        ClientLine.began(SoakWorld.temporary, id.value.text).tell()
        try db.collection(SoakWorld.temporary).remove(id)
        ClientLine.removed(id.value.text, number: number).tell()
    }

    /// Writes what is mostly not permitted: to others' items, and to those that the user may not even see.
    private mutating func writeForeign() throws {
        let field = SoakWorld.foreignField(of: client)
        let others = SoakWorld.users.filter { $0 != user }
        let other = others[Int.random(in: 0..<others.count, using: &random)]
        let isBlind = random.chance(0.2) && !SoakWorld.readsEverything(user)
        let id = isBlind ? SoakWorld.vault(&random) : SoakWorld.item(of: other, &random)
        let items = db.collection(SoakWorld.items)
        guard try isBlind || items.find(id: id) != nil else { return }
        try items.upsert(["_id": id.value, field: .int(number)])
    }

    // MARK: Reading, subscribing, evicting

    private mutating func query() throws {
        let items = db.collection(SoakWorld.items)
        let level = Value.int(Int64.random(in: 0..<10, using: &random))
        switch Int.random(in: 0..<4, using: &random) {
        case 0: _ = try items.find("level == $level", ["level": level]).count()
        case 1: _ = try items.find("owner == $owner", ["owner": own]).sort("level").limit(5).documents()
        case 2: _ = try db.collection(SoakWorld.shared).find("hits > 10").ids()
        default: _ = try items.find("regex(text, '^a+$') || exists(inner.a)").count()
        }
    }

    private mutating func evict() throws {
        do {
            if random.chance(0.5) {
                let level = Value.int(Int64.random(in: 0..<10, using: &random))
                try db.collection(SoakWorld.items).find("level == $level", ["level": level]).evict()
            } else {
                try db.collection(SoakWorld.shared).evict(SoakWorld.shared(&random))
            }
        } catch let error as DocDBError where error.code == .unsyncedChanges {
            // What no hub holds stays.
        }
    }

    /// Asks for something else, then cancels what was asked for.
    private mutating func subscribeAnew() throws {
        let former = subscriptions
        let items = db.collection(SoakWorld.items)
        let level = Value.int(Int64.random(in: 0..<10, using: &random))
        let query =
            switch Int.random(in: 0..<4, using: &random) {
            case 0: items.findAll()
            case 1: try items.find("level <= $level", ["level": level])
            case 2: try items.find("owner == $owner || level == $level", ["owner": own, "level": level])
            default: try items.find("exists(text) && level != $level", ["level": level])
            }
        subscriptions = [try query.subscribe(whenLeaving: random.chance(0.3) ? .evict : .keep)]
        if random.chance(0.8) { subscriptions.append(try db.collection(SoakWorld.shared).findAll().subscribe()) }
        if random.chance(0.8) { subscriptions.append(try db.collection(SoakWorld.temporary).findAll().subscribe()) }
        for subscription in former { subscription.cancel() }
    }

    private mutating func settleRefusals() {
        guard let refusals = try? db.sync.refusals() else { return }
        for refusal in refusals.prefix(20) where SoakWorld.mayRevert(refusal, client: client) {
            // The hub may be away, and the refusal settled meanwhile: then it is tried another time.
            if random.chance(0.7) {
                try? db.sync.revert(refusal.document.collection, refusal.document.id)
            } else {
                try? db.sync.retry(refusal.document.collection, refusal.document.id)
            }
        }
    }

    private mutating func tidyUp() throws {
        let items = db.collection(SoakWorld.items)
        switch Int.random(in: 0..<5, using: &random) {
        case 0: try db.checkpoint()
        case 1: try db.compact()
        case 2: try db.synchronize()
        case 3: if try items.indexes().isEmpty { try items.createIndex(["level"]) }
        default: if try !items.indexes().isEmpty { try items.dropIndex(["level"]) }
        }
    }
}

extension Value {
    /// The text of an id.
    fileprivate var text: String { if case .string(let text) = self { text } else { "" } }
}
