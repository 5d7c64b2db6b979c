package import DocDBCore

/// One row of output: a document, or a record of facts.
package protocol OutputRow {
    /// The row as one line of JSON.
    func jsonText() throws -> String
    /// The top-level fields.
    func members() throws -> [String: Value]
}

/// A row made of named values in a fixed order, for facts that are no documents.
package struct FactRow: OutputRow {
    private let facts: [(String, Value)]

    package init(_ facts: [(String, Value)]) { self.facts = facts }

    package func jsonText() throws -> String { try JSONText.text(ofMembers: facts) }

    package func members() -> [String: Value] { Dictionary(facts, uniquingKeysWith: { first, _ in first }) }
}

/// Prints rows in one format. Memory is bounded by the columns, never by the rows.
package protocol RowWriter {
    /// Whether `survey` has to see every row before the first `write`.
    var needsSurvey: Bool { get }
    /// Learns a row's columns and widths.
    mutating func survey(_ row: some OutputRow) throws
    mutating func write(_ row: some OutputRow) throws
    /// Ends the output; to be called once, also where there were no rows.
    mutating func finish() throws
}

extension RowWriter {
    package var needsSurvey: Bool { false }
    package mutating func survey(_ row: some OutputRow) {}
}

extension OutputFormat {
    /// A writer of this format.
    ///
    /// - Parameter columns: the columns where they are known beforehand; documents find theirs by a survey.
    package func writer(to sink: any ByteSink, terminal: Terminal, columns: [String] = []) -> any RowWriter {
        switch self {
        case .jsonl: JSONLinesWriter(sink)
        case .json: JSONArrayWriter(sink)
        case .csv: CSVWriter(sink, columns: columns)
        case .table: TableWriter(sink, terminal: terminal, columns: columns)
        }
    }
}

/// One row a line.
package struct JSONLinesWriter: RowWriter {
    private let sink: any ByteSink

    package init(_ sink: any ByteSink) { self.sink = sink }

    package mutating func write(_ row: some OutputRow) throws {
        try sink.write(row.jsonText())
        try sink.write("\n")
    }

    package mutating func finish() {}
}

/// One array, a row a line.
package struct JSONArrayWriter: RowWriter {
    private let sink: any ByteSink
    private var hasRows = false

    package init(_ sink: any ByteSink) { self.sink = sink }

    package mutating func write(_ row: some OutputRow) throws {
        try sink.write(hasRows ? ",\n" : "[\n")
        hasRows = true
        try sink.write(row.jsonText())
    }

    package mutating func finish() throws { try sink.write(hasRows ? "\n]\n" : "[]\n") }
}

/// The columns of a result, as a survey finds them.
struct ColumnSet {
    /// The most columns a table or CSV output may have.
    static let limit = 4096

    private(set) var names: [String]
    private var known: Set<String>
    private let isFixed: Bool

    init(fixed names: [String]) {
        self.names = names
        known = Set(names)
        isFixed = !names.isEmpty
    }

    var areKnown: Bool { isFixed }

    mutating func insert(_ members: [String: Value]) throws {
        if isFixed { return }
        for name in members.keys where known.insert(name).inserted {
            guard known.count <= Self.limit else {
                throw DocDBError(
                    .limitReached, "the result has more than \(Self.limit) different fields; use --format jsonl")
            }
            names.append(name)
        }
    }

    /// Puts the columns in the order of keys in a document.
    mutating func sort() { if !isFixed { names.sort(by: JSONText.precedes) } }
}
