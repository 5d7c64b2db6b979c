import DocDBCore

/// Aligned columns under a header, numbers to the right; on a terminal cut to its width.
package struct TableWriter: RowWriter {
    private static let separator = "  "
    /// A column is not made narrower than this to fit a terminal.
    private static let leastWidth = 8

    private let sink: any ByteSink
    private let terminal: Terminal
    private var columns: ColumnSet
    private var facts: [String: ColumnFacts] = [:]
    private var layout: [Column] = []
    private var isLaidOut = false

    private struct ColumnFacts {
        var width: Int
        var holdsOnlyNumbers = true
    }

    private struct Column {
        let name: String
        let width: Int
        let alignsRight: Bool
    }

    package init(_ sink: any ByteSink, terminal: Terminal, columns: [String]) {
        self.sink = sink
        self.terminal = terminal
        self.columns = ColumnSet(fixed: columns)
    }

    package var needsSurvey: Bool { true }

    package mutating func survey(_ row: some OutputRow) throws {
        let members = try row.members()
        try columns.insert(members)
        for (name, value) in members {
            let width = DisplayWidth.of(try Self.cell(value))
            var column = facts[name] ?? ColumnFacts(width: DisplayWidth.of(Self.printable(name)))
            column.width = max(column.width, width)
            column.holdsOnlyNumbers = column.holdsOnlyNumbers && Self.isNumber(value)
            facts[name] = column
        }
    }

    package mutating func write(_ row: some OutputRow) throws {
        try writeHeader()
        let members = try row.members()
        try sink.write(line { try members[$0].map(Self.cell) ?? "" } + "\n")
    }

    package mutating func finish() throws {}

    private mutating func writeHeader() throws {
        if isLaidOut { return }
        isLaidOut = true
        columns.sort()
        let natural = columns.names.map { facts[$0]?.width ?? DisplayWidth.of($0) }
        let widths = terminal.outputIsTerminal ? fittedWidths(natural) : natural
        layout = zip(columns.names, widths).map { name, width in
            Column(name: name, width: width, alignsRight: facts[name]?.holdsOnlyNumbers ?? false)
        }
        let header = line { Self.printable($0) }
        try sink.write((terminal.colours ? "\u{1B}[1m\(header)\u{1B}[0m" : header) + "\n")
    }

    /// One line of cells, without spaces at its end.
    private func line(_ cell: (String) throws -> String) rethrows -> String {
        var result = ""
        for (index, column) in layout.enumerated() {
            let text = DisplayWidth.truncated(try cell(column.name), to: column.width)
            let padding = String(repeating: " ", count: max(0, column.width - DisplayWidth.of(text)))
            if index > 0 { result += Self.separator }
            result += column.alignsRight ? padding + text : text + padding
        }
        while result.last == " " { result.removeLast() }
        return terminal.outputIsTerminal ? DisplayWidth.truncated(result, to: terminal.width) : result
    }

    /// The widths that fit the terminal. Ids stay whole where they leave half of it, as people copy them.
    private func fittedWidths(_ natural: [Int]) -> [Int] {
        guard columns.names.first == "_id", let id = natural.first, id <= terminal.width / 2 else {
            return Self.fitted(natural, to: terminal.width)
        }
        return [id] + Self.fitted(Array(natural.dropFirst()), to: terminal.width - id - Self.separator.count)
    }

    /// Makes the widest columns narrower, equally, until all fit in `available`, but none less than `leastWidth`.
    static func fitted(_ widths: [Int], to available: Int) -> [Int] {
        let room = available - separator.count * max(0, widths.count - 1)
        var cap = widths.max() ?? 0
        while cap > leastWidth, widths.reduce(0, { $0 + min($1, cap) }) > room { cap -= 1 }
        return widths.map { min($0, cap) }
    }

    private static func isNumber(_ value: Value) -> Bool {
        switch value {
        case .int, .float: true
        default: false
        }
    }

    static func cell(_ value: Value) throws -> String {
        if case .string(let text) = value { return printable(text) }
        return printable(try JSONText.text(of: value))
    }

    /// The text with everything escaped that would move the cursor or change how the terminal shows text.
    static func printable(_ text: String) -> String {
        guard text.unicodeScalars.contains(where: moves) else { return text }
        var result = ""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\n": result += "\\n"
            case "\r": result += "\\r"
            case "\t": result += "\\t"
            case _ where moves(scalar): result += hexEscape(scalar)
            default: result.unicodeScalars.append(scalar)
            }
        }
        return result
    }

    private static func hexEscape(_ scalar: UnicodeScalar) -> String {
        let digits = String(scalar.value, radix: 16)
        return "\\u" + String(repeating: "0", count: max(0, 4 - digits.count)) + digits
    }

    private static func moves(_ scalar: UnicodeScalar) -> Bool {
        switch scalar.value {
        case 0..<0x20, 0x7F..<0xA0, 0x200E...0x200F, 0x2028...0x202E, 0x2066...0x2069: true
        default: false
        }
    }
}
