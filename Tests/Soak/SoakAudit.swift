import DocDB
import DocDBCore
import DocDBSync
import Foundation

/// What must hold when all have come to rest and have ended.
struct SoakAudit {
    let run: SoakRun

    struct Figures {
        var documentCount = 0
        var comparedCount = 0
        var evictedCount = 0
    }

    /// A document as a store holds it: names spelt out, so that equal ones have equal bytes everywhere.
    private struct Held: Equatable {
        var bytes: [UInt8]
        var isAlive: Bool
    }

    private struct Key: Hashable, Comparable {
        var collection: String
        var id: [UInt8]

        static func < (left: Key, right: Key) -> Bool {
            left.collection != right.collection
                ? left.collection < right.collection : left.id.lexicographicallyPrecedes(right.id)
        }
    }

    func check() throws -> Figures {
        var figures = Figures()
        let hub = try open(run.hub.store)
        try run.ledger.check(hub, killCount: run.figures.killCount + run.figures.hubKillCount)
        let held = try documents(of: hub).held
        figures.documentCount = held.count
        for peer in run.peers { try check(peer, hub, held, &figures) }
        try hub.close()
        try checkLogs()
        return figures
    }

    private func open(_ path: String) throws -> Database {
        var options = Database.Options()
        options.access = .existing
        let database = try Database(at: path, options: options)
        let findings = try database.verify()
        guard findings.isEmpty else { throw SoakFailure("\(path): \(findings)") }
        return database
    }

    private func documents(of database: Database) throws -> (held: [Key: Held], evicted: Set<Key>) {
        let replica = try StoreReplica(database.store)
        return try replica.read { reader in
            var held: [Key: Held] = [:]
            var names: [Int64: String] = [:]
            for (number, name) in try reader.collections() {
                names[number] = name
                try reader.forEachDocument(collection: number, after: 0) { document in
                    let state = try DocumentState(body: document.body, state: document.state, actors: replica.actors)
                    let spelt = try state.transcoded(from: replica.names, to: nil)
                    var body = ByteBuffer()
                    var encoded = ByteBuffer()
                    _ = spelt.encode(into: &body, state: &encoded, actors: ActorTable())
                    held[Key(collection: name, id: [UInt8](document.id))] = Held(
                        bytes: body.array + encoded.array, isAlive: spelt.isAlive)
                    return true
                }
            }
            let evicted = try reader.evicted(limit: .max).compactMap { reference, id in
                names[reference.collection].map { Key(collection: $0, id: id) }
            }
            return (held, Set(evicted))
        }
    }

    /// Checks that a client holds what it may read, as the hub does, but for what it has evicted; and nothing else.
    private func check(
        _ peer: SoakPeer, _ hub: Database, _ held: [Key: Held], _ figures: inout Figures
    ) throws {
        let database = try open(peer.path)
        let (own, evicted) = try documents(of: database)
        let level = run.logins.right(of: peer.user).level
        var readable: Set<Key> = []
        for collection in SoakWorld.collections {
            let all = hub.collection(collection)
            let query =
                collection == SoakWorld.items
                ? try all.find(SoakWorld.readable(peer.user, level: level)) : all.findAll()
            for id in try query.ids() { readable.insert(Key(collection: collection, id: id.canonicalBytes)) }
        }
        for key in readable.sorted() {
            guard let mine = own[key] else {
                guard evicted.contains(key) else { throw failure(peer, "lacks", key) }
                figures.evictedCount += 1
                continue
            }
            guard mine == held[key] else { throw failure(peer, "holds another version than the hub of", key) }
            figures.comparedCount += 1
        }
        for (key, document) in own.sorted(by: { $0.key < $1.key }) where document.isAlive && !readable.contains(key) {
            throw failure(peer, "holds what it may not read or the hub has not:", key)
        }
        try database.close()
        guard !SoakWorld.readsEverything(peer.user) else { return }
        try checkSecrecy(peer)
    }

    /// Checks that no byte of what a client may not read is in its files or was sent to it.
    private func checkSecrecy(_ peer: SoakPeer) throws {
        guard peer.proxy.figures.canaryCount == 0 else {
            throw SoakFailure("client \(peer.number) was sent what it may not read")
        }
        for file in try FileManager.default.contentsOfDirectory(atPath: peer.path) {
            let content = try Data(contentsOf: URL(filePath: peer.path + "/" + file))
            guard content.range(of: Data(SoakWorld.canary.utf8)) == nil else {
                throw SoakFailure("client \(peer.number) has in \(file) what it may not read")
            }
        }
    }

    private func failure(_ peer: SoakPeer, _ what: String, _ key: Key) -> SoakFailure {
        let id = key.id.withUnsafeBytes { (try? DocumentID(canonicalCBOR: $0)).map { "\($0)" } ?? "?" }
        return SoakFailure("client \(peer.number) (\(peer.user)) \(what) \(key.collection) \(id)")
    }

    private func checkLogs() throws {
        if let first = run.hub.errors.first {
            throw SoakFailure("the hub's log has \(run.hub.errors.count) errors, such as \(first)")
        }
        for peer in run.peers {
            let text = try String(contentsOfFile: peer.log, encoding: .utf8)
            guard text.isEmpty else { throw SoakFailure("client \(peer.number) says \(text.prefix(500))") }
        }
    }
}

extension DocumentID {
    fileprivate var canonicalBytes: [UInt8] {
        var buffer = ByteBuffer(capacity: 64)
        appendCBOR(to: &buffer)
        return buffer.array
    }
}
