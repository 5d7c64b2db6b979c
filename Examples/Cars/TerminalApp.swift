import DocDB
import Observation

/// What is typed and chosen, and how large the screen is: the state of the views themselves.
@MainActor @Observable
final class InputState {
    enum Prompt: String {
        case token = "token: "
        case add = "make, model and year: "
        case search = "make (empty for all): "
        case giveUp = "type yes to remove what is here, also what is not at the hub: "
    }

    var prompt: Prompt?
    var text = ""
    var size = (rows: 24, columns: 80)
    private var chosen = 0

    func selection(among count: Int) -> Int { max(0, min(chosen, count - 1)) }
    func select(by step: Int, among count: Int) { chosen = max(0, min(selection(among: count) + step, count - 1)) }
}

/// Runs the app in a terminal: draws the views when what they show changes, and does what keys say.
@MainActor
final class TerminalApp {
    private let model: CarsModel
    private let terminal: Terminal
    private let input = InputState()
    private var end: CheckedContinuation<Int32, Never>?

    init(_ model: CarsModel, _ terminal: Terminal) {
        self.model = model
        self.terminal = terminal
    }

    /// Returns the exit status, once somebody quits.
    func run() async -> Int32 {
        terminal.begin { [weak self] in self?.handle($0) }
        defer { terminal.restore() }
        draw()
        return await withCheckedContinuation { end = $0 }
    }

    /// Draws, and again once anything that was read for it has changed.
    private func draw() {
        let lines = withObservationTracking {
            RootView(model: model, input: input).lines.prefix(input.size.rows)
        } onChange: { [weak self] in
            Task { @MainActor in self?.draw() }
        }
        terminal.show(Array(lines), columns: input.size.columns)
    }

    private func handle(_ event: Terminal.Event) {
        switch event {
        case .resized: input.size = terminal.size
        case .resumed:
            terminal.enter()
            input.size = terminal.size
        case .ended(let status):
            end?.resume(returning: status)
            end = nil
        case .key(let key):
            model.alert = nil
            if !model.isHome { enterLogin() }
            if let prompt = input.prompt {
                edit(key) { submit(prompt, $0) }
            } else {
                command(key)
            }
        }
    }

    /// Asks for a token, unless it is asked whether to give up what a former user has left.
    private func enterLogin() {
        guard input.prompt != .token, input.prompt != .giveUp else { return }
        (input.prompt, input.text) = (.token, "")
    }

    private func edit(_ key: Terminal.Key, submit: (String) -> Void) {
        switch key {
        case .character(let character): input.text.append(character)
        case .backspace: if !input.text.isEmpty { input.text.removeLast() }
        case .escape:
            let isLeaving = !model.isHome && model.formerUser != nil && input.prompt == .token
            (input.prompt, input.text) = (isLeaving ? .giveUp : nil, "")
        case .enter:
            let text = input.text
            (input.prompt, input.text) = (nil, "")
            submit(text)
        case .up, .down: break
        }
    }

    private func logIn(_ token: String) { Task { await model.logIn(token: token) } }

    private func submit(_ prompt: InputState.Prompt, _ text: String) {
        switch prompt {
        case .token: logIn(text)
        case .add: do { model.add(try NewCar(text)) } catch { model.alert = words(for: error) }
        case .search: model.search(make: text.isEmpty ? nil : text)
        case .giveUp: if text == "yes" { Task { await model.logOut(givingUpUnsent: true) } }
        }
    }

    private func command(_ key: Terminal.Key) {
        let cars = model.search?.results.documents ?? model.forSale.documents
        switch key {
        case .up: input.select(by: -1, among: cars.count)
        case .down: input.select(by: 1, among: cars.count)
        case .character("a"): input.prompt = .add
        case .character("/"): input.prompt = .search
        case .character("l"): input.prompt = .token
        case .character("s"): if !cars.isEmpty { model.sell(cars[input.selection(among: cars.count)].id) }
        case .character("v"): if let refused = model.refused.first { model.revert(refused.car.id) }
        case .character("k"): model.renewsByItself.toggle()
        case .character("o"):
            if model.sync.status.phase == .running { Task { await model.goOffline() } } else { model.goOnline() }
        case .character("x"):
            if model.unsentCount > 0 { input.prompt = .giveUp } else { Task { await model.logOut() } }
        case .character("q"): handle(.ended(0))
        default: break
        }
    }
}
