/// What one command takes, as data: the parser, the usage line and the help all read it.
package struct CommandRule: Sendable {
    /// The words that name the command, such as `index create`.
    package let name: CommandName
    /// One line for the list of commands.
    package let summary: String
    package let operands: [OperandRule]
    package let options: [OptionRule]
    /// Paragraphs of the command's help, each one string.
    package let details: [String]
    /// A command line that works as typed, and what it does.
    package let examples: [Example]

    package struct Example: Sendable {
        package let commandLine: String
        package let meaning: String
    }
}

/// The commands of the inspector.
package enum CommandName: String, CaseIterable, Sendable {
    case `import`
    case export
    case find
    case get
    case watch
    case collections
    case stat
    case log
    case history
    case indexCreate = "index create"
    case indexDrop = "index drop"
    case indexList = "index list"
    case peers
    case verify
    case salvage
    case compact

    /// The words a person types.
    package var words: [String] { rawValue.split(separator: " ").map(String.init) }
}

/// One positional argument.
package struct OperandRule: Sendable {
    package enum Arity: Sendable {
        case required
        case optional
        /// One or more; only the last operand may repeat.
        case oneOrMore
        /// None or more; only the last operand may repeat.
        case anyNumber
    }

    /// The word that stands for it in usage lines, such as `STORE`.
    package let placeholder: String
    package let arity: Arity
    package let help: String

    package init(_ placeholder: String, _ arity: Arity, _ help: String) {
        self.placeholder = placeholder
        self.arity = arity
        self.help = help
    }

    package init(_ placeholder: String, _ help: String) { self.init(placeholder, .required, help) }

    var usage: String {
        switch arity {
        case .required: placeholder
        case .optional: "[\(placeholder)]"
        case .oneOrMore: "\(placeholder)..."
        case .anyNumber: "[\(placeholder)]..."
        }
    }
}

/// One `--name` option.
package struct OptionRule: Sendable {
    package enum Kind: Sendable {
        /// Present or absent.
        case flag
        /// Any text.
        case text(placeholder: String)
        /// A whole number within the range.
        case number(placeholder: String, ClosedRange<Int64>)
        /// One of these words.
        case choice([String])
    }

    /// The name without its dashes.
    package let name: String
    package let kind: Kind
    package let repeats: Bool
    package let help: String

    package init(_ name: String, _ kind: Kind, repeats: Bool = false, _ help: String) {
        self.name = name
        self.kind = kind
        self.repeats = repeats
        self.help = help
    }

    /// The option as help lists it, such as `--limit N`.
    var signature: String {
        switch kind {
        case .flag: "--\(name)"
        case .text(let placeholder), .number(let placeholder, _): "--\(name) \(placeholder)"
        case .choice(let words): "--\(name) \(words.joined(separator: "|"))"
        }
    }

    var usage: String { "[\(signature)]\(repeats ? "..." : "")" }
}

extension CommandRule {
    /// The rule of a command; every command has one.
    package static func rule(for name: CommandName) -> CommandRule {
        all.first { $0.name == name }
            ?? CommandRule(
                name: name, summary: "", operands: [], options: [], details: [], examples: [])
    }

    /// The usage line without the word `usage`.
    package var usage: String {
        ([Inspector.toolName, name.rawValue] + operands.map(\.usage) + options.map(\.usage)).joined(separator: " ")
    }
}
