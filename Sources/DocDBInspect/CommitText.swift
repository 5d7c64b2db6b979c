import DocDB

/// What a commit is, in a line.
enum CommitText {
    /// The line that a commit begins with: its number, time, kind and actors.
    static func head(
        _ sequence: Int64, _ time: HybridTime, _ kind: String, _ actors: [ActorID], _ terminal: Terminal
    ) -> String {
        let number = terminal.colours ? "\u{1B}[33m\(sequence)\u{1B}[0m" : "\(sequence)"
        let names = actors.isEmpty ? "" : "  " + actors.map(\.description).joined(separator: " ")
        return "\(number)  \(FactText.time(time))  \(kind)\(names)"
    }

    static func word(_ origin: ChangeOrigin) -> String {
        switch origin {
        case .local: "local"
        case .remote: "remote"
        case .eviction: "eviction"
        }
    }
}
