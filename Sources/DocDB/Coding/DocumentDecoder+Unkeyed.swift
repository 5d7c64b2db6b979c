import DocDBCore

/// The elements of one array, in turn.
struct UnkeyedValues: UnkeyedDecodingContainer {
    private let decoder: DocumentDecoder
    private let offset: Int
    private let elementCount: Int
    /// The offset of the element to read next.
    private var next: Int
    private(set) var currentIndex = 0

    init(decoder: DocumentDecoder, offset: Int) throws {
        self.decoder = decoder
        self.offset = offset
        guard let (first, count) = decoder.reader.pointee.array(at: offset) else {
            throw decoder.mismatch([Any].self, at: offset)
        }
        next = first
        elementCount = count
    }

    var codingPath: [any CodingKey] { decoder.codingPath(to: offset) }
    var count: Int? { elementCount }
    var isAtEnd: Bool { currentIndex >= elementCount }

    /// Reads the next element and moves on, unless that throws.
    @inline(__always)
    private mutating func take<Element>(_ read: (DocumentDecoder, Int) throws -> Element) throws -> Element {
        guard !isAtEnd else {
            throw DecodingError.valueNotFound(
                Element.self, .init(codingPath: codingPath, debugDescription: "the array has no further element"))
        }
        let element = try read(decoder, next)
        guard let end = decoder.reader.pointee.end(of: next) else { throw decoder.corrupted(at: next, "is damaged") }
        next = end
        currentIndex += 1
        return element
    }

    mutating func decodeNil() throws -> Bool {
        guard !isAtEnd, decoder.reader.pointee.isNull(at: next) else { return false }
        return try take { _, _ in true }
    }

    mutating func decode(_ type: Bool.Type) throws -> Bool { try take { try $0.bool(at: $1) } }
    mutating func decode(_ type: String.Type) throws -> String { try take { try $0.string(at: $1) } }
    mutating func decode(_ type: Double.Type) throws -> Double { try take { try $0.double(at: $1) } }
    mutating func decode(_ type: Float.Type) throws -> Float { try take { try $0.float(at: $1) } }
    mutating func decode(_ type: Int.Type) throws -> Int { try take { try $0.integer(type, at: $1) } }
    mutating func decode(_ type: Int8.Type) throws -> Int8 { try take { try $0.integer(type, at: $1) } }
    mutating func decode(_ type: Int16.Type) throws -> Int16 { try take { try $0.integer(type, at: $1) } }
    mutating func decode(_ type: Int32.Type) throws -> Int32 { try take { try $0.integer(type, at: $1) } }
    mutating func decode(_ type: Int64.Type) throws -> Int64 { try take { try $0.integer(type, at: $1) } }
    mutating func decode(_ type: UInt.Type) throws -> UInt { try take { try $0.integer(type, at: $1) } }
    mutating func decode(_ type: UInt8.Type) throws -> UInt8 { try take { try $0.integer(type, at: $1) } }
    mutating func decode(_ type: UInt16.Type) throws -> UInt16 { try take { try $0.integer(type, at: $1) } }
    mutating func decode(_ type: UInt32.Type) throws -> UInt32 { try take { try $0.integer(type, at: $1) } }
    mutating func decode(_ type: UInt64.Type) throws -> UInt64 { try take { try $0.integer(type, at: $1) } }
    mutating func decode<D: Decodable>(_ type: D.Type) throws -> D { try take { try $0.value(type, at: $1) } }

    mutating func nestedContainer<NestedKey: CodingKey>(
        keyedBy type: NestedKey.Type
    ) throws -> KeyedDecodingContainer<NestedKey> {
        try take { KeyedDecodingContainer(try KeyedValues<NestedKey>(decoder: $0, offset: $1)) }
    }

    mutating func nestedUnkeyedContainer() throws -> any UnkeyedDecodingContainer {
        try take { try UnkeyedValues(decoder: $0, offset: $1) }
    }

    mutating func superDecoder() throws -> any Decoder {
        try take { ValueDecoder(decoder: $0, offset: $1) }
    }
}
