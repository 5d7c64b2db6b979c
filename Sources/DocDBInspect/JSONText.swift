package import DocDBCore

/// The JSON text of values, for cells and for rows that are no documents.
package enum JSONText {
    /// Appends compact JSON with sorted keys, bytes as base64; `_id` comes first in an object.
    package static func append(_ value: Value, to text: inout String) {
        switch value {
        case .null: text += "null"
        case .bool(let flag): text += flag ? "true" : "false"
        case .int(let number): text += String(number)
        case .float(let number): text += number.description
        case .string(let string): append(quoted: string, to: &text)
        case .bytes(let bytes): append(base64: bytes, to: &text)
        case .array(let elements):
            text += "["
            for (index, element) in elements.enumerated() {
                if index > 0 { text += "," }
                append(element, to: &text)
            }
            text += "]"
        case .object(let members):
            append(members: members.keys.sorted(by: precedes).map { ($0, members[$0] ?? .null) }, to: &text)
        }
    }

    /// Appends an object whose members come in the given order.
    package static func append(members: [(String, Value)], to text: inout String) {
        text += "{"
        for (index, member) in members.enumerated() {
            if index > 0 { text += "," }
            append(quoted: member.0, to: &text)
            text += ":"
            append(member.1, to: &text)
        }
        text += "}"
    }

    /// The order of keys: `_id` first, then by UTF-8 bytes.
    package static func precedes(_ left: String, _ right: String) -> Bool {
        if left == "_id" || right == "_id" { return left == "_id" && right != "_id" }
        return left.utf8.lexicographicallyPrecedes(right.utf8)
    }

    private static func append(quoted string: String, to text: inout String) {
        text += "\""
        for scalar in string.unicodeScalars {
            switch scalar {
            case "\"": text += "\\\""
            case "\\": text += "\\\\"
            case "\n": text += "\\n"
            case "\r": text += "\\r"
            case "\t": text += "\\t"
            case "\u{0}"..<"\u{20}": text += hexEscape(scalar)
            default: text.unicodeScalars.append(scalar)
            }
        }
        text += "\""
    }

    /// A scalar below U+10000 as `\uXXXX`.
    static func hexEscape(_ scalar: UnicodeScalar) -> String {
        let digits = String(scalar.value, radix: 16)
        return "\\u" + String(repeating: "0", count: max(0, 4 - digits.count)) + digits
    }

    private static let base64Digits = Array(
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".unicodeScalars)

    private static func append(base64 bytes: [UInt8], to text: inout String) {
        text += "\""
        for start in stride(from: 0, to: bytes.count, by: 3) {
            let group = bytes[start..<min(start + 3, bytes.count)]
            var word: UInt32 = 0
            for byte in group { word = word << 8 | UInt32(byte) }
            word <<= UInt32(8 * (3 - group.count))
            for digit in 0..<4 {
                guard digit <= group.count else {
                    text += "="
                    continue
                }
                text.unicodeScalars.append(base64Digits[Int(word >> UInt32(18 - 6 * digit)) & 63])
            }
        }
        text += "\""
    }
}
