package import DocDBCore
import DocDBQuery

/// One `--sort`: a path and a direction.
package struct SortTerm: Equatable, Sendable {
    package let path: String
    package let isDescending: Bool

    package init(path: String, isDescending: Bool) {
        self.path = path
        self.isDescending = isDescending
    }
}

/// Reads the arguments whose meaning goes beyond the table of rules.
package enum CommandArguments {
    /// The values that `--arg name=json` options give, by name.
    package static func predicateArguments(_ command: ParsedCommand) throws(UsageError) -> [String: Value] {
        var result: [String: Value] = [:]
        for text in command.values("arg") {
            guard let equals = text.firstIndex(of: "=") else {
                throw UsageError("--arg needs name=json, such as --arg top=9500", command: command.name)
            }
            var name = text[..<equals]
            if name.hasPrefix("$") { name.removeFirst() }
            guard isName(name) else {
                throw UsageError(
                    "--arg needs a name of letters, digits and _ before its =, such as --arg top=9500",
                    command: command.name)
            }
            guard result[String(name)] == nil else {
                throw UsageError("--arg \(name) is given twice", command: command.name)
            }
            do {
                result[String(name)] = try JSONText.value(of: String(text[text.index(after: equals)...]))
            } catch {
                throw UsageError(
                    "the value of --arg \(name) is no JSON; a string needs double quotes within the shell's: "
                        + "--arg '\(name)=\"text\"'", command: command.name)
            }
        }
        return result
    }

    private static func isName(_ text: Substring) -> Bool {
        guard let first = text.utf8.first, !(UInt8(ascii: "0")...UInt8(ascii: "9")).contains(first) else {
            return false
        }
        return text.utf8.allSatisfy { byte in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"):
                true
            default: false
            }
        }
    }

    /// The orders that `--sort path[:desc]` options ask for, the first the most significant.
    ///
    /// - Throws: `UsageError` where a path is missing, `DocDBError.invalidPath` where one cannot be sorted by.
    package static func sortTerms(_ command: ParsedCommand) throws -> [SortTerm] {
        var terms: [SortTerm] = []
        for text in command.values("sort") {
            let term: SortTerm
            if text.hasSuffix(":desc") {
                term = SortTerm(path: String(text.dropLast(5)), isDescending: true)
            } else if text.hasSuffix(":asc") {
                term = SortTerm(path: String(text.dropLast(4)), isDescending: false)
            } else {
                term = SortTerm(path: text, isDescending: false)
            }
            guard !term.path.isEmpty else {
                throw UsageError("--sort needs a path before its direction: --sort price:desc", command: command.name)
            }
            do {
                _ = try SortKey(term.path)
            } catch {
                throw namedAfter("the path of --sort", error)
            }
            terms.append(term)
        }
        return terms
    }

    /// The error of a path's parser, which speaks of predicates, as one that speaks of `subject`.
    private static func namedAfter(_ subject: String, _ error: DocDBError) -> DocDBError {
        guard error.code == .invalidPredicate else { return error }
        let message = error.message.replacing("the predicate does not parse", with: "\(subject) does not parse")
        return DocDBError(.invalidPath, message, context: error.context)
    }

    /// The ids that a typed ID may mean, the likeliest first: the JSON value it reads as, then the text itself.
    ///
    /// - Throws: `DocDBError.invalidDocumentID` where it can be no id at all.
    package static func documentIDs(_ text: String) throws -> [DocumentID] {
        guard let value = try? JSONText.value(of: text) else { return [try DocumentID(text)] }
        switch value {
        case .null, .float: return [try DocumentID(text)]
        case .string: return [try DocumentID(value)]
        default: return try [DocumentID(value), DocumentID(text)]
        }
    }
}
