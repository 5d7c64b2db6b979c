/// Writes encoded values as JSON text: `_id` first, then members in the order of their names' UTF-8 bytes.
///
/// Doubles are written in the shortest form that reads back the same and always with a point or an exponent; bytes as
/// base64 strings. Keep one writer for many documents: it keeps its scratch memory.
package struct JSONWriter: ~Copyable {
    /// How the text is laid out.
    package enum Layout: Sendable {
        /// One line without spaces.
        case compact
        /// One member or element a line, indented by two spaces a level.
        case pretty
    }

    private struct Member {
        var name: UnsafeRawBufferPointer
        var value: UnsafeRawBufferPointer
    }

    private let layout: Layout
    /// The members of the open objects, those of the innermost one last.
    private var members: [Member] = []

    package init(layout: Layout = .compact) { self.layout = layout }

    /// Appends a document.
    ///
    /// - Parameter id: the canonical CBOR of the document's id; empty leaves `_id` out.
    /// - Throws: where the bytes are no such document, and then the buffer is as before.
    package mutating func append(
        body: UnsafeRawBufferPointer, id: UnsafeRawBufferPointer, names: FieldNames, to buffer: inout ByteBuffer
    ) throws(CBORError) {
        let start = buffer.count
        members.removeAll(keepingCapacity: true)
        do throws(CBORError) {
            var cursor = ByteCursor(body)
            guard case .map(let count) = try cursor.readCBORItem() else { throw CBORError.malformed }
            try collect(count, &cursor, names)
            guard cursor.isAtEnd else { throw CBORError.malformed }
            try write(membersFrom: 0, id: id, names, depth: 0, to: &buffer)
        } catch {
            buffer.truncate(to: start)
            throw error
        }
    }

    /// Appends one value of any kind.
    package mutating func append(
        value: UnsafeRawBufferPointer, names: FieldNames?, to buffer: inout ByteBuffer
    ) throws(CBORError) {
        let start = buffer.count
        members.removeAll(keepingCapacity: true)
        do throws(CBORError) {
            var cursor = ByteCursor(value)
            try write(&cursor, names, depth: 0, to: &buffer)
            guard cursor.isAtEnd else { throw CBORError.malformed }
        } catch {
            buffer.truncate(to: start)
            throw error
        }
    }

    private mutating func write(
        _ cursor: inout ByteCursor, _ names: FieldNames?, depth: Int, to buffer: inout ByteBuffer
    ) throws(CBORError) {
        switch try cursor.readCBORItem() {
        case .null: buffer.append("null")
        case .bool(let value): buffer.append(value ? "true" : "false")
        case .int(let value): buffer.append(decimal: value)
        case .float(let value):
            guard value.isFinite else { throw .malformed }
            buffer.append(utf8: value.description)
        case .text(let text): buffer.append(jsonString: text)
        case .bytes(let bytes): buffer.append(base64String: bytes)
        case .array(let count):
            guard depth < Limits.nestingDepth else { throw .tooDeep }
            buffer.append(UInt8(ascii: "["))
            for index in 0..<count {
                separate(isFirst: index == 0, depth: depth + 1, in: &buffer)
                try write(&cursor, names, depth: depth + 1, to: &buffer)
            }
            if count > 0 { breakLine(depth: depth, in: &buffer) }
            buffer.append(UInt8(ascii: "]"))
        case .map(let count):
            guard depth < Limits.nestingDepth else { throw .tooDeep }
            let first = members.count
            try collect(count, &cursor, names)
            try write(
                membersFrom: first, id: UnsafeRawBufferPointer(start: nil, count: 0), names, depth: depth, to: &buffer)
        }
    }

    /// Pushes the members of a map, sorted by name.
    private mutating func collect(
        _ count: Int, _ cursor: inout ByteCursor, _ names: FieldNames?
    ) throws(CBORError) {
        let first = members.count
        var isSorted = true
        for _ in 0..<count {
            let name = try cursor.readCBORKey(names: names)
            if members.count > first, CBOR.compare(members[members.count - 1].name, name) > 0 { isSorted = false }
            members.append(Member(name: name, value: try cursor.readCBORSlice()))
        }
        if !isSorted { members[first...].sort { CBOR.compare($0.name, $1.name) < 0 } }
    }

    /// Writes the members pushed since `first` as an object, and pops them.
    private mutating func write(
        membersFrom first: Int, id: UnsafeRawBufferPointer, _ names: FieldNames?, depth: Int,
        to buffer: inout ByteBuffer
    ) throws(CBORError) {
        buffer.append(UInt8(ascii: "{"))
        if id.count > 0 {
            separate(isFirst: true, depth: depth + 1, in: &buffer)
            buffer.append(layout == .compact ? "\"_id\":" : "\"_id\": ")
            var cursor = ByteCursor(id)
            try write(&cursor, nil, depth: depth + 1, to: &buffer)
            guard cursor.isAtEnd else { throw .malformed }
        }
        let end = members.count
        for index in first..<end {
            separate(isFirst: index == first && id.count == 0, depth: depth + 1, in: &buffer)
            let member = members[index]
            buffer.append(jsonString: member.name)
            buffer.append(layout == .compact ? ":" : ": ")
            var cursor = ByteCursor(member.value)
            try write(&cursor, names, depth: depth + 1, to: &buffer)
        }
        if end > first || id.count > 0 { breakLine(depth: depth, in: &buffer) }
        buffer.append(UInt8(ascii: "}"))
        members.removeSubrange(first..<end)
    }

    private func separate(isFirst: Bool, depth: Int, in buffer: inout ByteBuffer) {
        if !isFirst { buffer.append(UInt8(ascii: ",")) }
        breakLine(depth: depth, in: &buffer)
    }

    private func breakLine(depth: Int, in buffer: inout ByteBuffer) {
        guard layout == .pretty else { return }
        buffer.append(UInt8(ascii: "\n"))
        for _ in 0..<depth {
            buffer.append(UInt8(ascii: " "))
            buffer.append(UInt8(ascii: " "))
        }
    }
}
