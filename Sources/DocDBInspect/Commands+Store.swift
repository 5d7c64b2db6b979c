import DocDB
import DocDBStorage

extension Commands {
    static func listCollections(_ command: ParsedCommand, _ console: Console) throws {
        let collections = try withStore(command, .readOnly) { try $0.statistics().collections }
        try RowPrinter(console, columns: ["name", "documents", "indexes"]).print { pass in
            for collection in collections {
                try pass(
                    FactRow([
                        ("name", .string(collection.name)), ("documents", .int(Int64(collection.documentCount))),
                        ("indexes", .int(Int64(collection.indexes.count))),
                    ]))
            }
        }
    }

    static func showStatistics(_ command: ParsedCommand, _ console: Console) throws {
        let statistics = try withStore(command, .readOnly) { try $0.statistics() }
        try StatisticsText(statistics, of: command.operands[0]).write(to: console)
    }

    static func changeIndexes(_ command: ParsedCommand, _ console: Console) throws {
        let paths = Array(command.operands.dropFirst(2))
        try withStore(command, .existing) { database in
            let name = try collectionName(command, among: database.collectionNames())
            let collection = database.collection(name)
            if command.name == .indexCreate {
                guard try collection.createIndex(paths) else {
                    throw DocDBError(
                        .invalidIndex, "the collection has this index already; drop it first to build it anew")
                }
                try console.output.write("created an index of \(name) on \(paths.joined(separator: ", "))\n")
            } else {
                try collection.dropIndex(paths)
                try console.output.write("dropped the index of \(name) on \(paths.joined(separator: ", "))\n")
            }
        }
    }

    static func listIndexes(_ command: ParsedCommand, _ console: Console) throws {
        let indexes = try withStore(command, .readOnly) { database in
            let name = try collectionName(command, among: database.collectionNames())
            return try database.statistics().collections.first { $0.name == name }?.indexes ?? []
        }
        let isForPeople = console.terminal.outputIsTerminal
        try RowPrinter(console, columns: ["paths", "entries"]).print { pass in
            for index in indexes {
                let paths = index.definition.paths
                // People get what they would type after `index drop`, programs the list itself.
                try pass(
                    FactRow([
                        (
                            "paths",
                            isForPeople ? .string(paths.joined(separator: " ")) : .array(paths.map { .string($0) })
                        ),
                        ("entries", .int(Int64(index.entryCount))),
                    ]))
            }
        }
    }

    static func verify(_ command: ParsedCommand, _ console: Console) throws -> Int32 {
        let findings = try withStore(command, .readOnly) { try $0.verify() }
        guard !findings.isEmpty else {
            try console.output.write("ok\n")
            return Inspector.ExitCode.done
        }
        for finding in findings { try console.output.write(TableWriter.printable(finding.description) + "\n") }
        try? console.error.write(
            "\(Inspector.toolName): \(Figures.counted(findings.count, "fault")) found; keep a copy of the store, export "
                + "what can be read, or restore a backup\n")
        return Inspector.ExitCode.failed
    }

    static func compact(_ command: ParsedCommand, _ console: Console) throws {
        let directory = StoreDirectory(command.operands[0])
        let before = try withStore(command, .existing) { database in
            let before = byteCount(directory)
            try database.compact()
            return before
        }
        try console.output.write("\(Figures.bytes(before)) before, \(Figures.bytes(byteCount(directory))) after\n")
    }

    /// The bytes of the database's files, the write-ahead log included.
    private static func byteCount(_ directory: StoreDirectory) -> Int {
        Int(clamping: Platform.fileByteCount(directory.database))
            + Int(clamping: Platform.fileByteCount(directory.writeAheadLog))
    }
}
