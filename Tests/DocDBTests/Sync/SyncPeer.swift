import DocDB
import Foundation
import Testing

/// A database of a test that replicates, in a directory of its own that goes with this object.
final class SyncPeer: Sendable {
    static let appID = "com.example.cars"

    let directory: String
    let db: Database
    var path: String { directory + "/\(name).docdb" }
    let name: String
    var cars: Collection { db.collection("cars") }
    var sync: DatabaseSync { db.sync }

    init(
        _ name: String, identity: Database.Identity = .offlinePlayground(appID: SyncPeer.appID),
        _ configure: (inout SyncConfiguration) -> Void = { _ in }
    ) throws {
        directory = TemporaryDirectory.make()
        self.name = name
        db = try Database(at: directory + "/\(name).docdb", identity: identity)
        db.sync.configuration.peerName = name
        configure(&db.sync.configuration)
    }

    deinit {
        try? db.close()
        try? FileManager.default.removeItem(atPath: directory)
    }

    /// Begins to listen on a port of its own, and returns the URL to reach it.
    func listen() throws -> String {
        sync.configuration.listen = SyncConfiguration.Listen(
            port: sync.configuration.listen?.port ?? TestPort.make())
        try sync.start()
        return try #require(sync.status.listeningPort.map { "ws://127.0.0.1:\($0)" })
    }

    /// Begins to keep connected to a URL.
    func connect(_ urls: String...) throws {
        sync.configuration.connect = urls
        try sync.start()
    }

    /// The documents of the collection as JSON, in `_id` order.
    func contents(_ collection: String = "cars") throws -> [String] {
        try db.collection(collection).findAll().sort("_id").documents().map { try $0.json() }
    }

    /// Waits until the status is as wanted.
    func wait(_ condition: @Sendable (SyncStatus) throws -> Bool) async throws {
        for await status in sync.statusUpdates where try condition(status) { return }
        throw CancellationError()
    }

    /// Waits until the results of a query are as wanted.
    func wait(_ query: Query, _ condition: ([DocumentID]) -> Bool) async throws {
        for try await update in query.changes where condition(update.documents.map(\.id)) { return }
        throw CancellationError()
    }

    /// Waits until the contents are those of another peer, which are not changing.
    func waitForContents(of other: SyncPeer, _ collection: String = "cars") async throws {
        let wanted = try other.contents(collection)
        for try await _ in db.collection(collection).findAll().changes where try contents(collection) == wanted {
            return
        }
        throw CancellationError()
    }

    /// Waits until a condition holds that changes with the status of any of some peers.
    static func wait(_ peers: SyncPeer..., until condition: @escaping @Sendable () throws -> Bool) async throws {
        try await withThrowingTaskGroup(of: Bool.self) { group in
            for peer in peers {
                group.addTask {
                    for await _ in peer.sync.statusUpdates where try condition() { return true }
                    return false
                }
            }
            let holds = try await group.next() ?? false
            group.cancelAll()
            if !holds { throw CancellationError() }
        }
    }
}
