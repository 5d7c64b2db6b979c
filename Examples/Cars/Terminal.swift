import Dispatch

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// A plain terminal: its keys one by one, and its screen, which is as it was before once the app has ended, however it ends.
@MainActor
final class Terminal {
    enum Key: Equatable {
        case character(Character)
        case enter, backspace, escape, up, down
    }

    enum Event {
        case key(Key)
        case resized
        /// The process was stopped and goes on: the shell has had the terminal meanwhile.
        case resumed
        /// To end, with this exit status.
        case ended(Int32)
    }

    private var sources: [any DispatchSourceProtocol] = []
    private var pending: [UInt8] = []

    init() throws {
        guard isatty(STDIN_FILENO) == 1, isatty(STDOUT_FILENO) == 1, tcgetattr(STDIN_FILENO, &original) == 0 else {
            throw UsageFailure(message: "there is no terminal here; use --script")
        }
    }

    /// Takes the terminal over, and calls a handler with what happens there.
    func begin(_ handle: @escaping @MainActor (Event) -> Void) {
        enter()
        let input = DispatchSource.makeReadSource(fileDescriptor: STDIN_FILENO, queue: .main)
        input.setEventHandler { [weak self] in MainActor.assumeIsolated { self?.read(handle) } }
        sources.append(input)
        let signals: [(Int32, Event)] =
            [(SIGWINCH, .resized), (SIGCONT, .resumed)]
            + [SIGINT, SIGTERM, SIGHUP, SIGQUIT].map { ($0, .ended(128 + $0)) }
        for (number, event) in signals {
            if case .ended = event { signal(number, SIG_IGN) }
            let source = DispatchSource.makeSignalSource(signal: number, queue: .main)
            source.setEventHandler { MainActor.assumeIsolated { handle(event) } }
            sources.append(source)
        }
        for source in sources { source.activate() }
        // Where the program itself fails, the terminal is put right before it ends.
        for number in [SIGILL, SIGTRAP, SIGABRT, SIGBUS, SIGSEGV, SIGFPE] {
            signal(number) { number in
                giveBack()
                signal(number, SIG_DFL)
                raise(number)
            }
        }
        handle(.resized)
    }

    /// Switches to keys one by one, and to a screen of the app's own.
    func enter() {
        var raw = original
        cfmakeraw(&raw)
        tcsetattr(STDIN_FILENO, TCSANOW, &raw)
        write("\u{1B}[?1049h\u{1B}[?25l", to: STDOUT_FILENO)
    }

    /// Gives the terminal back as it was.
    func restore() {
        for source in sources { source.cancel() }
        sources = []
        giveBack()
    }

    var size: (rows: Int, columns: Int) {
        var size = winsize()
        guard ioctl(STDOUT_FILENO, UInt(TIOCGWINSZ), &size) == 0, size.ws_row > 0, size.ws_col > 0 else {
            return (24, 80)
        }
        return (Int(size.ws_row), Int(size.ws_col))
    }

    /// Draws the screen in one go, so that nothing flickers.
    func show(_ lines: [Line], columns: Int) {
        var text = "\u{1B}[H"
        for (index, line) in lines.enumerated() {
            let style =
                switch line.emphasis {
                case .none: ""
                case .bold: "\u{1B}[1m"
                case .inverse: "\u{1B}[7m"
                case .faint: "\u{1B}[2m"
                }
            text += (index > 0 ? "\r\n" : "") + style + line.text.prefix(columns) + "\u{1B}[0m\u{1B}[K"
        }
        write(text + "\u{1B}[J", to: STDOUT_FILENO)
    }

    private func read(_ handle: (Event) -> Void) {
        var chunk = [UInt8](repeating: 0, count: 1024)
        let count = systemRead(STDIN_FILENO, &chunk, chunk.count)
        if count < 0, errno == EINTR || errno == EAGAIN { return }
        guard count > 0 else { return handle(.ended(0)) }
        pending += chunk[..<count]
        while let event = nextEvent() { handle(event) }
    }

    /// The first event of the bytes that have come; nil where there is none, or none whole.
    private func nextEvent() -> Event? {
        guard let first = pending.first else { return nil }
        switch first {
        case 3: return taken(1, .ended(0))
        case 10, 13: return taken(1, .key(.enter))
        case 8, 127: return taken(1, .key(.backspace))
        case 27: return escape()
        case ..<32: return taken(1, .key(.escape))
        default:
            let length = first < 0x80 ? 1 : first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4
            guard pending.count >= length else { return nil }
            let character = Character(String(decoding: pending[..<length], as: UTF8.self).prefix(1).description)
            return taken(length, .key(.character(character)))
        }
    }

    private func escape() -> Event {
        guard pending.count >= 3, pending[1] == UInt8(ascii: "[") || pending[1] == UInt8(ascii: "O") else {
            return taken(1, .key(.escape))
        }
        switch pending[2] {
        case UInt8(ascii: "A"): return taken(3, .key(.up))
        case UInt8(ascii: "B"): return taken(3, .key(.down))
        default: return taken(pending.count, .key(.escape))
        }
    }

    private func taken(_ count: Int, _ event: Event) -> Event {
        pending.removeFirst(count)
        return event
    }
}

/// How the terminal was before; written once before signals are handled, and read in their handlers.
nonisolated(unsafe) private var original = termios()

/// Gives the terminal back: of what a signal's handler may call, nothing else.
private func giveBack() {
    tcsetattr(STDIN_FILENO, TCSANOW, &original)
    let shown: StaticString = "\u{1B}[?25h\u{1B}[?1049l"
    _ = systemWrite(STDOUT_FILENO, shown.utf8Start, shown.utf8CodeUnitCount)
}

/// `read` of the system, which a method's name hides.
private func systemRead(_ descriptor: Int32, _ bytes: UnsafeMutableRawPointer, _ count: Int) -> Int {
    read(descriptor, bytes, count)
}

/// `write` of the system, which a function of the app hides.
private func systemWrite(_ descriptor: Int32, _ bytes: UnsafeRawPointer, _ count: Int) -> Int {
    write(descriptor, bytes, count)
}
