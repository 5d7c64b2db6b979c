import DocDBCore

/// The command `import`: everything but the store itself.
package struct ImportCommand {
    private let console: Console
    private let settings: ImportSettings
    private let file: String

    package init(_ command: ParsedCommand, on console: Console) {
        self.console = console
        file = command.operands[2]
        var settings = ImportSettings()
        settings.identifierField = command.text("id-field")
        if let count = command.number("batch") { settings.batchCount = Int(count) }
        self.settings = settings
    }

    /// Imports the file and reports on standard error; returns the exit code.
    ///
    /// - Parameter withTarget: opens the target, runs the import into it, and closes it. It is called once the file is
    ///   open, so that a misspelt file leaves no empty store behind.
    package func run(_ withTarget: ((any ImportTarget) -> ImportOutcome) throws -> ImportOutcome) throws -> Int32 {
        let source: any ByteSource =
            file == "-"
            ? console.openInput() : try DescriptorSource(path: file, isInterrupted: console.isInterrupted)
        console.catchInterrupts()
        var meter = ProgressMeter(
            console.error, terminal: console.terminal, totalByteCount: source.byteCount, clock: console.clock)
        let outcome = try withTarget { target in
            Importer(source, into: target, settings: settings, isInterrupted: console.isInterrupted)
                .run { meter.show(documents: $0.committedCount, bytes: $0.byteCount) }
        }
        meter.clear()
        let (lines, code) = report(outcome, seconds: meter.elapsed)
        for line in lines { try? console.error.write(line + "\n") }
        return code
    }

    private func report(_ outcome: ImportOutcome, seconds: Double) -> ([String], Int32) {
        let count = outcome.committedCount
        let documents = Figures.counted(count, "document")
        switch outcome.ending {
        case .finished:
            return ([summary(documents, outcome.byteCount, seconds)], Inspector.ExitCode.done)
        case .interrupted:
            return (["interrupted; \(documents) imported and kept"], Inspector.ExitCode.interrupted)
        case .badRecord(let fault):
            let name = file == "-" ? "standard input" : file
            return (
                [
                    "\(Inspector.toolName): \(name), \(fault.position): \(fault.message)",
                    "\(documents) before it imported and kept; correct the record and import again",
                ], Inspector.ExitCode.failed
            )
        case .failed(let error):
            return (
                ["\(Inspector.toolName): \(Inspector.message(of: error))", "\(documents) committed before and kept"],
                Inspector.ExitCode.failed
            )
        }
    }

    private func summary(_ documents: String, _ byteCount: Int, _ seconds: Double) -> String {
        let rate = seconds > 0 ? ", \(Figures.bytes(Int(min(Double(byteCount) / seconds, 1e15))))/s" : ""
        return "imported \(documents), \(Figures.bytes(byteCount)) in \(Figures.seconds(seconds))\(rate)"
    }
}
