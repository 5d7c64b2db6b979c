import DocDBCore

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// The forms in which types of Foundation, and DocDB's own, are stored.
///
/// `Data` is bytes; `Date` an RFC 3339 text in UTC with nine fractional digits, so that the order of texts is the order
/// of times; `UUID`, `URL` and `Decimal` are text.
extension DocumentDecoder {
    /// Reads a value of a type that has a form of its own; nil where the type has none.
    func foundationValue<D: Decodable>(_ type: D.Type, at offset: Int) throws -> D? {
        if type == Date.self { return unsafeBitCast(try date(at: offset), to: type) }
        if type == Data.self { return unsafeBitCast(try data(at: offset), to: type) }
        if type == UUID.self {
            return unsafeBitCast(try parsed(UUID.self, at: offset) { UUID(uuidString: $0) }, to: type)
        }
        if type == URL.self { return try parsed(URL.self, at: offset) { URL(string: $0) } as? D }
        if type == Decimal.self {
            return unsafeBitCast(try parsed(Decimal.self, at: offset) { Decimal(string: $0) }, to: type)
        }
        if type == Value.self {
            guard let value = reader.pointee.value(at: offset) else { throw corrupted(at: offset, "is damaged") }
            return unsafeBitCast(value, to: type)
        }
        if type == DocumentID.self {
            guard let value = reader.pointee.value(at: offset) else { throw corrupted(at: offset, "is damaged") }
            return try DocumentID(value) as? D
        }
        return nil
    }

    private func parsed<Result>(_ type: Result.Type, at offset: Int, _ parse: (String) -> Result?) throws -> Result {
        guard let text = reader.pointee.string(at: offset) else { throw mismatch(type, at: offset) }
        guard let value = parse(text) else { throw corrupted(at: offset, "is no \(type)") }
        return value
    }

    private func date(at offset: Int) throws -> Date {
        try parsed(Date.self, at: offset) { text in
            TimestampText.parse(text).map { Date(secondsSince1970: $0.secondsSince1970, nanoseconds: $0.nanoseconds) }
        }
    }

    private func data(at offset: Int) throws -> Data {
        guard let bytes = reader.pointee.bytes(at: offset) else { throw mismatch(Data.self, at: offset) }
        return Data(bytes)
    }
}

extension Date {
    /// The seconds from 1970 to the reference date, 2001-01-01.
    private static let referenceSeconds: Int64 = 978_307_200

    /// Creates a date from whole seconds and nanoseconds, to the precision of a date.
    init(secondsSince1970 seconds: Int64, nanoseconds: Int) {
        self.init(
            timeIntervalSinceReferenceDate: Double(seconds - Self.referenceSeconds) + Double(nanoseconds) / 1e9)
    }

    /// The text in which a date is stored, or nil where its year does not have four digits.
    ///
    /// Exact for all dates but those within 97 days of 2001-01-01, which are rounded to nanoseconds.
    var timestampText: String? {
        var whole = timeIntervalSinceReferenceDate.rounded(.down)
        var nanoseconds = ((timeIntervalSinceReferenceDate - whole) * 1e9).rounded()
        if nanoseconds >= 1e9 { (whole, nanoseconds) = (whole + 1, 0) }
        guard abs(whole) < 1e12 else { return nil }
        return TimestampText.text(
            secondsSince1970: Int64(whole) + Self.referenceSeconds, nanoseconds: Int(nanoseconds))
    }
}

extension EncodedNode {
    /// Writes a value of a type that has a form of its own; false where the type has none.
    func writeFoundationValue<E: Encodable>(_ value: E) throws -> Bool {
        if E.self == Date.self, let date = value as? Date {
            guard let text = date.timestampText else { throw failure(value, .yearOutOfRange) }
            write { $0.appendCBOR(text) }
        } else if E.self == Data.self, let data = value as? Data {
            write { buffer in
                buffer.appendCBORHead(major: CBOR.Major.bytes, UInt64(data.count))
                data.withUnsafeBytes { buffer.append($0) }
            }
        } else if E.self == UUID.self, let uuid = value as? UUID {
            write { $0.appendCBOR(uuid.uuidString) }
        } else if E.self == URL.self, let url = value as? URL {
            write { $0.appendCBOR(url.absoluteString) }
        } else if E.self == Decimal.self, let decimal = value as? Decimal {
            guard !decimal.isNaN else { throw failure(value, .notFinite) }
            write { $0.appendCBOR(decimal.description) }
        } else if E.self == Value.self, let document = value as? Value {
            write(value: document)
        } else if E.self == DocumentID.self, let id = value as? DocumentID {
            write(value: id.value)
        } else {
            return false
        }
        return true
    }
}
