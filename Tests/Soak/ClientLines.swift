import Foundation

/// What a client's process and the run say to each other, a line each.
enum ClientLine {
    // From the client: a write that is about to be made, one that has returned, and how far it is from rest.
    case began(String, String)
    case wrote(String, String, number: Int64)
    case incremented(String)
    case removed(String, number: Int64)
    case settled
    case unsettled(String)
    case noted(String)
    case failed(String)

    init?(_ line: Substring) {
        let parts = line.split(separator: " ", maxSplits: 3).map(String.init)
        switch (parts.first, parts.count) {
        case ("began", 3): self = .began(parts[1], parts[2])
        case ("wrote", 4):
            guard let number = Int64(parts[3]) else { return nil }
            self = .wrote(parts[1], parts[2], number: number)
        case ("incremented", 2): self = .incremented(parts[1])
        case ("removed", 3):
            guard let number = Int64(parts[2]) else { return nil }
            self = .removed(parts[1], number: number)
        case ("settled", 1): self = .settled
        case ("unsettled", 2...): self = .unsettled(parts.dropFirst().joined(separator: " "))
        case ("noted", 2...): self = .noted(parts.dropFirst().joined(separator: " "))
        case ("failed", 2...): self = .failed(parts.dropFirst().joined(separator: " "))
        default: return nil
        }
    }

    var text: String {
        switch self {
        case .began(let collection, let id): "began \(collection) \(id)"
        case .wrote(let collection, let id, let number): "wrote \(collection) \(id) \(number)"
        case .incremented(let id): "incremented \(id)"
        case .removed(let id, let number): "removed \(id) \(number)"
        case .settled: "settled"
        case .unsettled(let why): "unsettled \(why)"
        case .noted(let what): "noted \(what)"
        case .failed(let why): "failed \(why)"
        }
    }

    /// Prints the line in one call, so that it is there whole or not at all.
    func tell() {
        var text = text.replacing("\n", with: " ") + "\n"
        text.withUTF8 { _ = write(1, $0.baseAddress, $0.count) }
    }
}

/// What the run asks a client to do.
enum ClientCommand {
    /// Sets the wall clock so many seconds ahead of the machine's.
    case jump(Int64)
    /// Ends all writing, settles what was refused, subscribes to everything, and tells when it has come to rest.
    case settle
    /// Closes the database, and ends.
    case close

    init?(_ line: String) {
        let parts = line.split(separator: " ")
        switch (parts.first, parts.count) {
        case ("jump", 2):
            guard let seconds = Int64(parts[1]) else { return nil }
            self = .jump(seconds)
        case ("settle", 1): self = .settle
        case ("close", 1): self = .close
        default: return nil
        }
    }

    var text: String {
        switch self {
        case .jump(let seconds): "jump \(seconds)"
        case .settle: "settle"
        case .close: "close"
        }
    }
}
