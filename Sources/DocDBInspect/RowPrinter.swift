/// Prints a result: asks for its rows twice where the format has to know all columns first.
package struct RowPrinter {
    private let console: Console
    private let format: OutputFormat
    private let columns: [String]

    /// - Parameters:
    ///   - format: nil takes a table on a terminal, JSON Lines elsewhere.
    ///   - columns: the columns where they are known beforehand.
    package init(_ console: Console, format: OutputFormat? = nil, columns: [String] = []) {
        self.console = console
        self.format = format ?? (console.terminal.outputIsTerminal ? .table : .jsonl)
        self.columns = columns
    }

    /// Prints the rows that `forEach` passes on; it must pass the same rows each time.
    package func print<Row: OutputRow>(_ forEach: ((Row) throws -> Void) throws -> Void) throws {
        var writer = format.writer(to: console.output, terminal: console.terminal, columns: columns)
        if writer.needsSurvey { try forEach { try writer.survey($0) } }
        try forEach { try writer.write($0) }
        try writer.finish()
    }
}
