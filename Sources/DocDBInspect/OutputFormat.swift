/// How rows are printed.
package enum OutputFormat: String, CaseIterable, Sendable {
    case jsonl
    case json
    case table
    case csv
}
