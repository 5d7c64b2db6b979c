import Dispatch
import DocDB
import Observation

/// The state of the app, and what can be done in it. Views read it and nothing else.
@MainActor @Observable
final class CarsModel {
    let options: Options
    /// Who is logged in: this alone decides between the login view and the home view.
    let auth: ObservedAuthentication
    /// How replication stands, and which writes the hub has refused.
    let sync: ObservedSyncStatus
    let forSale: ObservedQuery
    /// The cars of one make among all, while they are searched for.
    private(set) var search: (make: String, results: ObservedQuery)?
    /// What went wrong, until it is dismissed.
    var alert: String?
    /// Whether the app logs in again by itself before the login ends, as it would with a provider's refresh token.
    var renewsByItself = false
    private(set) var isLoggingIn = false
    private(set) var isLoggingOut = false
    private(set) var renewalCount = 0
    private(set) var secondsRemaining: Int?
    /// Counts on four times a second.
    private(set) var tick = 0

    @ObservationIgnored let db: Database
    @ObservationIgnored let cars: Collection
    @ObservationIgnored private let flow = LoginFlow()
    @ObservationIgnored private var token: String?

    init(_ options: Options) throws {
        self.options = options
        db = try Database(
            at: options.store,
            identity: .onlineWithAuthentication(appID: options.appID, hub: options.hub, delegate: flow))
        cars = db.collection("cars")
        auth = ObservedAuthentication(db.auth)
        sync = ObservedSyncStatus(db.sync)
        forSale = try ObservedQuery(cars.find("state == 'for sale'").sort("make").sort("model"))
        // What is shown is what is replicated; a car that is sold goes from this device, its owner's too.
        try cars.find("state == 'for sale'").subscribe(whenLeaving: .evict)
        flow.model = self
        keepTime()
        try db.sync.start()
    }

    func close() throws { try db.close() }

    // MARK: Cars

    /// Offers a car, from now on here and, once the hub is reached, everywhere.
    func add(_ car: NewCar) {
        perform {
            try cars.insert([
                "make": .string(car.make), "model": .string(car.model), "year": .int(car.year), "state": "for sale",
                "owner": .string(db.auth.userID ?? ""),
            ])
        }
    }

    func sell(_ id: DocumentID) { perform { try cars.update(id) { $0["state"] = "sold" } } }

    /// Shows the cars of a make, live; nil ends that.
    func search(make: String?) {
        perform {
            let results = try make.map { try ObservedQuery(cars.find("make == $make", ["make": .string($0)])) }
            search = make.flatMap { make in results.map { (make, $0) } }
        }
    }

    /// The cars that the hub has not taken as they were written here, with the reason.
    var refused: [(car: Car, reason: String)] {
        sync.refusals.filter { $0.side == .peer }.compactMap { refusal in
            guard let document = try? cars.find(id: refusal.document.id) else { return nil }
            let explanation = refusal.explanation.isEmpty ? "" : ", \(refusal.explanation)"
            return (Car(document), "\(refusal.reason)\(explanation)")
        }
    }

    /// Gives up what was written to a car here, for what the hub has.
    func revert(_ id: DocumentID) { perform { try db.sync.revert("cars", id) } }

    // MARK: Replication

    func goOnline() { perform { try db.sync.start() } }
    func goOffline() async { await db.sync.stop() }

    /// Changes that the hub has not yet.
    var unsentCount: Int { (try? db.sync.pendingDocuments().count) ?? 0 }

    // MARK: Logging in and out

    /// Whether the home view is shown: a login that has ended keeps nobody from working on.
    var isHome: Bool { auth.status.isAuthenticated || auth.status == .expired }

    /// Whose cars are here still though nobody is logged in, as after a revocation; nobody else may log in before they go.
    var formerUser: String? { isHome || isLoggingOut ? nil : db.auth.userID }

    /// Logs in, or logs in again while somebody is: the status says who is; where that fails, the alert says why.
    func logIn(token: String) async {
        guard !isLoggingIn else { return }
        isLoggingIn = true
        defer { isLoggingIn = false }
        do {
            try await db.auth.login(token: token, provider: options.provider)
            self.token = token
            try db.sync.start()
        } catch {
            alert = words(for: error)
        }
    }

    /// Logs out and removes what the user had here.
    func logOut(givingUpUnsent givesUp: Bool = false) async {
        let count = unsentCount
        guard count == 0 || givesUp else {
            alert = "\(count) changes are not at the hub, and would be lost; go online first, or give them up"
            return
        }
        isLoggingOut = true
        defer { isLoggingOut = false }
        do {
            try await db.auth.logout { [cars] in try cars.findAll().evict(force: givesUp) }
            (token, search) = (nil, nil)
        } catch {
            alert = words(for: error)
        }
    }

    /// The login ends soon, or has ended.
    fileprivate func loginIsDue() async {
        guard renewsByItself, let token, !isLoggingIn else { return }
        await logIn(token: token)
        renewalCount += 1
    }

    // MARK: The rest

    private func perform(_ action: () throws -> Void) {
        do { try action() } catch { alert = words(for: error) }
    }

    private func keepTime() {
        Task { [weak self] in
            while let self {
                let seconds = db.auth.secondsRemaining
                if seconds != secondsRemaining { secondsRemaining = seconds }
                tick += 1
                try await Task.sleep(for: .milliseconds(250))
            }
        }
    }
}

/// Hears from the database when a login is due. It calls on a queue of its own; the model lives on the main actor.
@MainActor
private final class LoginFlow: AuthenticationDelegate {
    weak var model: CarsModel?

    nonisolated func authenticationRequired(authenticator: DatabaseAuthentication) {
        Task { @MainActor in await model?.loginIsDue() }
    }

    nonisolated func authenticationExpiringSoon(authenticator: DatabaseAuthentication, secondsRemaining: Int) {
        Task { @MainActor in await model?.loginIsDue() }
    }
}
