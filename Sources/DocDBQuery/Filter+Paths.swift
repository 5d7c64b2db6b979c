package import DocDBCore

extension Filter {
    /// The fields that the filter tests, each once, in order of first mention; without fields below others of them.
    ///
    /// A path through an array ends at the array, since arrays are atomic; `_id` stands for the document's id.
    ///
    /// - Complexity: O(size of the filter + paths²).
    package var paths: [FieldPath] {
        var found: [FieldPath] = []
        collectPaths(&found)
        return found.enumerated().filter { index, path in
            !found.enumerated().contains { other, candidate in
                other != index && candidate.components.count <= path.components.count
                    && FieldPath(unchecked: Array(path.components.prefix(candidate.components.count))) == candidate
                    && (candidate != path || other < index)
            }
        }.map(\.element)
    }

    private func collectPaths(_ found: inout [FieldPath]) {
        switch self {
        case .and(let parts), .or(let parts): for part in parts { part.collectPaths(&found) }
        case .not(let inner): inner.collectPaths(&found)
        case .isTrue(let operand): operand.collectPaths(&found)
        case .compare(_, let left, let right), .isIn(let left, let right), .startsWith(let left, let right),
            .endsWith(let left, let right), .contains(let left, let right):
            left.collectPaths(&found)
            right.collectPaths(&found)
        case .between(let value, let low, let high):
            for operand in [value, low, high] { operand.collectPaths(&found) }
        case .like(let operand, _), .regex(let operand, _): operand.collectPaths(&found)
        case .exists(let path), .isMissing(let path): path.collect(&found)
        }
    }
}

extension Filter.Operand {
    fileprivate func collectPaths(_ found: inout [FieldPath]) {
        switch self {
        case .literal, .missing: break
        case .path(let path): path.collect(&found)
        case .function(_, let operand): operand.collectPaths(&found)
        case .condition(let filter): filter.collectPaths(&found)
        }
    }
}

extension Filter.Path {
    /// Adds the names up to the first step into an array. Conditions on elements begin at the element: they are covered.
    fileprivate func collect(_ found: inout [FieldPath]) {
        var names: [String] = []
        for step in steps {
            guard case .name(let name) = step else { break }
            names.append(name.string)
        }
        guard !names.isEmpty else { return }
        let path = FieldPath(unchecked: names)
        if !found.contains(path) { found.append(path) }
    }
}

extension Filter {
    /// The arguments that a predicate's text names, in order: the names of each `$name.member`, without `args`.
    ///
    /// - Throws: `DocDBError.invalidPredicate` where the text has no tokens of the language.
    package static func argumentNames(in text: String) throws(DocDBError) -> [[String]] {
        guard text.utf8.count <= QueryLimits.textByteCount else {
            throw DocDBError(
                .invalidPredicate, "the predicate is longer than \(QueryLimits.textByteCount) bytes; shorten it")
        }
        var lexer = Lexer(text)
        var names: [[String]] = []
        while true {
            switch try lexer.next().kind {
            case .end: return names
            case .argument(let path): names.append(path.count > 1 && path[0] == "args" ? Array(path.dropFirst()) : path)
            default: continue
            }
        }
    }
}
