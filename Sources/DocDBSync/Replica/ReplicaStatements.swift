import DocDBCore
import DocDBStorage

/// The prepared statements of replication on one connection, each made at its first use and kept with the connection.
///
/// Their users step them to the end, or reset them, before foreign code runs; only `document` says when that is not so.
final class ReplicaStatements {
    enum Query: Int, CaseIterable {
        case absentKey, absentID, evicted, isEvicted
        case peer, peers, peerNumber, insertPeer, updatePeer
        case told, isUsed
        case apart, apartOne, apartCount, insertApart, removeApart
        case quarantine, quarantineOfPeer, quarantineTotal, oldestQuarantined, insertQuarantined, removeQuarantined
        case deferred, insertDeferred, removeDeferred
        case hasVoided, voided, insertVoided, trimVoided, removeVoided
        case usage, setUsage, setUser, quarantineTotalOfUser
    }

    private unowned let connection: SQLiteConnection
    private var statements = [SQLiteStatement?](repeating: nil, count: Query.allCases.count)
    private var documents: [Int64: SQLiteStatement] = [:]
    private var lastDocument: (collection: Int64, statement: SQLiteStatement)?
    private var documentKeys: [Int64: SQLiteStatement] = [:]
    private var documentIDs: [Int64: SQLiteStatement] = [:]

    private init(_ connection: SQLiteConnection) { self.connection = connection }

    /// The statements of a connection.
    static func of(_ context: ReadContext) throws(DocDBError) -> ReplicaStatements {
        if let known = context.companion as? ReplicaStatements { return known }
        let made = ReplicaStatements(context.connection)
        context.companion = made
        return made
    }

    subscript(_ query: Query) -> SQLiteStatement {
        get throws(DocDBError) {
            if let known = statements[query.rawValue] { return known }
            let made = try connection.prepareOnce(query.sql)
            statements[query.rawValue] = made
            return made
        }
    }

    // MARK: Documents

    static func documentColumns(_ collection: Int64) -> String {
        "SELECT key, id, body, state, last_change FROM documents_\(collection)"
    }

    /// Selects a document by key; a statement of the caller's own where another document is handed out.
    func document(collection: Int64, isShared: Bool) throws(DocDBError) -> SQLiteStatement {
        if isShared, let last = lastDocument, last.collection == collection { return last.statement }
        if isShared, let known = documents[collection] {
            lastDocument = (collection, known)
            return known
        }
        let made = try connection.prepareOnce("\(Self.documentColumns(collection)) WHERE key = ?")
        if isShared { documents[collection] = made }
        return made
    }

    /// Selects the key of a document by id.
    func documentKey(collection: Int64) throws(DocDBError) -> SQLiteStatement {
        if let known = documentKeys[collection] { return known }
        let made = try connection.prepareOnce("SELECT key FROM documents_\(collection) WHERE id = ?")
        documentKeys[collection] = made
        return made
    }

    /// Selects the id of a document by key.
    func documentID(collection: Int64) throws(DocDBError) -> SQLiteStatement {
        if let known = documentIDs[collection] { return known }
        let made = try connection.prepareOnce("SELECT id FROM documents_\(collection) WHERE key = ?")
        documentIDs[collection] = made
        return made
    }
}

extension ReplicaStatements.Query {
    private static let peerColumns = """
        SELECT number, store_id, name, is_keeper, last_seen, cursor_incarnation, cursor_seq, cursor_interest, cursor_epoch,
        told_count, told_sum, current_count, current_sum, acknowledged_seq, interest, epoch FROM peers
        """
    private static let apartColumns = "SELECT peer, side, collection, key, code, epoch, reason FROM apart"
    private static let quarantineColumns = "SELECT peer, collection, key, newest_time, data FROM quarantine"

    fileprivate var sql: String {
        switch self {
        case .absentKey: "SELECT key FROM absent_documents WHERE collection = ? AND id = ?"
        case .absentID: "SELECT id FROM absent_documents WHERE collection = ? AND key = ?"
        case .evicted:
            "SELECT collection, key, id FROM absent_documents WHERE evicted_seq IS NOT NULL ORDER BY collection, key LIMIT ?"
        case .isEvicted:
            "SELECT 1 FROM absent_documents WHERE collection = ? AND key = ? AND evicted_seq IS NOT NULL"
        case .peer: "\(Self.peerColumns) WHERE store_id = ?"
        case .peers: "\(Self.peerColumns) ORDER BY number"
        case .peerNumber: "SELECT number FROM peers WHERE store_id = ?"
        case .insertPeer:
            """
            INSERT INTO peers (name, is_keeper, last_seen, cursor_incarnation, cursor_seq, cursor_interest, cursor_epoch,
            told_count, told_sum, acknowledged_seq, interest, epoch, store_id) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
            """
        case .updatePeer:
            """
            UPDATE peers SET name = ?, is_keeper = ?, last_seen = ?, cursor_incarnation = ?, cursor_seq = ?,
            cursor_interest = ?, cursor_epoch = ?, told_count = ?, told_sum = ?, acknowledged_seq = ?, interest = ?, epoch = ?
            WHERE number = ?
            """
        case .told: "SELECT digest FROM told WHERE peer = ? AND collection = ? AND key = ?"
        case .isUsed:
            // By peer, of which there are few: the other way round all rows would be looked at (CROSS keeps the order).
            """
            SELECT 1 WHERE EXISTS (SELECT 1 FROM peers CROSS JOIN told ON told.peer = peers.number
            WHERE told.collection = ?1 AND told.key = ?2) OR EXISTS (SELECT 1 FROM peers CROSS JOIN apart
            ON apart.peer = peers.number AND apart.side IN (0, 1) WHERE apart.collection = ?1 AND apart.key = ?2)
            OR EXISTS (SELECT 1 FROM quarantine WHERE collection = ?1 AND key = ?2)
            OR EXISTS (SELECT 1 FROM absent_documents WHERE collection = ?1 AND key = ?2 AND evicted_seq IS NOT NULL)
            """
        case .apart: "\(Self.apartColumns) WHERE peer = ? AND side = ? ORDER BY collection, key"
        case .apartOne: "\(Self.apartColumns) WHERE peer = ? AND side = ? AND collection = ? AND key = ?"
        case .apartCount: "SELECT count(*) FROM apart WHERE peer = ? AND side = ?"
        case .insertApart:
            "INSERT OR REPLACE INTO apart (peer, side, collection, key, code, epoch, reason) VALUES (?, ?, ?, ?, ?, ?, ?)"
        case .removeApart: "DELETE FROM apart WHERE peer = ? AND side = ? AND collection = ? AND key = ?"
        case .quarantine: "\(Self.quarantineColumns) ORDER BY ordinal"
        case .quarantineOfPeer: "\(Self.quarantineColumns) WHERE peer = ? ORDER BY ordinal"
        case .quarantineTotal:
            "SELECT count(*), coalesce(sum(length(data)), 0) FROM quarantine WHERE peer = ?"
        case .oldestQuarantined: "\(Self.quarantineColumns) WHERE peer = ? ORDER BY ordinal LIMIT 1"
        case .insertQuarantined:
            "INSERT INTO quarantine (peer, collection, key, newest_time, data) VALUES (?, ?, ?, ?, ?)"
        case .removeQuarantined: "DELETE FROM quarantine WHERE peer = ? AND collection = ? AND key = ?"
        case .deferred: "SELECT collection, key FROM deferred_evictions ORDER BY collection, key"
        case .insertDeferred: "INSERT OR IGNORE INTO deferred_evictions (collection, key) VALUES (?, ?)"
        case .removeDeferred: "DELETE FROM deferred_evictions WHERE collection = ? AND key = ?"
        case .hasVoided: "SELECT 1 FROM voided LIMIT 1"
        case .voided: "SELECT actor, time FROM voided WHERE document = ?"
        case .insertVoided:
            """
            INSERT INTO voided (document, actor, time) VALUES (?, ?, ?)
            ON CONFLICT (document, actor) DO UPDATE SET time = max(time, excluded.time)
            """
        case .trimVoided: "DELETE FROM voided WHERE ordinal <= (SELECT max(ordinal) FROM voided) - ?"
        case .removeVoided: "DELETE FROM voided WHERE document = ? AND actor = ?"
        case .usage: "SELECT actor_count, field_name_count FROM users WHERE id = ?"
        case .setUsage: "INSERT OR REPLACE INTO users (id, actor_count, field_name_count) VALUES (?, ?, ?)"
        case .setUser: "INSERT OR REPLACE INTO user_peers (peer, user) VALUES (?, ?)"
        case .quarantineTotalOfUser:
            """
            SELECT count(*), coalesce(sum(length(data)), 0) FROM quarantine
            WHERE peer IN (SELECT peer FROM user_peers WHERE user = ?)
            """
        }
    }
}
