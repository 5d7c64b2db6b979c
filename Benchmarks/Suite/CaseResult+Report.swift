extension CaseResult {
    /// One line of JSON.
    package var json: String {
        let fields: [(String, String)] = [
            ("name", quoted(name)), ("docdb_ms", number(docdb?.milliseconds, 4)), ("peer", quoted("sqlite-json")),
            ("peer_ms", number(peer.milliseconds, 4)), ("ratio", number(ratio, 3)),
            ("cpu_ratio", number(processorRatio, 3)),
            ("docdb_bytes", docdb?.bytes.map(String.init) ?? "null"),
            ("peer_bytes", peer.bytes.map(String.init) ?? "null"),
            ("allocations_per_op", number(docdb?.allocationsPerOperation, 3)),
            ("peer_allocations_per_op", number(peer.allocationsPerOperation, 3)),
            ("bar", quoted(bars.map(\.description).joined(separator: ", "))),
            ("holds", docdb == nil ? "null" : String(brokenBars.isEmpty)), ("checksum", quoted(checksum.description)),
        ]
        return "{" + fields.map { "\(quoted($0.0)): \($0.1)" }.joined(separator: ", ") + "}"
    }

    /// The heading of the table that `row` gives the lines of.
    package static var heading: String {
        line("case", "docdb", "sqlite", "ratio", "cpu", "bar", "", "allocs/op", "peer's", "checksum")
    }

    /// One line of the table for people.
    package var row: String {
        Self.line(
            name, docdb.map(quantity) ?? "-", quantity(peer), ratio.map { fixed($0, 2) } ?? "-",
            processorRatio.map { fixed($0, 2) } ?? "-", bars.map(\.description).joined(separator: ", "),
            docdb == nil ? "" : brokenBars.isEmpty ? "ok" : "OVER",
            docdb?.allocationsPerOperation.map { fixed($0, 2) } ?? "-",
            peer.allocationsPerOperation.map { fixed($0, 2) } ?? "-", checksum.description)
    }

    private func quantity(_ side: Side) -> String {
        if comparesBytes { return side.bytes.map(byteText) ?? "-" }
        return side.milliseconds < 1 ? fixed(side.milliseconds * 1_000, 1) + " us" : fixed(side.milliseconds, 1) + " ms"
    }

    private static func line(
        _ name: String, _ docdb: String, _ peer: String, _ ratio: String, _ processor: String, _ bar: String,
        _ mark: String, _ allocations: String, _ peerAllocations: String, _ checksum: String
    ) -> String {
        func left(_ text: String, _ width: Int) -> String {
            text + String(repeating: " ", count: max(0, width - text.count))
        }
        func right(_ text: String, _ width: Int) -> String {
            String(repeating: " ", count: max(0, width - text.count)) + text
        }
        let columns = [
            left(name, 18), right(docdb, 10), right(peer, 10), right(ratio, 6), right(processor, 6), left(bar, 24),
            left(mark, 4), right(allocations, 9), right(peerAllocations, 7), checksum,
        ]
        return columns.joined(separator: "  ")
    }
}

extension Bar: CustomStringConvertible {
    package var description: String {
        switch self {
        case .ratio(let limit): "<= " + fixed(limit, 2)
        case .milliseconds(let limit): "<= " + fixed(limit, 0) + " ms"
        case .bytes(let limit): "<= " + (limit % 1_048_576 == 0 ? "\(limit >> 20) MiB" : "\(limit) B")
        case .allocations(let limit): limit < 0.1 ? "no allocations" : "<= " + fixed(limit, 1) + " allocations"
        }
    }
}

/// Writes a number with this many decimals, rounded half up.
package func fixed(_ value: Double, _ decimals: Int) -> String {
    guard value.isFinite, abs(value) < 1e12 else { return "?" }
    var scale = 1
    for _ in 0..<decimals { scale *= 10 }
    let scaled = Int((abs(value) * Double(scale)).rounded())
    let sign = value < 0 && scaled > 0 ? "-" : ""
    guard decimals > 0 else { return sign + String(scaled) }
    let digits = String(scaled % scale)
    return sign + "\(scaled / scale)." + String(repeating: "0", count: decimals - digits.count) + digits
}

/// Writes a number of bytes in the unit that suits it.
private func byteText(_ count: Int) -> String {
    count < 10_240
        ? "\(count) B"
        : count < 1_048_576
            ? fixed(Double(count) / 1_024, 1) + " KiB" : fixed(Double(count) / 1_048_576, 2) + " MiB"
}

private func number(_ value: Double?, _ decimals: Int) -> String { value.map { fixed($0, decimals) } ?? "null" }

/// Quotes a text that holds nothing to escape.
private func quoted(_ text: String) -> String { "\"\(text)\"" }
