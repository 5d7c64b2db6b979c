import Testing

/// Changes a schema in one place after another, to see that what was encoded depends on every one.
enum SchemaMutations {
    /// The schema with each of its types and numbers in turn replaced by what nothing matches.
    ///
    /// Left alone are rules' names, labels, the room for elements to come (`* any`), and what `spared` names.
    static func all(of text: String, sparing spared: Set<String> = []) throws -> [(place: String, text: String)] {
        let tokens = try SchemaParser.tokens(of: text)
        var results: [(String, String)] = []
        for index in tokens.indices {
            let (token, before, after) = (
                tokens[index], index > 0 ? tokens[index - 1] : "", tokens.suffix(from: index + 1).first
            )
            let isWord = token.first.map { $0.isLetter || $0.isNumber || $0 == "\"" } ?? false
            guard isWord, !spared.contains(token), after != "=", after != ":", before != ".size", before != "..",
                after != "..", !(before == "*" && token == "any"), !isSize(tokens, index)
            else { continue }
            var changed = tokens
            changed[index] = "never"
            let context = tokens[max(0, index - 6)...min(tokens.count - 1, index + 3)].joined(separator: " ")
            results.append(("'\(token)' in '\(context)'", changed.joined(separator: " ")))
        }
        return results
    }

    private static func isSize(_ tokens: [String], _ index: Int) -> Bool {
        index >= 2 && tokens[index - 1] == "(" && tokens[index - 2] == ".size"
    }
}
