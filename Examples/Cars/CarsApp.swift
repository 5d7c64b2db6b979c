import DocDB

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// A market for used cars in a terminal, which replicates with a hub: how an app with logins is built on DocDB.
///
/// The model (`CarsModel`) does everything; the views only read it, and are drawn anew when what they have read changes. What
/// stands here for SwiftUI is `TerminalApp`, and for a person, `ScriptRunner`.
@main
enum CarsApp {
    @MainActor static func main() async {
        do {
            let options = try Options(CommandLine.arguments.dropFirst())
            if options.isHelp { return print(Options.usage) }
            let model = try CarsModel(options)
            let status: Int32
            if let script = options.script {
                status = await ScriptRunner(model).run(try ScriptRunner.lines(ofFile: script))
            } else {
                status = await TerminalApp(model, try Terminal()).run()
            }
            try model.close()
            exit(status)
        } catch let failure as UsageFailure {
            write("cars: \(failure.message)\n\n\(Options.usage)\n", to: STDERR_FILENO)
            exit(2)
        } catch {
            write("cars: \(words(for: error))\n", to: STDERR_FILENO)
            exit(1)
        }
    }
}

/// The command line.
struct Options {
    static let usage = """
        cars [--hub URL] [--app ID] [--provider NAME] [--store DIR] [--script FILE]

          --hub URL        where the hub is; http://127.0.0.1:4430 unless given
          --app ID         the app, as the hub knows it; com.example.cars unless given
          --provider NAME  who checks tokens, as the hub knows it; dev unless given
          --store DIR      the database's directory, one for each user; cars.docdb unless given
          --script FILE    reads commands from a file, or from standard input for -, in place of keys

        Commands of a script, one a line:
          login TOKEN, logout [anyway], renew on|off, online, offline, add MAKE MODEL YEAR, sell CAR, search [MAKE],
          revert CAR, show, limit SECONDS, wait CONDITION (within the limit, 60 s at first), expect CONDITION (now)
        CAR is a model's name or an id. Conditions, each also with 'no' before it:
          count N, found N, stored N, car CAR, refused CAR, user NAME, login, home, online, expired, renewed N, idle, sent,
          alert [TEXT]
        """

    var hub = "http://127.0.0.1:4430"
    var appID = "com.example.cars"
    var provider = "dev"
    var store = "cars.docdb"
    var script: String?
    var isHelp = false

    init(_ arguments: ArraySlice<String>) throws {
        var rest = arguments
        while let name = rest.popFirst() {
            if ["-h", "--help"].contains(name) {
                isHelp = true
                return
            }
            guard ["--hub", "--app", "--provider", "--store", "--script"].contains(name) else {
                throw UsageFailure(message: "there is no option \(name)")
            }
            guard let value = rest.popFirst() else { throw UsageFailure(message: "\(name) takes a value") }
            switch name {
            case "--hub": hub = value
            case "--app": appID = value
            case "--provider": provider = value
            case "--store": store = value
            default: script = value
            }
        }
    }
}

/// A command line, or a line of a script, that cannot be understood.
struct UsageFailure: Error {
    var message: String
}

/// What an error says to people.
func words(for error: any Error) -> String {
    (error as? DocDBError)?.message ?? (error as? UsageFailure)?.message ?? "\(error)"
}

/// Writes a text at once.
func write(_ text: String, to descriptor: Int32) {
    var bytes = Array(text.utf8)[...]
    while !bytes.isEmpty {
        let count = bytes.withUnsafeBytes { systemWrite(descriptor, $0.baseAddress, $0.count) }
        if count < 0, errno == EINTR || errno == EAGAIN { continue }
        guard count > 0 else { return }
        bytes.removeFirst(count)
    }
}

/// `write` of the system, which the function above hides.
private func systemWrite(_ descriptor: Int32, _ bytes: UnsafeRawPointer?, _ count: Int) -> Int {
    write(descriptor, bytes, count)
}
