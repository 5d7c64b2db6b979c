package import DocDBCore

/// The JSON text of single values, and values from JSON text, for cells and arguments.
package enum JSONText {
    /// The value as compact JSON.
    package static func text(of value: Value) throws -> String {
        var buffer = ByteBuffer()
        try append(value, to: &buffer)
        return String(decoding: buffer.bytes, as: UTF8.self)
    }

    /// An object as compact JSON whose members keep this order.
    package static func text(ofMembers members: [(String, Value)]) throws -> String {
        var buffer = ByteBuffer()
        buffer.append(UInt8(ascii: "{"))
        for (index, member) in members.enumerated() {
            if index > 0 { buffer.append(UInt8(ascii: ",")) }
            var name = member.0
            name.withUTF8 { buffer.append(jsonString: UnsafeRawBufferPointer($0)) }
            buffer.append(UInt8(ascii: ":"))
            try append(member.1, to: &buffer)
        }
        buffer.append(UInt8(ascii: "}"))
        return String(decoding: buffer.bytes, as: UTF8.self)
    }

    private static func append(_ value: Value, to buffer: inout ByteBuffer) throws {
        var writer = JSONWriter()
        try value.canonicalCBOR().withUnsafeBytes { try writer.append(value: $0, names: nil, to: &buffer) }
    }

    /// The value that a JSON text stands for.
    ///
    /// - Throws: `DocDBError.invalidJSON` and its like.
    package static func value(of text: String) throws -> Value {
        var text = text
        var buffer = ByteBuffer()
        var transcoder = JSONTranscoder()
        try text.withUTF8 { try transcoder.transcodeValue(UnsafeRawBufferPointer($0), names: nil, to: &buffer) }
        return try Value.decode(buffer.bytes, names: nil)
    }

    /// The order of a document's keys: `_id` first, then by UTF-8 bytes.
    package static func precedes(_ left: String, _ right: String) -> Bool {
        if left == "_id" || right == "_id" { return left == "_id" && right != "_id" }
        return left.utf8.lexicographicallyPrecedes(right.utf8)
    }
}
