import Foundation

/// `soak run MINUTES HUB [SEED]`, `soak client ...`, which the former starts, or `soak flat ROUNDS`.
signal(SIGPIPE, SIG_IGN)
let arguments = Array(CommandLine.arguments.dropFirst())
switch arguments.first {
case "client":
    guard let settings = SoakClient.Settings(arguments) else { exit(2) }
    do { try SoakClient(settings).run() } catch {
        ClientLine.failed("\(error)").tell()
        exit(3)
    }
case "run" where arguments.count >= 3:
    let minutes = Double(arguments[1]) ?? 1
    let seed = arguments.count > 3 ? UInt64(arguments[3]) ?? 0 : UInt64.random(in: 1...UInt64(UInt32.max))
    exit(Soak.run(minutes: minutes, hub: arguments[2], seed: seed))
case "flat" where arguments.count >= 2:
    let kinds = arguments.dropFirst(2).compactMap { FlatRounds.Kind(rawValue: $0) }
    exit(FlatRounds.run(roundCount: Int(arguments[1]) ?? 100, kinds: kinds.isEmpty ? FlatRounds.Kind.allCases : kinds))
default:
    print("usage: soak run MINUTES HUB [SEED] | soak flat ROUNDS [opening] [memory] [sockets]")
    exit(2)
}
