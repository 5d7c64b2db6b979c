import DocDB

/// A line of the screen.
struct Line {
    enum Emphasis { case none, bold, inverse, faint }

    let text: String
    var emphasis = Emphasis.none

    /// Creates a line of what a terminal shows as it is: documents come from others, and could hold its commands.
    init(_ text: String = "", _ emphasis: Emphasis = .none) {
        self.text = String(
            String.UnicodeScalarView(
                text.unicodeScalars.map {
                    switch $0.properties.generalCategory {
                    case .control, .format, .lineSeparator, .paragraphSeparator: "?"
                    default: $0
                    }
                }))
        self.emphasis = emphasis
    }
}

/// The whole screen: one of two views, as the status of the login says.
@MainActor
struct RootView {
    let model: CarsModel
    var input = InputState()

    var lines: [Line] {
        switch model.auth.status {
        case .unauthenticated(let reason): LoginView(model: model, input: input, reason: reason).lines
        case .authenticated, .expired: HomeView(model: model, input: input).lines
        }
    }
}

@MainActor
struct LoginView {
    let model: CarsModel
    let input: InputState
    let reason: String

    var lines: [Line] {
        [
            Line("Used cars", .bold), Line(), Line("\(model.options.hub), by \(model.options.provider)", .faint),
            Line("Not logged in: \(reason)."), Line(),
            model.isLoggingIn ? Line("Logging in ...") : promptLine(input.prompt ?? .token, input), Line(),
        ] + alert(model) + [footer]
    }

    private var footer: Line {
        let removal = model.formerUser.map { ", Escape removes what \($0) has left here" } ?? ""
        return Line("Enter logs in\(removal), Ctrl-C quits", .faint)
    }
}

@MainActor
struct HomeView {
    let model: CarsModel
    let input: InputState

    var lines: [Line] {
        let cars = model.search?.results.documents ?? model.forSale.documents
        let count = "\(cars.count) \(cars.count == 1 ? "car" : "cars")"
        let title = model.search.map { "\(count) of the make \($0.make)" } ?? "\(count) for sale"
        return [Line("Used cars", .bold), Line(status), Line(), Line(title, .bold)] + rows(cars) + [Line()] + refusals
            + alert(model) + [footer]
    }

    private var status: String {
        let user = model.db.auth.userID ?? ""
        if model.auth.status == .expired { return "\(user), the login has ended: work here goes on; press l to log in" }
        let seconds = model.secondsRemaining.map { ", logged in for \($0) s" } ?? ""
        return "\(user)\(seconds)\(model.renewsByItself ? " and on" : ""), \(connection)"
    }

    private var connection: String {
        let sync = model.sync.status
        if sync.isConnected { return "online" }
        guard sync.phase == .running else { return "offline" }
        return "connecting" + (sync.connections.first?.lastProblem.map { ": \($0.error.message)" } ?? "")
    }

    /// As many rows as the screen has room for, with the chosen one among them.
    private func rows(_ cars: LiveDocuments) -> [Line] {
        let chosen = input.selection(among: cars.count)
        let room = max(1, input.size.rows - 9 - model.refused.count)
        let first = max(0, min(cars.count - room, chosen - room / 2))
        return cars.indices[first...].prefix(room).map { index in
            let car = Car(cars[index])
            let columns = [(car.make, 14), (car.model, 20), (car.year, 6), (car.owner, 20)]
            let text = columns.map { text, width in
                text.prefix(width - 1) + String(repeating: " ", count: max(1, width - text.count))
            }
            return Line((index == chosen ? "> " : "  ") + text.joined(), index == chosen ? .bold : .none)
        }
    }

    private var refusals: [Line] {
        model.refused.map { Line("refused: \($0.car.title) (\($0.reason)); v reverts it", .inverse) }
    }

    private var footer: Line {
        if let prompt = input.prompt { return promptLine(prompt, input) }
        let network = model.sync.status.phase == .running ? "offline" : "online"
        return Line("a add, s sell, / search, o \(network), l log in, k keep in, x log out, q quit", .faint)
    }
}

@MainActor
private func promptLine(_ prompt: InputState.Prompt, _ input: InputState) -> Line {
    Line(prompt.rawValue + (prompt == .token ? String(repeating: "*", count: input.text.count) : input.text) + "_")
}

@MainActor
private func alert(_ model: CarsModel) -> [Line] { model.alert.map { [Line("! \($0)", .inverse), Line()] } ?? [] }
