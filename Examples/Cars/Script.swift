import DocDB
import Foundation

// What can be done, in words: of scripts, and of the keys of the terminal.
extension CarsModel {
    /// Does what a line says.
    func perform(_ line: String) async throws {
        let words = line.split(separator: " ").map(String.init)
        let text = words.dropFirst().joined(separator: " ")
        switch words.first {
        case "login": try await logIn(token: text)
        case "logout": try await logOut(givingUpUnsent: text == "anyway")
        case "renew": renewsByItself = text == "on"
        case "online": try goOnline()
        case "offline": await goOffline()
        case "add":
            guard words.count >= 4, let year = words.last.flatMap(Int64.init) else {
                throw UsageFailure("a car has a make, a model and a year, such as Toyota Corolla 2019")
            }
            try add(make: words[1], model: words[2..<(words.count - 1)].joined(separator: " "), year: year)
        case "sell": try sell(car(text))
        case "search": try search(make: text)
        case "revert": try revert(car(text))
        default: throw UsageFailure("there is no command \(line)")
        }
    }

    /// A car of this device by its model's name or its id; the user's own rather than another's.
    private func car(_ name: String) throws -> DocumentID {
        let all = try cars.findAll().documents().map { Car($0) }
        let named = all.filter { $0.model == name || $0.id.description == name }
        guard let car = named.first(where: { $0.owner == db.auth.userID }) ?? named.first else {
            throw UsageFailure("there is no car \(name) here")
        }
        return car.id
    }
}

/// Does what the lines of a script say, and checks what is seen; the first that fails ends it with exit status 1.
@MainActor
final class Script {
    private let model: CarsModel
    private let input = InputState()
    private var limit = Duration.seconds(60)

    init(_ model: CarsModel) { self.model = model }

    /// The lines of a file, or of standard input for `-`, as they come.
    nonisolated static func lines(ofFile path: String) throws -> AsyncStream<String> {
        let (lines, continuation) = AsyncStream.makeStream(of: String.self)
        let content = path == "-" ? nil : try String(contentsOfFile: path, encoding: .utf8)
        DispatchQueue.global().async {
            for line in content?.components(separatedBy: "\n") ?? [] { continuation.yield(line) }
            while content == nil, let line = readLine() { continuation.yield(line) }
            continuation.finish()
        }
        return lines
    }

    /// Returns the exit status: 0 where every line was done, everything expected was seen, and every alert was expected.
    func run(_ lines: AsyncStream<String>) async -> Int32 {
        var number = 0
        do {
            for await line in lines {
                number += 1
                let words = line.prefix { $0 != "#" }.split(separator: " ")
                guard let command = words.first else { continue }
                write("> \(command == "login" ? "login ..." : words.joined(separator: " "))\n")
                try await run(String(command), words.dropFirst().joined(separator: " "))
                write("ok\n")
            }
            if let alert = model.alert { throw UsageFailure("an alert was not expected: \(alert)") }
            return 0
        } catch {
            write("failed: line \(number): \(error.localizedDescription)\n\(screen)", to: .standardError)
            return 1
        }
    }

    private func run(_ command: String, _ text: String) async throws {
        switch command {
        case "show": write(screen)
        case "limit": limit = .seconds(Int(text) ?? 60)
        case "expect": try await expect(text, within: .zero)
        case "wait": try await expect(text, within: limit)
        default:
            if let alert = model.alert { throw UsageFailure("an alert was not expected: \(alert)") }
            do { try await model.perform("\(command) \(text)") } catch { model.alert = error.localizedDescription }
        }
    }

    /// Waits until the screen has a text, or has it no more; an alert with that text is dismissed.
    private func expect(_ condition: String, within limit: Duration) async throws {
        let isAbsence = condition.hasPrefix("no ")
        let text = isAbsence ? String(condition.dropFirst(3)) : condition
        let end = ContinuousClock.now + limit
        while screen.contains(text) == isAbsence {
            guard ContinuousClock.now < end else { throw UsageFailure("the screen does not show \(condition):") }
            try await Task.sleep(for: .milliseconds(20))
        }
        if !isAbsence, model.alert?.contains(text) == true { model.alert = nil }
    }

    private var screen: String {
        RootView(model: model, input: input).lines.map(\.text).filter { !$0.isEmpty }.map { "| \($0)\n" }.joined()
    }
}
