extension DocumentState {
    /// Appends one assignment for each leaf of an encoded map, in path order: scalars, arrays, and empty maps.
    ///
    /// The map's bytes are copied into the arena once, so that top-level paths and all payloads cost no further copy.
    ///
    /// - Returns: the number of bytes of the map.
    /// - Throws: `CBORError` where `bytes` do not begin with a map, keys are not in order, or maps nest too deep.
    @discardableResult
    static func appendLeaves(
        of bytes: UnsafeRawBufferPointer, prefix: Slice, prefixDepth: Int, stamp: Stamp,
        arena: inout [UInt8], to leaves: inout [Assignment]
    ) throws(CBORError) -> Int {
        var cursor = ByteCursor(bytes)
        let (major, _, argument) = try cursor.readCBORHead()
        guard major == CBOR.Major.map, argument <= UInt64(cursor.remaining / 2) else { throw .malformed }
        if leaves.isEmpty { leaves.reserveCapacity(min(Int(argument), reservedLeafCount) + 4) }
        if arena.isEmpty { arena.reserveCapacity(bytes.count + bytes.count / 2 + 64) }
        let origin = Origin(start: cursor.position, offset: arena.count + bytes.count - cursor.remaining, stamp: stamp)
        arena.append(contentsOf: bytes)
        try appendMembers(
            Int(argument), of: &cursor, prefix, prefixDepth + 1, origin, arena: &arena, to: &leaves)
        return bytes.count - cursor.remaining
    }

    /// The most leaves that room is made for at once, whatever a map's head claims.
    private static let reservedLeafCount = 1024

    /// Where the bytes being read lie in the arena, and the stamp their leaves get.
    private struct Origin {
        var start: UnsafeRawPointer
        var offset: Int
        var stamp: Stamp

        @inline(__always)
        func slice(_ from: UnsafeRawPointer, _ to: UnsafeRawPointer) -> Slice {
            Slice(offset: offset + (from - start), count: to - from)
        }
    }

    private static func appendMembers(
        _ count: Int, of cursor: inout ByteCursor, _ prefix: Slice, _ depth: Int, _ origin: Origin,
        arena: inout [UInt8], to leaves: inout [Assignment]
    ) throws(CBORError) {
        guard depth <= Limits.nestingDepth else { throw .tooDeep }
        var previousKey = UnsafeRawBufferPointer(start: cursor.position, count: 0)
        for _ in 0..<count {
            let key = try cursor.readKey()
            guard CBOR.compare(previousKey, key) < 0 else { throw .notCanonical }
            previousKey = key
            let valueStart = cursor.position
            let first = cursor.isAtEnd ? 0 : valueStart.load(as: UInt8.self)
            let path = path(of: key, beneath: prefix, origin, &arena)
            if first >> 5 != CBOR.Major.map {
                try cursor.skipCBOR()
                let payload = origin.slice(valueStart, cursor.position)
                leaves.append(Assignment(path: path, payload: payload, stamp: origin.stamp, kind: .value))
                continue
            }
            let (_, _, argument) = try cursor.readCBORHead()
            guard argument <= UInt64(cursor.remaining / 2) else { throw .truncated }
            if argument == 0 {
                guard depth < Limits.nestingDepth else { throw .tooDeep }
                leaves.append(Assignment(path: path, payload: .empty, stamp: origin.stamp, kind: .map))
            } else {
                try appendMembers(Int(argument), of: &cursor, path, depth + 1, origin, arena: &arena, to: &leaves)
            }
        }
    }

    /// The path of a key beneath a prefix: at the top the key itself, where it stands in the arena.
    @inline(__always)
    private static func path(
        of key: UnsafeRawBufferPointer, beneath prefix: Slice, _ origin: Origin, _ arena: inout [UInt8]
    ) -> Slice {
        let start = UnsafeRawPointer(key.baseAddress ?? origin.start)
        if prefix.count == 0 { return origin.slice(start, start + key.count) }
        let path = Slice(offset: arena.count, count: Int(prefix.count) + key.count)
        let prefixStart = Int(prefix.offset)
        for index in prefixStart..<prefixStart + Int(prefix.count) { arena.append(arena[index]) }
        arena.append(contentsOf: key)
        return path
    }
}

extension ByteCursor {
    /// Reads one map key, an unsigned number or text, and returns its encoded bytes.
    @inline(__always)
    mutating func readKey() throws(CBORError) -> UnsafeRawBufferPointer {
        let start = position
        let (major, _, argument) = try readCBORHead()
        switch major {
        case CBOR.Major.unsigned: break
        case CBOR.Major.text:
            guard argument <= UInt64(remaining) else { throw .truncated }
            _ = try read(count: Int(argument))
        default: throw .malformed
        }
        return UnsafeRawBufferPointer(start: start, count: position - start)
    }
}
