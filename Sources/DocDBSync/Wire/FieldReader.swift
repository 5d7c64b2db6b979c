import DocDBCore

/// Reads the fields of messages in deterministic CBOR; lists are no longer than their limits and the bytes at hand.
struct FieldReader {
    private var cursor: WireCursor

    init(_ bytes: UnsafeRawBufferPointer) { cursor = WireCursor(bytes) }

    var isAtEnd: Bool { cursor.isAtEnd }

    /// Reads an array of at least so many fields, passing over those that follow.
    mutating func record<Record>(
        _ fieldCount: Int, _ read: (inout FieldReader) throws(CBORError) -> Record
    ) throws(CBORError) -> Record {
        let count = try array(atMost: .max)
        guard count >= fieldCount else { throw .malformed }
        let record = try read(&self)
        try skip(count - fieldCount)
        return record
    }

    /// Passes over fields, whatever they are.
    mutating func skip(_ count: Int) throws(CBORError) {
        for _ in 0..<count { try cursor.skipCBOR() }
    }

    mutating func list<Element>(
        atMost limit: Int, _ read: (inout FieldReader) throws(CBORError) -> Element
    ) throws(CBORError) -> [Element] {
        let count = try array(atMost: limit)
        var elements: [Element] = []
        // Elements take more memory than bytes: the array grows as they come.
        for _ in 0..<count { elements.append(try read(&self)) }
        return elements
    }

    mutating func array(atMost limit: Int) throws(CBORError) -> Int {
        let (major, count) = try cursor.readStrictHead()
        guard major == Major.array, count <= UInt64(min(limit, cursor.remaining)) else { throw .malformed }
        return Int(count)
    }

    /// Moves past a null; returns false, without moving, where there is something else.
    mutating func null() throws(CBORError) -> Bool {
        guard !cursor.isAtEnd else { throw .truncated }
        guard cursor.position.load(as: UInt8.self) == CBOR.nullByte else { return false }
        _ = try cursor.readByte()
        return true
    }

    /// Whether `true` or `false` comes next.
    var isAtBool: Bool {
        guard !cursor.isAtEnd else { return false }
        let byte = cursor.position.load(as: UInt8.self)
        return byte == CBOR.trueByte || byte == CBOR.falseByte
    }

    mutating func bool() throws(CBORError) -> Bool {
        switch try cursor.readByte() {
        case CBOR.trueByte: true
        case CBOR.falseByte: false
        default: throw .malformed
        }
    }

    mutating func unsigned() throws(CBORError) -> UInt64 {
        let (major, value) = try cursor.readStrictHead()
        guard major == Major.unsigned else { throw .malformed }
        return value
    }

    /// Reads a number of things or a sequence number, which is not negative.
    mutating func count() throws(CBORError) -> Int64 {
        guard let count = Int64(exactly: try unsigned()) else { throw .malformed }
        return count
    }

    mutating func bytes(atMost limit: Int) throws(CBORError) -> [UInt8] {
        let (major, count) = try cursor.readStrictHead()
        guard major == Major.bytes, count <= UInt64(limit) else { throw .malformed }
        return [UInt8](try cursor.read(argument: count))
    }

    /// Reads the 16 bytes of an id or a nonce.
    mutating func bytes16() throws(CBORError) -> [UInt8] {
        let bytes = try bytes(atMost: 16)
        guard bytes.count == 16 else { throw .malformed }
        return bytes
    }

    mutating func halves() throws(CBORError) -> (high: UInt64, low: UInt64) {
        let (major, count) = try cursor.readStrictHead()
        guard major == Major.bytes, count == 16 else { throw .malformed }
        let high = try cursor.readUInt64()
        return (high, try cursor.readUInt64())
    }

    mutating func text(atMost limit: Int) throws(CBORError) -> String {
        let (major, count) = try cursor.readStrictHead()
        guard major == Major.text, count <= UInt64(limit) else { throw .malformed }
        let text = try cursor.read(argument: count)
        guard UTF8Validation.isValid(text) else { throw .malformed }
        return String(decoding: text, as: UTF8.self)
    }

    mutating func collection() throws(CBORError) -> String {
        let name = try text(atMost: Limits.collectionNameByteCount)
        guard WireName.isCollection(name) else { throw .malformed }
        return name
    }

    /// Reads collection and id, two fields.
    mutating func name() throws(CBORError) -> DocumentName {
        let collection = try collection()
        guard !cursor.isAtEnd else { throw .truncated }
        if cursor.position.load(as: UInt8.self) == WireID.messageMark[0] {
            for byte in WireID.messageMark where try cursor.readByte() != byte { throw .malformed }
            return DocumentName(collection: collection, id: WireID.id(ofUUID: try halves()))
        }
        return DocumentName(collection: collection, id: [UInt8](try WireID.read(&cursor)))
    }

    /// Reads a vector: actors, which ascend, each with its time.
    mutating func vector() throws(CBORError) -> VersionVector {
        let count = try array(atMost: 2 * SyncLimits.vectorActorCount)
        guard count % 2 == 0 else { throw .malformed }
        var vector = VersionVector()
        var last: ActorID?
        for _ in 0..<count / 2 {
            let (high, low) = try halves()
            let actor = ActorID(high: high, low: low)
            let time = HybridTime(rawValue: try unsigned())
            if let last, last >= actor { throw .notCanonical }
            guard time > .zero else { throw .malformed }
            vector.set(actor, to: time)
            last = actor
        }
        return vector
    }
}
