import DocDBCore

/// The members of one object.
struct KeyedValues<Key: CodingKey>: KeyedDecodingContainerProtocol {
    private let decoder: DocumentDecoder
    private let offset: Int
    private let map: Int

    init(decoder: DocumentDecoder, offset: Int) throws {
        self.decoder = decoder
        self.offset = offset
        guard let map = decoder.reader.pointee.openMap(at: offset) else {
            throw decoder.mismatch([String: Any].self, at: offset)
        }
        self.map = map
    }

    var codingPath: [any CodingKey] { decoder.codingPath(to: offset) }
    var allKeys: [Key] { decoder.reader.pointee.memberNames(of: map).compactMap(Key.init(stringValue:)) }

    func contains(_ key: Key) -> Bool { decoder.reader.pointee.find(key.stringValue, in: map) != nil }

    /// The offset of a member's value, which must be there.
    @inline(__always)
    private func find(_ key: Key) throws -> Int {
        if let value = decoder.reader.pointee.find(key.stringValue, in: map) { return value }
        throw missing(key)
    }

    /// The offset of a member's value, or nil where it is absent or null.
    @inline(__always)
    private func findPresent(_ key: Key) -> Int? {
        guard let value = decoder.reader.pointee.find(key.stringValue, in: map),
            !decoder.reader.pointee.isNull(at: value)
        else { return nil }
        return value
    }

    @inline(never)
    private func missing(_ key: Key) -> DecodingError {
        .keyNotFound(key, .init(codingPath: codingPath, debugDescription: "the field is missing"))
    }

    func decodeNil(forKey key: Key) throws -> Bool { decoder.reader.pointee.isNull(at: try find(key)) }

    func decode(_ type: Bool.Type, forKey key: Key) throws -> Bool { try decoder.bool(at: find(key)) }
    func decode(_ type: String.Type, forKey key: Key) throws -> String { try decoder.string(at: find(key)) }
    func decode(_ type: Double.Type, forKey key: Key) throws -> Double { try decoder.double(at: find(key)) }
    func decode(_ type: Float.Type, forKey key: Key) throws -> Float { try decoder.float(at: find(key)) }
    func decode(_ type: Int.Type, forKey key: Key) throws -> Int { try decoder.integer(type, at: find(key)) }
    func decode(_ type: Int8.Type, forKey key: Key) throws -> Int8 { try decoder.integer(type, at: find(key)) }
    func decode(_ type: Int16.Type, forKey key: Key) throws -> Int16 { try decoder.integer(type, at: find(key)) }
    func decode(_ type: Int32.Type, forKey key: Key) throws -> Int32 { try decoder.integer(type, at: find(key)) }
    func decode(_ type: Int64.Type, forKey key: Key) throws -> Int64 { try decoder.integer(type, at: find(key)) }
    func decode(_ type: UInt.Type, forKey key: Key) throws -> UInt { try decoder.integer(type, at: find(key)) }
    func decode(_ type: UInt8.Type, forKey key: Key) throws -> UInt8 { try decoder.integer(type, at: find(key)) }
    func decode(_ type: UInt16.Type, forKey key: Key) throws -> UInt16 { try decoder.integer(type, at: find(key)) }
    func decode(_ type: UInt32.Type, forKey key: Key) throws -> UInt32 { try decoder.integer(type, at: find(key)) }
    func decode(_ type: UInt64.Type, forKey key: Key) throws -> UInt64 { try decoder.integer(type, at: find(key)) }
    func decode<D: Decodable>(_ type: D.Type, forKey key: Key) throws -> D { try decoder.value(type, at: find(key)) }

    func decodeIfPresent(_ type: Bool.Type, forKey key: Key) throws -> Bool? {
        try findPresent(key).map { try decoder.bool(at: $0) }
    }
    func decodeIfPresent(_ type: String.Type, forKey key: Key) throws -> String? {
        try findPresent(key).map { try decoder.string(at: $0) }
    }
    func decodeIfPresent(_ type: Double.Type, forKey key: Key) throws -> Double? {
        try findPresent(key).map { try decoder.double(at: $0) }
    }
    func decodeIfPresent(_ type: Float.Type, forKey key: Key) throws -> Float? {
        try findPresent(key).map { try decoder.float(at: $0) }
    }
    func decodeIfPresent(_ type: Int.Type, forKey key: Key) throws -> Int? {
        try findPresent(key).map { try decoder.integer(type, at: $0) }
    }
    func decodeIfPresent(_ type: Int64.Type, forKey key: Key) throws -> Int64? {
        try findPresent(key).map { try decoder.integer(type, at: $0) }
    }
    func decodeIfPresent<D: Decodable>(_ type: D.Type, forKey key: Key) throws -> D? {
        try findPresent(key).map { try decoder.value(type, at: $0) }
    }

    func nestedContainer<NestedKey: CodingKey>(
        keyedBy type: NestedKey.Type, forKey key: Key
    ) throws -> KeyedDecodingContainer<NestedKey> {
        KeyedDecodingContainer(try KeyedValues<NestedKey>(decoder: decoder, offset: try find(key)))
    }

    func nestedUnkeyedContainer(forKey key: Key) throws -> any UnkeyedDecodingContainer {
        try UnkeyedValues(decoder: decoder, offset: try find(key))
    }

    func superDecoder() throws -> any Decoder { superDecoder(named: "super") }
    func superDecoder(forKey key: Key) throws -> any Decoder { superDecoder(named: key.stringValue) }

    /// A decoder of a member, or of a null where it is absent: a superclass may need nothing.
    private func superDecoder(named name: String) -> any Decoder {
        let value = decoder.reader.pointee.find(name, in: map)
        return ValueDecoder(decoder: decoder, offset: value ?? DocumentReader.nullOffset)
    }
}
