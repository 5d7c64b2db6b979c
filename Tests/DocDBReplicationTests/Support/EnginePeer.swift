import Dispatch
import DocDBCore
import DocDBQuery
import DocDBReplication
import DocDBStorage
import DocDBSync
import DocDBTransport
import Foundation
import Synchronization
import Testing

/// Links within this process, by URLs such as `memory://hub:1`; listeners are found by host and port.
final class MemoryNetwork: Connector {
    private let accepting = Lock<[String: @Sendable (any Link) -> Void]>([:])
    private let attempts = Lock(0)

    /// How often somebody has tried to connect.
    var attemptCount: Int { attempts.withLock { $0 } }

    func connect(
        to url: String, options: ConnectOptions,
        completion: @escaping @Sendable (Result<any Link, DocDBError>) -> Void
    ) -> any ConnectionAttempt {
        attempts.withLock { $0 += 1 }
        let name = String(url.dropFirst("memory://".count))
        let accept = accepting.withLock { $0[name] }
        DispatchQueue.global().async {
            guard url.hasPrefix("memory://") else {
                return completion(.failure(DocDBError(.invalidAddress, "the URL begins with memory://")))
            }
            guard let accept else {
                return completion(.failure(DocDBError(.connectionFailed, "nobody listens there")))
            }
            let (near, far) = InMemoryLink.pair()
            accept(far)
            completion(.success(near))
        }
        return Attempt()
    }

    func listener(_ address: ReplicationConfiguration.ListenAddress) -> any Listener {
        MemoryListener(self, "\(address.host):\(address.port)", SocketAddress(host: address.host, port: address.port))
    }

    private final class Attempt: ConnectionAttempt { func cancel() {} }

    private final class MemoryListener: Listener {
        private let network: MemoryNetwork
        private let name: String
        private let address: SocketAddress

        init(_ network: MemoryNetwork, _ name: String, _ address: SocketAddress) {
            (self.network, self.name, self.address) = (network, name, address)
        }

        var boundAddress: SocketAddress? { address }

        func start(_ accept: @escaping @Sendable (any Link) -> Void) throws(DocDBError) {
            let name = name
            let isFree = network.accepting.withLock { accepting in
                guard accepting[name] == nil else { return false }
                accepting[name] = accept
                return true
            }
            if !isFree { throw DocDBError(.addressInUse, "somebody listens there") }
        }

        func stop() { network.accepting.withLock { $0[name] = nil } }
    }
}

/// A store that replicates over links in memory, in a directory of its own that goes with this object.
final class EnginePeer: Sendable {
    let name: String
    let store: Store
    let replica: StoreReplica
    let engine: ReplicationEngine
    private let directory: String

    init(
        _ name: String, on network: MemoryNetwork,
        authenticator: any SessionAuthenticator = PlaygroundAuthenticator(appID: "app"),
        clock: ManualClock? = nil,
        _ configure: (inout ReplicationConfiguration) -> Void = { _ in }
    ) throws {
        self.name = name
        directory = FileManager.default.temporaryDirectory.path + "/docdb-engine-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
        var options = StoreOptions()
        options.peerKey = authenticator.peerKey
        if let clock { options.clock = { clock.wallNanoseconds } }
        let store = try Store(path: directory + "/\(name).docdb", options: options)
        self.store = store
        let replica = try StoreReplica(store)
        self.replica = replica
        engine = ReplicationEngine(
            ReplicationEnvironment(
                replica: replica, executor: clock?.makeExecutor() ?? DispatchExecutor(), connector: network,
                makeListener: { network.listener($0) }, authenticator: authenticator,
                policy: LinkPolicy(permitsNetwork: false, requiresTLS: false),
                randomBytes: { Platform.randomBytes(count: $0) },
                ownActors: {
                    ((try? replica.ownActors()) ?? []).map { Hello.OwnedActor(actor: $0.id, nonce: $0.nonce) }
                },
                watchCommits: { router, isWatching in
                    if isWatching { return try store.observe(.everything, by: router) }
                    try store.endObserving(by: router)
                    return 0
                }))
        var configuration = ReplicationConfiguration()
        configuration.name = name
        configuration.listen = ReplicationConfiguration.ListenAddress(host: name, port: 1)
        configure(&configuration)
        // Names of hosts are no addresses: the loopback check of real addresses is not for them.
        configuration.listen?.host = "127.\(name)"
        engine.configure(configuration)
    }

    deinit {
        try? store.close()
        try? FileManager.default.removeItem(atPath: directory)
    }

    var url: String { "memory://127.\(name):1" }

    func put(_ json: String, in collection: String = "cars") throws {
        try store.write { transaction in
            var json = json
            var id = ByteBuffer()
            try json.withUTF8 { text in
                _ = try transaction.put(
                    json: UnsafeRawBufferPointer(text), collection: collection, strategy: .merge, id: &id)
            }
        }
    }

    @discardableResult
    func subscribe(_ predicate: String = "true", in collection: String = "cars") throws -> UInt64 {
        try engine.subscribe(collection: collection, filter: Filter.parse(predicate), policy: .keep)
    }

    /// The bodies of a collection's documents by id, as values.
    func contents(_ collection: String = "cars") throws -> [DocumentID: Value] {
        try replica.read { reader in
            var contents: [DocumentID: Value] = [:]
            guard let number = try reader.collection(named: collection) else { return [:] }
            try reader.forEachDocument(collection: number, after: 0) { document in
                guard let body = document.body else { return true }
                contents[try DocumentID(canonicalCBOR: document.id)] = try Value.decode(body, names: replica.names)
                return true
            }
            return contents
        }
    }

    func stop() async {
        await withCheckedContinuation { continuation in engine.stop { continuation.resume() } }
    }

    /// Waits until a condition holds that changes with the statuses of any of some peers.
    static func wait(_ peers: [EnginePeer], until condition: @escaping @Sendable () throws -> Bool) async throws {
        let (stream, continuation) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        let tokens = peers.flatMap { peer in
            [
                peer.engine.statusObservers.add { _ in continuation.yield() },
                peer.engine.presenceObservers.add { _ in continuation.yield() },
            ]
        }
        defer { for token in tokens { token.cancel() } }
        if try condition() { return }
        for await _ in stream where try condition() { return }
        throw CancellationError()
    }
}
