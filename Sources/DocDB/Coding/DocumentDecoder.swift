package import DocDBCore

/// Decodes documents into `Decodable` values straight from their encoded bodies, in place.
///
/// One decoder serves any number of documents, one at a time: it keeps its scratch memory. Numbers are lenient where
/// nothing is lost: a float that is a whole number reads as an integer, an integer reads as a float.
package final class DocumentDecoder {
    /// The document being read. Raw memory, as class properties are checked for exclusive access at every use.
    let reader: UnsafeMutablePointer<DocumentReader>
    /// What the caller tells the types that are decoded.
    let userInfo: [CodingUserInfoKey: any Sendable]
    private let names: FieldNames
    /// How many types are being decoded within one another.
    private var depth = 0

    package init(names: FieldNames, userInfo: [CodingUserInfoKey: any Sendable] = [:]) {
        reader = .allocate(capacity: 1)
        reader.initialize(to: DocumentReader(names: names))
        self.names = names
        self.userInfo = userInfo
    }

    deinit {
        reader.deinitialize(count: 1)
        reader.deallocate()
    }

    /// Decodes one document.
    ///
    /// - Parameters:
    ///   - body: the encoded body, which only needs to stay in place during the call.
    ///   - id: the canonical CBOR of its `_id`, empty where it has none.
    /// - Throws: `typeMismatch` with the `path` in the context where the document does not fit the type.
    package func decode<D: Decodable>(
        _ type: D.Type, body: UnsafeRawBufferPointer, id: UnsafeRawBufferPointer
    ) throws(DocDBError) -> D {
        if depth > 0 {
            // A type that is being decoded reads another document.
            return try DocumentDecoder(names: names, userInfo: userInfo).decode(type, body: body, id: id)
        }
        reader.pointee.open(body: body, id: id)
        defer { reader.pointee.close() }
        do {
            return try value(type, at: 0)
        } catch {
            throw CodingFailure.decoding(error, type)
        }
    }
}

extension DocumentDecoder {
    /// How deep types may be decoded within one another: a document's nesting, with room for wrapping types at each level.
    private static let depthLimit = 4 * Limits.nestingDepth

    /// Reads a value of any type; those with a form of their own are read without their `init(from:)`.
    @inline(__always)
    func value<D: Decodable>(_ type: D.Type, at offset: Int) throws -> D {
        if type == [String].self, let value = reader.pointee.strings(at: offset) {
            return unsafeBitCast(value, to: type)
        }
        if type == [Int].self, let value = reader.pointee.integers(at: offset) { return unsafeBitCast(value, to: type) }
        if type == [Double].self, let value = reader.pointee.doubles(at: offset) {
            return unsafeBitCast(value, to: type)
        }
        return try otherValue(type, at: offset)
    }

    private func otherValue<D: Decodable>(_ type: D.Type, at offset: Int) throws -> D {
        if let value = try foundationValue(type, at: offset) { return value }
        guard depth < Self.depthLimit else { throw corrupted(at: offset, "is nested too deep") }
        let openMapCount = reader.pointee.openMapCount
        depth += 1
        defer {
            depth -= 1
            reader.pointee.closeMaps(to: openMapCount)
        }
        return try D(from: ValueDecoder(decoder: self, offset: offset))
    }

    func bool(at offset: Int) throws -> Bool {
        if let value = reader.pointee.bool(at: offset) { return value }
        throw mismatch(Bool.self, at: offset)
    }

    func string(at offset: Int) throws -> String {
        if let value = reader.pointee.string(at: offset) { return value }
        throw mismatch(String.self, at: offset)
    }

    func double(at offset: Int) throws -> Double {
        if let value = reader.pointee.double(at: offset) { return value }
        throw mismatch(Double.self, at: offset)
    }

    func float(at offset: Int) throws -> Float {
        let value = Float(try double(at: offset))
        guard value.isFinite else { throw corrupted(at: offset, "does not fit in Float") }
        return value
    }

    @inline(__always)
    func integer<I: FixedWidthInteger>(_ type: I.Type, at offset: Int) throws -> I {
        guard let value = reader.pointee.integer(at: offset) else { throw mismatch(type, at: offset) }
        guard let result = I(exactly: value) else { throw corrupted(at: offset, "does not fit in \(type)") }
        return result
    }
}

// MARK: Errors

extension DocumentDecoder {
    /// The coding path of the value at an offset.
    func codingPath(to offset: Int) -> [any CodingKey] {
        reader.pointee.path(to: offset).map {
            switch $0 {
            case .name(let name): PathKey(name)
            case .index(let index): PathKey(index)
            }
        }
    }

    @inline(never)
    func mismatch(_ type: Any.Type, at offset: Int) -> DecodingError {
        let kind = reader.pointee.kind(at: offset)
        let context = DecodingError.Context(
            codingPath: codingPath(to: offset), debugDescription: "expected \(type), found \(kind)")
        return reader.pointee.isNull(at: offset) ? .valueNotFound(type, context) : .typeMismatch(type, context)
    }

    @inline(never)
    func corrupted(at offset: Int, _ what: String) -> DecodingError {
        .dataCorrupted(.init(codingPath: codingPath(to: offset), debugDescription: "the value \(what)"))
    }
}

/// A decoder at one value of the document.
struct ValueDecoder: Decoder {
    let decoder: DocumentDecoder
    let offset: Int

    var codingPath: [any CodingKey] { decoder.codingPath(to: offset) }
    var userInfo: [CodingUserInfoKey: Any] { decoder.userInfo }

    func container<Key: CodingKey>(keyedBy type: Key.Type) throws -> KeyedDecodingContainer<Key> {
        KeyedDecodingContainer(try KeyedValues<Key>(decoder: decoder, offset: offset))
    }

    func unkeyedContainer() throws -> any UnkeyedDecodingContainer {
        try UnkeyedValues(decoder: decoder, offset: offset)
    }

    func singleValueContainer() throws -> any SingleValueDecodingContainer { self }
}

extension ValueDecoder: SingleValueDecodingContainer {
    func decodeNil() -> Bool { decoder.reader.pointee.isNull(at: offset) }
    func decode(_ type: Bool.Type) throws -> Bool { try decoder.bool(at: offset) }
    func decode(_ type: String.Type) throws -> String { try decoder.string(at: offset) }
    func decode(_ type: Double.Type) throws -> Double { try decoder.double(at: offset) }
    func decode(_ type: Float.Type) throws -> Float { try decoder.float(at: offset) }
    func decode(_ type: Int.Type) throws -> Int { try decoder.integer(type, at: offset) }
    func decode(_ type: Int8.Type) throws -> Int8 { try decoder.integer(type, at: offset) }
    func decode(_ type: Int16.Type) throws -> Int16 { try decoder.integer(type, at: offset) }
    func decode(_ type: Int32.Type) throws -> Int32 { try decoder.integer(type, at: offset) }
    func decode(_ type: Int64.Type) throws -> Int64 { try decoder.integer(type, at: offset) }
    func decode(_ type: UInt.Type) throws -> UInt { try decoder.integer(type, at: offset) }
    func decode(_ type: UInt8.Type) throws -> UInt8 { try decoder.integer(type, at: offset) }
    func decode(_ type: UInt16.Type) throws -> UInt16 { try decoder.integer(type, at: offset) }
    func decode(_ type: UInt32.Type) throws -> UInt32 { try decoder.integer(type, at: offset) }
    func decode(_ type: UInt64.Type) throws -> UInt64 { try decoder.integer(type, at: offset) }
    func decode<D: Decodable>(_ type: D.Type) throws -> D { try decoder.value(type, at: offset) }
}
