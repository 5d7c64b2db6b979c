import DocDB
import Foundation
import Observation

/// The state of the app, and what can be done in it. Views read it and nothing else.
@MainActor @Observable
final class CarsModel: AuthenticationDelegate {
    let db: Database
    let cars: Collection
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
    private(set) var renewalCount = 0
    /// Whether a login or a logout is under way.
    private(set) var isBusy = false
    private let provider: String
    @ObservationIgnored private var token: String?

    init(_ options: [String: String]) throws {
        let (app, hub) = (options["app"] ?? "com.example.cars", options["hub"] ?? "http://127.0.0.1:4430")
        db = try Database(
            at: options["store"] ?? "cars.docdb", identity: .onlineWithAuthentication(appID: app, hub: hub))
        // Somebody is looking: back within a second of the hub.
        db.sync.configuration.longestReconnectWait = .seconds(1)
        if let file = options["ca"] { db.sync.configuration.trust = .authorities(file: file) }
        provider = options["provider"] ?? "dev"
        cars = db.collection("cars")
        auth = ObservedAuthentication(db.auth)
        sync = ObservedSyncStatus(db.sync)
        forSale = try ObservedQuery(cars.find("state == 'for sale'").sort("make").sort("model"))
        // What is shown is what is replicated; a car that is sold goes from this device, its owner's too.
        try cars.find("state == 'for sale'").subscribe(whenLeaving: .evict)
        db.auth.delegate = self
        try db.sync.start()
    }

    // MARK: Cars

    /// Offers a car, from now on here and, once the hub is reached, everywhere.
    func add(make: String, model: String, year: Int64) throws {
        try cars.insert([
            "make": .string(make), "model": .string(model), "year": .int(year), "state": "for sale",
            "owner": .string(db.auth.userID ?? ""),
        ])
    }

    func sell(_ id: DocumentID) throws { try cars.update(id) { $0["state"] = "sold" } }

    /// Shows the cars of a make, live; an empty one ends that.
    func search(make: String) throws {
        let found = try cars.find("make == $make", ["make": .string(make)])
        search = make.isEmpty ? nil : (make, try ObservedQuery(found))
    }

    /// The cars that the hub has not taken as they were written here, with the reason.
    var refused: [(car: Car, reason: String)] {
        sync.refusals.filter { $0.side == .peer }.compactMap { refusal in
            guard let document = try? cars.find(id: refusal.document.id) else { return nil }
            return (Car(document), "\(refusal.reason), \(refusal.explanation)")
        }
    }

    /// Gives up what was written to a car here, for what the hub has.
    func revert(_ id: DocumentID) throws { try db.sync.revert("cars", id) }

    // MARK: Replication

    /// Connects to the hub, at once also where it is being waited for.
    func goOnline() throws {
        try db.sync.start()
        db.sync.networkDidChange()
    }

    func goOffline() async { await db.sync.stop() }

    /// Changes that the hub has not yet.
    var unsentCount: Int { (try? db.sync.pendingDocuments().count) ?? 0 }

    // MARK: Logging in and out

    /// Whether the home view is shown: a login that has ended keeps nobody from working on.
    var isHome: Bool { auth.status.isAuthenticated || auth.status == .expired }

    /// Logs in, or logs in again while somebody is: the status says who is.
    func logIn(token: String) async throws {
        guard !isBusy else { return }
        isBusy = true
        defer { isBusy = false }
        try await db.auth.login(token: token, provider: provider)
        self.token = token
        try db.sync.start()
    }

    /// Logs out and removes what the user had here.
    func logOut(givingUpUnsent givesUp: Bool) async throws {
        guard unsentCount == 0 || givesUp else {
            throw UsageFailure("not all is sent to the hub, and would be lost; X logs out all the same")
        }
        isBusy = true
        defer { isBusy = false }
        try await db.auth.logout { [cars] in try cars.findAll().evict(force: givesUp) }
        (token, search) = (nil, nil)
    }

    // The database calls these on a queue of its own; the model lives on the main actor.
    nonisolated func authenticationRequired(authenticator: DatabaseAuthentication) { Task { await renewLogin() } }
    nonisolated func authenticationExpiringSoon(authenticator: DatabaseAuthentication, secondsRemaining: Int) {
        Task { await renewLogin() }
    }

    private func renewLogin() async {
        guard renewsByItself, let token, !isBusy else { return }
        do {
            try await logIn(token: token)
            renewalCount += 1
        } catch { alert = error.localizedDescription }
    }
}

/// A car as the views show it. What its document lacks is blank: others wrote it, perhaps with another app.
struct Car {
    let id: DocumentID
    let title, model, owner: String

    init(_ document: Document) {
        func text(_ name: String) -> String { document[name].map { $0.stringValue ?? "\($0)" } ?? "" }
        id = document.id
        model = text("model")
        title = "\(text("make")) \(model) \(text("year"))"
        owner = text("owner")
    }
}
