/// The place of a field in a document: the names to follow from the top, such as `seller.name`.
///
/// In text, names that are no plain identifiers stand in brackets, as in `a['odd key']`, or in backticks.
/// Two paths are equal where their names have the same UTF-8 bytes.
///
/// ```swift
/// let price: FieldPath = "price"
/// let name: FieldPath = "seller['full name']"
/// ```
public struct FieldPath: Sendable {
    /// The names, from the top of the document; at least one.
    public let components: [String]

    /// Creates a path from names that are known to be within the limits; no names stand for the document itself.
    package init(unchecked components: [String]) { self.components = components }

    /// Creates a path from its names.
    ///
    /// - Throws: `DocDBError.invalidPath` where there are no names, more than ``Limits/nestingDepth``, or more than
    ///   ``Limits/fieldPathByteCount`` bytes of them.
    public init(components: [String]) throws(DocDBError) {
        guard !components.isEmpty else {
            throw DocDBError(.invalidPath, "a field path needs at least one name")
        }
        guard components.count <= Limits.nestingDepth else {
            throw DocDBError(
                .invalidPath, "a field path has at most \(Limits.nestingDepth) names, as documents nest no deeper")
        }
        guard components.reduce(0, { $0 + $1.utf8.count }) <= Limits.fieldPathByteCount else {
            throw DocDBError(
                .invalidPath, "the names of a field path have at most \(Limits.fieldPathByteCount) bytes; shorten them")
        }
        self.components = components
    }

    /// Creates a path from its text.
    ///
    /// - Throws: `DocDBError.invalidPath` where the text is no path; the context's `offset` is the byte where it fails.
    /// - Complexity: O(n) in the length of the text.
    public init(_ text: String) throws(DocDBError) {
        var parser = FieldPathParser(text)
        try self.init(components: parser.parse())
    }

    /// Appends the path as it is stored: the CBOR keys of its names, one after another.
    ///
    /// - Parameter interning: whether new names are added to `names`, or only looked up; a name without a number is text.
    package func appendEncoded(names: FieldNames, to buffer: inout ByteBuffer, interning: Bool) {
        for component in components {
            var component = component
            component.withUTF8 {
                buffer.appendCBORKey(UnsafeRawBufferPointer($0), names: names, interning: interning)
            }
        }
    }

    /// Reads a path as it is stored, which fills `bytes`; no bytes stand for the document itself.
    package static func decode(
        _ bytes: UnsafeRawBufferPointer, names: FieldNames
    ) throws(CBORError) -> FieldPath {
        var cursor = ByteCursor(bytes)
        var components: [String] = []
        while !cursor.isAtEnd {
            let name = try cursor.readCBORKey(names: names)
            guard UTF8Validation.isValid(name) else { throw .malformed }
            guard components.count < Limits.nestingDepth else { throw .tooDeep }
            components.append(String(decoding: name, as: UTF8.self))
        }
        return FieldPath(unchecked: components)
    }
}

extension FieldPath: Hashable {
    /// Tells whether two paths have the same names, byte for byte.
    public static func == (left: FieldPath, right: FieldPath) -> Bool {
        left.components.elementsEqual(right.components) { $0.utf8.elementsEqual($1.utf8) }
    }

    /// Feeds the path into `hasher`.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(components.count)
        for var component in components {
            component.withUTF8 { hasher.combine(bytes: UnsafeRawBufferPointer($0)) }
        }
    }
}

extension FieldPath: ExpressibleByStringLiteral, ExpressibleByArrayLiteral {
    /// Creates a path from a literal, which must be a valid path.
    public init(stringLiteral text: String) {
        do { try self.init(text) } catch { preconditionFailure("\(error)") }
    }

    /// Creates a path from names, of which there must be at least one.
    public init(arrayLiteral names: String...) {
        do { try self.init(components: names) } catch { preconditionFailure("\(error)") }
    }
}

extension FieldPath: CustomStringConvertible {
    /// The canonical text, which parses back to an equal path.
    public var description: String { components.map(Self.quoted).joined(separator: ".") }

    /// A name as it stands in a path: as it is where it is a plain identifier, else in backticks with escapes.
    package static func quoted(_ name: String) -> String {
        if isPlain(name) { return name }
        var text = "`"
        for scalar in name.unicodeScalars {
            switch scalar {
            case "`": text += "\\`"
            case "\\": text += "\\\\"
            case "\n": text += "\\n"
            case "\r": text += "\\r"
            case "\t": text += "\\t"
            case "\0"..<" ", "\u{7F}":
                let digits = String(scalar.value, radix: 16)
                text += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
            default: text.unicodeScalars.append(scalar)
            }
        }
        return text + "`"
    }

    /// Tells whether a name is an ASCII identifier, which needs no quotes in a path.
    package static func isPlain(_ name: String) -> Bool {
        var isFirst = true
        for byte in name.utf8 {
            guard FieldPathParser.isPlain(byte, isFirst: isFirst) else { return false }
            isFirst = false
        }
        return !isFirst
    }
}
