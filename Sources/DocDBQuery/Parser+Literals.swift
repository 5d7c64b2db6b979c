import DocDBCore

extension Parser {
    /// Tells whether the next token is `true`, `false` or `null`.
    var isLiteralKeyword: Bool {
        switch token.keyword {
        case .isTrue, .isFalse, .null: true
        default: false
        }
    }

    /// literal := text | bytes | number | true | false | null | '[' literal, ... ']' | '{' name: literal, ... '}' |
    /// argument
    mutating func parseLiteral(depth: Int = 0) throws(DocDBError) -> Value {
        guard depth <= QueryLimits.literalDepth else {
            throw failure(at: token.start, "the literal is nested deeper than \(QueryLimits.literalDepth) levels")
        }
        try countLiteralValues(1, at: token.start)
        switch token.kind {
        case .symbol(.leftBracket):
            try advance()
            return .array(try parseElements(depth: depth))
        case .symbol(.leftBrace):
            try advance()
            return .object(try parseMembers(depth: depth))
        case .word where token.keyword == .missing:
            throw failure(
                at: token.start, "'missing' cannot stand within a list or an object; test it with is_missing(path)")
        default:
            let value = try scalarLiteral()
            if case .argument = token.kind { try check(value, depth: depth, at: token.start) }
            try advance()
            return value
        }
    }

    private mutating func scalarLiteral() throws(DocDBError) -> Value {
        switch token.kind {
        case .string(let text): return .string(text)
        case .bytes(let bytes): return .bytes(bytes)
        case .int(let number): return .int(number)
        case .float(let number): return .float(number)
        case .argument(let names): return try argument(names)
        case .word where token.keyword == .isTrue: return .bool(true)
        case .word where token.keyword == .isFalse: return .bool(false)
        case .word where token.keyword == .null: return .null
        default: throw failure(expected: "a value")
        }
    }

    private mutating func parseElements(depth: Int) throws(DocDBError) -> [Value] {
        var elements: [Value] = []
        if try accept(.rightBracket) { return elements }
        repeat { elements.append(try parseElement(depth: depth)) } while try accept(.comma)
        guard try accept(.rightBracket) else { throw failure(expected: "',' or ']' in the list") }
        return elements
    }

    private mutating func parseElement(depth: Int) throws(DocDBError) -> Value {
        if case .word = token.kind, !isLiteralKeyword, token.keyword != .missing {
            throw failure(expected: "a literal in the list; compare paths with '==' and '||'")
        }
        return try parseLiteral(depth: depth + 1)
    }

    private mutating func parseMembers(depth: Int) throws(DocDBError) -> [String: Value] {
        var members: [String: Value] = [:]
        if try accept(.rightBrace) { return members }
        repeat {
            let start = token
            switch token.kind {
            case .string(let name), .word(let name), .quotedName(let name):
                try advance()
                try require(.colon)
                let value = try parseElement(depth: depth)
                guard members.updateValue(value, forKey: name) == nil else {
                    throw failure(at: start.start, "expected each name once, found '\(name)' again")
                }
            default: throw failure(expected: "a name in the object")
            }
        } while try accept(.comma)
        guard try accept(.rightBrace) else { throw failure(expected: "',' or '}' in the object") }
        return members
    }

    private mutating func countLiteralValues(_ count: Int, at offset: Int) throws(DocDBError) {
        literalValueCount += count
        guard literalValueCount <= QueryLimits.literalValueCount else {
            throw failure(
                at: offset, "the literals and arguments have more than \(QueryLimits.literalValueCount) values")
        }
    }
}

// Arguments.
extension Parser {
    /// The value of `$name`, or of `$name.member`, which is looked up in the argument `name`.
    private mutating func argument(_ path: [String]) throws(DocDBError) -> Value {
        let whole = path.joined(separator: ".")
        let names = path.count > 1 && path[0] == "args" && arguments["args"] == nil ? Array(path.dropFirst()) : path
        let key = names.joined(separator: ".")
        if let value = arguments[key] {
            usedArguments.insert(key)
            return value
        }
        guard var value = arguments[names[0]] else {
            throw failure(at: token.start, "there is no argument $\(whole); pass a value for '\(names[0])'")
        }
        usedArguments.insert(names[0])
        for name in names.dropFirst() {
            guard let member = value[name] else {
                throw failure(at: token.start, "the argument '\(names[0])' has no member for $\(whole)")
            }
            value = member
        }
        return value
    }

    /// Checks an argument as deeply as a literal: its depth, its size, and that its numbers are numbers.
    private mutating func check(_ value: Value, depth: Int, at offset: Int) throws(DocDBError) {
        guard depth <= QueryLimits.literalDepth else {
            throw failure(at: offset, "the argument is nested deeper than \(QueryLimits.literalDepth) levels")
        }
        switch value {
        case .float(let number):
            guard number.isFinite else { throw failure(at: offset, "the argument has a float that is not finite") }
        case .array(let elements):
            try countLiteralValues(elements.count, at: offset)
            for element in elements { try check(element, depth: depth + 1, at: offset) }
        case .object(let members):
            try countLiteralValues(members.count, at: offset)
            for member in members.values { try check(member, depth: depth + 1, at: offset) }
        case .null, .bool, .int, .string, .bytes: break
        }
    }
}
