package import DocDBCore

extension Filter {
    /// Parses a predicate; an empty text holds for every document.
    ///
    /// - Parameters:
    ///   - text: The predicate, at most `QueryLimits.textByteCount` bytes.
    ///   - arguments: The values of `$name` and `$args.name`; `$user.id` is the member `id` of the argument `user`.
    /// - Throws: `DocDBError.invalidPredicate` with line, column and what was expected; `context["source"]` shows the
    ///   line with a caret below the place.
    /// - Complexity: O(length of the text + size of the arguments).
    package static func parse(
        _ text: String, arguments: [String: Value] = [:]
    ) throws(DocDBError) -> Filter {
        var parser = try Parser(text, arguments: arguments)
        return try parser.parseAll()
    }
}

extension Filter.Path {
    /// Parses a path alone, such as what to sort by.
    ///
    /// - Throws: `DocDBError.invalidPredicate` with line, column and what was expected.
    package static func parse(_ text: String) throws(DocDBError) -> Filter.Path {
        var parser = try Parser(text, arguments: [:])
        let path = try parser.parsePath()
        guard parser.isAtEnd else { throw parser.failure(expected: "the end of the path") }
        return path
    }
}

/// A recursive-descent parser; one method per rule of the grammar.
struct Parser {
    private(set) var lexer: Lexer
    private(set) var token: Token
    let arguments: [String: Value]
    var usedArguments: Set<String> = []
    private var depth = 0
    private var nodeCount = 0
    var literalValueCount = 0
    /// How many element filters enclose the place.
    var elementDepth = 0
    /// The next parenthesis belongs to a `!`, which has counted the level.
    var isInNegation = false

    init(_ text: String, arguments: [String: Value]) throws(DocDBError) {
        guard text.utf8.count <= QueryLimits.textByteCount else {
            throw DocDBError(
                .invalidPredicate,
                "the predicate is longer than \(QueryLimits.textByteCount) bytes; pass long lists as arguments")
        }
        lexer = Lexer(text)
        token = try lexer.next()
        self.arguments = arguments
    }

    /// query := or
    mutating func parseAll() throws(DocDBError) -> Filter {
        var filter = Filter.everything
        if !isAtEnd {
            filter = try parseOr()
            if !isAtEnd { throw failure(expected: "an operator, '&&', '||' or the end") }
        }
        try requireUseOfArguments()
        return filter
    }

    private func requireUseOfArguments() throws(DocDBError) {
        let unused = arguments.keys.filter { !usedArguments.contains($0) }.sorted()
        guard let first = unused.first else { return }
        throw DocDBError(
            .invalidPredicate,
            "the predicate does not use the argument '\(first)'; write $\(first) where it belongs, or leave it out",
            context: ["arguments": unused.joined(separator: ", ")])
    }

    /// or := and (('||' | or) and)*
    private mutating func parseOr() throws(DocDBError) -> Filter {
        var parts = [try parseAnd()]
        while try accept(.or, or: .or) { parts.append(try parseAnd()) }
        if parts.count > 1 { try countNode() }
        return Filter.any(of: parts)
    }

    /// and := not (('&&' | and) not)*
    private mutating func parseAnd() throws(DocDBError) -> Filter {
        var parts = [try parseNot()]
        while try accept(.and, or: .and) { parts.append(try parseNot()) }
        if parts.count > 1 { try countNode() }
        return Filter.all(of: parts)
    }

    /// not := ('!' | not) not | test
    private mutating func parseNot() throws(DocDBError) -> Filter {
        var isNegated = false
        var signCount = 0
        while try accept(.not, or: .not) {
            try countNode()
            isNegated.toggle()
            signCount += 1
        }
        guard signCount > 0 else { return try parseTest() }
        // One level, parentheses included: `!a < b` is printed as `!(a < b)`, which must not be deeper.
        try enter()
        defer { leave() }
        isInNegation = isNext(.leftParenthesis)
        let test = try parseTest()
        return isNegated ? test.negated : test
    }

    /// test := value (op value | [not] in value | [not] between value and value | [not] like string)?
    private mutating func parseTest() throws(DocDBError) -> Filter {
        let left = try parseOperand()
        try countNode()
        if case .symbol(let symbol) = token.kind, let comparison = Filter.Comparison(rawValue: symbol.rawValue) {
            try advance()
            return .compare(comparison, left, try parseOperand())
        }
        let isNegated = token.keyword == .not
        if isNegated { try advance() }
        if let test = try parseWordTest(left) { return isNegated ? test.negated : test }
        if isNegated { throw failure(expected: "'in', 'between' or 'like' after 'not'") }
        return Filter.truth(of: left)
    }

    /// The tests whose operator is a word; nil where the next token is none.
    private mutating func parseWordTest(_ left: Filter.Operand) throws(DocDBError) -> Filter? {
        switch token.keyword {
        case .isIn:
            try advance()
            return .isIn(left, try parseListOperand())
        case .between:
            try advance()
            let low = try parseOperand()
            guard try accept(nil, or: .and) else { throw failure(expected: "'and' between the two bounds") }
            return .between(left, low, try parseOperand())
        case .like:
            try advance()
            return .like(left, try parsePattern().text)
        default:
            guard case .word(let word) = token.kind else { return nil }
            switch FunctionName(word) {
            case .contains:
                try advance()
                return .contains(left, try parseOperand())
            case .startsWith:
                try advance()
                return .startsWith(left, try parseOperand())
            case .endsWith:
                try advance()
                return .endsWith(left, try parseOperand())
            default: return nil
            }
        }
    }

    /// The right side of `in`: a list, an argument that is one, or a value of the document.
    private mutating func parseListOperand() throws(DocDBError) -> Filter.Operand {
        let start = token.start
        let operand = try parseOperand()
        switch operand {
        case .literal(.array), .path, .function: return operand
        default: throw failure(at: start, "expected a list, such as [1, 2], or a path after 'in'")
        }
    }

    /// Parses a whole filter within parentheses or an element filter, one level deeper.
    mutating func parseNested() throws(DocDBError) -> Filter {
        if isInNegation {
            isInNegation = false
            return try parseOr()
        }
        try enter()
        defer { leave() }
        return try parseOr()
    }

    mutating func enter() throws(DocDBError) {
        depth += 1
        guard depth <= QueryLimits.nestingDepth else {
            throw failure(at: token.start, "the predicate is nested deeper than \(QueryLimits.nestingDepth) levels")
        }
    }

    mutating func leave() { depth -= 1 }

    mutating func countNode() throws(DocDBError) {
        nodeCount += 1
        guard nodeCount <= QueryLimits.nodeCount else {
            throw failure(
                at: token.start,
                "the predicate has more than \(QueryLimits.nodeCount) parts; use 'in' with a list for long choices")
        }
    }
}

// Tokens and errors.
extension Parser {
    var isAtEnd: Bool { if case .end = token.kind { true } else { false } }

    mutating func advance() throws(DocDBError) { token = try lexer.next() }

    /// Tells whether the next token is a sign.
    func isNext(_ symbol: Symbol) -> Bool {
        if case .symbol(symbol) = token.kind { true } else { false }
    }

    /// Moves past the next token where it is this sign or this keyword.
    mutating func accept(_ symbol: Symbol?, or keyword: Keyword? = nil) throws(DocDBError) -> Bool {
        let isSymbol = symbol.map { isNext($0) } ?? false
        guard isSymbol || (keyword != nil && token.keyword == keyword) else { return false }
        try advance()
        return true
    }

    /// Moves past the next token, which must be this sign.
    mutating func require(_ symbol: Symbol) throws(DocDBError) {
        guard try accept(symbol) else { throw failure(expected: "'\(symbol.rawValue)'") }
    }

    func failure(at offset: Int, _ problem: String) -> DocDBError { lexer.failure(at: offset, problem) }

    func failure(expected: String) -> DocDBError {
        failure(at: token.start, "expected \(expected), found \(token.summary)")
    }
}
