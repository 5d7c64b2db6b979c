package import DocDBCore
package import DocDBQuery

/// What a secondary index covers: one or more paths, each ascending or descending.
///
/// At most one of the paths leads to several values, as `tags[*]` does; it gives the document one entry for each of them.
package struct IndexDefinition: Sendable {
    /// One path of an index and its direction.
    package struct Component: Equatable, Sendable {
        package let path: Filter.Path
        package let isDescending: Bool

        package init(path: Filter.Path, isDescending: Bool) {
            self.path = path
            self.isDescending = isDescending
        }
    }

    /// The most paths of one index.
    package static let pathCountLimit = 8
    /// The most indexes of one collection.
    package static let indexCountLimit = 64

    package let components: [Component]
    /// The canonical text, such as `state, price desc`: what `indexes.definition` holds.
    package let text: String
    /// The place of the component that may have several values, or nil where there is none.
    package let multiValuedComponent: Int?

    /// Creates a definition from its components.
    ///
    /// - Throws: `invalidIndex` where there are none or too many, where a path stands twice, is `_id` alone, begins with
    ///   no name or filters elements, or where more than one path leads to several values.
    package init(components: [Component]) throws(DocDBError) {
        guard !components.isEmpty, components.count <= Self.pathCountLimit else {
            throw DocDBError(
                .invalidIndex,
                "an index has 1 to \(Self.pathCountLimit) paths; name the ones that queries compare first")
        }
        var multiValued: Int?
        for (index, component) in components.enumerated() {
            try Self.check(component.path)
            guard !components[..<index].contains(where: { $0.path == component.path }) else {
                throw DocDBError(.invalidIndex, "a path stands twice in the index; name each path once")
            }
            guard component.path.isMultiValued else { continue }
            guard multiValued == nil else {
                throw DocDBError(
                    .invalidIndex, "only one path of an index may lead to several values; make two indexes of it")
            }
            multiValued = index
        }
        guard components.count > 1 || !components[0].path.isID else {
            throw DocDBError(.invalidIndex, "every collection has an index on _id already; leave this one out")
        }
        self.components = components
        multiValuedComponent = multiValued
        text = components.map { $0.path.description + ($0.isDescending ? " desc" : "") }.joined(separator: ", ")
    }

    private static func check(_ path: Filter.Path) throws(DocDBError) {
        guard case .name? = path.steps.first else {
            throw DocDBError(.invalidIndex, "the path of an index begins with a field's name")
        }
        for case .filter in path.steps {
            throw DocDBError(
                .invalidIndex, "the path of an index cannot filter elements; use [*] and filter in queries")
        }
    }

    /// Creates a definition from paths such as `price`, `price:desc` or `tags[*]`.
    ///
    /// - Throws: `invalidIndex` where one does not parse, or as `init(components:)` does.
    package init(paths: [String]) throws(DocDBError) {
        try self.init(components: paths.map { (text) throws(DocDBError) in try Component(text) })
    }

    /// Creates a definition from its canonical text.
    package init(text: String) throws(DocDBError) {
        try self.init(paths: Self.split(text))
    }

    /// The parts between the commas that stand in no quotes.
    private static func split(_ text: String) -> [String] {
        var parts: [String] = []
        var part = String.UnicodeScalarView()
        var quote: Unicode.Scalar?
        var isEscaped = false
        for scalar in text.unicodeScalars {
            if isEscaped {
                isEscaped = false
            } else if let open = quote {
                if scalar == "\\" { isEscaped = true } else if scalar == open { quote = nil }
            } else if scalar == "`" || scalar == "'" || scalar == "\"" {
                quote = scalar
            } else if scalar == "," {
                parts.append(String(part))
                part = .init()
                continue
            }
            part.append(scalar)
        }
        parts.append(String(part))
        return parts
    }
}

extension IndexDefinition: Hashable {
    package static func == (left: IndexDefinition, right: IndexDefinition) -> Bool {
        left.text.utf8.elementsEqual(right.text.utf8)
    }

    package func hash(into hasher: inout Hasher) {
        for byte in text.utf8 { hasher.combine(byte) }
    }
}

extension IndexDefinition: CustomStringConvertible {
    package var description: String { text }
}

extension IndexDefinition.Component {
    private static let directions: [(suffix: String, isDescending: Bool)] = [
        (":desc", true), (":asc", false), (" desc", true), (" asc", false),
    ]

    /// Parses a path with an optional direction after a colon or a space.
    init(_ text: String) throws(DocDBError) {
        var bytes = Array(text.utf8)
        Self.trim(&bytes)
        var isDescending = false
        for (suffix, isDown) in Self.directions {
            let end = bytes.suffix(suffix.utf8.count).map { (0x41...0x5A).contains($0) ? $0 | 0x20 : $0 }
            guard bytes.count > suffix.utf8.count, end.elementsEqual(suffix.utf8) else { continue }
            isDescending = isDown
            bytes.removeLast(suffix.utf8.count)
            Self.trim(&bytes)
            break
        }
        do throws(DocDBError) {
            let path = try Filter.Path.parse(String(decoding: bytes, as: UTF8.self))
            self.init(path: path, isDescending: isDescending)
        } catch {
            throw DocDBError(
                .invalidIndex,
                "a path of the index does not parse; write it as in a predicate, with ':desc' after it to sort downwards",
                context: error.context)
        }
    }

    private static func trim(_ bytes: inout [UInt8]) {
        while bytes.last == 0x20 { bytes.removeLast() }
        bytes.removeFirst(bytes.prefix { $0 == 0x20 }.count)
    }
}

extension Filter.Path {
    /// Tells whether the path is the document's `_id` itself.
    var isID: Bool { steps.count == 1 && beginsWithID }

    /// Tells whether the path is `_id` or leads into it.
    var beginsWithID: Bool {
        if case .name(let name)? = steps.first { name.string.utf8.elementsEqual("_id".utf8) } else { false }
    }
}
