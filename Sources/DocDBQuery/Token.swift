/// One word of a predicate's text and where it stands.
struct Token {
    enum Kind {
        /// A name without quotes: a keyword, a function or the step of a path.
        case word(String)
        /// A name in backticks, never a keyword.
        case quotedName(String)
        case string(String)
        case bytes([UInt8])
        case int(Int64)
        case float(Double)
        /// `$name` or `$name.member`: the names without the dollar sign.
        case argument([String])
        case symbol(Symbol)
        case end
    }

    var kind: Kind
    /// Where the token begins and ends, in bytes of the text.
    var start: Int
    var end: Int

    /// The keyword this token is, in lower case, or nil.
    var keyword: Keyword? {
        guard case .word(let word) = kind else { return nil }
        return Keyword(rawValue: word.asciiLowercased)
    }

    /// What an error says was found; never a literal's contents.
    var summary: String {
        switch kind {
        case .word(let word): "'\(word)'"
        case .quotedName(let name): "the name `\(name)`"
        case .string: "a text"
        case .bytes: "bytes"
        case .int, .float: "a number"
        case .argument(let names): "$\(names.joined(separator: "."))"
        case .symbol(let symbol): "'\(symbol.rawValue)'"
        case .end: "the end"
        }
    }
}

/// The signs of the language; spellings that mean the same are one sign.
enum Symbol: String {
    case equal = "==", notEqual = "!=", lessOrEqual = "<=", greaterOrEqual = ">=", less = "<", greater = ">"
    case and = "&&", or = "||", not = "!"
    case leftParenthesis = "(", rightParenthesis = ")", leftBracket = "[", rightBracket = "]"
    case leftBrace = "{", rightBrace = "}"
    case comma = ",", dot = ".", star = "*", question = "?", colon = ":", element = "@"
}

/// The words that cannot begin a path without backticks.
enum Keyword: String, CaseIterable {
    case and, or, not, between, like
    case isIn = "in"
    case isTrue = "true"
    case isFalse = "false"
    case null, missing
}

extension String {
    /// The text with the letters A to Z in lower case, whatever the language.
    var asciiLowercased: String {
        String(decoding: utf8.map { $0 >= 0x41 && $0 <= 0x5A ? $0 | 0x20 : $0 }, as: UTF8.self)
    }
}

extension Unicode.Scalar {
    /// Tells whether a name without quotes may begin with this scalar.
    var beginsName: Bool { isASCII ? asciiBeginsName : properties.isXIDStart }
    /// Tells whether a name without quotes may go on with this scalar.
    var continuesName: Bool {
        isASCII ? asciiBeginsName || (value >= 0x30 && value <= 0x39) : properties.isXIDContinue
    }

    private var asciiBeginsName: Bool {
        let lower = value | 0x20
        return (lower >= 0x61 && lower <= 0x7A) || value == 0x5F
    }
}
