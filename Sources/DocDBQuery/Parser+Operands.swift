import DocDBCore

/// The names of functions; some have more than one spelling.
enum FunctionName {
    case value(Filter.Function)
    case contains, startsWith, endsWith, regex, exists, isMissing

    init?(_ word: String) {
        let lower = word.asciiLowercased
        if let function = Filter.Function(rawValue: lower) {
            self = .value(function)
            return
        }
        switch lower {
        case "contains": self = .contains
        case "starts_with", "beginswith", "startswith": self = .startsWith
        case "ends_with", "endswith": self = .endsWith
        case "regex": self = .regex
        case "exists": self = .exists
        case "is_missing": self = .isMissing
        default: return nil
        }
    }

    /// What an error lists, in the spelling that is printed.
    static let list =
        "contains, starts_with, ends_with, regex, exists, is_missing, length, sum, lower, upper, abs, type"
}

extension Parser {
    /// value := literal | path | function '(' ... ')' | '(' or ')'
    mutating func parseOperand() throws(DocDBError) -> Filter.Operand {
        try countNode()
        switch token.kind {
        case .quotedName, .symbol(.element): return .path(try parsePath())
        case .symbol(.leftParenthesis):
            try advance()
            let filter = try parseNested()
            try require(.rightParenthesis)
            return filter.operand
        case .word(let word):
            if token.keyword == .missing {
                try advance()
                return .missing
            }
            if isLiteralKeyword { return .literal(try parseLiteral()) }
            if token.keyword != nil { throw failure(expected: "a value") }
            return try parseWordOperand(word)
        case .end: throw failure(expected: "a value")
        default: return .literal(try parseLiteral())
        }
    }

    /// A path or a function: a word is a function's name only before a parenthesis.
    private mutating func parseWordOperand(_ word: String) throws(DocDBError) -> Filter.Operand {
        let nameToken = token
        try advance()
        guard isNext(.leftParenthesis) else { return .path(try parsePath(from: word)) }
        guard let name = FunctionName(word) else {
            throw failure(at: nameToken.start, "there is no function '\(word)'; the functions are \(FunctionName.list)")
        }
        try advance()
        try enter()
        defer { leave() }
        let operand = try parseArguments(of: name)
        guard isNext(.rightParenthesis) else { throw failure(expected: "')' after what '\(word)' takes") }
        try advance()
        return operand
    }

    private mutating func parseArguments(of name: FunctionName) throws(DocDBError) -> Filter.Operand {
        switch name {
        case .value(let function):
            return .function(function, try parseArgument())
        case .exists:
            return .condition(.exists(try parsePath()))
        case .isMissing:
            return .condition(.isMissing(try parsePath()))
        case .regex:
            let subject = try parseArgument()
            try require(.comma)
            return .condition(.regex(subject, try parseRegex()))
        case .contains, .startsWith, .endsWith:
            let subject = try parseArgument()
            try require(.comma)
            let part = try parseArgument()
            return switch name {
            case .contains: .condition(.contains(subject, part))
            case .startsWith: .condition(.startsWith(subject, part))
            default: .condition(.endsWith(subject, part))
            }
        }
    }

    /// One operand of a function.
    private mutating func parseArgument() throws(DocDBError) -> Filter.Operand { try parseOperand() }

    /// The text after `like` or in `regex`, which must be known when the predicate is parsed.
    mutating func parsePattern() throws(DocDBError) -> (text: Filter.ExactText, token: Token) {
        let start = token
        switch token.kind {
        case .string, .argument:
            guard case .string(let text) = try parseLiteral() else {
                throw failure(at: start.start, "expected an argument that is a text, found another type")
            }
            return (Filter.ExactText(text), start)
        default: throw failure(expected: "a pattern in quotes or an argument")
        }
    }

    private mutating func parseRegex() throws(DocDBError) -> Filter.ExactText {
        let (pattern, start) = try parsePattern()
        guard pattern.string.utf8.count <= QueryLimits.patternByteCount else {
            throw failure(
                at: start.start, "the regular expression is longer than \(QueryLimits.patternByteCount) bytes")
        }
        do throws(RegexPattern.Failure) {
            _ = try RegexPattern(pattern.string)
        } catch {
            throw failure(
                at: start.start,
                "expected a regular expression, but this one does not compile at byte \(error.offset) of the pattern")
        }
        return pattern
    }
}

// Paths.
extension Parser {
    /// A path whose first token is the next one.
    mutating func parsePath() throws(DocDBError) -> Filter.Path {
        switch token.kind {
        case .symbol(.element):
            guard elementDepth > 0 else {
                throw failure(
                    at: token.start, "expected a path, found '@', which stands for an element within '[? ...]' only")
            }
            try advance()
            return try parseSteps(after: [])
        case .word(let word) where token.keyword == nil:
            try advance()
            return try parsePath(from: word)
        case .quotedName(let name):
            try advance()
            return try parsePath(from: name)
        case .word: throw failure(expected: "a path; put a name that is a keyword in backticks")
        default: throw failure(expected: "a path")
        }
    }

    /// The rest of a path whose first name has been read.
    private mutating func parsePath(from name: String) throws(DocDBError) -> Filter.Path {
        try parseSteps(after: [.name(Filter.ExactText(name))])
    }

    private mutating func parseSteps(after first: [Filter.Step]) throws(DocDBError) -> Filter.Path {
        var steps = first
        while true {
            if try accept(.dot) {
                try countNode()
                steps.append(.name(try parseMemberName()))
            } else if try accept(.leftBracket) {
                try countNode()
                steps.append(try parseBracketStep())
                try require(.rightBracket)
            } else {
                return Filter.Path(steps)
            }
        }
    }

    private mutating func parseMemberName() throws(DocDBError) -> Filter.ExactText {
        switch token.kind {
        case .word(let name), .quotedName(let name):
            try advance()
            return Filter.ExactText(name)
        default: throw failure(expected: "a name after '.'; put an unusual one in backticks")
        }
    }

    private mutating func parseBracketStep() throws(DocDBError) -> Filter.Step {
        switch token.kind {
        case .symbol(.rightBracket): return .all
        case .symbol(.star):
            try advance()
            return .all
        case .symbol(.question):
            try advance()
            elementDepth += 1
            defer { elementDepth -= 1 }
            return .filter(try parseNested())
        case .int(let index):
            try advance()
            return .index(index)
        case .string(let name):
            try advance()
            return .name(Filter.ExactText(name))
        default: throw failure(expected: "a position, a name in quotes, '*' or '? condition' after '['")
        }
    }
}
