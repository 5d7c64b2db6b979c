#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// What is known of the terminal that the tool runs on; a value, so that tests need none.
package struct Terminal: Sendable {
    /// Standard output goes to a person.
    package var outputIsTerminal: Bool
    /// Standard error goes to a person.
    package var errorIsTerminal: Bool
    /// Columns of the terminal.
    package var width: Int
    /// The environment asks for no colour (see no-color.org).
    package var refusesColour: Bool

    package init(
        outputIsTerminal: Bool = false, errorIsTerminal: Bool = false, width: Int = 80, refusesColour: Bool = false
    ) {
        self.outputIsTerminal = outputIsTerminal
        self.errorIsTerminal = errorIsTerminal
        self.width = width
        self.refusesColour = refusesColour
    }

    /// Whether standard output takes colour.
    package var colours: Bool { outputIsTerminal && !refusesColour }

    /// The terminal of this process.
    package static func current() -> Terminal {
        let outputIsTerminal = isatty(STDOUT_FILENO) == 1
        let errorIsTerminal = isatty(STDERR_FILENO) == 1
        let isDumb = environment("TERM") == "dumb"
        return Terminal(
            outputIsTerminal: outputIsTerminal, errorIsTerminal: errorIsTerminal,
            width: width(of: outputIsTerminal ? STDOUT_FILENO : STDERR_FILENO),
            refusesColour: isDumb || !(environment("NO_COLOR") ?? "").isEmpty)
    }

    private static func environment(_ name: String) -> String? {
        guard let value = getenv(name) else { return nil }
        return String(cString: value)
    }

    private static func width(of descriptor: Int32) -> Int {
        var size = winsize()
        if ioctl(descriptor, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0 { return Int(size.ws_col) }
        if let columns = environment("COLUMNS").flatMap({ Int($0) }), columns > 0 { return columns }
        return 80
    }
}
