import DocDBCore

/// Facts that stand in one place only: checked for what they can be, and against what they must agree with.
///
/// A wrong value that could be right (another id, another time) is told by none of these.
extension StoreVerifier {
    func checkFacts() throws {
        try checkMetadata()
        try checkIncarnations()
        guard try StoreMigration.hasReplication(context.connection) else { return }
        try checkCurrentActor()
        try checkPeerNumbers()
        try checkPeerRows()
        try checkCollectionsNamed()
    }

    /// What each fact of `meta` may be.
    private enum Form {
        case bytes(Int)
        case integer(ClosedRange<Int64>)
        case kind
    }

    private static func form(_ name: StoreMetadata.Name) -> Form {
        switch name {
        case .storeID, .incarnationNonce: .bytes(16)
        case .actor: .integer(0...Int64(UInt32.max))
        case .isClean: .integer(0...1)
        case .oldestSequence: .integer(1...ChangeLogFormat.sequenceLimit)
        case .clockReserved, .incarnationInode, .incarnationChangeTime, .oldestSum: .integer(.min ... .max)
        case .identityKind: .kind
        }
    }

    /// What every store has, and what one has that was written to.
    private static let required: [StoreMetadata.Name] = [
        .storeID, .clockReserved, .isClean, .oldestSequence, .oldestSum,
    ]
    private static let requiredOnceWritten: [StoreMetadata.Name] = [
        .incarnationNonce, .incarnationInode, .incarnationChangeTime,
    ]

    private func checkMetadata() throws {
        let rows = try context.connection.prepareOnce("SELECT name, typeof(value), value FROM meta")
        var known: Set<String> = []
        while try rows.step() {
            guard let name = StoreMetadata.Name(rawValue: rows.text(0)) else {
                // Versions that know more names have another format version.
                report("facts", "there is one of a name that is none")
                continue
            }
            known.insert(name.rawValue)
            let isSound =
                switch Self.form(name) {
                case .bytes(let count): rows.text(1) == "blob" && rows.blob(2).count == count
                case .integer(let range): rows.text(1) == "integer" && range.contains(rows.int(2))
                case .kind: rows.blob(2).count > 0
                }
            if !isSound { report("facts", "'\(name.rawValue)' is nothing that it can be") }
        }
        let isWritten = try reader.lastSequence() > 0
        for name in Self.required + (isWritten ? Self.requiredOnceWritten : []) where !known.contains(name.rawValue) {
            report("facts", "'\(name.rawValue)' is missing")
        }
        let reserved = UInt64(bitPattern: try StoreMetadata.integer(.clockReserved, context.connection) ?? 0)
        if reserved < newestLocalTime.rawValue {
            report("facts", "times of commits pass the time that is reserved; a crash could have them used again")
        }
    }

    /// Checks that the incarnations of the log are numbered without gaps and end one after the other, but for the last.
    private func checkIncarnations() throws {
        let rows = try context.connection.prepareOnce("SELECT ordinal, id, last_seq FROM incarnations ORDER BY ordinal")
        let last = try reader.lastSequence()
        var (count, end, isOpen): (Int64, Int64, Bool) = (0, 0, false)
        while try rows.step() {
            count += 1
            let location = "incarnation \(count)"
            if rows.int(0) != count { report(location, "it has another number") }
            if rows.blob(1).count != 16 { report(location, "its id is malformed") }
            if isOpen { report(location, "the one before it has no end") }
            isOpen = rows.isNull(2)
            guard !isOpen else { continue }
            if rows.int(2) < end || rows.int(2) > last { report(location, "it ends where it cannot have ended") }
            end = max(end, rows.int(2))
        }
        if count > 0, !isOpen { report("incarnation \(count)", "it has ended, and none has begun") }
        if count == 0, last > 0 { report("incarnations", "there is none of a log that has records") }
    }

    /// Checks that the actor that writes is the one that was taken last.
    private func checkCurrentActor() throws {
        let newest = try context.connection.prepareOnce("SELECT max(number) FROM own_actors")
        guard try newest.step() else { return }
        let actor = try StoreMetadata.integer(.actor, context.connection)
        if newest.isNull(0) ? actor != nil : actor != newest.int(0) {
            report("facts", "the actor that writes is not the one that was taken last")
        }
    }

    /// Checks that no peer's number can be given to another.
    private func checkPeerNumbers() throws {
        let connection = context.connection
        let used = try connection.integer("SELECT max(number) FROM peers") ?? 0
        guard used > 0 else { return }
        let given = try connection.integer("SELECT max(seq) FROM sqlite_sequence WHERE name = 'peers'") ?? 0
        if given < used { report("peers", "numbers of peers would be given to others") }
    }

    private func checkPeerRows() throws {
        let rows = try context.connection.prepareOnce(
            """
            SELECT number FROM peers WHERE number < 1 OR length(store_id) <> 16 OR is_keeper NOT IN (0, 1)
                OR length(told_sum) <> 16 OR length(current_sum) <> 16 OR told_count < 0 OR current_count < 0
                OR acknowledged_seq < 0 OR coalesce(length(cursor_incarnation), 16) <> 16
                OR coalesce(length(cursor_interest), 16) <> 16 OR coalesce(cursor_seq, 0) < 0
                OR (cursor_incarnation IS NULL) <> (cursor_seq IS NULL)
                OR (cursor_incarnation IS NULL) <> (cursor_interest IS NULL)
            """)
        while try rows.step() { report("peer \(rows.int(0))", "what is kept of it is nothing that it can be") }
    }

    /// Checks that what is kept for peers is of collections that there are, with keys that were handed out.
    private func checkCollectionsNamed() throws {
        for table in ["told", "apart", "quarantine", "absent_documents", "deferred_evictions"] {
            let count = try context.connection.integer(
                """
                SELECT count(*) FROM \(table) AS named WHERE NOT EXISTS (SELECT 1 FROM collections
                    WHERE collections.number = named.collection AND named.key BETWEEN 1 AND collections.next_key - 1)
                """)
            if let count, count > 0 { report("peers", "\(count) rows of '\(table)' name documents that cannot be") }
        }
        guard try context.connection.integer("PRAGMA user_version") ?? 0 >= 3 else { return }
        let odd = try context.connection.integer(
            "SELECT count(*) FROM voided WHERE length(document) <> 16 OR length(actor) <> 16")
        if let odd, odd > 0 { report("peers", "\(odd) refused changes are malformed") }
        let sides = try context.connection.integer("SELECT count(*) FROM apart WHERE side NOT IN (0, 1)")
        if let sides, sides > 0 { report("peers", "\(sides) rows of 'apart' are of no side") }
    }
}
