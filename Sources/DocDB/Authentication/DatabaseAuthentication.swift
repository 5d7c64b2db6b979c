import DocDBAuth
public import DocDBCore
import DocDBReplication
import DocDBSync
import DocDBTransport
import Synchronization

/// The logins of a database with the online identity: ``Database/auth``.
///
/// A login sends a token of an identity provider to the hub, which answers with a grant: what this database may read and
/// write, until when. The grant survives restarts. When it expires, replication stops and local work goes on; a new login
/// resumes it, and one before then changes nothing but the end.
///
/// ```swift
/// let info = try await db.auth.login(token: token, provider: "auth0")
/// for await status in db.auth.statusUpdates { show(status.isAuthenticated ? home : login) }
/// ```
public final class DatabaseAuthentication: Sendable {
    struct State {
        var credentials: Credentials?
        var delegate: WeakDelegate
        var memory = AuthenticationMemory()
        var status = AuthenticationStatus.unauthenticated(reason: "nobody has logged in")
        var schedule: AuthenticationSchedule?
        var engine: ReplicationEngine?
        var http: any HTTPFetching = HTTPClient()
        /// Whether the database has changes that no hub has.
        var hasPending: @Sendable () throws -> Bool = { false }
        /// End the watch for revocations.
        var tokens: [ObserverToken] = []
        /// When the present grant came, in nanoseconds since 1970.
        var adoptedTime: UInt64 = 0
        var isLoggingIn = false
        var isLoggingOut = false
        /// Whether the delegate was told that a login is required, since there last was a grant.
        var hasRequired = false
        /// Logins in a row that failed without an answer.
        var failureCount = 0
        /// When the delegate may be asked again after such a failure, in nanoseconds since 1970.
        var retryTime: UInt64 = 0
        /// The latest time that was written down, in nanoseconds since 1970.
        var rememberedTime: UInt64 = 0
        /// Whether there are notices of hubs that could not be written down yet.
        var hasUnsavedNotices = false
    }

    let authenticator: OnlineAuthenticator
    let address: HubAddress
    let storage: any CredentialStorage
    let pinnedRoots: [PeerPublicKey]
    let state: Lock<State>
    let observers = Observers<AuthenticationStatus>()
    /// Held while the memory is written down, so that what is older never replaces what is newer.
    let remembering = Lock<Void>(())

    /// The name of the grant in its storage.
    static let credentialsName = "grant"
    static let revokedReason = "the hub has revoked the grant; log in again"

    init(_ identity: OnlineIdentity, appID: String, path: String) throws {
        var path = path
        while path.count > 1, path.last == "/" { path.removeLast() }
        let storage = identity.storage ?? CredentialFiles(directory: path + ".credentials")
        let pair = try PeerKeyPair.loadOrGenerate(in: StoredPeerKey(storage: storage))
        var state = State(delegate: identity.delegate)
        state.memory = try AuthenticationMemory(storage)
        state.rememberedTime = state.memory.latest.nanoseconds
        pinnedRoots = try identity.rootKeys.map { try PeerPublicKey(bytes: $0) }
        authenticator = OnlineAuthenticator(
            pair: pair, verifier: GrantVerifier(appID: appID, roots: pinnedRoots), epochs: state.memory.epochs,
            floor: TimeFloor(latest: state.memory.latest), bindsChannel: identity.channelBinding == .tlsExporter)
        let latest = state.memory.latest
        if let stored = try storage.load(Self.credentialsName) {
            // Damaged ones, or those of another app, are as none: a login gives new ones.
            if let credentials = try? Credentials(
                storedForm: stored, appID: appID, peer: pair.publicKey, pinnedRoots: pinnedRoots)
            {
                try authenticator.present(credentials, now: credentials.grant.issuedAt)
                state.credentials = credentials
                state.schedule = AuthenticationSchedule(credentials.grant)
                // A grant is kept before its owner is: a process that ends in between leaves no database without one.
                state.memory.owner = state.memory.owner ?? credentials.grant.userID
            } else {
                state.status = .unauthenticated(reason: "the stored grant cannot be used; log in again")
            }
        }
        authenticator.learn(notices: try StoredNotices.load(storage), now: latest)
        if authenticator.isOwnGrantRevoked {
            authenticator.presentNothing()
            (state.credentials, state.schedule) = (nil, nil)
            state.status = .unauthenticated(reason: Self.revokedReason)
        }
        self.storage = storage
        address = try HubAddress(identity.hub)
        self.state = Lock(state)
    }

    /// Begins to keep time, once the database's replication is there.
    ///
    /// - Parameter hasPending: whether the database has changes that no hub has.
    func attach(
        _ engine: ReplicationEngine, http: any HTTPFetching, hasPending: @escaping @Sendable () throws -> Bool
    ) {
        let hub = address.syncURL
        let status = engine.statusObservers.add { [weak self] status in
            // What another peer than the hub says of it has no weight without the hub's notice.
            let errors = status.dials.filter { $0.url == hub }.compactMap(\.lastError)
            let revoked = errors.filter { $0.error.context["close"] == CloseCode.revoked }
            if let time = revoked.map(\.wallNanoseconds).max() { self?.grantWasRevoked(at: time) }
        }
        let notices = engine.noticeObservers.add { [weak self] in self?.noticesCame() }
        state.withLock { state in
            state.engine = engine
            state.http = http
            state.hasPending = hasPending
            state.tokens = [status, notices]
            // Right from the start, so that an app shows no login view for a moment.
            if let grant = state.credentials?.grant {
                state.status =
                    now(state) < grant.expiresAt.nanoseconds ? AuthenticationStatus(grant) : .expired
            }
        }
        update(isForced: true)
    }

    /// Ends for good, when the database closes.
    func close() {
        saveNoticesAgain()
        try? remember()
        observers.end()
    }

    /// Who is asked for logins; it is not kept.
    ///
    /// The identity may name it when the database is opened. An object that opens the database itself, such as an app's
    /// model, sets it afterwards, before ``DatabaseSync/start()`` asks for a first login.
    public var delegate: (any AuthenticationDelegate)? {
        get { state.withLock { $0.delegate.delegate } }
        set { state.withLock { $0.delegate = WeakDelegate(newValue) } }
    }

    /// Whether somebody is logged in.
    public var status: AuthenticationStatus { state.withLock { $0.status } }

    /// The status as it changes, beginning with the present one; a busy consumer gets the newest.
    public var statusUpdates: SyncUpdates<AuthenticationStatus> {
        SyncUpdates { [self] in
            let (stream, continuation) = AsyncStream.makeStream(
                of: AuthenticationStatus.self, bufferingPolicy: .bufferingNewest(1))
            let token = observers.add({ continuation.yield($0) }, onEnd: { continuation.finish() })
            tellInTurn { continuation.yield($0) }
            return (stream, token)
        }
    }

    /// Tells the status in turn with its changes, so that it never overtakes a newer one.
    func tellInTurn(_ receive: @escaping @Sendable (AuthenticationStatus) -> Void) {
        guard let engine = state.withLock({ $0.engine }) else { return receive(status) }
        engine.executor.enqueue { [weak self] in if let self { receive(status) } }
    }

    /// The seconds until the grant expires, rounded up, by the time that grants are judged by, which may differ from this
    /// machine's clock; nil where nobody is logged in.
    public var secondsRemaining: Int? { nanosecondsRemaining.map { $0 == 0 ? 0 : Int(($0 - 1) / 1_000_000_000) + 1 } }

    /// What remains of the grant; nil where nobody is logged in.
    var nanosecondsRemaining: UInt64? {
        state.withLock { state in
            guard state.status.isAuthenticated, let end = state.credentials?.grant.expiresAt.nanoseconds else {
                return nil
            }
            let now = now(state)
            return end > now ? end - now : 0
        }
    }

    /// What the provider told of the user at the login; null where nobody is logged in, or it told nothing.
    public var clientInfo: Value { state.withLock { $0.credentials?.grant.clientInfo ?? .null } }

    /// Who logged in last and may do so again: `provider|subject`.
    public var userID: String? { state.withLock { $0.memory.owner } }

    // MARK: Logging in

    /// Logs in with a token of an identity provider, or renews the grant, also while replication runs.
    ///
    /// - Parameters:
    ///   - token: what the provider gave; it goes to the hub alone, and is kept nowhere.
    ///   - provider: the provider's name in the hub's configuration.
    /// - Returns: what the provider tells of the user; null where that is nothing.
    /// - Throws: `DocDBError` with the code `authenticationFailed`, `invalidToken`, `tokenExpired`,
    ///   `invalidPermissions` or `grantRevoked` where the hub refuses, `providerUnavailable` where it or the provider cannot
    ///   answer, `limitReached` after too many logins, `connectionFailed`, `timedOut` or `certificateRejected` where the hub
    ///   cannot be reached; `anotherUser` where the database holds another user's documents; `misuse` while another login
    ///   or a logout is under way.
    @discardableResult
    public func login(token: String, provider: String) async throws -> Value {
        let isFirst = state.withLock { state in
            guard !state.isLoggingIn, !state.isLoggingOut else { return false }
            state.isLoggingIn = true
            return true
        }
        guard isFirst else { throw DocDBError(.misuse, "another login or logout is under way; wait for its end") }
        do {
            let accepted = try await request(token, provider)
            try adopt(accepted)
        } catch {
            failed(error)
            throw error
        }
        return clientInfo
    }

    /// Logs in, and calls `completion` once that has succeeded or failed.
    public func login(
        token: String, provider: String, completion: @escaping @Sendable (Result<Value, any Error>) -> Void
    ) {
        Task {
            do { completion(.success(try await login(token: token, provider: provider))) } catch {
                completion(.failure(error))
            }
        }
    }

    private func request(_ token: String, _ provider: String) async throws -> LoginAnswer.Accepted {
        let pair = authenticator.pair
        let appID = authenticator.appID
        guard case .nonce(let nonce) = try await post(LoginRequest.nonceRequest(appID: appID)) else {
            throw DocDBError(.providerUnavailable, "the hub gave no nonce; check the hub's URL")
        }
        let body = try LoginRequest.loginRequest(
            appID: appID, provider: provider, token: token, nonce: nonce, pair: pair)
        // A webhook that the hub asks may take a minute.
        guard case .accepted(let accepted) = try await post(body, timeoutSeconds: 75) else {
            throw DocDBError(.providerUnavailable, "the hub gave no grant; check the hub's URL")
        }
        return accepted
    }

    private func post(_ body: [UInt8], timeoutSeconds: Double = 30) async throws -> LoginAnswer {
        let (http, engine) = state.withLock { ($0.http, $0.engine) }
        let request = HTTPClientRequest(
            url: address.loginURL, method: "POST", headers: ["content-type": "application/json"], body: body,
            trust: engine?.nextConfiguration.trust ?? .system)
        let response = try await http.send(
            request, limits: HTTPClientLimits(responseByteCount: LoginAnswer.byteLimit, timeoutSeconds: timeoutSeconds))
        let answer = try LoginAnswer(status: response.status, body: response.body)
        if case .refused(let refused) = answer { throw refused.error }
        return answer
    }

    /// Checks what a login gave, keeps it, and has running sessions go on under it.
    private func adopt(_ accepted: LoginAnswer.Accepted) throws {
        let epochs = authenticator.memory.epochs
        let credentials = try Credentials(
            accepted, appID: authenticator.appID, peer: authenticator.pair.publicKey, pinnedRoots: pinnedRoots,
            highestEpoch: { epochs[ExactString($0)] })
        let user = credentials.grant.userID
        if let owner = state.withLock({ $0.memory.owner }), ExactString(owner) != ExactString(user) {
            throw DocDBError(
                .anotherUser,
                "the database holds another user's documents; log out with a clean-up first, or use another database")
        }
        try storage.save(Self.credentialsName, credentials.storedForm())
        try remembering.withLock { _ in try StoredNotices.save(authenticator.notices, storage) }
        try authenticator.present(credentials, now: accepted.time)
        authenticator.resetTime(to: accepted.time)
        let engine = state.withLock { state in
            state.credentials = credentials
            state.adoptedTime = state.engine?.executor.wallNanoseconds ?? 0
            state.memory.owner = user
            state.schedule = AuthenticationSchedule(credentials.grant)
            // Not left to the update below, so that it holds when the login returns.
            state.status = AuthenticationStatus(credentials.grant)
            state.isLoggingIn = false
            state.hasRequired = false
            state.failureCount = 0
            state.retryTime = 0
            return state.engine
        }
        try remember()
        update(isForced: true)
        engine?.grantRenewed()
    }

    private func failed(_ error: any Error) {
        let code = (error as? DocDBError)?.code
        let isTransient =
            code.map { [.providerUnavailable, .connectionFailed, .timedOut, .limitReached].contains($0) } ?? false
        state.withLock { state in
            state.isLoggingIn = false
            state.failureCount = isTransient ? min(state.failureCount + 1, 6) : 0
            if isTransient {
                // 2, 4, 8 seconds and so on, up to about a minute.
                state.retryTime = now(state) &+ (UInt64(1) << UInt64(state.failureCount)) &* 1_000_000_000
                state.schedule?.putOff(until: state.retryTime)
            }
            // While an earlier grant is valid, a login that failed changes nothing.
            if !state.status.isAuthenticated, state.status != .expired {
                state.status = .unauthenticated(reason: (error as? DocDBError)?.message ?? "the login failed")
            }
            if isTransient { state.hasRequired = false }
        }
        update(isForced: true)
    }

    // MARK: Logging out

    /// Stops replication, runs a clean-up, which usually evicts what the user had, and forgets the grant.
    ///
    /// ```swift
    /// try await db.auth.logout { try cars.findAll().evict() }
    /// ```
    ///
    /// Where the clean-up throws, as an eviction does of what no hub has yet, nobody has been logged out: replication goes on
    /// as before, and brings what was evicted meanwhile again. So nobody is left without a login beside their documents.
    ///
    /// - Parameter cleanup: runs while nothing travels. After it another user may log in, unless it leaves changes here that
    ///   the hub has not got: those never travel under another's grant. Without one, only the same user may.
    /// - Throws: what `cleanup` throws, or `misuse` while another logout is under way, with the user still logged in;
    ///   `storageFailed`: then only the same user may log in, until a logout that cleans up.
    public func logout(cleanup: (@Sendable () throws -> Void)? = nil) async throws {
        let isFirst = state.withLock { state in
            defer { state.isLoggingOut = true }
            return !state.isLoggingOut
        }
        guard isFirst else { throw DocDBError(.misuse, "a logout is under way; wait for its end") }
        defer { state.withLock { $0.isLoggingOut = false } }
        let engine = state.withLock { $0.engine }
        let wasReplicating = engine?.isReplicating ?? false
        if let engine { await withCheckedContinuation { continuation in engine.stop { continuation.resume() } } }
        // Whatever the app starts meanwhile, nothing travels under the grant.
        authenticator.presentNothing()
        do {
            if let cleanup {
                // What waits because of its times has values of the user's documents, too.
                try engine?.dropQuarantine()
                try cleanup()
            }
            try storage.save(Self.credentialsName, nil)
        } catch {
            resume(engine, isReplicating: wasReplicating)
            throw error
        }
        state.withLock { state in
            state.credentials = nil
            state.schedule = nil
            state.hasRequired = true
            state.status = .unauthenticated(reason: "logged out")
        }
        update(isForced: true)
        guard cleanup != nil else { return }
        // What was evicted comes again with the next login, also with the same user's.
        try engine?.forgetPulls()
        // What the hub has not got must not travel under another's grant.
        guard try !state.withLock({ $0.hasPending })() else { return }
        state.withLock { $0.memory.owner = nil }
        try remember()
    }

    /// Goes on as before a logout that has failed.
    private func resume(_ engine: ReplicationEngine?, isReplicating: Bool) {
        // Where one of these fails, the sync status says so, or the next start tries it again.
        try? engine?.forgetPulls()
        let (credentials, now) = state.withLock { ($0.credentials, UnixTime(nanoseconds: self.now($0))) }
        if let credentials { try? authenticator.present(credentials, now: now) }
        if isReplicating { try? engine?.start() }
        engine?.grantRenewed()
        update(isForced: true)
    }

    /// Keeps what must never go back.
    func remember() throws {
        try remembering.withLock { _ in
            let known = authenticator.memory
            let memory = state.withLock { state in
                state.memory.epochs = known.epochs
                state.memory.latest = known.latest
                state.rememberedTime = known.latest.nanoseconds
                return state.memory
            }
            try memory.save(storage)
        }
    }
}

extension AuthenticationStatus {
    init(_ grant: Grant) {
        self = .authenticated(
            userID: grant.userID, expiresAt: HybridTime(rawValue: grant.expiresAt.nanoseconds))
    }
}

extension AuthenticationSchedule {
    init(_ grant: Grant) {
        self.init(issued: grant.issuedAt.nanoseconds, expires: grant.expiresAt.nanoseconds)
    }
}
