import DocDB
import DocDBCore

extension Commands {
    /// Prints what the store keeps of the peers that it has met.
    static func listPeers(_ command: ParsedCommand, _ console: Console) throws {
        let peers = try withStore(command, .readOnly) { try $0.knownPeers() }
        let columns = [
            "peer", "name", "keeper", "lastSeen", "interest", "cursor", "told", "acknowledged", "unacknowledged",
            "refusedThere", "refusedHere", "quarantined",
        ]
        try RowPrinter(console, columns: columns).print { pass in
            for peer in peers {
                try pass(
                    FactRow([
                        ("peer", .string(peer.id.description)), ("name", .string(TableWriter.printable(peer.name))),
                        ("keeper", .bool(peer.isKeeper)),
                        ("lastSeen", peer.lastSeen.map { .string(FactText.time($0)) } ?? .null),
                        ("interest", .string(interest(of: peer))), ("cursor", peer.cursor.map { .int($0) } ?? .null),
                        ("told", .int(peer.toldCount)), ("acknowledged", .int(peer.acknowledgedThrough)),
                        ("unacknowledged", peer.unacknowledgedCount.map { .int(Int64($0)) } ?? .null),
                        ("refusedThere", .int(Int64(peer.refusedThereCount))),
                        ("refusedHere", .int(Int64(peer.refusedHereCount))),
                        ("quarantined", .int(Int64(peer.quarantinedCount))),
                    ]))
            }
        }
    }

    /// The collections that a peer asks for; predicates hold values, and are left out.
    private static func interest(of peer: KnownPeer) -> String {
        guard let interest = peer.interest else { return "everything" }
        if interest.isEmpty { return "nothing" }
        return interest.map { TableWriter.printable($0.collection) + ($0.predicate == "true" ? "" : " (some)") }
            .joined(separator: ", ")
    }
}
