import DocDBCore

/// Comma-separated values by RFC 4180: a header, then one record a row, lines ending in CR LF.
///
/// A missing field is an empty cell, null the word `null`, an empty string `""`; other values but strings are JSON.
package struct CSVWriter: RowWriter {
    private let sink: any ByteSink
    private var columns: ColumnSet
    private var hasHeader = false

    package init(_ sink: any ByteSink, columns: [String]) {
        self.sink = sink
        self.columns = ColumnSet(fixed: columns)
    }

    package var needsSurvey: Bool { !columns.areKnown }

    package mutating func survey(_ row: some OutputRow) throws { try columns.insert(row.members()) }

    package mutating func write(_ row: some OutputRow) throws {
        try writeHeader()
        let members = try row.members()
        try writeRecord(columns.names.map { try members[$0].map(Self.cell) ?? "" })
    }

    package mutating func finish() throws { try writeHeader() }

    private mutating func writeHeader() throws {
        if hasHeader { return }
        hasHeader = true
        columns.sort()
        if !columns.names.isEmpty { try writeRecord(columns.names.map(Self.quoted)) }
    }

    private func writeRecord(_ cells: [String]) throws { try sink.write(cells.joined(separator: ",") + "\r\n") }

    static func cell(_ value: Value) throws -> String {
        if case .string(let text) = value { return quoted(text) }
        return quoted(try JSONText.text(of: value))
    }

    static func quoted(_ text: String) -> String {
        let needsQuotes =
            text.isEmpty
            || text.utf8.contains {
                $0 == UInt8(ascii: ",") || $0 == UInt8(ascii: "\"") || $0 == UInt8(ascii: "\n")
                    || $0 == UInt8(ascii: "\r")
            }
        guard needsQuotes else { return text }
        var result = "\""
        for scalar in text.unicodeScalars {
            if scalar == "\"" { result += "\"" }
            result.unicodeScalars.append(scalar)
        }
        return result + "\""
    }
}
