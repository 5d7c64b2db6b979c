import DocDBCore

extension Filter: CustomStringConvertible {
    /// The canonical text: one text for all spellings of a filter, which parses to this filter again.
    ///
    /// A text longer than `QueryLimits.textByteCount`, from large arguments, can be run but not parsed again.
    package var description: String {
        var printer = Printer()
        printer.print(self, within: .lowest)
        return printer.text
    }
}

extension Filter.Path: CustomStringConvertible {
    /// The canonical text of the path.
    package var description: String {
        var printer = Printer()
        printer.print(self)
        return printer.text
    }
}

/// Writes filters in their one canonical form.
private struct Printer {
    /// How tightly what surrounds a filter binds.
    enum Binding: Int { case lowest, and, not }

    var text = ""

    mutating func print(_ filter: Filter, within binding: Binding) {
        let own: Binding =
            switch filter {
            case .or: .lowest
            case .and: .and
            default: .not
            }
        let needsParentheses = own.rawValue < binding.rawValue
        if needsParentheses { text += "(" }
        switch filter {
        case .or(let parts): print(parts, separator: " || ", within: .and)
        case .and(let parts): print(parts, separator: " && ", within: .not)
        case .not(let inner): printNegation(of: inner)
        default: printTest(filter, not: "")
        }
        if needsParentheses { text += ")" }
    }

    private mutating func print(_ parts: [Filter], separator: String, within binding: Binding) {
        for (index, part) in parts.enumerated() {
            if index > 0 { text += separator }
            print(part, within: binding)
        }
    }

    private mutating func printNegation(of inner: Filter) {
        switch inner {
        case .isIn, .between, .like:
            printTest(inner, not: "not ")
        case .isTrue, .exists, .isMissing, .contains, .startsWith, .endsWith, .regex:
            text += "!"
            printTest(inner, not: "")
        default:
            text += "!("
            print(inner, within: .lowest)
            text += ")"
        }
    }

    private mutating func printTest(_ filter: Filter, not: String) {
        switch filter {
        case .isTrue(let operand): print(operand)
        case .compare(let comparison, let left, let right): print(left, " \(comparison.rawValue) ", right)
        case .isIn(let left, let right): print(left, " \(not)in ", right)
        case .between(let operand, let low, let high):
            print(operand, " \(not)between ", low)
            text += " and "
            print(high)
        case .like(let operand, let pattern): print(operand, " \(not)like ", .literal(.string(pattern.string)))
        case .contains(let subject, let part): printCall("contains", subject, part)
        case .startsWith(let subject, let part): printCall("starts_with", subject, part)
        case .endsWith(let subject, let part): printCall("ends_with", subject, part)
        case .regex(let subject, let pattern): printCall("regex", subject, .literal(.string(pattern.string)))
        case .exists(let path): text += "exists(\(path))"
        case .isMissing(let path): text += "is_missing(\(path))"
        case .and, .or, .not: print(filter, within: .lowest)
        }
    }

    private mutating func print(_ left: Filter.Operand, _ between: String, _ right: Filter.Operand) {
        print(left)
        text += between
        print(right)
    }

    private mutating func printCall(_ name: String, _ left: Filter.Operand, _ right: Filter.Operand) {
        text += "\(name)("
        print(left, ", ", right)
        text += ")"
    }

    private mutating func print(_ operand: Filter.Operand) {
        switch operand {
        case .literal(let value): print(value)
        case .missing: text += "missing"
        case .path(let path): print(path)
        case .function(let function, let argument):
            text += "\(function.rawValue)("
            print(argument)
            text += ")"
        case .condition(let filter):
            switch filter {
            case .exists, .isMissing, .contains, .startsWith, .endsWith, .regex: printTest(filter, not: "")
            default:
                text += "("
                print(filter, within: .lowest)
                text += ")"
            }
        }
    }
}

// Paths and literals.
extension Printer {
    mutating func print(_ path: Filter.Path) {
        guard case .name(let first)? = path.steps.first else {
            text += "@"
            for step in path.steps { print(step) }
            return
        }
        printName(
            first.string, isPlain: isPlainName(first.string) && Keyword(rawValue: first.string.asciiLowercased) == nil)
        for step in path.steps.dropFirst() { print(step) }
    }

    private mutating func print(_ step: Filter.Step) {
        switch step {
        case .name(let name):
            text += "."
            printName(name.string, isPlain: isPlainName(name.string))
        case .index(let index): text += "[\(index)]"
        case .all: text += "[*]"
        case .filter(let filter):
            text += "[? "
            print(filter, within: .lowest)
            text += "]"
        }
    }

    private func isPlainName(_ name: String) -> Bool {
        guard let first = name.unicodeScalars.first, first.beginsName else { return false }
        return name.unicodeScalars.allSatisfy(\.continuesName)
    }

    private mutating func printName(_ name: String, isPlain: Bool) {
        if isPlain { text += name } else { printQuoted(name, by: "`") }
    }

    private mutating func print(_ value: Value) {
        switch value {
        case .null: text += "null"
        case .bool(let value): text += value ? "true" : "false"
        case .int(let value): text += "\(value)"
        case .float(let value): text += "\(value)"
        case .string(let value): printQuoted(value, by: "'")
        case .bytes(let bytes):
            let digits = Array("0123456789abcdef".unicodeScalars)
            text += "x'"
            for byte in bytes {
                text.unicodeScalars.append(digits[Int(byte >> 4)])
                text.unicodeScalars.append(digits[Int(byte & 15)])
            }
            text += "'"
        case .array(let elements):
            text += "["
            for (index, element) in elements.enumerated() {
                if index > 0 { text += ", " }
                print(element)
            }
            text += "]"
        case .object(let members): print(members)
        }
    }

    private mutating func print(_ members: [String: Value]) {
        text += "{"
        let sorted = members.sorted { $0.key.utf8.lexicographicallyPrecedes($1.key.utf8) }
        for (index, member) in sorted.enumerated() {
            if index > 0 { text += ", " }
            printQuoted(member.key, by: "'")
            text += ": "
            print(member.value)
        }
        text += "}"
    }

    private mutating func printQuoted(_ string: String, by quote: Unicode.Scalar) {
        text.unicodeScalars.append(quote)
        for scalar in string.unicodeScalars {
            switch scalar {
            case quote, "\\": text += "\\"; text.unicodeScalars.append(scalar)
            case "\n": text += "\\n"
            case "\r": text += "\\r"
            case "\t": text += "\\t"
            case _ where scalar.value < 0x20 || scalar.value == 0x7F:
                let hexadecimal = String(scalar.value, radix: 16)
                text += "\\u" + String(repeating: "0", count: 4 - hexadecimal.count) + hexadecimal
            default: text.unicodeScalars.append(scalar)
            }
        }
        text.unicodeScalars.append(quote)
    }
}
