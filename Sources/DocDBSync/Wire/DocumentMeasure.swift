import DocDBCore

/// Finds out whether a stored document can be sent at all: a receiver ends the session for one that is over its limits.
struct DocumentMeasure: ~Copyable, StateVisitor {
    private let names: FieldNames
    private var leafCount = 0
    private var pathByteCount = 0
    /// How often the state names an actor.
    private var actorUseCount = 0

    /// Documents of so few bytes are within all limits.
    private static let smallByteCount = 8 * 1024
    /// A path's key takes no more than its text and a head.
    private static let headByteCount = 5

    /// Tells whether a document is within the limits of `SyncLimits`.
    ///
    /// - Returns: true also for a damaged one: what reads it says what is wrong.
    /// - Complexity: O(1) for a small document, O(n) in the bytes of others.
    static func isSendable(_ document: StoredDocument, names: FieldNames, actors: ActorTable) -> Bool {
        let byteCount = (document.body?.count ?? 0) + document.state.count
        if byteCount <= smallByteCount { return true }
        guard let body = document.body else {
            // Only what is deleted travels.
            guard let state = try? DocumentState(body: nil, state: document.state, actors: actors) else { return true }
            return state.deleted.elements.count <= SyncLimits.vectorActorCount
        }
        guard byteCount <= SyncLimits.documentByteCount else { return false }
        var measure = DocumentMeasure(names: names)
        do throws(CBORError) {
            guard try measure.isWithin(body: body, state: document.state) else { return false }
            if measure.actorUseCount <= SyncLimits.vectorActorCount { return true }
        } catch {
            // The walk stops at a limit, too.
            return (try? DocumentState(body: body, state: document.state, actors: actors)) == nil
        }
        guard let state = try? DocumentState(body: body, state: document.state, actors: actors) else { return true }
        return max(state.seen.elements.count, state.deleted.elements.count) <= SyncLimits.vectorActorCount
    }

    /// Whether a state, stored with its body, is certainly of few bytes.
    static func isSmall(_ state: DocumentState, bodyByteCount: Int) -> Bool {
        let entryCount = state.assignments.count + state.tallies.count + state.unknowns.count
        let actorCount = state.seen.elements.count + state.deleted.elements.count
        return bodyByteCount + state.arena.count + 64 * (entryCount + actorCount) <= smallByteCount
    }

    private init(names: FieldNames) { self.names = names }

    private mutating func isWithin(
        body: UnsafeRawBufferPointer, state: UnsafeRawBufferPointer
    ) throws(CBORError) -> Bool {
        var cursor = WireCursor(body)
        let (major, count) = try cursor.readHead()
        guard major == Major.map else { throw .malformed }
        try measureMembers(count, &cursor, prefix: 0, depth: 0, isInArray: false)
        guard leafCount <= SyncLimits.documentLeafCount, pathByteCount <= SyncLimits.documentPathByteCount else {
            return false
        }
        var stateCursor = WireCursor(state)
        try StateWalk.walk(&stateCursor, leafCount: leafCount, &self)
        return true
    }

    private mutating func measureMembers(
        _ count: UInt64, _ cursor: inout WireCursor, prefix: Int, depth: Int, isInArray: Bool
    ) throws(CBORError) {
        guard depth <= Limits.nestingDepth, count <= UInt64(cursor.remaining) else { throw .malformed }
        if count == 0 {
            if depth > 0, !isInArray { leafCount += 1 }
            return
        }
        let (paths, overflows) = prefix.multipliedReportingOverflow(by: Int(count))
        pathByteCount = overflows ? .max : pathByteCount.addingReportingOverflow(paths).partialValue
        guard pathByteCount >= 0, pathByteCount <= SyncLimits.documentPathByteCount,
            leafCount <= SyncLimits.documentLeafCount
        else { throw .tooDeep }
        for _ in 0..<Int(count) {
            let (major, argument) = try cursor.readHead()
            var keyByteCount = Self.headByteCount
            if major == Major.unsigned {
                // Where the receiver's table is full, the name travels on as text.
                guard let number = Int(exactly: argument), let name = names.name(number) else { throw .malformed }
                keyByteCount += name.count
            } else {
                keyByteCount += try cursor.read(argument: argument).count
            }
            try measureValue(&cursor, prefix: prefix + keyByteCount, depth: depth + 1, isInArray: isInArray)
        }
    }

    private mutating func measureValue(
        _ cursor: inout WireCursor, prefix: Int, depth: Int, isInArray: Bool
    ) throws(CBORError) {
        let (major, argument) = try cursor.readHead()
        switch major {
        case Major.map:
            return try measureMembers(
                argument, &cursor, prefix: isInArray ? 0 : prefix, depth: depth, isInArray: isInArray)
        case Major.array:
            guard depth <= Limits.nestingDepth, argument <= UInt64(cursor.remaining) else { throw .malformed }
            for _ in 0..<Int(argument) { try measureValue(&cursor, prefix: 0, depth: depth + 1, isInArray: true) }
        case Major.bytes, Major.text: _ = try cursor.read(argument: argument)
        default: break
        }
        if !isInArray { leafCount += 1 }
    }

    mutating func pass(_ bytes: UnsafeRawBufferPointer) {}
    mutating func actor(_ word: UInt64, isFlagged: Bool) throws(CBORError) { actorUseCount += 1 }
    mutating func path(_ path: UnsafeRawBufferPointer) throws(CBORError) {}
    mutating func value(_ value: UnsafeRawBufferPointer, at path: UnsafeRawBufferPointer) throws(CBORError) {}
}
