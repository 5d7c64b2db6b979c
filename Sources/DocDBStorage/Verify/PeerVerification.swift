import DocDBCore

extension StoreVerifier {
    /// Checks what is known of peers: counts and sums of what they told, and that documents they name have their keys.
    func checkPeers() throws {
        guard try StoreMigration.hasReplication(context.connection) else { return }
        let last = try reader.lastSequence()
        let peers = try context.connection.prepareOnce(
            "SELECT number, current_count, current_sum, acknowledged_seq, interest FROM peers ORDER BY number")
        while try peers.step() {
            let location = "peer \(peers.int(0))"
            try checkTold(peer: peers.int(0), count: peers.int(1), sum: StateDigest(bytes: peers.blob(2)), location)
            if peers.int(3) > last { report(location, "it has acknowledged commits that the log has not reached") }
            if !peers.isNull(4), (try? StoredInterest(bytes: peers.blob(4))) == nil {
                report(location, "its interest is malformed")
            }
        }
        try checkOwners()
        try checkOwnActors()
        for name in context.catalog.names {
            if let info = context.catalog[name] { try checkReferences(info) }
        }
    }

    private func checkTold(peer: Int64, count: Int64, sum: StateDigest?, _ location: String) throws {
        let rows = try context.connection.prepareOnce("SELECT digest FROM told WHERE peer = ?")
        rows.bind(1, peer)
        var total = StateDigest(high: 0, low: 0)
        var toldCount: Int64 = 0
        while try rows.step() {
            guard let digest = StateDigest(bytes: rows.blob(0)) else {
                report(location, "a digest that it has told is malformed")
                return
            }
            let (low, carry) = total.low.addingReportingOverflow(digest.low)
            total = StateDigest(high: total.high &+ digest.high &+ (carry ? 1 : 0), low: low)
            toldCount += 1
        }
        if toldCount != count || total != sum {
            report(location, "count and sum are not those of what it has told; it will be asked for everything again")
        }
    }

    /// Checks that the ids of the store's own actors come from what is kept of them, or peers would refuse their changes.
    private func checkOwnActors() throws {
        let rows = try context.connection.prepareOnce("SELECT number, nonce, peer_key FROM own_actors")
        while try rows.step() {
            let derived = OwnActor(peerKey: [UInt8](rows.blob(2)), nonce: [UInt8](rows.blob(1)))
            guard let number = UInt64(exactly: rows.int(0)), context.actors.actor(number) == derived.id else {
                report(
                    "actor \(rows.int(0))",
                    "its id does not come from its nonce and key; the next session takes another")
                continue
            }
        }
    }

    /// Checks that what is told of peers is told of peers that there are.
    private func checkOwners() throws {
        for table in ["told", "apart", "quarantine"] {
            let count = try context.connection.integer(
                "SELECT count(*) FROM \(table) WHERE peer NOT IN (SELECT number FROM peers)")
            if let count, count > 0 { report("peers", "\(count) rows of '\(table)' are of peers that there are not") }
        }
    }

    /// Checks that documents which peers name are stored or have kept their key, and not both.
    private func checkReferences(_ info: CollectionInfo) throws {
        let connection = context.connection
        let both = try connection.integer(
            """
            SELECT count(*) FROM absent_documents JOIN documents_\(info.number) AS stored
            ON absent_documents.key = stored.key OR absent_documents.id = stored.id
            WHERE absent_documents.collection = \(info.number)
            """)
        if let both, both > 0 { report(info.name, "\(both) documents are stored though they are said to be absent") }
        let nextKey = try connection.integer("SELECT next_key FROM collections WHERE number = \(info.number)") ?? 0
        let unreserved = try connection.integer(
            "SELECT count(*) FROM absent_documents WHERE collection = \(info.number) AND key >= \(nextKey)")
        if let unreserved, unreserved > 0 {
            report(info.name, "\(unreserved) absent documents have keys never reserved")
        }
        for table in ["told", "apart", "quarantine"] {
            let unknown = try connection.integer(
                """
                SELECT count(*) FROM \(table) AS named WHERE collection = \(info.number)
                AND NOT EXISTS (SELECT 1 FROM documents_\(info.number) WHERE key = named.key)
                AND NOT EXISTS (SELECT 1 FROM absent_documents AS absent
                    WHERE absent.collection = named.collection AND absent.key = named.key)
                """)
            if let unknown, unknown > 0 { report(info.name, "'\(table)' names \(unknown) documents that nobody knows") }
        }
    }
}
