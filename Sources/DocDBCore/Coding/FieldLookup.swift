/// Finds fields of encoded documents in place.
///
/// Damaged bytes read as missing here; what must tell them apart decodes the whole document.
package enum FieldLookup {
    /// The value of a top-level field, or nil where the document has none; `_id` gives the id.
    ///
    /// - Parameter id: the canonical CBOR of the document's id.
    /// - Complexity: O(bytes of the body before the field).
    package static func value(
        named name: String, body: UnsafeRawBufferPointer, id: UnsafeRawBufferPointer, names: FieldNames
    ) -> Value? {
        var name = name
        return name.withUTF8 { utf8 in
            let name = UnsafeRawBufferPointer(utf8)
            if isIdentity(name) { return id.isEmpty ? nil : try? Value.decode(id, names: nil) }
            var cursor = ByteCursor(body)
            guard (try? cursor.moveToMember(name, names: names)) == true else { return nil }
            return try? Value.decode(&cursor, names: names)
        }
    }

    /// The value at a path, or nil where there is none; an empty path gives the whole document, `_id` included.
    package static func value(
        at path: [String], body: UnsafeRawBufferPointer, id: UnsafeRawBufferPointer, names: FieldNames
    ) -> Value? {
        guard let first = path.first else {
            return try? id.isEmpty
                ? Value.decode(body, names: names) : Value.document(body: body, id: id, names: names)
        }
        let isIdentity = first.utf8.elementsEqual("_id".utf8)
        let names = isIdentity ? nil : names
        var cursor = ByteCursor(isIdentity ? id : body)
        for var name in path.dropFirst(isIdentity ? 1 : 0) {
            let isFound = name.withUTF8 { try? cursor.moveToMember(UnsafeRawBufferPointer($0), names: names) }
            guard isFound == true else { return nil }
        }
        return try? Value.decode(&cursor, names: names)
    }

    @inline(__always)
    private static func isIdentity(_ name: UnsafeRawBufferPointer) -> Bool {
        name.count == 3 && name[0] == UInt8(ascii: "_") && name[1] == UInt8(ascii: "i") && name[2] == UInt8(ascii: "d")
    }
}

extension ByteCursor {
    /// Moves from the head of a map to the value of one of its members; false where there is no map or no such member.
    fileprivate mutating func moveToMember(
        _ name: UnsafeRawBufferPointer, names: FieldNames?
    ) throws(CBORError) -> Bool {
        guard case .map(let count) = try readCBORItem() else { return false }
        let sought = names?.number(of: name).map { UInt64($0) }
        for _ in 0..<count {
            let (major, _, argument) = try readCBORHead()
            switch major {
            case CBOR.Major.unsigned:
                if argument == sought { return true }
                // Interned keys ascend, and a name that has a number never stands as text.
                if let sought, argument > sought { return false }
            case CBOR.Major.text:
                guard argument <= UInt64(remaining) else { throw .truncated }
                let text = try read(count: Int(argument))
                if text.count == name.count, CBOR.compare(text, name) == 0 { return true }
            default: throw .malformed
            }
            try skipCBOR()
        }
        return false
    }
}
