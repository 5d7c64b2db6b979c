/// Shows how far an import is, on a terminal; elsewhere it is silent.
package struct ProgressMeter {
    private static let interval = 0.1
    private static let barWidth = 20

    private let sink: any ByteSink
    private let terminal: Terminal
    private let totalByteCount: Int?
    private let clock: () -> Double
    private let started: Double
    private var lastShown: Double?

    /// - Parameter clock: seconds since any moment, never going back.
    package init(_ sink: any ByteSink, terminal: Terminal, totalByteCount: Int?, clock: @escaping () -> Double) {
        self.sink = sink
        self.terminal = terminal
        self.totalByteCount = totalByteCount
        self.clock = clock
        started = clock()
    }

    /// Seconds since the start.
    package var elapsed: Double { max(0, clock() - started) }

    /// Shows the figures, at most ten times a second.
    package mutating func show(documents: Int, bytes: Int) {
        guard terminal.errorIsTerminal else { return }
        let now = clock()
        if let lastShown, now - lastShown < Self.interval { return }
        lastShown = now
        let line = DisplayWidth.truncated(text(documents: documents, bytes: bytes), to: max(1, terminal.width - 1))
        try? sink.write("\r\(line)\u{1B}[K")
    }

    /// Removes the bar, so that what follows begins on a clean line.
    package mutating func clear() {
        if lastShown != nil { try? sink.write("\r\u{1B}[K") }
        lastShown = nil
    }

    func text(documents: Int, bytes: Int) -> String {
        var parts: [String] = []
        if let totalByteCount, totalByteCount > 0 {
            let share = min(1, Double(bytes) / Double(totalByteCount))
            let full = Int(share * Double(Self.barWidth))
            parts.append(
                "\(Int(share * 100))% [" + String(repeating: "#", count: full)
                    + String(repeating: ".", count: Self.barWidth - full) + "]")
        }
        parts.append(Figures.counted(documents, "document"))
        parts.append(Figures.bytes(bytes))
        if elapsed > 0 { parts.append("\(Figures.bytes(Int(min(Double(bytes) / elapsed, 1e15))))/s") }
        return parts.joined(separator: "  ")
    }
}
