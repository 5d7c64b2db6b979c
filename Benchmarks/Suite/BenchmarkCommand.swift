#if canImport(Darwin)
    import Darwin
#else
    import Glibc
#endif

import CSQLite

/// The `benchmarks` command.
package enum BenchmarkCommand {
    /// Runs the command and returns its exit code: 0, 1 for a failure or a bar that does not hold under `--check`, 2 for wrong usage.
    ///
    /// - Parameters:
    ///   - arguments: the command's arguments, without its name.
    ///   - isDebugBuild: whether the caller was compiled without optimisation; then the release build takes its place.
    ///   - counter: counts allocations, where that works.
    package static func run(_ arguments: [String], isDebugBuild: Bool, counter: AllocationCounter?) async -> Int32 {
        let options: BenchmarkOptions
        do {
            options = try BenchmarkOptions(arguments)
        } catch {
            complain("error: \(error)\n\n\(BenchmarkOptions.usage)")
            return 2
        }
        do {
            switch options.action {
            case .help: print(BenchmarkOptions.usage)
            case .list: list(options)
            case .generateCars(let count): return writeCars(count) ? 0 : 1
            case .run:
                if isDebugBuild { try ReleaseBuild.takeOver(arguments) }
                return try await time(options, counter) ? 0 : 1
            }
            return 0
        } catch {
            complain("error: \(error)")
            return 1
        }
    }

    private static func list(_ options: BenchmarkOptions) {
        var runner = BenchmarkRunner()
        runner.filter = options.filter
        for (name, work, bars) in runner.selected {
            let padding = String(repeating: " ", count: max(1, 20 - name.count))
            print("\(name)\(padding)\(work) (\(bars.map(\.description).joined(separator: ", ")))")
        }
    }

    private static func time(_ options: BenchmarkOptions, _ counter: AllocationCounter?) async throws -> Bool {
        var runner = BenchmarkRunner()
        runner.size = options.tiny ? .tiny : .full
        runner.rounds = options.rounds
        runner.filter = options.filter
        runner.directory = options.directory
        runner.counter = counter
        guard !runner.selected.isEmpty else {
            throw BenchmarkError("no case contains '\(options.filter)' in its name; --list shows them all")
        }
        let workload = CarsWorkload(runner.size)
        if !options.json {
            print(
                "cars: \(runner.size.documents) documents, SHA-256 \(workload.fingerprints().texts.prefix(16))...;",
                terminator: " ")
            print("peer: SQLite \(String(cString: sqlite3_libversion())) with JSON text; rounds: \(options.rounds)")
            if options.tiny { print("tiny: the figures say nothing, only that everything runs") }
            print(CaseResult.heading)
        }
        var broken: [String] = []
        try await runner.run(on: workload) { result in
            print(options.json ? result.json : result.row)
            fflush(nil)
            if !result.brokenBars.isEmpty { broken.append(result.name) }
        }
        if options.check, !broken.isEmpty {
            complain("over their bars: \(broken.joined(separator: ", "))")
            return false
        }
        return true
    }

    /// Writes the first `count` cars to the standard output as JSON Lines; false where nobody reads them to the end.
    private static func writeCars(_ count: Int) -> Bool {
        signal(SIGPIPE, SIG_IGN)
        var generator = CarGenerator()
        var chunk: [UInt8] = []
        for number in 0..<count {
            generator.appendNext(to: &chunk)
            chunk.append(0x0A)
            guard chunk.count >= 1 << 16 || number == count - 1 else { continue }
            guard write(chunk) else { return false }
            chunk.removeAll(keepingCapacity: true)
        }
        return true
    }

    private static func write(_ bytes: [UInt8]) -> Bool {
        bytes.withUnsafeBytes { buffer in
            var rest = buffer[...]
            while !rest.isEmpty {
                #if canImport(Darwin)
                    let written = Darwin.write(1, UnsafeRawBufferPointer(rebasing: rest).baseAddress, rest.count)
                #else
                    let written = Glibc.write(1, UnsafeRawBufferPointer(rebasing: rest).baseAddress, rest.count)
                #endif
                if written < 0 && errno == EINTR { continue }
                guard written > 0 else { return false }
                rest = rest.dropFirst(written)
            }
            return true
        }
    }
}

/// Writes a line to the standard error.
func complain(_ message: String) {
    fflush(nil)
    let line = Array((message + "\n").utf8)
    _ = line.withUnsafeBytes { write(2, $0.baseAddress, $0.count) }
}
