import DocDBCore
import DocDBQuery

/// One query planned and compiled for one connection, with statements of its own. Runs once at a time.
final class PreparedQuery {
    let collection: CollectionInfo
    let plan: QueryPlan
    unowned let context: ReadContext
    let evaluator: Evaluator?
    let sortKeys: SortKeyEncoder?
    /// A run has begun and not ended.
    private(set) var isRunning = false
    private var statements: [Statement: SQLiteStatement] = [:]
    let scratch: UnsafeMutablePointer<Scratch>

    /// The statements of a query, each made when it is first needed. Those for rows give key, id and body; those for
    /// bodies null in place of the id, which takes SQLite a while to get.
    enum Statement {
        case rows, bodies, rowByKey, rowByID, keys, count, blobID
    }

    /// Buffers for one row.
    struct Scratch: ~Copyable {
        var id = ByteBuffer(capacity: 512)
        var sortKey = ByteBuffer(capacity: 512)
    }

    init(
        _ definition: QueryDefinition, isOrdered: Bool, collection: CollectionInfo, context: ReadContext
    ) throws(DocDBError) {
        self.collection = collection
        self.context = context
        let planner = Planner(
            filter: definition.filter, sort: definition.sort, isLimited: definition.limit != nil, isOrdered: isOrdered)
        plan = planner.plan(indexes: collection.indexes)
        evaluator = plan.residual.map { Evaluator($0, names: context.names) }
        sortKeys = plan.sort.isEmpty ? nil : try SortKeyEncoder(plan.sort, names: context.names)
        scratch = .allocate(capacity: 1)
        scratch.initialize(to: Scratch())
    }

    deinit {
        scratch.deinitialize(count: 1)
        scratch.deallocate()
    }

    /// Names that are new since it was compiled change what it means.
    var needsRecompile: Bool {
        evaluator?.needsRecompile(context.names) ?? false || sortKeys?.needsRecompile(context.names) ?? false
    }

    /// Marks the query as running while `body` runs, and lets go of its statements' rows afterwards.
    func running<R>(_ body: () throws -> R) rethrows -> R {
        isRunning = true
        defer {
            isRunning = false
            for statement in statements.values { statement.reset() }
        }
        return try body()
    }

    // MARK: Statements

    func statement(_ kind: Statement) throws(DocDBError) -> SQLiteStatement {
        if let known = statements[kind] { return known }
        let made = try context.connection.prepareOnce(sql(kind))
        statements[kind] = made
        return made
    }

    private func sql(_ kind: Statement) -> String {
        let documents = "documents_\(collection.number)"
        switch kind {
        case .rowByKey: return "SELECT key, body, id FROM \(documents) WHERE key = ?1"
        case .rowByID: return "SELECT key, body, id FROM \(documents) WHERE id = ?1"
        case .blobID: return "SELECT 1 FROM \(documents) WHERE id >= x'' LIMIT 1"
        case .rows, .bodies, .keys, .count: break
        }
        switch plan.access {
        case .index(let scan): return Self.sql(kind, scan, documents)
        case .idOrder(let range, let isBackward): return sql(kind, range, isBackward: isBackward)
        case .documents, .ids, .nothing:
            if kind == .count { return "SELECT count(*) FROM \(documents) WHERE body IS NOT NULL" }
            return "SELECT key, body\(Self.id(kind)) FROM \(documents)"
        }
    }

    /// The statement that reads a part of the index on `_id`.
    func sql(_ kind: Statement, _ range: IDRange, isBackward: Bool) -> String {
        let documents = "documents_\(collection.number)"
        let living = " AND body IS NOT NULL"
        if kind == .count { return "SELECT count(*) FROM \(documents) WHERE \(range.condition)\(living)" }
        let order = plan.isOrdered ? " ORDER BY id\(isBackward ? " DESC" : "")" : ""
        return "SELECT key, body\(Self.id(kind)) FROM \(documents) WHERE \(range.condition)\(order)"
    }

    /// The third column: the id, where the rows of this kind have it.
    private static func id(_ kind: Statement) -> String { kind == .bodies ? "" : ", id" }

    private static func sql(_ kind: Statement, _ scan: QueryPlan.IndexScan, _ documents: String) -> String {
        let table = "index_\(scan.index.number)"
        switch kind {
        case .keys: return "SELECT key FROM \(table) WHERE value >= ?1 AND value < ?2"
        case .count: return "SELECT count(*) FROM \(table) WHERE value >= ?1 AND value < ?2"
        default:
            return """
                SELECT d.key, d.body\(kind == .bodies ? "" : ", d.id") FROM \(table) AS i CROSS JOIN \(documents) AS d ON d.key = i.key
                WHERE i.value >= ?1 AND i.value < ?2 ORDER BY i.value\(scan.isBackward ? " DESC" : "")
                """
        }
    }

    /// Tells whether a document has an id that SQLite does not order as the order of values does.
    func hasBlobIDs() throws(DocDBError) -> Bool {
        let probe = try statement(.blobID)
        defer { probe.reset() }
        return try probe.step()
    }
}
