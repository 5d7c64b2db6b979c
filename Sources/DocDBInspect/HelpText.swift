/// The texts of `--help` and of usage errors, made from the table of rules.
package enum HelpText {
    static let width = 100

    /// The help of the tool itself.
    package static var tool: String {
        var lines = [
            "Looks into DocDB stores, at rest or in use, and imports and exports their documents.", "",
            "usage: \(Inspector.toolName) COMMAND ...", "", "commands:",
        ]
        lines += columns(CommandRule.all.map { ($0.name.rawValue, $0.summary) })
        lines += [
            "", "example:", "  docdb-inspect import cars.docdb cars cars.json",
            "  docdb-inspect find cars.docdb cars \"state == 'for sale'\" --sort price --limit 20", "",
        ]
        lines += wrapped(
            "Run 'docdb-inspect COMMAND --help' for what a command takes. -- ends the options.", indent: "")
        lines += wrapped(
            "Exit code: 0 done, 1 something failed, verify found a fault or salvage lost something, 2 wrong usage, 130 "
                + "interrupted.", indent: "")
        return lines.joined(separator: "\n") + "\n"
    }

    /// The help of one command, or of each command of a group.
    package static func help(for names: [CommandName]) -> String {
        names.map { help(for: CommandRule.rule(for: $0)) }.joined(separator: "\n")
    }

    private static func help(for rule: CommandRule) -> String {
        var lines = wrapped(rule.summary, indent: "") + [""]
        lines += usageLines(rule) + [""]
        lines += columns(
            rule.operands.map { ($0.placeholder, $0.help) }
                + rule.options.map { ($0.signature, $0.help + ($0.repeats ? " May be repeated." : "")) }
                + [("--help", "Print this text.")])
        for paragraph in rule.details { lines += [""] + wrapped(paragraph, indent: "") }
        lines += ["", rule.examples.count == 1 ? "example:" : "examples:"]
        for example in rule.examples { lines += ["  \(example.commandLine)", "      \(example.meaning)"] }
        return lines.joined(separator: "\n") + "\n"
    }

    /// What standard error shows for wrong usage.
    package static func text(for error: UsageError) -> String {
        var lines = ["\(Inspector.toolName): \(error.message)"]
        if let command = error.command {
            lines += usageLines(CommandRule.rule(for: command))
            lines.append("Run '\(Inspector.toolName) \(command.rawValue) --help' for more.")
        } else {
            let first = CommandName.allCases.map { $0.words[0] }
            let names = first.enumerated().filter { $0.offset == 0 || first[$0.offset - 1] != $0.element }.map(
                \.element)
            lines += wrapped("usage: \(Inspector.toolName) \(names.joined(separator: "|")) ...", indent: "")
            lines.append("Run '\(Inspector.toolName) --help' for more.")
        }
        return lines.joined(separator: "\n") + "\n"
    }

    /// The usage line, broken between its parts.
    private static func usageLines(_ rule: CommandRule) -> [String] {
        let head = "usage: \(Inspector.toolName) \(rule.name.rawValue)"
        let parts = rule.operands.map(\.usage) + rule.options.map(\.usage)
        var lines = [head]
        for part in parts {
            if lines[lines.count - 1].count + 1 + part.count > width {
                lines.append("       " + part)
            } else {
                lines[lines.count - 1] += " " + part
            }
        }
        return lines
    }

    /// Two columns: names, and texts wrapped beside them.
    private static func columns(_ rows: [(String, String)]) -> [String] {
        let left = min(28, rows.map(\.0.count).max() ?? 0)
        let indent = String(repeating: " ", count: left + 4)
        return rows.flatMap { name, text in
            var lines = wrapped(text, indent: indent)
            let padding = String(repeating: " ", count: max(0, left - name.count))
            if name.count > left { return ["  " + name] + lines }
            lines[0] = "  " + name + padding + "  " + lines[0].dropFirst(indent.count)
            return lines
        }
    }

    /// Words of `text` in lines of at most `width` characters; at least one line.
    static func wrapped(_ text: String, indent: String) -> [String] {
        var lines: [String] = []
        var line = indent
        for word in text.split(separator: " ") {
            if line.count > indent.count, line.count + 1 + word.count > width {
                lines.append(line)
                line = indent
            }
            line += (line.count > indent.count ? " " : "") + word
        }
        return lines + [line]
    }
}
