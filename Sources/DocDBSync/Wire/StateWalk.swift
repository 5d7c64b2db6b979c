import DocDBCore

/// What passes by while an encoded state is walked.
protocol StateVisitor: ~Copyable {
    /// Bytes that mean the same in every store.
    mutating func pass(_ bytes: UnsafeRawBufferPointer)
    /// The number of an actor, as it stands: with the default flag where it is `isFlagged`.
    mutating func actor(_ word: UInt64, isFlagged: Bool) throws(CBORError)
    /// The path of an entry that is no leaf of the body.
    mutating func path(_ path: UnsafeRawBufferPointer) throws(CBORError)
    /// The value of such an entry.
    mutating func value(_ value: UnsafeRawBufferPointer, at path: UnsafeRawBufferPointer) throws(CBORError)
}

/// Walks an encoded state (Schemas/document-state.md) without decoding it, to its end, behind which padding may follow.
struct StateWalk {
    static let fresh: UInt8 = 0x10
    static let general: UInt8 = 0x11

    static let hasRuns: UInt8 = 1
    static let hasSeen: UInt8 = 2
    static let hasDeleted: UInt8 = 4
    static let hasExtras: UInt8 = 8
    static let allFlags: UInt8 = 15

    /// - Parameter leafCount: the number of the body's leaves, nil where there is no body.
    static func walk<Visitor: StateVisitor & ~Copyable>(
        _ cursor: inout WireCursor, leafCount: Int?, _ visitor: inout Visitor
    ) throws(CBORError) {
        var start = cursor.position
        switch try cursor.readByte() {
        case fresh:
            flush(&start, cursor, &visitor)
            try visitor.actor(try cursor.readVarint(), isFlagged: true)
            start = cursor.position
            _ = try cursor.read(count: 8)
            flush(&start, cursor, &visitor)
        case general:
            try walkGeneral(&cursor, leafCount, &visitor)
        default: throw .malformed
        }
    }

    /// Passes on what was read since `start`.
    @inline(__always)
    private static func flush<Visitor: StateVisitor & ~Copyable>(
        _ start: inout UnsafeRawPointer, _ cursor: WireCursor, _ visitor: inout Visitor
    ) {
        visitor.pass(UnsafeRawBufferPointer(start: start, count: cursor.position - start))
        start = cursor.position
    }

    private static func walkGeneral<Visitor: StateVisitor & ~Copyable>(
        _ cursor: inout WireCursor, _ leafCount: Int?, _ visitor: inout Visitor
    ) throws(CBORError) {
        var start = cursor.position - 1
        let flags = try cursor.readByte()
        guard flags <= allFlags, leafCount != nil || flags & hasRuns == 0 else { throw .malformed }
        let stampCount = try cursor.readCount(atMost: min(cursor.remaining / 2, SyncLimits.documentLeafCount))
        for index in 0..<stampCount {
            flush(&start, cursor, &visitor)
            try visitor.actor(try cursor.readVarint(), isFlagged: true)
            start = cursor.position
            if index == 0 { _ = try cursor.read(count: 8) } else { try skipTime(&cursor) }
        }
        if flags & hasRuns != 0 { try skipRuns(&cursor, leafCount ?? 0) }
        for flag in [hasSeen, hasDeleted] where flags & flag != 0 {
            let count = try cursor.readCount(atMost: min(cursor.remaining / 2, SyncLimits.vectorActorCount))
            for _ in 0..<count {
                flush(&start, cursor, &visitor)
                try visitor.actor(try cursor.readVarint(), isFlagged: false)
                start = cursor.position
                try skipTime(&cursor)
            }
        }
        if flags & hasExtras != 0 {
            let count = try cursor.readCount(atMost: min(cursor.remaining / 3, SyncLimits.documentLeafCount))
            for _ in 0..<count { try walkExtra(&cursor, &visitor) }
        }
        flush(&start, cursor, &visitor)
    }

    static func skipTime(_ cursor: inout WireCursor) throws(CBORError) {
        if try cursor.readVarint() & 1 == 1 { _ = try cursor.readVarint() }
    }

    /// Moves past the runs, which cover all leaves.
    static func skipRuns(_ cursor: inout WireCursor, _ leafCount: Int) throws(CBORError) {
        var covered = 0
        while covered < leafCount {
            _ = try cursor.readVarint()
            let length = try cursor.readCount(atMost: leafCount - covered)
            guard length > 0 else { throw .malformed }
            covered += length
        }
    }

    private static func walkExtra<Visitor: StateVisitor & ~Copyable>(
        _ cursor: inout WireCursor, _ visitor: inout Visitor
    ) throws(CBORError) {
        let tag = try cursor.readVarint()
        let path = try cursor.read(count: try cursor.readCount(atMost: cursor.remaining))
        try visitor.path(path)
        _ = try cursor.readVarint()
        switch tag {
        case 0, 1: break
        case 2:
            guard !path.isEmpty else { throw .malformed }
            try visitor.value(try cursor.readCBORSlice(), at: path)
        case 3:
            guard !path.isEmpty else { throw .malformed }
            _ = try cursor.readVarint()
            try cursor.skipCBOR()
        default:
            _ = try cursor.readVarint()
            for _ in 0..<2 { _ = try cursor.read(count: try cursor.readCount(atMost: cursor.remaining)) }
        }
    }
}
