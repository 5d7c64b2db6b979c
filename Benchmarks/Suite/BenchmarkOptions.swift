#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// The arguments of the `benchmarks` command.
package struct BenchmarkOptions {
    package enum Action: Equatable {
        case run, list, help
        case generateCars(Int)
    }

    package var action = Action.run
    package var filter = ""
    package var rounds = 5
    package var json = false
    package var tiny = false
    package var check = false
    package var directory = FileManager.default.temporaryDirectory.path

    package static let usage = """
        usage: benchmarks [OPTION]...
               benchmarks generate-cars COUNT

        Times DocDB beside plain SQLite with JSON text on the cars workload.

          --filter TEXT      only the cases whose name contains TEXT
          --runs N           rounds after the warm-up, 5 unless told
          --json             one line of JSON a case
          --check            exit with 1 where a bar does not hold
          --tiny             very few documents: shows that everything runs
          --directory PATH   where the stores are made: a disk of the kind that matters
          --list             the cases, their work and their bars
          --help             this text

        generate-cars writes the first COUNT documents of the workload to the standard output as JSON Lines.
        """

    /// Reads the arguments that follow the command's name.
    package init(_ arguments: [String]) throws {
        var rest = arguments[...]
        func value(of option: String) throws -> String {
            guard let value = rest.popFirst() else { throw BenchmarkError("\(option) needs a value") }
            return value
        }
        while let argument = rest.popFirst() {
            switch argument {
            case "--filter": filter = try value(of: argument)
            case "--runs": rounds = try Self.count(try value(of: argument), argument, 1...1_000)
            case "--json": json = true
            case "--check": check = true
            case "--tiny": tiny = true
            case "--directory": directory = try value(of: argument)
            case "--list": action = .list
            case "--help", "-h": action = .help
            case "generate-cars" where arguments.count <= 2:
                action = .generateCars(try Self.count(try value(of: argument), argument, 0...100_000_000))
            default: throw BenchmarkError("unknown argument '\(argument)'")
            }
        }
    }

    private static func count(_ text: String, _ option: String, _ range: ClosedRange<Int>) throws -> Int {
        guard let count = Int(text), range.contains(count) else {
            throw BenchmarkError("\(option) needs a number from \(range.lowerBound) to \(range.upperBound)")
        }
        return count
    }
}
