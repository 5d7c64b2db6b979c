import DocDB
import Foundation

/// A line of the screen.
struct Line {
    /// The number of each is the terminal's.
    enum Style: Int { case plain = 0, bold = 1, faint = 2, inverse = 7 }

    let text: String
    let style: Style

    /// Creates a line of what a terminal shows as it is: documents come from others, and could hold its commands.
    init(_ text: String = "", _ style: Style = .plain) {
        func isHarmless(_ scalar: Unicode.Scalar) -> Bool { !CharacterSet.controlCharacters.contains(scalar) }
        self.text = String(text.map { !$0.isNewline && $0.unicodeScalars.allSatisfy(isHarmless) ? $0 : "?" })
        self.style = style
    }
}

/// The whole screen: one of two views, as the status of the login says.
@MainActor
struct RootView {
    let model: CarsModel
    let input: InputState

    var lines: [Line] {
        let header = [Line("Used cars", .bold), Line(status), Line()]
        let alert = model.alert.map { [Line("! \($0)", .inverse), Line()] } ?? []
        let view = model.isHome ? HomeView(model: model, input: input).lines : LoginView(model: model).lines
        return header + view + [Line()] + alert + [footer]
    }

    private var status: String {
        let unsent = model.unsentCount == 0 ? "all sent" : "\(model.unsentCount) to send"
        switch model.auth.status {
        case .unauthenticated(let reason): return "nobody is logged in: \(reason)"
        case .expired: return "\(model.db.auth.userID ?? ""), \(unsent), as the login has ended; work here goes on"
        case .authenticated(let user, _):
            let renewals = model.renewalCount == 0 ? "" : ", renewed \(model.renewalCount) times"
            return "\(user), logged in for \(model.auth.secondsRemaining ?? 0) s\(renewals), \(connection), \(unsent)"
        }
    }

    private var connection: String {
        if model.sync.status.isConnected { return "online" }
        guard model.sync.status.phase == .running else { return "offline" }
        return "connecting" + (model.sync.status.connections.first?.lastProblem.map { " (\($0.error.message))" } ?? "")
    }

    private var footer: Line {
        if let line = input.line {
            let token = String(repeating: "*", count: max(0, line.count - 6))
            return Line((line.hasPrefix("login ") ? "login " + token : line) + "_")
        }
        let home = "a add  s sell  / search  v revert  o on/off  k stay in  l log in  x log out  q quit"
        let login = "l log in  X remove what is here  q quit"
        return Line(model.isBusy ? "One moment ..." : model.isHome ? home : login, .faint)
    }
}

@MainActor
struct LoginView {
    let model: CarsModel

    var lines: [Line] {
        let count = (try? model.cars.findAll().count()) ?? 0
        let former = model.db.auth.userID.map { " of \($0); nobody else may log in before X removes them" } ?? ""
        return [Line("\(count) \(count == 1 ? "car is" : "cars are") kept here\(model.isBusy ? "" : former).")]
    }
}

@MainActor
struct HomeView {
    let model: CarsModel
    let input: InputState

    var lines: [Line] {
        let cars = model.search?.results.documents ?? model.forSale.documents
        let title = "\(cars.count) " + (model.search.map { "of the make \($0.make)" } ?? "for sale")
        // As many as there is room for; a search shows fewer.
        let rows = cars.prefix(max(1, input.size.rows - 8 - model.refused.count)).map { car in
            Line("  \(Car(car).title) of \(Car(car).owner)")
        }
        let refused = model.refused.map { Line("refused: \($0.car.title) (\($0.reason))", .inverse) }
        return [Line(title, .bold)] + rows + refused
    }
}
