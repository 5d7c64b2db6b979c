/// A command line that does not fit its command's rule.
package struct UsageError: Error, Equatable, Sendable {
    /// Names the fault, in one line.
    package let message: String
    /// The command it was about, nil where none was recognised.
    package let command: CommandName?

    package init(_ message: String, command: CommandName? = nil) {
        self.message = message
        self.command = command
    }
}

/// A command line that fits its rule.
package struct ParsedCommand: Equatable, Sendable {
    package let name: CommandName
    /// The operands in order.
    package let operands: [String]
    /// The values of each option given, flags with no value; by name.
    package let options: [String: [String]]

    package func has(_ option: String) -> Bool { options[option] != nil }
    package func values(_ option: String) -> [String] { options[option] ?? [] }
    package func text(_ option: String) -> String? { options[option]?.last }
    /// The value of a number option; the parser has checked that it is one.
    package func number(_ option: String) -> Int64? { text(option).flatMap { Int64($0) } }
}

/// What a command line asks for.
package enum Invocation: Equatable, Sendable {
    case toolHelp
    case help([CommandName])
    case run(ParsedCommand)
}

/// Reads command lines by the table of rules.
package enum ArgumentParser {
    /// Reads the arguments after the tool's name.
    package static func parse(_ arguments: [String]) throws(UsageError) -> Invocation {
        guard let first = arguments.first else { throw UsageError("no command given") }
        if isHelp(first) { return .toolHelp }
        let (candidates, wordCount) = try commands(named: arguments)
        let rest = Array(arguments.dropFirst(wordCount))
        if asksForHelp(rest) { return .help(candidates) }
        guard candidates.count == 1, let name = candidates.first else {
            throw try missingSubcommand(rest, of: first, candidates)
        }
        return .run(try parse(rest, by: CommandRule.rule(for: name)))
    }

    private static func isHelp(_ argument: String) -> Bool { argument == "--help" || argument == "-h" }

    private static func asksForHelp(_ arguments: [String]) -> Bool {
        for argument in arguments {
            if argument == "--" { return false }
            if isHelp(argument) { return true }
        }
        return false
    }

    /// The commands that the first words name: one, or all of a group such as `index`; and how many words that took.
    private static func commands(named arguments: [String]) throws(UsageError) -> ([CommandName], Int) {
        let first = arguments[0]
        let group = CommandName.allCases.filter { $0.words[0] == first }
        guard !group.isEmpty else {
            if first.hasPrefix("-"), first != "-" {
                throw UsageError("the command comes first, then its options; found \(first)")
            }
            let hint = Suggestion.closest(to: first, among: CommandName.allCases.map { $0.words[0] })
            throw UsageError("unknown command \(first)\(hint.map { "; did you mean \($0)?" } ?? "")")
        }
        if group.count == 1, group[0].words.count == 1 { return (group, 1) }
        if arguments.count > 1, let exact = group.first(where: { $0.words[1] == arguments[1] }) { return ([exact], 2) }
        return (group, 1)
    }

    private static func missingSubcommand(
        _ rest: [String], of first: String, _ candidates: [CommandName]
    ) throws(UsageError) -> UsageError {
        let choices = candidates.map { $0.words[1] }
        let list = choices.dropLast().joined(separator: ", ") + " or " + (choices.last ?? "")
        guard let word = rest.first else {
            return UsageError("\(first) needs one of \(list)", command: candidates.first)
        }
        return UsageError("\(first) needs one of \(list), not \(word)", command: candidates.first)
    }

    private static func parse(_ arguments: [String], by rule: CommandRule) throws(UsageError) -> ParsedCommand {
        var operands: [String] = []
        var options: [String: [String]] = [:]
        var optionsEnded = false
        var index = 0
        while index < arguments.count {
            let argument = arguments[index]
            index += 1
            if optionsEnded || !looksLikeOption(argument) {
                operands.append(argument)
            } else if argument == "--" {
                optionsEnded = true
            } else {
                try readOption(argument, arguments, &index, rule, &options)
            }
        }
        try check(operands, by: rule)
        return ParsedCommand(name: rule.name, operands: operands, options: options)
    }

    /// A lone `-` and negative numbers are operands.
    private static func looksLikeOption(_ argument: String) -> Bool {
        var bytes = argument.utf8.makeIterator()
        guard bytes.next() == UInt8(ascii: "-"), let second = bytes.next() else { return false }
        return !(UInt8(ascii: "0")...UInt8(ascii: "9")).contains(second)
    }

    private static func readOption(
        _ argument: String, _ arguments: [String], _ index: inout Int, _ rule: CommandRule,
        _ options: inout [String: [String]]
    ) throws(UsageError) {
        guard argument.hasPrefix("--") else {
            throw UsageError("options begin with two dashes; found \(argument)", command: rule.name)
        }
        let body = argument.dropFirst(2)
        let equals = body.firstIndex(of: "=")
        let name = String(body[..<(equals ?? body.endIndex)])
        guard let option = rule.options.first(where: { $0.name == name }) else {
            let hint = Suggestion.closest(to: name, among: rule.options.map(\.name))
            throw UsageError(
                "\(rule.name.rawValue) has no option --\(name)\(hint.map { "; did you mean --\($0)?" } ?? "")",
                command: rule.name)
        }
        if !option.repeats, options[name] != nil { throw UsageError("--\(name) is given twice", command: rule.name) }
        if case .flag = option.kind {
            guard equals == nil else { throw UsageError("--\(name) takes no value", command: rule.name) }
            options[name] = []
            return
        }
        let value: String
        if let equals {
            value = String(body[body.index(after: equals)...])
        } else if index < arguments.count {
            value = arguments[index]
            index += 1
        } else {
            throw UsageError("--\(name) needs a value: \(option.signature)", command: rule.name)
        }
        try check(value, of: option, rule)
        options[name, default: []].append(value)
    }

    private static func check(_ value: String, of option: OptionRule, _ rule: CommandRule) throws(UsageError) {
        switch option.kind {
        case .flag: break
        case .text:
            guard !value.isEmpty else { throw UsageError("--\(option.name) needs a value", command: rule.name) }
        case .number(_, let range):
            guard let number = Int64(value), range.contains(number) else {
                let bounds =
                    range.upperBound == Int64.max
                    ? "of at least \(range.lowerBound)" : "from \(range.lowerBound) to \(range.upperBound)"
                throw UsageError("--\(option.name) needs a whole number \(bounds), not \(value)", command: rule.name)
            }
        case .choice(let words):
            guard words.contains(value) else {
                throw UsageError(
                    "--\(option.name) is one of \(words.joined(separator: ", ")), not \(value)", command: rule.name)
            }
        }
    }

    private static func check(_ operands: [String], by rule: CommandRule) throws(UsageError) {
        var maximum = 0
        for operand in rule.operands {
            switch operand.arity {
            case .required, .oneOrMore:
                guard operands.count > maximum else {
                    throw UsageError("\(rule.name.rawValue) needs \(operand.placeholder)", command: rule.name)
                }
            case .optional, .anyNumber: break
            }
            switch operand.arity {
            case .required, .optional: maximum += 1
            case .oneOrMore, .anyNumber: maximum = Int.max
            }
        }
        if operands.count > maximum {
            throw UsageError("one argument too many: \(operands[maximum])", command: rule.name)
        }
        for (operand, text) in zip(rule.operands, operands) where text.isEmpty && operand.placeholder != "PREDICATE" {
            throw UsageError("\(operand.placeholder) is empty", command: rule.name)
        }
    }
}

/// Finds what a person may have meant.
enum Suggestion {
    /// The word nearest to `text` where one lies within two edits, else nil.
    static func closest(to text: String, among words: [String]) -> String? {
        let typed = Array(text.utf8.prefix(64))
        return words.map { (word: $0, distance: distance(typed, Array($0.utf8))) }
            .filter { $0.distance <= 2 && $0.distance < $0.word.utf8.count }
            .min { $0.distance < $1.distance }?.word
    }

    /// The Levenshtein distance (1966): insertions, deletions and replacements that turn one text into the other.
    static func distance(_ left: [UInt8], _ right: [UInt8]) -> Int {
        var previous = Array(0...right.count)
        for (row, leftByte) in left.enumerated() {
            var current = [row + 1]
            for (column, rightByte) in right.enumerated() {
                let replaced = previous[column] + (leftByte == rightByte ? 0 : 1)
                current.append(min(replaced, previous[column + 1] + 1, current[column] + 1))
            }
            previous = current
        }
        return previous[right.count]
    }
}
