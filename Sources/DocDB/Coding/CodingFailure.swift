import DocDBCore

/// A key that stands for a field name or a position, for coding paths.
struct PathKey: CodingKey {
    let stringValue: String
    let intValue: Int?

    init(_ name: String) { (stringValue, intValue) = (name, nil) }
    init(_ index: Int) { (stringValue, intValue) = (String(index), index) }
    init?(stringValue: String) { self.init(stringValue) }
    init?(intValue: Int) { self.init(intValue) }
}

/// Errors of `Codable` types as errors of DocDB, which name the field but hold none of its contents.
enum CodingFailure {
    /// The error to throw where a document does not fit a type.
    static func decoding(_ error: any Error, _ type: Any.Type) -> DocDBError {
        if let error = error as? DocDBError { return error }
        guard let error = error as? DecodingError else {
            return DocDBError(
                .typeMismatch, "\(type) refused the document in its init(from:); check what that throws")
        }
        switch error {
        case .keyNotFound(let key, let context):
            let path = text(context.codingPath + [key])
            return DocDBError(
                .typeMismatch, "the document has no field \(path), which \(type) needs; make that property optional",
                context: ["path": path])
        case .valueNotFound(let expected, let context):
            let path = text(context.codingPath)
            return DocDBError(
                .typeMismatch,
                "the field \(path) is null or missing, but \(type) needs a \(expected) there; make it optional",
                context: ["path": path])
        case .typeMismatch(let expected, let context):
            let path = text(context.codingPath)
            return DocDBError(
                .typeMismatch,
                "the field \(path) of the document is not the \(expected) that \(type) has there; change either",
                context: ["path": path])
        case .dataCorrupted(let context):
            let path = text(context.codingPath)
            return DocDBError(
                .typeMismatch,
                "the value of the field \(path) is none that \(type) can hold there; change either",
                context: ["path": path])
        @unknown default:
            return DocDBError(.typeMismatch, "the document does not fit \(type)")
        }
    }

    /// The error to throw where a value cannot be written as a document.
    static func encoding(_ error: any Error, _ type: Any.Type) -> DocDBError {
        if let error = error as? DocDBError { return error }
        guard case .invalidValue(_, let context) = error as? EncodingError else {
            return DocDBError(.invalidValue, "\(type) failed in its encode(to:); check what that throws")
        }
        let path = text(context.codingPath)
        // Descriptions by other encoders could hold contents; only our own are passed on.
        let reason = context.underlyingError as? EncodingReason
        return DocDBError(
            .invalidValue, "the field \(path) of \(type) cannot be stored: \(reason?.text ?? "it has no encoding")",
            context: ["path": path])
    }

    /// The text of a coding path; of the document itself that is said in words.
    private static func text(_ path: [any CodingKey]) -> String {
        if path.isEmpty { return "(document)" }
        var text = ""
        for key in path {
            if let index = key.intValue {
                text += "[\(index)]"
            } else {
                text += (text.isEmpty ? "" : ".") + FieldPath(unchecked: [key.stringValue]).description
            }
        }
        return text
    }
}

/// Why a value cannot be stored, in words that hold nothing of it.
enum EncodingReason: Error {
    case notFinite, integerOutOfRange, yearOutOfRange, nestedTooDeep

    var text: String {
        switch self {
        case .notFinite: "NaN and infinities have no place in documents; use an optional or a string"
        case .integerOutOfRange: "an integer above Int64.max has no place in documents; use a string"
        case .yearOutOfRange: "dates are stored with years from 0 to 9999; use a number for others"
        case .nestedTooDeep: "it is nested too deep; flatten it"
        }
    }
}
