import DocDB

/// What each command does once its arguments are known.
enum Commands {
    static func perform(_ command: ParsedCommand, on console: Console) throws -> Int32 {
        switch command.name {
        case .import: return try importDocuments(command, console)
        case .export: try export(command, console)
        case .find: try find(command, console)
        case .get: try get(command, console)
        case .watch: try WatchCommand(command, on: console).run()
        case .collections: try listCollections(command, console)
        case .stat: try showStatistics(command, console)
        case .log: try LogCommand(command, on: console).run()
        case .history: try HistoryCommand(command, on: console).run()
        case .indexCreate, .indexDrop: try changeIndexes(command, console)
        case .indexList: try listIndexes(command, console)
        case .peers: try listPeers(command, console)
        case .verify: return try verify(command, console)
        case .salvage: return try salvage(command, console)
        case .compact: try compact(command, console)
        }
        return Inspector.ExitCode.done
    }

    /// Opens the command's store, runs `body`, and closes the store whatever happens.
    static func withStore<R>(
        _ command: ParsedCommand, _ access: Database.Options.Access, _ body: (Database) throws -> R
    ) throws -> R {
        var options = Database.Options()
        options.access = access
        let database = try Database(at: command.operands[0], options: options)
        let result: R
        do {
            result = try body(database)
        } catch {
            // The first failure is the one to tell of.
            try? database.close()
            throw error
        }
        try database.close()
        return result
    }

    /// The name of the command's collection, which has to be one of the store's.
    static func collectionName(_ command: ParsedCommand, among names: [String]) throws(DocDBError) -> String {
        try known(command.operands[1], among: names)
    }

    /// Checks that a collection is one of the store's.
    static func known(_ name: String, among names: [String]) throws(DocDBError) -> String {
        if names.contains(where: { $0.utf8.elementsEqual(name.utf8) }) { return name }
        throw DocDBError(
            .collectionNotFound, "the store has no collection \(TableWriter.printable(name)); \(listed(names))")
    }

    private static let listedNameCount = 10

    private static func listed(_ names: [String]) -> String {
        if names.isEmpty { return "it is empty" }
        let first = names.prefix(listedNameCount).map(TableWriter.printable).joined(separator: ", ")
        let rest = names.count - listedNameCount
        return "it has \(first)" + (rest > 0 ? " and \(Figures.grouped(rest)) more" : "")
    }
}
