import DocDB
import Foundation

/// A market for used cars in a terminal, which replicates with a hub: how an app with logins is built on DocDB.
///
/// The model (`CarsModel`) does everything; the views only read it, and are drawn anew when what they have read changes.
/// In place of SwiftUI stands `TerminalApp`, and in place of a person who tries the app, `Script`.
@main
enum CarsApp {
    @MainActor static func main() async {
        do {
            let options = try options(CommandLine.arguments.dropFirst())
            if options["help"] != nil { return print(usage) }
            let model = try CarsModel(options)
            let status =
                if let script = options["script"] {
                    await Script(model).run(try Script.lines(ofFile: script))
                } else {
                    try await TerminalApp(model).run()
                }
            try model.db.close()
            exit(status)
        } catch {
            write("cars: \(error.localizedDescription)\n", to: .standardError)
            exit(error is UsageFailure ? 2 : 1)
        }
    }

    private static let usage = """
        cars [--hub URL] [--ca FILE] [--app ID] [--provider NAME] [--store DIR] [--script FILE]

        The hub is http://127.0.0.1:4430, the app com.example.cars, the provider dev and the store cars.docdb unless given;
        --ca has the authorities of the hub's certificate. A script (- is standard input) has a line for each of:
          login TOKEN, logout [anyway], renew on|off, online, offline, add MAKE MODEL YEAR, sell CAR, search [MAKE],
          revert CAR; show, which prints the screen; expect [no] TEXT, which fails unless the screen shows it; wait [no]
          TEXT, which waits until it does, at most for so long as limit SECONDS says (60)
        """

    private static func options(_ arguments: ArraySlice<String>) throws -> [String: String] {
        var (rest, options) = (arguments, [String: String]())
        while let argument = rest.popFirst() {
            if ["-h", "--help"].contains(argument) { return ["help": ""] }
            guard argument.hasPrefix("--"), usage.contains("[\(argument) "), let value = rest.popFirst() else {
                throw UsageFailure("\(argument) is no option, or lacks its value\n\n\(usage)")
            }
            options[String(argument.dropFirst(2))] = value
        }
        return options
    }
}

/// A command line, or a line of a script, that cannot be understood or done.
struct UsageFailure: LocalizedError {
    let errorDescription: String?

    init(_ message: String) { errorDescription = message }
}

/// Writes a text at once.
func write(_ text: String, to file: FileHandle = .standardOutput) { try? file.write(contentsOf: Data(text.utf8)) }
