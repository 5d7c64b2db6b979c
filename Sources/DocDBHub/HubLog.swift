package import DocDBCore
import DocDBAuth

/// A hub's log: one JSON object a line. Names of events, codes and addresses; never tokens, claims, ids or contents.
package struct HubLog: Sendable {
    package enum Level: Int, Sendable, CaseIterable, Comparable {
        case debug, info, warning, error

        package var name: String { "\(self)" }
        package static func < (left: Level, right: Level) -> Bool { left.rawValue < right.rawValue }
    }

    private let least: Level
    private let clock: @Sendable () -> UInt64
    private let write: @Sendable (String) -> Void

    /// - Parameter write: takes one line, without its end.
    package init(
        least: Level = .info, clock: @escaping @Sendable () -> UInt64, write: @escaping @Sendable (String) -> Void
    ) {
        self.least = least
        self.clock = clock
        self.write = write
    }

    package func note(_ level: Level, _ event: String, _ facts: [String: Value] = [:]) {
        guard level >= least else { return }
        var members = facts
        members["time"] = .int(Int64(clamping: clock() / 1_000_000))
        members["level"] = .string(level.name)
        members["event"] = .string(event)
        if let text = try? StrictJSON.text(members) { write(String(decoding: text, as: UTF8.self)) }
    }
}
