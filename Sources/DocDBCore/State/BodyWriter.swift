/// Writes an encoded map from its leaves, which come in path order.
///
/// A map's head is written as one byte and widened when the map closes with more members than that can tell.
struct BodyWriter: ~Copyable {
    /// One map that is open.
    private struct Level {
        /// The number of path bytes that lead to the map.
        var prefixCount: UInt32
        /// Where its head stands in the buffer.
        var headOffset: UInt32
        var memberCount: UInt32
    }

    private let levels: UnsafeMutablePointer<Level>
    private var depth = 0
    private var lastPath = UnsafeRawBufferPointer(start: nil, count: 0)

    private static let capacity = Limits.nestingDepth + 2

    /// Calls `write` with a writer that has opened the document's own map.
    @inline(__always)
    static func withWriter(
        into body: inout ByteBuffer, _ write: (inout BodyWriter, inout ByteBuffer) -> Void
    ) {
        withUnsafeTemporaryAllocation(of: Level.self, capacity: capacity) { levels in
            // The buffer is not empty, so it has an address.
            var writer = BodyWriter(levels: levels.baseAddress!)
            writer.push(prefixCount: 0, &body)
            write(&writer, &body)
            while writer.depth > 0 { writer.pop(&body) }
        }
    }

    private init(levels: UnsafeMutablePointer<Level>) { self.levels = levels }

    @inline(__always)
    private mutating func push(prefixCount: Int, _ body: inout ByteBuffer) {
        precondition(
            depth < Self.capacity, "a path is deeper than the nesting limit, which every writer of paths checks")
        (levels + depth).initialize(
            to: Level(prefixCount: UInt32(prefixCount), headOffset: UInt32(body.count), memberCount: 0))
        depth += 1
        body.append(CBOR.emptyMapByte)
    }

    @inline(__always)
    private mutating func pop(_ body: inout ByteBuffer) {
        depth -= 1
        let level = levels[depth]
        let head = Int(level.headOffset)
        if level.memberCount < 24 {
            body[head] = CBOR.emptyMapByte | UInt8(truncatingIfNeeded: level.memberCount)
        } else {
            Self.writeLongHead(level.memberCount, at: head, &body)
        }
    }

    @inline(never)
    private static func writeLongHead(_ count: UInt32, at head: Int, _ body: inout ByteBuffer) {
        let byteCount = CBOR.headByteCount(UInt64(count))
        body.insertGap(at: head + 1, count: byteCount - 1)
        body[head] = CBOR.Major.map << 5 | (byteCount == 2 ? 24 : byteCount == 3 ? 25 : 26)
        for index in 1..<byteCount {
            body[head + index] = UInt8(truncatingIfNeeded: count >> UInt32(8 * (byteCount - 1 - index)))
        }
    }

    /// Writes the keys that lead to the leaf at `path`, so that its value can be appended next.
    @inline(__always)
    mutating func openLeaf(_ path: UnsafeRawBufferPointer, _ body: inout ByteBuffer) {
        while depth > 1, !isOpen(levels[depth - 1], for: path) { pop(&body) }
        lastPath = path
        var start = Int(levels[depth - 1].prefixCount)
        while true {
            let end = DocumentState.keyEnd(in: path, from: start) ?? path.count
            levels[depth - 1].memberCount += 1
            body.append(UnsafeRawBufferPointer(rebasing: path[start..<end]))
            if end == path.count { return }
            push(prefixCount: end, &body)
            start = end
        }
    }

    @inline(__always)
    private func isOpen(_ level: Level, for path: UnsafeRawBufferPointer) -> Bool {
        let count = Int(level.prefixCount)
        guard count <= path.count else { return false }
        return CBOR.compare(
            UnsafeRawBufferPointer(rebasing: lastPath[..<count]), UnsafeRawBufferPointer(rebasing: path[..<count])) == 0
    }
}
