import DocDBCore

/// Errors that point at a place in a predicate's text.
enum PredicateFailure {
    /// The most scalars of the offending line that an error shows.
    private static let shownScalarCount = 100

    /// An error for a problem at a byte offset: its message has line and column, its context also the line and a caret.
    ///
    /// The text's literals go to `context["source"]` alone, which is the user's own query.
    static func error(_ problem: String, at offset: Int, in source: [UInt8]) -> DocDBError {
        let before = source[..<min(max(offset, 0), source.count)]
        let line = 1 + before.count { $0 == 0x0A }
        let lineStart = (before.lastIndex(of: 0x0A) ?? -1) + 1
        let lineEnd = source[lineStart...].firstIndex(of: 0x0A) ?? source.count
        let column = String(decoding: source[lineStart..<before.endIndex], as: UTF8.self).unicodeScalars.count + 1
        let text = String(decoding: source[lineStart..<lineEnd], as: UTF8.self)
        return DocDBError(
            .invalidPredicate, "the predicate does not parse at line \(line), column \(column): \(problem)",
            context: ["line": "\(line)", "column": "\(column)", "source": caretLines(text, column: column)])
    }

    /// The line, cut around the column where it is long, and a line below it with a caret at the column.
    private static func caretLines(_ line: String, column: Int) -> String {
        let scalars = Array(line.unicodeScalars)
        let from = max(0, min(column - 1 - shownScalarCount / 2, scalars.count - shownScalarCount))
        let shown = scalars[from..<min(from + shownScalarCount, scalars.count)]
        var text = String.UnicodeScalarView()
        var caret = String.UnicodeScalarView()
        for (index, scalar) in shown.enumerated() where scalar != "\r" {
            text.append(scalar)
            if from + index < column - 1 { caret.append(scalar == "\t" ? "\t" : " ") }
        }
        return "\(String(text))\n\(String(caret))^"
    }
}
