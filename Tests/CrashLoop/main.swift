import Foundation

/// `crash-loop run ROUNDS INSPECTOR [SEED]`, or `crash-loop work STORE URL SEED`, which the former starts.
let arguments = CommandLine.arguments
switch arguments.dropFirst().first {
case "work" where arguments.count == 5:
    CrashWorker.run(path: arguments[2], url: arguments[3], seed: UInt64(arguments[4]) ?? 0)
case "run" where arguments.count >= 4:
    let rounds = Int(arguments[2]) ?? 1
    let seed = arguments.count > 4 ? UInt64(arguments[4]) ?? 0 : UInt64.random(in: 1...UInt64(UInt32.max))
    let directory = FileManager.default.temporaryDirectory.appending(path: "crash-loop-\(UUID().uuidString)").path
    print("crash-loop: \(rounds) rounds, seed \(seed)")
    fflush(nil)
    var round = 0
    do {
        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
        let loop = try CrashLoop(directory: directory, inspector: arguments[3], seed: seed)
        while round < rounds {
            round += 1
            try loop.run(round: round)
            if round % 25 == 0 {
                print("crash-loop: round \(round)")
                fflush(nil)
            }
        }
        try loop.finish()
        let figures = loop.figures
        print(
            """
            crash-loop: \(figures.rounds) rounds passed, seed \(seed)
              acknowledged: \(figures.fullCount) full, \(figures.normalCount) normal, \(figures.groupedCount) grouped, none lost
              stores put back: \(figures.restoredCount), which had lost \(figures.lostCount) writes that the peer gave back
              longest convergence: \(figures.longestConvergence)
            """)
        try FileManager.default.removeItem(atPath: directory)
    } catch {
        print("crash-loop: round \(round) of seed \(seed) failed: \(error)\nthe stores are in \(directory)")
        exit(1)
    }
default:
    print("usage: crash-loop run ROUNDS INSPECTOR [SEED]")
    exit(2)
}
