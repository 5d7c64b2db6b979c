package import DocDBCore

/// How many documents each peer has told, and the sums of their digests modulo 2^128, as a transaction changes them.
///
/// Read from the table of peers at the first change, and written back once, at the end.
struct ToldTotals {
    private struct Total {
        var count: Int64
        var sum: StateDigest
    }

    private var totals: [Int64: Total] = [:]

    mutating func add(_ digest: StateDigest, peer: Int64, _ connection: SQLiteConnection) throws(DocDBError) {
        try change(peer, connection) { total in
            let (low, carry) = total.sum.low.addingReportingOverflow(digest.low)
            total.sum = StateDigest(high: total.sum.high &+ digest.high &+ (carry ? 1 : 0), low: low)
            total.count += 1
        }
    }

    mutating func subtract(_ digest: StateDigest, peer: Int64, _ connection: SQLiteConnection) throws(DocDBError) {
        try change(peer, connection) { total in
            let (low, borrow) = total.sum.low.subtractingReportingOverflow(digest.low)
            total.sum = StateDigest(high: total.sum.high &- digest.high &- (borrow ? 1 : 0), low: low)
            total.count -= 1
        }
    }

    mutating func clear(peer: Int64) { totals[peer] = Total(count: 0, sum: StateDigest(high: 0, low: 0)) }

    private mutating func change(
        _ peer: Int64, _ connection: SQLiteConnection, _ change: (inout Total) -> Void
    ) throws(DocDBError) {
        if totals[peer] == nil { totals[peer] = try Self.read(peer, connection) }
        change(&totals[peer]!)
    }

    private static func read(_ peer: Int64, _ connection: SQLiteConnection) throws(DocDBError) -> Total {
        let select = try connection.prepare("SELECT current_count, current_sum FROM peers WHERE number = ?")
        select.bind(1, peer)
        defer { select.reset() }
        guard try select.step() else {
            throw DocDBError(.misuse, "there is no peer with this number; add it before what it tells")
        }
        return Total(count: select.int(0), sum: StateDigest(bytes: select.blob(1)) ?? StateDigest(high: 0, low: 0))
    }

    /// Writes all that has changed.
    mutating func write(_ connection: SQLiteConnection) throws(DocDBError) {
        if totals.isEmpty { return }
        let update = try connection.prepare("UPDATE peers SET current_count = ?, current_sum = ? WHERE number = ?")
        for (peer, total) in totals {
            update.bind(1, total.count)
            update.bind(2, copying: total.sum.bytes)
            update.bind(3, peer)
            try update.run()
        }
        totals.removeAll()
    }
}

extension StateDigest {
    /// The 16 bytes of the digest, big-endian.
    package var bytes: [UInt8] {
        (0..<16).map { index in UInt8(truncatingIfNeeded: (index < 8 ? high : low) >> UInt64(56 - index % 8 * 8)) }
    }

    /// Creates a digest from its 16 bytes, or nil where there are not just 16.
    package init?(bytes: UnsafeRawBufferPointer) {
        guard bytes.count == 16 else { return nil }
        self.init(
            high: UInt64(bigEndian: bytes.loadUnaligned(as: UInt64.self)),
            low: UInt64(bigEndian: bytes.loadUnaligned(fromByteOffset: 8, as: UInt64.self)))
    }
}

extension WriteTransaction {
    /// Sets or, with nil, removes the digest of what a peer has told of a document.
    ///
    /// - Returns: whether that changed anything.
    @discardableResult
    package func setTold(
        peer: Int64, collection: Int64, key: Int64, _ digest: StateDigest?
    ) throws(DocDBError) -> Bool {
        try checkIsUsable()
        return try writing { () throws(DocDBError) in
            let statements = try writer.toldStatements()
            if let digest, try statements.insert(peer, collection, key, digest) {
                try toldTotals.add(digest, peer: peer, writer.connection)
                return true
            }
            guard let old = try statements.digest(peer, collection, key), old != digest else { return false }
            if let digest {
                try statements.update(peer, collection, key, digest)
                try toldTotals.add(digest, peer: peer, writer.connection)
            } else {
                try statements.remove(peer, collection, key)
            }
            try toldTotals.subtract(old, peer: peer, writer.connection)
            return true
        }
    }

    /// Removes all that a peer has told.
    package func removeAllTold(peer: Int64) throws(DocDBError) {
        try checkIsUsable()
        try writing { () throws(DocDBError) in
            let delete = try writer.connection.prepare("DELETE FROM told WHERE peer = ?")
            delete.bind(1, peer)
            try delete.run()
            toldTotals.clear(peer: peer)
        }
    }

    /// Removes what all peers but one have told of a document; returns these peers, by number.
    package func removeTold(collection: Int64, key: Int64, except peer: Int64) throws(DocDBError) -> [Int64] {
        try checkIsUsable()
        let select = try writer.connection.prepare(
            """
            SELECT told.peer FROM peers CROSS JOIN told ON told.peer = peers.number
            WHERE told.collection = ? AND told.key = ? AND peers.number <> ? ORDER BY peers.number
            """)
        select.bind(1, collection)
        select.bind(2, key)
        select.bind(3, peer)
        var peers: [Int64] = []
        do {
            defer { select.reset() }
            while try select.step() { peers.append(select.int(0)) }
        }
        for peer in peers { try setTold(peer: peer, collection: collection, key: key, nil) }
        return peers
    }

    /// Writes the counts and sums of what was told, so that reading the peers finds them.
    package func writeToldTotals() throws(DocDBError) { try toldTotals.write(writer.connection) }
}

/// The statements for what peers have told.
final class ToldStatements {
    private let insertStatement: SQLiteStatement
    private let selectStatement: SQLiteStatement
    private let updateStatement: SQLiteStatement
    private let deleteStatement: SQLiteStatement
    private let connection: SQLiteConnection

    init(_ connection: SQLiteConnection) throws(DocDBError) {
        self.connection = connection
        insertStatement = try connection.prepare(
            "INSERT INTO told (peer, collection, key, digest) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING")
        selectStatement = try connection.prepare(
            "SELECT digest FROM told WHERE peer = ? AND collection = ? AND key = ?")
        updateStatement = try connection.prepare(
            "UPDATE told SET digest = ?4 WHERE peer = ?1 AND collection = ?2 AND key = ?3")
        deleteStatement = try connection.prepare("DELETE FROM told WHERE peer = ? AND collection = ? AND key = ?")
    }

    private func bind(_ statement: SQLiteStatement, _ peer: Int64, _ collection: Int64, _ key: Int64) {
        statement.bind(1, peer)
        statement.bind(2, collection)
        statement.bind(3, key)
    }

    private func run(
        _ statement: SQLiteStatement, _ peer: Int64, _ collection: Int64, _ key: Int64, _ digest: StateDigest
    ) throws(DocDBError) {
        bind(statement, peer, collection, key)
        var bytes = (digest.high.bigEndian, digest.low.bigEndian)
        let failure: DocDBError? = withUnsafeBytes(of: &bytes) { bytes in
            statement.bind(4, blob: bytes)
            do throws(DocDBError) {
                try statement.run()
                return nil
            } catch {
                return error
            }
        }
        if let failure { throw failure }
    }

    /// Adds what a peer has told; returns false, with nothing done, where it has told of the document before.
    func insert(
        _ peer: Int64, _ collection: Int64, _ key: Int64, _ digest: StateDigest
    ) throws(DocDBError) -> Bool {
        try run(insertStatement, peer, collection, key, digest)
        return connection.changeCount == 1
    }

    func update(_ peer: Int64, _ collection: Int64, _ key: Int64, _ digest: StateDigest) throws(DocDBError) {
        try run(updateStatement, peer, collection, key, digest)
    }

    func digest(_ peer: Int64, _ collection: Int64, _ key: Int64) throws(DocDBError) -> StateDigest? {
        bind(selectStatement, peer, collection, key)
        defer { selectStatement.reset() }
        guard try selectStatement.step() else { return nil }
        guard let digest = StateDigest(bytes: selectStatement.blob(0)) else {
            throw DocDBError(.corrupted, "what a peer has told is damaged; run 'docdb-inspect verify'")
        }
        return digest
    }

    func remove(_ peer: Int64, _ collection: Int64, _ key: Int64) throws(DocDBError) {
        bind(deleteStatement, peer, collection, key)
        try deleteStatement.run()
    }
}
