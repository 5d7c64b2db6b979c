import Dispatch
package import DocDB
import DocDBAuth
import DocDBCore
package import DocDBReplication
import DocDBStorage
import DocDBSync
package import DocDBTransport
import Synchronization

/// A hub: a database that keeps everything, replicates with whom it has granted that, and logs users in.
package final class Hub: Sendable {
    private let files: HubFiles
    private let ledger: HubLedger
    private let authenticator: OnlineAuthenticator
    private let log: HubLog
    private let clock: @Sendable () -> UInt64
    private let transport: WebSocketTransport
    private let service: HubService
    private let metricsListener: WebSocketListener?
    package let db: Database
    private let tokens = Lock<[ObserverToken]>([])
    /// Whether there may be notices of devices that are not written down.
    private let hasUnsavedNotices = Lock(false)
    /// The notices of refused changes that are in the file.
    private let voided = Lock<[String]>([])
    private let watch = Lock<Watch?>(nil)
    private let login: LoginService
    private let read: Lock<Read>

    /// What of the files is in use.
    private struct Read {
        var keys: HubKeys
        var keysStamp: HubFiles.Stamp?
        var revocationsStamp: HubFiles.Stamp?
    }

    private struct Watch: @unchecked Sendable {
        // Unchecked: dispatch sources may be used from any thread.
        let timer: any DispatchSourceTimer
    }

    /// How often it is looked whether other processes have revoked or rotated keys, in milliseconds.
    private static let watchMilliseconds = 400

    /// Opens a hub's store and keys.
    ///
    /// - Parameters:
    ///   - listen: where; another address than loopback needs a certificate, or a configuration that permits plain
    ///     connections by name.
    ///   - http: what webhooks are asked by.
    package init(
        files: HubFiles, configuration: HubConfiguration, listen: ReplicationConfiguration.ListenAddress, log: HubLog,
        http: any HTTPFetching = HTTPClient(), executor: any ReplicationExecutor = DispatchExecutor()
    ) throws {
        let looseCount = try files.prepare()
        if looseCount > 0 {
            log.note(
                .warning, "files were open to others, and are no more", ["count": .int(Int64(looseCount))])
        }
        let keysStamp = HubFiles.stamp(files.keys)
        let keys = try HubKeys.load(files)
        guard keys.appID == configuration.appID else {
            throw DocDBError(.invalidConfiguration, "the hub's keys are for another app than its configuration")
        }
        let clock: @Sendable () -> UInt64 = { executor.wallNanoseconds }
        let now = UnixTime(nanoseconds: clock())
        let key = try keys.current(now: now)
        let ledger = try HubLedger(files)
        let authenticator = OnlineAuthenticator(
            pair: key.pair, verifier: try ledger.verifier(keys, now: now), epochs: ledger.epochs,
            bindsChannel: configuration.bindsChannel)
        try authenticator.present(hub: key.certificate, now: now)
        authenticator.sign(with: try GrantIssuer(appID: keys.appID, keys: keys.keys))
        // From here on a clock that is set back changes nothing.
        _ = authenticator.judgedNanoseconds(
            at: SessionTime(
                monotonicNanoseconds: executor.monotonicNanoseconds, wallNanoseconds: executor.wallNanoseconds))
        let login = LoginService(configuration, keys: keys, ledger: ledger, http: http, clock: clock)
        let service = HubService(
            login, authenticator, log: log, servesMetrics: configuration.metrics == nil && listen.isLoopback,
            monotonic: { executor.monotonicNanoseconds })
        let transport = try WebSocketTransport()
        self.login = login
        read = Lock(Read(keys: keys, keysStamp: keysStamp))
        (self.files, self.ledger, self.authenticator, self.log, self.clock) = (files, ledger, authenticator, log, clock)
        (self.transport, self.service) = (transport, service)
        metricsListener = configuration.metrics.map { address in
            var options = ListenOptions(host: address.host, port: address.port)
            options.acceptsLinks = false
            options.requestHandler = { service.answerMetrics($0, $1) }
            return transport.listener(options)
        }
        var options = Database.Options()
        options.clock = clock
        options.syncWorld = Self.world(configuration, transport, executor, service)
        let policy = LinkPolicy(permitsNetwork: true, requiresTLS: !configuration.permitsPlainNetwork)
        db = try Database(at: files.store, options: options, identity: .custom(authenticator, policy: policy))
        db.sync.configuration.listen = SyncConfiguration.Listen(
            address: listen.host, port: listen.port, certificateFile: listen.certificateFile, keyFile: listen.keyFile)
        db.sync.configuration.isKeeper = true
        db.sync.configuration.wantsEverything = true
        db.sync.configuration.peerName = configuration.name
        db.sync.configuration.connectionLimit = configuration.connectionLimit
        db.sync.configuration.userLimits = configuration.userLimits
        for provider in configuration.providers where provider.isForDevelopmentOnly {
            log.note(.warning, "provider for development only", ["provider": .string(provider.name)])
        }
    }

    private static func world(
        _ configuration: HubConfiguration, _ transport: WebSocketTransport, _ executor: any ReplicationExecutor,
        _ service: HubService
    ) -> SyncWorld {
        SyncWorld(executor: executor, connector: transport) { address in
            var options = ListenOptions(host: address.host, port: address.port)
            if let certificate = address.certificateFile, let key = address.keyFile {
                options.identity = TLSIdentity(certificateFile: certificate, keyFile: key)
            }
            options.allowedOrigins = configuration.allowedOrigins
            options.allowedHosts = configuration.allowedHosts(at: address)
            options.requestBodyByteCount = LoginRequest.byteLimit
            options.requestHandler = { service.answer($0, $1) }
            return transport.listener(options)
        }
    }

    /// Begins to listen.
    ///
    /// - Throws: `connectionRejected` where plain connections from other machines would be let in, and what listening throws.
    package func start() throws {
        try readRevocations()
        try readVoided()
        service.engine.withLock { [engine = db.sync.engine] in $0 = engine }
        let token = db.sync.engine.apartObservers.add { [service] news in
            if !news.isSettled, news.document.side == .here {
                service.metrics.countRefusal(news.document.code)
            }
        }
        let notices = db.sync.engine.noticeObservers.add { [weak self] in
            // Not on the thread that serves sessions: it is written with the next look at the files.
            self?.hasUnsavedNotices.withLock { $0 = true }
        }
        tokens.withLock { $0 = [token, notices] }
        try db.sync.start()
        try metricsListener?.start { $0.close(.refused("metrics only")) }
        let timer = DispatchSource.makeTimerSource(queue: DispatchQueue(label: "docdb.hub"))
        timer.setEventHandler { [weak self] in self?.watchFiles() }
        timer.schedule(
            deadline: .now(), repeating: .milliseconds(Self.watchMilliseconds), leeway: .milliseconds(50))
        timer.activate()
        let watching = Watch(timer: timer)
        watch.withLock { $0 = watching }
        var facts: [String: Value] = ["address": .string(address.map { "\($0)" } ?? "")]
        if let metrics = metricsListener?.boundAddress { facts["metrics"] = .string("\(metrics)") }
        log.note(.info, "listening", facts)
    }

    /// Where the hub listens; nil until it does.
    package var address: SocketAddress? { db.sync.engine.status.listening }
    package var metricsAddress: SocketAddress? { metricsListener?.boundAddress }

    /// Ends all sessions in order, moves the write-ahead log into the database, and closes it.
    package func stop() throws {
        watch.withLock { watch in
            watch?.timer.cancel()
            watch = nil
        }
        metricsListener?.stop()
        db.sync.stop()
        tokens.withLock { $0 = [] }
        do { try keepNotices() } catch { noteUnkept(error) }
        service.engine.withLock { $0 = nil }
        _ = try db.checkpoint()
        try db.close()
        log.note(.info, "stopped")
    }

    private func watchFiles() {
        do {
            try readKeys()
            try readRevocations()
            try keepNotices()
        } catch { noteUnkept(error) }
    }

    private func noteUnkept(_ error: any Error) {
        log.note(
            .error, "keys or revocations cannot be read or kept",
            ["reason": .string("\((error as? DocDBError)?.code.description ?? "unknown")")])
    }

    /// Takes up what `docdb-hub keys rotate` has changed: logins are signed with the new key from now on, and devices hear of
    /// it in their sessions.
    private func readKeys() throws {
        let stamp = HubFiles.stamp(files.keys)
        guard stamp != read.withLock({ $0.keysStamp }) else { return }
        // Whatever comes of it, it is read once.
        read.withLock { $0.keysStamp = stamp }
        let keys = try HubKeys.load(files)
        let now = UnixTime(nanoseconds: clock())
        let peerKey = try keys.current(now: now)
        guard keys.appID == authenticator.appID, peerKey.pair.publicKey == authenticator.pair.publicKey else {
            return log.note(.error, "the keys are another hub's; they count from the next start on")
        }
        // A revocation that was signed with a key unknown until now may have been passed over.
        read.withLock { read in
            read.keys = keys
            read.revocationsStamp = nil
        }
        let news = authenticator.learn(notices: keys.keys.map(\.certificate.text), now: now)
        try authenticator.present(hub: peerKey.certificate, now: now)
        login.use(keys)
        authenticator.sign(with: try GrantIssuer(appID: keys.appID, keys: keys.keys))
        db.sync.engine.tellNotices(news)
        db.sync.engine.grantRenewed()
        log.note(.info, "keys changed", ["count": .int(Int64(keys.keys.count))])
    }

    /// Reads what `docdb-hub revoke` has added, and ends the sessions that it ends.
    private func readRevocations() throws {
        let stamp = HubFiles.stamp(files.revocations)
        let keys = read.withLock { read -> HubKeys? in
            guard stamp != read.revocationsStamp else { return nil }
            read.revocationsStamp = stamp
            return read.keys
        }
        guard let keys else { return }
        let now = UnixTime(nanoseconds: clock())
        let news = try ledger.readRevocations(try ledger.verifier(keys, now: now), now: now)
        guard !news.isEmpty else { return }
        // Sessions hear of it, so that devices know it from each other while the hub is away, and those meant end.
        db.sync.engine.tellNotices(authenticator.learn(notices: news.map(\.text), now: now))
        log.note(.info, "revoked", ["count": .int(Int64(news.count))])
    }

    /// Writes down what devices have brought of certificates and revocations, and what hubs have refused.
    private func keepNotices() throws {
        guard hasUnsavedNotices.withLock({ $0 }) else { return }
        hasUnsavedNotices.withLock { $0 = false }
        do {
            let count = try ledger.keep(
                authenticator.notices, read.withLock { $0.keys }, now: UnixTime(nanoseconds: clock()))
            if count > 0 { log.note(.info, "notices kept that devices had", ["count": .int(Int64(count))]) }
            try keepVoided()
        } catch {
            hasUnsavedNotices.withLock { $0 = true }
            throw error
        }
    }

    /// Reads the notices of refused changes that earlier runs have kept.
    private func readVoided() throws {
        let texts = try HubFiles.lines(files.voided).compactMap { String(validating: $0, as: UTF8.self) }
        authenticator.learn(notices: texts, now: UnixTime(nanoseconds: clock()))
        voided.withLock { $0 = texts }
    }

    /// Keeps the notices of refused changes, so that devices hear of them also after a restart.
    private func keepVoided() throws {
        let texts = authenticator.voidedTexts
        guard voided.withLock({ $0 != texts }) else { return }
        try HubFiles.replace(files.voided, with: Array(texts.map { $0 + "\n" }.joined().utf8))
        voided.withLock { $0 = texts }
    }
}
