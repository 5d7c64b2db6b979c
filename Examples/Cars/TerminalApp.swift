import DocDB
import Foundation
import Observation

/// Runs the app in a plain terminal: draws the views when what they show changes, and does what keys say.
@MainActor
final class TerminalApp {
    private enum Event {
        case key(Character)
        case resized
        /// To end, with this exit status.
        case ended(Int32)
    }

    private let model: CarsModel
    private let input = InputState()
    private var original = termios()
    private var sources: [any DispatchSourceProtocol] = []

    init(_ model: CarsModel) throws {
        self.model = model
        let type = ProcessInfo.processInfo.environment["TERM"] ?? "dumb"
        guard type != "dumb", isatty(STDOUT_FILENO) == 1, tcgetattr(STDIN_FILENO, &original) == 0 else {
            throw UsageFailure("there is no terminal here that can be drawn on; use --script -")
        }
    }

    /// Returns the exit status, once somebody quits; the terminal is then as it was before.
    func run() async -> Int32 {
        var raw = original
        cfmakeraw(&raw)
        tcsetattr(STDIN_FILENO, TCSANOW, &raw)
        // Another screen, without a cursor, and back.
        write("\u{1B}[?1049h\u{1B}[?25l")
        defer {
            tcsetattr(STDIN_FILENO, TCSANOW, &original)
            write("\u{1B}[?25h\u{1B}[?1049l")
        }
        draw()
        for await event in events() {
            switch event {
            case .resized: input.size = Self.size
            case .ended(let status): return status
            case .key("q") where input.line == nil: return 0
            case .key(let key):
                model.alert = nil
                if let line = input.line { edit(line, key) } else { press(key) }
            }
        }
        return 0
    }

    /// Draws in one go, so that nothing flickers, and again once anything that was read for it has changed.
    private func draw() {
        let lines = withObservationTracking {
            RootView(model: model, input: input).lines.prefix(input.size.rows)
        } onChange: { [weak self] in
            Task { @MainActor in self?.draw() }
        }
        let rows = lines.map { "\u{1B}[\($0.style.rawValue)m\($0.text.prefix(input.size.columns))\u{1B}[0m\u{1B}[K" }
        write("\u{1B}[H\(rows.joined(separator: "\r\n"))\u{1B}[J")
    }

    private func edit(_ line: String, _ key: Character) {
        switch key {
        case "\u{1B}": input.line = nil
        case "\r", "\n", "\r\n":
            input.line = nil
            perform(line)
        case "\u{08}", "\u{7F}": input.line = String(line.dropLast())
        default: input.line = line + String(key)
        }
    }

    private func press(_ key: Character) {
        switch key {
        case "l": input.line = "login "
        case "X": perform("logout anyway")
        case _ where !model.isHome: break
        case "a": input.line = "add "
        case "s": input.line = "sell "
        case "/": input.line = "search "
        case "v": if let refused = model.refused.first { perform("revert \(refused.car.id)") }
        case "o": perform(model.sync.status.isConnected ? "offline" : "online")
        case "k": perform(model.renewsByItself ? "renew off" : "renew on")
        case "x": perform("logout")
        default: break
        }
    }

    private func perform(_ line: String) {
        Task { do { try await model.perform(line) } catch { model.alert = error.localizedDescription } }
    }

    /// What happens at the terminal, from now on.
    private func events() -> AsyncStream<Event> {
        let (events, continuation) = AsyncStream.makeStream(of: Event.self)
        let keys = DispatchSource.makeReadSource(fileDescriptor: STDIN_FILENO, queue: .main)
        keys.setEventHandler {
            let typed = String(decoding: FileHandle.standardInput.availableData, as: UTF8.self)
            // Keys without a character, such as arrows, are sequences that begin with an escape.
            for key in typed.hasPrefix("\u{1B}") ? "\u{1B}" : typed {
                // Ctrl-C and Ctrl-D come as keys, too.
                continuation.yield(key == "\u{03}" || key == "\u{04}" ? .ended(0) : .key(key))
            }
            if typed.isEmpty { continuation.yield(.ended(0)) }
        }
        sources = [keys]
        let ends = [SIGINT, SIGTERM, SIGHUP, SIGQUIT].map { ($0, Event.ended(128 + $0)) }
        for (number, event) in ends + [(SIGWINCH, .resized)] {
            signal(number, SIG_IGN)
            let source = DispatchSource.makeSignalSource(signal: number, queue: .main)
            source.setEventHandler { continuation.yield(event) }
            sources.append(source)
        }
        sources.forEach { $0.activate() }
        return events
    }

    fileprivate static var size: (rows: Int, columns: Int) {
        var size = winsize()
        guard ioctl(STDOUT_FILENO, UInt(TIOCGWINSZ), &size) == 0, size.ws_row > 0 else { return (24, 80) }
        return (Int(size.ws_row), Int(size.ws_col))
    }
}

/// What is typed, and how large the screen is: the state of the views themselves.
@MainActor @Observable
final class InputState {
    /// A line as of a script, while it is typed.
    var line: String?
    var size = TerminalApp.size
}
