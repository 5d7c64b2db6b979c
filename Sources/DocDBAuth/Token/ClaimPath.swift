package import DocDBCore

/// Where a claim stands: a name at the top of a token, or names through nested objects.
///
/// A single name is taken as it is, points and slashes included, so that names that are URLs need no escapes.
package struct ClaimPath: Hashable, Sendable, CustomStringConvertible, ExpressibleByStringLiteral {
    package let names: [String]

    package init(_ names: [String]) { self.names = names }
    package init(stringLiteral name: String) { names = [name] }

    /// Reads a path from a configuration: a text is one name, an array of texts the way through nested objects.
    package init(configuration value: Value, at place: String) throws(DocDBError) {
        let elements: [Value] = if case .array(let elements) = value { elements } else { [value] }
        let names = elements.compactMap(\.stringValue)
        guard (1...16).contains(names.count), names.count == elements.count, !names.contains(where: \.isEmpty) else {
            throw DocDBError(
                .invalidConfiguration,
                "\(place) names a claim: write its name as a text, or the names through nested objects as an array")
        }
        self.names = names
    }

    /// The claim's value, or nil where it is absent.
    package func value(in claims: [String: Value]) -> Value? {
        var current = Value.object(claims)
        for name in names {
            guard let next = current[name] else { return nil }
            current = next
        }
        return current
    }

    package var description: String { names.joined(separator: ".") }
}
