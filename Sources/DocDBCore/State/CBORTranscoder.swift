/// Spells encoded values and paths with the field names of another table, or with none interned.
package struct CBORTranscoder {
    private let name: (Int) -> UnsafeRawBufferPointer?
    private let target: FieldNames?

    /// Creates a transcoder from one table's numbers to another's; to text where there is no other.
    package init(from source: FieldNames, to target: FieldNames?) {
        self.init(name: source.name, to: target)
    }

    /// Creates a transcoder from numbers to which `name` gives the bytes of names, which must stay in place meanwhile.
    package init(name: @escaping (Int) -> UnsafeRawBufferPointer?, to target: FieldNames?) {
        self.name = name
        self.target = target
    }

    /// Appends one value in its new spelling, the members of its maps sorted anew.
    package func appendValue(_ cursor: inout ByteCursor, to output: inout ByteBuffer) throws(CBORError) {
        try appendValue(&cursor, to: &output, depth: 0)
    }

    /// The new spelling of one whole value.
    package func transcodedValue(_ bytes: UnsafeRawBufferPointer) throws(CBORError) -> [UInt8] {
        var output = ByteBuffer(capacity: bytes.count + 16)
        var cursor = ByteCursor(bytes)
        if !cursor.isAtEnd { try appendValue(&cursor, to: &output) }
        guard cursor.isAtEnd else { throw .malformed }
        return output.array
    }

    /// Appends a path, key by key.
    package func appendPath(_ path: UnsafeRawBufferPointer, to output: inout ByteBuffer) throws(CBORError) {
        var cursor = ByteCursor(path)
        while !cursor.isAtEnd { try appendKey(&cursor, to: &output) }
    }

    private func appendValue(
        _ cursor: inout ByteCursor, to output: inout ByteBuffer, depth: Int
    ) throws(CBORError) {
        guard depth <= Limits.nestingDepth else { throw .tooDeep }
        var probe = cursor
        let (major, _, argument) = try probe.readCBORHead()
        switch major {
        case CBOR.Major.array:
            guard argument <= UInt64(probe.remaining) else { throw .truncated }
            cursor = probe
            output.appendCBORHead(major: major, argument)
            for _ in 0..<Int(argument) { try appendValue(&cursor, to: &output, depth: depth + 1) }
        case CBOR.Major.map:
            guard argument <= UInt64(probe.remaining / 2) else { throw .truncated }
            cursor = probe
            try appendMap(Int(argument), &cursor, to: &output, depth: depth)
        default:
            output.append(try cursor.readCBORSlice())
        }
    }

    private func appendMap(
        _ count: Int, _ cursor: inout ByteCursor, to output: inout ByteBuffer, depth: Int
    ) throws(CBORError) {
        var members = ByteBuffer()
        var places: [(start: Int, valueStart: Int, end: Int)] = []
        for _ in 0..<count {
            let start = members.count
            try appendKey(&cursor, to: &members)
            let valueStart = members.count
            try appendValue(&cursor, to: &members, depth: depth + 1)
            places.append((start, valueStart, members.count))
        }
        let bytes = members.bytes
        places.sort { left, right in
            CBOR.compare(
                UnsafeRawBufferPointer(rebasing: bytes[left.start..<left.valueStart]),
                UnsafeRawBufferPointer(rebasing: bytes[right.start..<right.valueStart])) < 0
        }
        output.appendCBORHead(major: CBOR.Major.map, UInt64(count))
        for (index, place) in places.enumerated() {
            if index > 0 {
                let previous = places[index - 1]
                let order = CBOR.compare(
                    UnsafeRawBufferPointer(rebasing: bytes[previous.start..<previous.valueStart]),
                    UnsafeRawBufferPointer(rebasing: bytes[place.start..<place.valueStart]))
                if order == 0 { throw .malformed }
            }
            output.append(UnsafeRawBufferPointer(rebasing: bytes[place.start..<place.end]))
        }
    }

    private func appendKey(_ cursor: inout ByteCursor, to output: inout ByteBuffer) throws(CBORError) {
        let (major, _, argument) = try cursor.readCBORHead()
        let text: UnsafeRawBufferPointer
        switch major {
        case CBOR.Major.unsigned:
            guard argument < UInt64(Limits.internedFieldNameCount), let known = name(Int(argument)) else {
                throw .malformed
            }
            text = known
        case CBOR.Major.text:
            guard argument <= UInt64(cursor.remaining) else { throw .truncated }
            text = try cursor.read(count: Int(argument))
        default: throw .malformed
        }
        if let number = target?.intern(text) {
            output.appendCBORHead(major: CBOR.Major.unsigned, UInt64(number))
        } else {
            output.appendCBOR(text: text)
        }
    }
}
