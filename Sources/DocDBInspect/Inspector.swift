import DocDBCore

/// The inspector: runs one command line.
package enum Inspector {
    package static let toolName = "docdb-inspect"

    /// The codes the tool ends with.
    package enum ExitCode {
        package static let done: Int32 = 0
        package static let failed: Int32 = 1
        package static let wrongUsage: Int32 = 2
        /// 128 and the number of SIGINT, as shells report it.
        package static let interrupted: Int32 = 130
    }

    /// Runs the command that `arguments` (without the tool's name) ask for.
    ///
    /// Returns the process's exit code.
    package static func run(_ arguments: [String], on console: Console) -> Int32 {
        let output = BufferedSink(console.output)
        var console = console
        console.output = output
        var outcome = attempt({ try dispatch(arguments, on: console) }, console)
        let flushed = attempt(
            {
                try output.flush()
                return ExitCode.done
            }, console)
        if outcome == ExitCode.done { outcome = flushed }
        return outcome
    }

    private static func attempt(_ body: () throws -> Int32, _ console: Console) -> Int32 {
        do {
            return try body()
        } catch let error as UsageError {
            try? console.error.write(HelpText.text(for: error))
            return ExitCode.wrongUsage
        } catch is OutputClosed {
            return ExitCode.done
        } catch {
            try? console.error.write("\(toolName): \(message(of: error))\n")
            return ExitCode.failed
        }
    }

    /// The message of any error that a command may meet, for people.
    static func message(of error: any Error) -> String {
        switch error {
        case let error as DocDBError: error.message + (error.context["source"].map { "\n\($0)" } ?? "")
        case let error as RecordError: "\(error.position): \(error.message)"
        default: "\(error)"
        }
    }

    private static func dispatch(_ arguments: [String], on console: Console) throws -> Int32 {
        switch try ArgumentParser.parse(arguments) {
        case .toolHelp: try console.output.write(HelpText.tool)
        case .help(let names): try console.output.write(HelpText.help(for: names))
        case .run(let command): return try Commands.perform(command, on: console)
        }
        return ExitCode.done
    }
}
