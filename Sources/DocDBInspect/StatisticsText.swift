import DocDB

/// The figures of a store in aligned lines, a section each for the store, its change log and each collection.
struct StatisticsText {
    private let statistics: Statistics
    private let store: String

    init(_ statistics: Statistics, of store: String) {
        self.statistics = statistics
        self.store = store
    }

    func write(to console: Console) throws {
        let sections =
            [("store \(store)", storeLines), ("change log", logLines)]
            + statistics.collections.map { ("collection \($0.name)", lines(of: $0)) }
        let width = sections.flatMap { $0.1 }.map { DisplayWidth.of($0.name) }.max() ?? 0
        for (index, section) in sections.enumerated() {
            let title = TableWriter.printable(section.0)
            let styled = console.terminal.colours ? "\u{1B}[1m\(title)\u{1B}[0m" : title
            try console.output.write((index > 0 ? "\n" : "") + styled + "\n")
            for line in section.1 {
                let padding = String(repeating: " ", count: width - DisplayWidth.of(line.name))
                try console.output.write("  \(line.name)\(padding)  \(line.text)\n")
            }
        }
    }

    private typealias Line = (name: String, text: String)

    private var storeLines: [Line] {
        let tombstoneCount = statistics.collections.reduce(0) { $0 + $1.tombstoneCount }
        var lines: [Line] = [
            ("documents", Figures.grouped(statistics.documentCount)),
            ("tombstones", Figures.grouped(tombstoneCount)),
            ("database", exact(statistics.databaseByteCount)),
            ("of that free", exact(statistics.freeByteCount)),
            ("write-ahead log", exact(statistics.writeAheadLogByteCount)),
            ("field names", Figures.grouped(statistics.fieldNameCount)),
            ("actors", Figures.grouped(statistics.actorCount)),
        ]
        if statistics.isErasurePending {
            lines.append(("erasure", "pending: the write-ahead log may still hold values of evicted documents"))
        }
        return lines
    }

    private var logLines: [Line] {
        let log = statistics.log
        var lines: [Line] = [
            (
                "records",
                Figures.grouped(log.recordCount)
                    + (log.recordCount > 0 ? " (\(log.oldestSequence) to \(log.lastSequence))" : "")
            ),
            ("blocks", Figures.grouped(log.blockCount)),
            ("not in a block", Figures.counted(log.tailCount, "record")),
            ("bytes", exact(log.byteCount)),
            ("uncompressed", exact(log.rawByteCount)),
        ]
        if log.rawByteCount > 0 {
            lines.append(("ratio", Figures.decimal(Double(log.byteCount) / Double(log.rawByteCount), places: 2)))
        }
        return lines
    }

    private func lines(of collection: Statistics.Collection) -> [Line] {
        [
            ("documents", Figures.grouped(collection.documentCount)),
            ("tombstones", Figures.grouped(collection.tombstoneCount)),
        ]
            + collection.indexes.map { index in
                (
                    "index",
                    "\(TableWriter.printable(index.definition.description)): "
                        + (index.entryCount == 1 ? "1 entry" : "\(Figures.grouped(index.entryCount)) entries")
                )
            }
    }

    private func exact(_ byteCount: Int) -> String {
        byteCount < 1000 ? Figures.bytes(byteCount) : "\(Figures.bytes(byteCount)) (\(Figures.grouped(byteCount)))"
    }
}
