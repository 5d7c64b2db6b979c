import DocDBCore

/// What each command does once its arguments are known.
enum Commands {
    static func perform(_ command: ParsedCommand, on console: Console) throws -> Int32 {
        throw DocDBError(.misuse, "\(command.name.rawValue) is not available in this build")
    }
}
