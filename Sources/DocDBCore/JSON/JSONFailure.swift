/// Why a text is not the JSON of a document.
enum JSONFailure: UInt8, Error {
    case noObject, noValue, noName, noColon, noCommaOrBrace, noCommaOrBracket, trailingText
    case unterminatedString, controlCharacter, invalidUTF8, unknownEscape, invalidHexadecimal, loneSurrogate
    case noDigit, leadingZero, integerOutOfRange, floatOutOfRange
    case duplicateName, tooDeep, identityTooLong, unsuitableIdentity

    /// The error to throw for this failure at a byte of a text.
    func error(in text: UnsafeRawBufferPointer, at offset: Int) -> DocDBError {
        let (line, column) = Self.position(in: text, at: offset)
        let context = ["line": String(line), "column": String(column), "offset": String(offset)]
        let place = "line \(line), column \(column)"
        return switch self {
        case .tooDeep:
            DocDBError(.documentTooDeep, "\(place): \(DocDBError.documentTooDeep.message)", context: context)
        case .identityTooLong:
            DocDBError(.invalidDocumentID, "\(place): \(DocumentID.tooLong.message)", context: context)
        case .unsuitableIdentity:
            DocDBError(.invalidDocumentID, "\(place): \(DocumentID.unsuitable.message)", context: context)
        default:
            DocDBError(.invalidJSON, "invalid JSON at \(place): \(message)", context: context)
        }
    }

    private var message: String {
        switch self {
        case .noObject: "expected an object, which begins with '{'"
        case .noValue: "expected a value: an object, array, string, number, true, false or null"
        case .noName: "expected a member's name in double quotes"
        case .noColon: "expected ':' after a member's name"
        case .noCommaOrBrace: "expected ',' or '}' after a member"
        case .noCommaOrBracket: "expected ',' or ']' after an element"
        case .trailingText: "expected the end of the text after the value; put each document on a line of its own"
        case .unterminatedString: "expected '\"' at the end of a string before the text ends"
        case .controlCharacter:
            "expected no control character in a string; write it as an escape such as \\n or \\u0000"
        case .invalidUTF8: "expected well-formed UTF-8; convert the text to UTF-8 first"
        case .unknownEscape: "expected one of \" \\ / b f n r t u after a backslash"
        case .invalidHexadecimal: "expected four hexadecimal digits after \\u"
        case .loneSurrogate: "expected a surrogate pair such as \\ud83d\\ude00, not half of one"
        case .noDigit: "expected a digit in a number"
        case .leadingZero: "expected no further digit after a leading zero"
        case .integerOutOfRange:
            "expected an integer of 64 bits; write it with a decimal point to store it as a float, or as a string"
        case .floatOutOfRange: "expected a number within the range of a double; write it as a string"
        case .duplicateName: "expected each name once in an object, but the object that ends here has one twice"
        case .tooDeep, .identityTooLong, .unsuitableIdentity: ""
        }
    }

    /// The line and column, in characters from 1, of a byte of a text.
    private static func position(in text: UnsafeRawBufferPointer, at offset: Int) -> (line: Int, column: Int) {
        var line = 1
        var column = 1
        for byte in text.prefix(offset) {
            if byte == 0x0A {
                line += 1
                column = 1
            } else if byte & 0xC0 != 0x80 {
                column += 1
            }
        }
        return (line, column)
    }
}
