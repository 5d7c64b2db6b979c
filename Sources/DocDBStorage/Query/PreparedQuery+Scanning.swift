import CSQLite
import DocDBCore
import DocDBQuery

extension PreparedQuery {
    /// Called with a document that matches: its body, and the statement whose row it is. False ends the scan.
    ///
    /// The document's key is the row's first column, which only those ask for that need it.
    typealias Visit = (_ body: UnsafeRawBufferPointer, _ row: SQLiteStatement) throws -> Bool

    /// Calls `visit` with each matching document once, in the order of the plan's access.
    ///
    /// - Parameter needsID: `visit` asks for the row's id.
    /// - Returns: false where `visit` ended it.
    @discardableResult
    func scan(needsID: Bool, _ visit: Visit) throws -> Bool {
        let kind: Statement = needsID || evaluator?.usesID ?? false ? .rows : .bodies
        switch plan.access {
        case .nothing: return true
        case .documents: return try step(try statement(kind), evaluator, visit)
        case .ids(let ids): return try lookUp(ids, visit)
        case .idOrder(let range, _):
            let rows = try statement(kind)
            range.bind(to: rows)
            return try step(rows, evaluator, visit)
        case .index(let scan):
            if scan.findsDuplicates { return try fetch(try indexKeys(scan)[...], evaluator, visit) }
            let rows = try statement(kind)
            if let range = scan.ranges.first, scan.ranges.count == 1 {
                rows.bind(range)
                return try step(rows, evaluator, visit)
            }
            for range in scan.isBackward ? scan.ranges.reversed() : scan.ranges {
                rows.bind(range)
                guard try step(rows, evaluator, visit) else { return false }
            }
            return true
        }
    }

    /// Steps through a statement's rows to their end, and resets it.
    ///
    /// Scans of whole collections spend their time here: no call but to SQLite, the evaluator and `visit`, and nothing
    /// allocated.
    @discardableResult
    func step(_ rows: SQLiteStatement, _ evaluator: Evaluator?, _ visit: Visit) throws -> Bool {
        guard let evaluator else { return try step(rows, visit) }
        let handle = rows.handle
        let usesID = evaluator.usesID
        var code = sqlite3_step(handle)
        while code == SQLITE_ROW {
            // A deleted document has no body.
            if let body = Self.body(of: handle) {
                let id = usesID ? id(of: rows) : UnsafeRawBufferPointer(start: nil, count: 0)
                if evaluator.matches(body: body, id: id) {
                    guard try visit(body, rows) else {
                        rows.reset()
                        return false
                    }
                } else if evaluator.isDamaged || evaluator.didExhaustLimits {
                    throw evaluationFailure(evaluator, rows.int(0))
                }
            }
            code = sqlite3_step(handle)
        }
        guard code == SQLITE_DONE else { throw rows.failure(code) }
        rows.reset()
        return true
    }

    private func step(_ rows: SQLiteStatement, _ visit: Visit) throws -> Bool {
        let handle = rows.handle
        var code = sqlite3_step(handle)
        while code == SQLITE_ROW {
            if let body = Self.body(of: handle) {
                guard try visit(body, rows) else {
                    rows.reset()
                    return false
                }
            }
            code = sqlite3_step(handle)
        }
        guard code == SQLITE_DONE else { throw rows.failure(code) }
        rows.reset()
        return true
    }

    /// The body in a row, or nil where the document is deleted.
    ///
    /// Asks for the column once and then its value: each call about a column passes SQLite's checks again. The value is
    /// good as long as one thread uses the connection, as it is here.
    @inline(__always)
    private static func body(of row: OpaquePointer) -> UnsafeRawBufferPointer? {
        let column = sqlite3_column_value(row, 1)
        guard let start = sqlite3_value_blob(column) else { return nil }
        return UnsafeRawBufferPointer(start: start, count: Int(sqlite3_value_bytes(column)))
    }

    @inline(never)
    private func evaluationFailure(_ evaluator: Evaluator, _ key: Int64) -> DocDBError {
        if evaluator.isDamaged { return damaged(key) }
        return DocDBError(
            .limitReached,
            "the predicate took more steps on document \(key) of '\(collection.name)' than are allowed; simplify it, regular expressions first",
            context: ["collection": collection.name, "key": String(key)])
    }

    /// The error for a document whose bytes are no document.
    func damaged(_ key: Int64) -> DocDBError {
        DocDBError(
            .corrupted,
            "document \(key) of '\(collection.name)' is damaged; run 'docdb-inspect verify' on a copy and restore a backup",
            context: ["collection": collection.name, "key": String(key)])
    }

    /// The id of the row, as canonical CBOR; valid until the next row's is asked for.
    @inline(__always)
    func id(of row: SQLiteStatement) -> UnsafeRawBufferPointer {
        let column = sqlite3_column_value(row.handle, 2)
        let scratch = scratch
        scratch.pointee.id.removeAll()
        switch sqlite3_value_type(column) {
        case SQLITE_INTEGER: scratch.pointee.id.appendCBOR(sqlite3_value_int64(column))
        case SQLITE_TEXT: scratch.pointee.id.appendCBOR(text: Self.bytes(of: column))
        default: scratch.pointee.id.append(Self.bytes(of: column))
        }
        return scratch.pointee.id.bytes
    }

    @inline(__always)
    private static func bytes(of column: OpaquePointer?) -> UnsafeRawBufferPointer {
        let start = sqlite3_value_blob(column)
        return UnsafeRawBufferPointer(start: start, count: Int(sqlite3_value_bytes(column)))
    }

    private func lookUp(_ ids: [[UInt8]], _ visit: Visit) throws -> Bool {
        let row = try statement(.rowByID)
        for id in ids {
            let goesOn = try id.withUnsafeBytes { bytes in
                try row.bind(1, id: bytes)
                return try step(row, evaluator, visit)
            }
            guard goesOn else { return false }
        }
        return true
    }

    /// Calls `visit` with the documents under these keys, in this order; those that are no longer there are left out.
    @discardableResult
    func fetch(_ keys: ArraySlice<Int64>, _ evaluator: Evaluator?, _ visit: Visit) throws -> Bool {
        let row = try statement(.rowByKey)
        for key in keys {
            row.bind(1, key)
            guard try step(row, evaluator, visit) else { return false }
        }
        return true
    }

    /// The keys in the parts of an index, in ascending order, each once.
    ///
    /// Takes 8 bytes of memory an entry.
    func indexKeys(_ scan: QueryPlan.IndexScan) throws(DocDBError) -> [Int64] {
        var keys: [Int64] = []
        let rows = try statement(.keys)
        for range in scan.ranges {
            rows.bind(range)
            while try rows.step() { keys.append(rows.int(0)) }
            rows.reset()
        }
        keys.sort()
        return scan.findsDuplicates ? keys.withoutRepetitions : keys
    }

    /// The number of documents that match.
    func countMatches() throws -> Int {
        if plan.residual == nil {
            switch plan.access {
            case .nothing: return 0
            case .documents: return try countRows { _ in }
            case .idOrder(let range, _): return try countRows { range.bind(to: $0) }
            case .index(let scan) where scan.findsDuplicates: return try indexKeys(scan).count
            case .index(let scan):
                return try scan.ranges.reduce(0) { sum, range in try sum + countRows { $0.bind(range) } }
            case .ids: break
            }
        }
        var count = 0
        try scan(needsID: false) { _, _ in
            count += 1
            return true
        }
        return count
    }

    private func countRows(_ bind: (SQLiteStatement) -> Void) throws(DocDBError) -> Int {
        let row = try statement(.count)
        bind(row)
        defer { row.reset() }
        return try row.step() ? Int(row.int(0)) : 0
    }
}

extension [Int64] {
    /// The elements of a sorted array, each once.
    fileprivate var withoutRepetitions: [Int64] {
        var distinct: [Int64] = []
        distinct.reserveCapacity(count)
        for element in self where distinct.last != element { distinct.append(element) }
        return distinct
    }
}
