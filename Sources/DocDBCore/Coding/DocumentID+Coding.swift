extension DocumentID {
    /// Creates an id from a value of a document.
    ///
    /// - Throws: `DocDBError.invalidDocumentID` for null, floats, and values longer than ``Limits/documentIDByteCount``
    ///   bytes encoded.
    public init(_ value: Value) throws(DocDBError) {
        switch value {
        case .int(let number): self.init(number)
        case .string(let text): try self.init(text)
        case .null, .float: throw DocumentID.unsuitable
        case .bool, .bytes, .array, .object:
            let encoded = try value.canonicalCBOR()
            guard encoded.count <= Limits.documentIDByteCount else { throw DocumentID.tooLong }
            self.init(storage: .encoded(encoded))
        }
    }

    /// The id as a value, as it stands in the document's `_id`.
    public var value: Value {
        switch storage {
        case .int(let number): .int(number)
        case .string(let text): .string(text)
        case .encoded(let bytes): bytes.withUnsafeBytes { (try? Value.decode($0, names: nil)) ?? .null }
        }
    }

    /// Appends the canonical CBOR of the id, its keys as text.
    package func appendCBOR(to buffer: inout ByteBuffer) {
        switch storage {
        case .int(let number): buffer.appendCBOR(number)
        case .string(let text): buffer.appendCBOR(text)
        case .encoded(let bytes): buffer.append(bytes)
        }
    }

    /// Creates an id from its canonical CBOR, which may come from outside.
    package init(canonicalCBOR bytes: UnsafeRawBufferPointer) throws(DocDBError) {
        guard bytes.count <= Limits.documentIDByteCount else { throw DocumentID.tooLong }
        do {
            try CBOR.validate(bytes, internedKeyCount: 0)
            var cursor = ByteCursor(bytes)
            switch try cursor.readCBORItem() {
            case .int(let number): storage = .int(number)
            case .text(let text): storage = .string(String(decoding: text, as: UTF8.self))
            case .null, .float: throw DocumentID.unsuitable
            case .bool, .bytes, .array, .map: storage = .encoded([UInt8](bytes))
            }
        } catch let error as DocDBError {
            throw error
        } catch {
            throw DocDBError(
                .invalidDocumentID, "the document id is not one value in deterministic CBOR; encode it anew")
        }
    }

    package static var unsuitable: DocDBError {
        DocDBError(
            .invalidDocumentID,
            "null and floats cannot be document ids; use a string or an integer, or leave _id out to get a new one")
    }
}

extension DocumentID: CustomStringConvertible {
    /// A string id as it is, any other one as JSON.
    public var description: String {
        switch storage {
        case .int(let number): return String(number)
        case .string(let text): return text
        case .encoded(let bytes):
            var buffer = ByteBuffer()
            var writer = JSONWriter()
            let isWritten: Void? = bytes.withUnsafeBytes { try? writer.append(value: $0, names: nil, to: &buffer) }
            return isWritten == nil ? "?" : String(decoding: buffer.bytes, as: UTF8.self)
        }
    }
}

extension DocumentID {
    /// A new id: a UUID of version 7 as a string of 36 characters, so that ids sort by the time they were made.
    ///
    /// The 12 bits after the milliseconds hold the fraction of the millisecond (RFC 9562, section 6.2, method 3).
    ///
    /// - Parameters:
    ///   - nanoseconds: nanoseconds since 1970.
    ///   - random: 64 random bits, of which 62 are used.
    package static func uuidVersion7(nanosecondsSince1970 nanoseconds: UInt64, random: UInt64) -> DocumentID {
        let milliseconds = nanoseconds / 1_000_000
        let fraction = nanoseconds % 1_000_000 * 4096 / 1_000_000
        let high = milliseconds << 16 | 0x7000 | fraction
        let low = random & 0x3FFF_FFFF_FFFF_FFFF | 0x8000_0000_0000_0000
        let text = String(unsafeUninitializedCapacity: 36) { characters in
            var position = 0
            for digit in 0..<32 {
                if digit == 8 || digit == 12 || digit == 16 || digit == 20 {
                    characters[position] = UInt8(ascii: "-")
                    position += 1
                }
                let half = digit < 16 ? high : low
                let nibble = UInt8(truncatingIfNeeded: half >> UInt64(60 - digit % 16 * 4)) & 15
                characters[position] = nibble < 10 ? UInt8(ascii: "0") + nibble : UInt8(ascii: "a") + nibble - 10
                position += 1
            }
            return position
        }
        return DocumentID(storage: .string(text))
    }
}
