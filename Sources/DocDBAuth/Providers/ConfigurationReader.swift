import DocDBCore

/// Reads one object of a configuration, and names what is wrong in it. Members that are not known are refused.
struct ConfigurationReader {
    /// Where the object stands, for errors.
    let place: String
    let members: [String: Value]

    init(_ value: Value, at place: String, known: [String]) throws(DocDBError) {
        self.place = place
        guard case .object(let members) = value else { throw Self.failure("\(place) is no object") }
        self.members = members
        let unknown = members.keys.filter { !known.contains($0) }.sorted()
        if let first = unknown.first {
            throw Self.failure("\(place) has the member '\(first)', which is none of \(known.joined(separator: ", "))")
        }
    }

    subscript(_ name: String) -> Value? { members[name] }

    func text(_ name: String) throws(DocDBError) -> String? {
        guard let value = members[name] else { return nil }
        guard case .string(let text) = value, !text.isEmpty else { throw failure(name, "is no text, or empty") }
        return text
    }

    func requiredText(_ name: String) throws(DocDBError) -> String {
        guard let text = try text(name) else { throw failure(name, "is missing") }
        return text
    }

    /// A text, or an array of one or more texts.
    func texts(_ name: String) throws(DocDBError) -> [String]? {
        guard let value = members[name] else { return nil }
        let elements: [Value] = if case .array(let elements) = value { elements } else { [value] }
        let texts = elements.compactMap(\.stringValue)
        guard !texts.isEmpty, texts.count == elements.count, !texts.contains(where: \.isEmpty) else {
            throw failure(name, "is neither a text nor an array of texts")
        }
        return texts
    }

    func number(_ name: String, in range: ClosedRange<Int64>) throws(DocDBError) -> Int64? {
        guard let value = members[name] else { return nil }
        guard let number = value.intValue, range.contains(number) else {
            throw failure(name, "is no whole number from \(range.lowerBound) to \(range.upperBound)")
        }
        return number
    }

    func claim(_ name: String) throws(DocDBError) -> ClaimPath? {
        try members[name].map { value throws(DocDBError) in
            try ClaimPath(configuration: value, at: "\(place).\(name)")
        }
    }

    func failure(_ name: String, _ problem: String) -> DocDBError { Self.failure("\(place).\(name) \(problem)") }

    static func failure(_ problem: String) -> DocDBError {
        DocDBError(.invalidConfiguration, "the configuration cannot be used: \(problem)")
    }
}
