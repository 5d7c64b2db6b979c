package import DocDBCore

/// JSON as tokens, keys, answers and configurations are read: strictly, so that no two readers can differ about it.
package enum StrictJSON {
    /// Reads one object.
    ///
    /// - Throws: `invalidJSON` where the text is none, has a name twice or a number that does not fit, `documentTooDeep`.
    package static func object(_ bytes: [UInt8]) throws(DocDBError) -> [String: Value] {
        guard case .object(let members) = try value(bytes) else {
            throw DocDBError(.invalidJSON, "expected a JSON object, which begins with '{'")
        }
        return members
    }

    /// Reads one value of any kind.
    package static func value(_ bytes: [UInt8]) throws(DocDBError) -> Value {
        var transcoder = JSONTranscoder()
        var encoded = ByteBuffer()
        do {
            try bytes.withUnsafeBytes { try transcoder.transcodeValue($0, names: nil, to: &encoded) }
            var cursor = ByteCursor(encoded.bytes)
            return try decode(&cursor)
        } catch let error as DocDBError {
            throw error
        } catch {
            throw DocDBError(.invalidJSON, "the JSON text cannot be read")
        }
    }

    /// Reads encoded JSON, which has no bytes and is no deeper than the limit.
    ///
    /// Refuses names that differ in Unicode normalisation alone, as a Swift dictionary would hold only one of them.
    private static func decode(_ cursor: inout ByteCursor) throws -> Value {
        switch try cursor.readCBORItem() {
        case .null: return .null
        case .bool(let value): return .bool(value)
        case .int(let value): return .int(value)
        case .float(let value): return .float(value)
        case .text(let text): return .string(String(decoding: text, as: UTF8.self))
        case .bytes(let bytes): return .bytes([UInt8](bytes))
        case .array(let count):
            var elements: [Value] = []
            for _ in 0..<count { elements.append(try decode(&cursor)) }
            return .array(elements)
        case .map(let count):
            var members: [String: Value] = [:]
            for _ in 0..<count {
                let name = String(decoding: try cursor.readCBORKey(names: nil), as: UTF8.self)
                guard members.updateValue(try decode(&cursor), forKey: name) == nil else {
                    throw DocDBError(
                        .invalidJSON, "a JSON object has two names that differ in Unicode normalisation alone")
                }
            }
            return .object(members)
        }
    }

    /// The compact text of an object, its members in the order of their names' bytes: one text per object.
    ///
    /// - Throws: as `text` of a value.
    package static func text(_ members: [String: Value]) throws(DocDBError) -> [UInt8] { try text(.object(members)) }

    /// The compact text of a value, in one form only.
    ///
    /// - Throws: `documentTooDeep`; `invalidValue` for floats that are not finite.
    package static func text(_ value: Value) throws(DocDBError) -> [UInt8] {
        var buffer = ByteBuffer()
        var writer = JSONWriter()
        let encoded = try value.canonicalCBOR()
        do {
            try encoded.withUnsafeBytes { try writer.append(value: $0, names: nil, to: &buffer) }
        } catch {
            throw DocDBError(.invalidValue, "the value cannot be written as JSON")
        }
        return buffer.array
    }
}
