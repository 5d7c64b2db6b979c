// The whole way of Examples/Cars/README.md, as code that is compiled and run.
import DocDB
import Foundation
import Synchronization
import Testing

/// Stands for the software of an identity provider.
private struct IdentityProvider {
    let hub: HubProcess

    func signIn() async throws -> String { try await hub.token(of: "ann") }
}

@Suite("The walk through an app with logins", .timeLimit(.minutes(10)))
struct WalkthroughTests {
    @Test("From the login to the logout, as the page has it")
    func walk() async throws {
        let market = try await HubProcess()
        let provider = IdentityProvider(hub: market)
        let hub = market.url
        let path = market.directory + "/app.docdb"
        let shown = Mutex<[Int]>([])
        @Sendable func show(count: Int) { shown.withLock { $0.append(count) } }

        let token = try await provider.signIn()
        let flow = LoginFlow(provider.signIn)
        let db = try Database(
            at: path,
            identity: .onlineWithAuthentication(appID: "com.example.cars", hub: hub, delegate: flow))
        try await db.auth.login(token: token, provider: "dev")
        try db.sync.start()

        let cars = db.collection("cars")
        let subscription = try cars.find("state == 'for sale'").subscribe()
        let observation = try cars.find("name == 'toyota'").observe { toyotas, _ in show(count: toyotas.count) }
        await subscription.waitUntilCaughtUp()

        let me = db.auth.userID ?? ""
        let id = try cars.insert(["name": "toyota", "state": "for sale", "owner": .string(me)])
        for await _ in db.sync.statusUpdates where try db.sync.isAcknowledged("cars", id) { break }

        observation.cancel()
        try await db.auth.logout { try cars.findAll().evict(force: true) }

        #expect(me == "dev|ann")
        #expect(shown.withLock { $0 }.last == 1)
        #expect(db.auth.status == .unauthenticated(reason: "logged out"))
        #expect(try cars.findAll().count() == 0)
        try db.close()
    }

    @Test("The code of the page is the code above")
    func sameCode() throws {
        func lines(_ path: String) throws -> [String] {
            try String(contentsOfFile: path, encoding: .utf8).split(separator: "\n")
                .map { $0.trimmingCharacters(in: .whitespaces) }
        }
        let page = try lines(HubProcess.root + "/Examples/Cars/README.md")
        let heading = try #require(page.firstIndex(of: "## The whole way"))
        let start = try #require(page[heading...].firstIndex(of: "```swift"))
        let code = page[(start + 1)...].prefix { $0 != "```" }.filter { !$0.hasPrefix("//") }
        #expect(code.count > 20)
        var compiled = try lines(#filePath)[...]
        for line in code {
            guard let index = compiled.firstIndex(of: line) else {
                Issue.record("the page has a line that is not compiled there, or in another order: \(line)")
                return
            }
            compiled = compiled[(index + 1)...]
        }
    }
}

final class LoginFlow: AuthenticationDelegate {
    private let signIn: @Sendable () async throws -> String

    init(_ signIn: @escaping @Sendable () async throws -> String) { self.signIn = signIn }

    func authenticationRequired(authenticator: DatabaseAuthentication) { logIn(authenticator) }
    func authenticationExpiringSoon(authenticator: DatabaseAuthentication, secondsRemaining: Int) {
        logIn(authenticator)
    }

    private func logIn(_ authenticator: DatabaseAuthentication) {
        Task { try await authenticator.login(token: signIn(), provider: "dev") }
    }
}
