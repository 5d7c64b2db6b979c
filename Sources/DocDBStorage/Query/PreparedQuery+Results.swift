import DocDBCore
import DocDBQuery

/// The part of the results that is wanted.
struct ResultWindow {
    var offset: Int
    var limit: Int?

    /// What to do with the next result.
    enum Step { case pass, deliver, end }

    private var seenCount = 0

    init(_ definition: QueryDefinition) {
        offset = definition.offset
        limit = definition.limit
    }

    /// Nothing is wanted, or nothing more.
    var isComplete: Bool { limit.map { seenCount - offset >= $0 } ?? false || limit == 0 }

    /// All results are wanted.
    var isEverything: Bool { offset == 0 && limit == nil }

    mutating func next() -> Step {
        if isComplete { return .end }
        seenCount += 1
        return seenCount <= offset ? .pass : .deliver
    }

    /// The wanted part of an array of all results.
    func slice(_ keys: [Int64]) -> ArraySlice<Int64> {
        let rest = keys.dropFirst(offset)
        return limit.map { rest.prefix($0) } ?? rest
    }

    /// How many of so many results are wanted.
    func count(of total: Int) -> Int {
        let rest = max(total - offset, 0)
        return limit.map { min(rest, $0) } ?? rest
    }
}

extension PreparedQuery {
    /// Calls `deliver` with the wanted results in order, until it returns false.
    func forEachResult(_ definition: QueryDefinition, _ deliver: Visit) throws {
        var window = ResultWindow(definition)
        guard !window.isComplete else { return }
        if try givesOrder() {
            if window.isEverything {
                try scan(needsID: true, deliver)
                return
            }
            try scan(needsID: true) { body, row in
                switch window.next() {
                case .pass: return true
                case .end: return false
                case .deliver: return try deliver(body, row) && !window.isComplete
                }
            }
        } else if let sortKeys {
            try fetch(window.slice(try sortedKeys(sortKeys, definition.wantedCount)), nil, deliver)
        } else if case .index(let scan) = plan.access {
            try forEachResult(inStorageOrder: scan, &window, deliver)
        } else {
            try fetch(window.slice(try matchingKeys().sorted()), nil, deliver)
        }
    }

    /// Tells whether the scan gives the results in order; an order of ids may be broken by ids that are blobs.
    func givesOrder() throws -> Bool {
        guard plan.isOrdered else { return false }
        guard case .idOrder(let range, _) = plan.access, range.includesBlobs else { return true }
        return try !hasBlobIDs()
    }

    private func forEachResult(
        inStorageOrder scan: QueryPlan.IndexScan, _ window: inout ResultWindow, _ deliver: Visit
    ) throws {
        let keys = try indexKeys(scan)
        guard let evaluator else {
            try fetch(window.slice(keys), nil, deliver)
            return
        }
        var place = window
        try fetch(keys[...], evaluator) { body, row in
            switch place.next() {
            case .pass: return true
            case .end: return false
            case .deliver: return try deliver(body, row) && !place.isComplete
            }
        }
        window = place
    }

    func matchingKeys() throws -> [Int64] {
        var keys: [Int64] = []
        try scan(needsID: false) { _, row in
            keys.append(row.int(0))
            return true
        }
        return keys
    }

    /// The keys of the first `count` matching documents, or of all, in the wanted order.
    private func sortedKeys(_ sortKeys: SortKeyEncoder, _ count: Int?) throws -> [Int64] {
        if let keys = try sortedKeysByFewIDs(sortKeys, count) { return keys }
        var sorter = ResultSorter(limit: count)
        try scan(needsID: true) { body, row in
            let key = row.int(0)
            scratch.pointee.sortKey.removeAll()
            guard sortKeys.append(body: body, id: id(of: row), to: &scratch.pointee.sortKey) else { throw damaged(key) }
            try sorter.add(scratch.pointee.sortKey.bytes, key: key)
            return true
        }
        return sorter.finish()
    }

    /// How many ids are looked up one by one before a scan that reads all of them is cheaper.
    private static let singleIDCountLimit = 2_000

    /// The same for the first few of a full scan: it looks up the ids of those documents alone that are in the running.
    ///
    /// Returns nil where that does not pay, as many documents tie.
    private func sortedKeysByFewIDs(_ sortKeys: SortKeyEncoder, _ count: Int?) throws -> [Int64]? {
        guard let count, case .documents = plan.access, !sortKeys.usesID, !(evaluator?.usesID ?? false) else {
            return nil
        }
        var sorter = ResultSorter(limit: count)
        guard sorter.isBounded, count < Self.singleIDCountLimit / 4 else { return nil }
        let rowByKey = try statement(.rowByKey)
        var idCount = 0
        let noID = UnsafeRawBufferPointer(start: nil, count: 0)
        let isComplete = try scan(needsID: false) { body, row in
            scratch.pointee.sortKey.removeAll()
            guard sortKeys.appendPaths(body: body, id: noID, to: &scratch.pointee.sortKey) else {
                throw damaged(row.int(0))
            }
            guard sorter.mayKeep(beginning: scratch.pointee.sortKey.bytes) else { return true }
            let key = row.int(0)
            idCount += 1
            guard idCount <= Self.singleIDCountLimit else { return false }
            rowByKey.bind(1, key)
            defer { rowByKey.reset() }
            guard try rowByKey.step(), sortKeys.appendID(id(of: rowByKey), to: &scratch.pointee.sortKey) else {
                throw damaged(key)
            }
            try sorter.add(scratch.pointee.sortKey.bytes, key: key)
            return true
        }
        return isComplete ? sorter.finish() : nil
    }

    /// The keys of the wanted results in order.
    func resultKeys(_ definition: QueryDefinition) throws -> [Int64] {
        let window = ResultWindow(definition)
        guard !window.isComplete else { return [] }
        if try givesOrder() || (sortKeys == nil && evaluator != nil) {
            var keys: [Int64] = []
            try forEachResult(definition) { _, row in
                keys.append(row.int(0))
                return true
            }
            return keys
        }
        if let sortKeys { return Array(window.slice(try sortedKeys(sortKeys, definition.wantedCount))) }
        if case .index(let scan) = plan.access { return Array(window.slice(try indexKeys(scan))) }
        return Array(window.slice(try matchingKeys().sorted()))
    }
}
