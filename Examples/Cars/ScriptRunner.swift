import Dispatch
import DocDB
import Observation

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// Does with the model what lines of a script say, as a person would with keys, and checks what is seen.
///
/// After each line it prints what came of it and `ok`. The first line that cannot be done, or whose condition does not hold, ends
/// the script with exit status 1.
@MainActor
final class ScriptRunner {
    private let model: CarsModel
    private var limit = 60

    init(_ model: CarsModel) { self.model = model }

    /// The lines of a file, or of standard input for `-`, as they come.
    nonisolated static func lines(ofFile path: String) throws -> AsyncStream<String> {
        if path != "-" {
            let descriptor = open(path, O_RDONLY | O_CLOEXEC)
            guard descriptor >= 0, dup2(descriptor, STDIN_FILENO) >= 0 else {
                throw UsageFailure(message: "the script \(path) cannot be read")
            }
        }
        let (lines, continuation) = AsyncStream.makeStream(of: String.self)
        DispatchQueue.global().async {
            while let line = readLine() { continuation.yield(line) }
            continuation.finish()
        }
        return lines
    }

    /// Returns the exit status: 0 where every line was done and every condition held.
    func run(_ lines: AsyncStream<String>) async -> Int32 {
        var number = 0
        for await text in lines {
            number += 1
            let line = text.split(separator: "#", maxSplits: 1, omittingEmptySubsequences: false)[0]
            var arguments = line.split(separator: " ").map(String.init)
            guard !arguments.isEmpty else { continue }
            let command = arguments.removeFirst()
            say("> \(command == "login" ? "login ..." : ([command] + arguments).joined(separator: " "))")
            do {
                try await run(command, arguments)
            } catch {
                write("failed: line \(number): \(words(for: error))\n", to: STDERR_FILENO)
                return 1
            }
            say("ok")
        }
        guard let alert = model.alert else { return 0 }
        write("failed: at the end there is an alert: \(alert)\n", to: STDERR_FILENO)
        return 1
    }

    private func run(_ command: String, _ words: [String]) async throws {
        let text = words.joined(separator: " ")
        if !["expect", "wait", "show"].contains(command), let alert = model.alert {
            throw UsageFailure(message: "before it there is an alert: \(alert)")
        }
        switch command {
        case "login": await model.logIn(token: text)
        case "logout": await model.logOut(givingUpUnsent: text == "anyway")
        case "renew": model.renewsByItself = text == "on"
        case "online": model.goOnline()
        case "offline": await model.goOffline()
        case "add": model.add(try NewCar(text))
        case "sell": model.sell(try car(text).id)
        case "search": model.search(make: text.isEmpty ? nil : text)
        case "revert": model.revert(try car(text).id)
        case "show": for line in RootView(model: model).lines where !line.text.isEmpty { say("| \(line.text)") }
        case "limit":
            guard let seconds = Int(text), seconds > 0 else { throw UsageFailure(message: "a limit is in seconds") }
            limit = seconds
        case "wait": try await wait(text, try ScriptCondition(text))
        case "expect":
            let condition = try ScriptCondition(text)
            guard condition.holds(model) else { throw UsageFailure(message: "\(text) does not hold; \(summary)") }
            if condition.isAlert { model.alert = nil }
        default: throw UsageFailure(message: "there is no command \(command)")
        }
        if let alert = model.alert { say("! \(alert)") }
    }

    /// Waits until a condition holds: looks when anything that it has read changes, and four times a second.
    private func wait(_ text: String, _ condition: ScriptCondition) async throws {
        let clock = ContinuousClock()
        let end = clock.now.advanced(by: .seconds(limit))
        while true {
            let (changes, continuation) = AsyncStream.makeStream(of: Void.self)
            let holds = withObservationTracking {
                _ = model.tick
                return condition.holds(model)
            } onChange: {
                continuation.finish()
            }
            if holds { break }
            guard clock.now < end else {
                throw UsageFailure(message: "\(text) did not hold within \(limit) s; \(summary)")
            }
            for await _ in changes {}
        }
        say("  \(summary)")
        if condition.isAlert { model.alert = nil }
    }

    /// A car of this device by its model's name or its id.
    private func car(_ name: String) throws -> Car {
        guard let car = try model.cars.findAll().documents().map({ Car($0) }).first(where: { $0.isNamed(name) }) else {
            throw UsageFailure(message: "there is no car \(name) here; \(summary)")
        }
        return car
    }

    private var summary: String {
        let cars = model.forSale.documents.map { Car($0).title }.joined(separator: ", ")
        var parts = ["\(model.forSale.documents.count) for sale\(cars.isEmpty ? "" : " (\(cars))")"]
        switch model.auth.status {
        case .unauthenticated(let reason): parts.append("nobody logged in: \(reason)")
        case .authenticated(let user, _): parts.append(user)
        case .expired: parts.append("login expired")
        }
        parts.append(model.sync.status.isConnected ? "online" : "not connected")
        parts += model.refused.map { "refused: \($0.car.title) (\($0.reason))" }
        return Line(parts.joined(separator: "; ")).text
    }

    private func say(_ text: String) { write(text + "\n", to: STDOUT_FILENO) }
}

/// What a script can wait for or expect.
@MainActor
struct ScriptCondition {
    let isAlert: Bool
    private let isNegated: Bool
    private let test: @MainActor (CarsModel) -> Bool

    init(_ text: String) throws {
        var words = text.split(separator: " ").map(String.init)
        isNegated = words.first == "no"
        if isNegated { words.removeFirst() }
        guard !words.isEmpty else { throw UsageFailure(message: "a condition is missing") }
        let name = words.removeFirst()
        let rest = words.joined(separator: " ")
        isAlert = name == "alert" && !isNegated
        if let test = Self.named(name, rest) {
            self.test = test
        } else if let number = Int(rest), let test = Self.counting(name, number) {
            self.test = test
        } else {
            throw UsageFailure(message: "there is no condition '\(text)'")
        }
    }

    func holds(_ model: CarsModel) -> Bool { test(model) != isNegated }

    private static func named(_ name: String, _ rest: String) -> (@MainActor (CarsModel) -> Bool)? {
        switch name {
        case "car": { $0.forSale.documents.contains { Car($0).isNamed(rest) } }
        case "refused": { $0.refused.contains { rest.isEmpty || $0.car.isNamed(rest) } }
        case "user": { if case .authenticated(rest, _) = $0.auth.status { true } else { false } }
        case "login": { !$0.isHome }
        case "home": { $0.isHome }
        case "expired": { $0.auth.status == .expired }
        case "online": { $0.sync.status.isConnected }
        case "idle": { !$0.isLoggingIn }
        case "sent": { $0.sync.status.isConnected && $0.unsentCount == 0 }
        case "alert": { $0.alert.map { rest.isEmpty || $0.contains(rest) } ?? false }
        default: nil
        }
    }

    private static func counting(_ name: String, _ number: Int) -> (@MainActor (CarsModel) -> Bool)? {
        switch name {
        case "count": { $0.forSale.documents.count == number }
        case "found": { $0.search?.results.documents.count == number }
        case "stored": { (try? $0.cars.findAll().count()) == number }
        case "renewed": { $0.renewalCount >= number }
        default: nil
        }
    }
}
