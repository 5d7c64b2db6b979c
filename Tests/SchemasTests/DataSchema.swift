/// A schema in the part of CDDL (RFC 8610) that the files of `Schemas` use.
struct DataSchema {
    indirect enum Shape {
        case any
        case never
        case unsigned, int, bytes, text, bool, null, float
        case truth(Bool)
        case number(Int64)
        case literal(String)
        case range(Int64, Int64)
        case sized(Shape, ClosedRange<Int>)
        case tag(UInt64, Shape)
        case array([Entry])
        case map([Entry])
        case choice([Shape])
        case rule(String)
    }

    /// An entry of an array or map: a shape under a key, or several in a row, so many times.
    struct Entry {
        enum Content {
            case one(key: Shape?, Shape)
            case group([Entry])
        }

        var content: Content
        var count: ClosedRange<Int>
    }

    var rules: [String: Shape] = [:]

    struct Failure: Error, CustomStringConvertible {
        var description: String
    }

    init(_ text: String) throws {
        var parser = try SchemaParser(text)
        rules = try parser.rules()
        for name in parser.mentioned where rules[name] == nil {
            throw Failure(description: "the schema has no rule '\(name)'")
        }
    }

    /// Tells whether a value is what a rule describes.
    func describes(_ item: DataItem, as name: String) -> Bool { rules[name].map { matches(item, $0) } ?? false }

    private func matches(_ item: DataItem, _ shape: Shape) -> Bool {
        switch (shape, item) {
        case (.any, _), (.unsigned, .unsigned), (.int, .unsigned), (.int, .negative), (.bytes, .bytes), (.text, .text),
            (.bool, .bool), (.null, .null), (.float, .float):
            true
        case (.truth(let wanted), .bool(let found)): wanted == found
        case (.number(let wanted), _): Self.integer(item) == wanted
        case (.literal(let wanted), .text(let text)): wanted == text
        case (.range(let low, let high), _): Self.integer(item).map { (low...high).contains($0) } ?? false
        case (.sized(let shape, let sizes), .bytes(let bytes)): sizes.contains(bytes.count) && matches(item, shape)
        case (.sized(let shape, let sizes), .text(let text)): sizes.contains(text.utf8.count) && matches(item, shape)
        case (.tag(let number, let shape), .tag(let found, let content)): number == found && matches(content, shape)
        case (.array(let entries), .array(let items)): matchesRow(items[...], entries[...])
        case (.map(let entries), .map(let members)): matchesMap(members, entries)
        case (.choice(let shapes), _): shapes.contains { matches(item, $0) }
        case (.rule(let name), _): rules[name].map { matches(item, $0) } ?? false
        default: false
        }
    }

    private static func integer(_ item: DataItem) -> Int64? {
        switch item {
        case .unsigned(let value): Int64(exactly: value)
        case .negative(let value): Int64(exactly: value).map { -1 - $0 }
        default: nil
        }
    }

    private func matchesRow(_ items: ArraySlice<DataItem>, _ entries: ArraySlice<Entry>) -> Bool {
        guard let entry = entries.first else { return items.isEmpty }
        // As often as there may be, then less often.
        var ends = [items.startIndex]
        while ends.count <= entry.count.upperBound, let end = end(of: entry, items[ends[ends.count - 1]...]),
            end > ends[ends.count - 1]
        {
            ends.append(end)
        }
        for count in ends.indices.reversed() where entry.count.contains(count) {
            if matchesRow(items[ends[count]...], entries.dropFirst()) { return true }
        }
        return false
    }

    /// Where an entry ends that begins a row once, or nil where it does not.
    private func end(of entry: Entry, _ items: ArraySlice<DataItem>) -> Int? {
        switch entry.content {
        case .one(_, let shape):
            guard let first = items.first, matches(first, shape) else { return nil }
            return items.startIndex + 1
        case .group(let entries):
            var place = items.startIndex
            for entry in entries {
                guard let end = end(of: entry, items[place...]) else { return nil }
                place = end
            }
            return place
        }
    }

    private func matchesMap(_ members: [DataItem.Member], _ entries: [Entry]) -> Bool {
        var counts = [Int](repeating: 0, count: entries.count)
        for member in members {
            // The first entry whose key fits is the member's; no entry of ours gives way to another.
            let found = entries.firstIndex { entry in
                if case .one(let key?, _) = entry.content { matches(member.key, key) } else { false }
            }
            guard let found, case .one(_, let shape) = entries[found].content, matches(member.value, shape) else {
                return false
            }
            counts[found] += 1
        }
        return zip(entries, counts).allSatisfy { $0.count.contains($1) }
    }
}

/// Reads the text of a schema.
struct SchemaParser {
    private let tokens: [String]
    private var place = 0
    /// The names of rules that others use.
    private(set) var mentioned: Set<String> = []

    init(_ text: String) throws {
        tokens = try Self.tokens(of: text)
    }

    /// The words and signs of a schema, without its comments.
    static func tokens(of text: String) throws -> [String] {
        var tokens: [String] = []
        for line in text.split(separator: "\n") {
            let code = line.prefix { $0 != ";" }
            for match in code.matches(of: /"[^"]*"|#6\.\d+|\.\.|\.size|=>|-?[A-Za-z0-9_][A-Za-z0-9_-]*|[^\s]/) {
                tokens.append(String(match.output))
            }
        }
        return tokens
    }

    private func peek(_ distance: Int = 0) -> String? {
        tokens.indices.contains(place + distance) ? tokens[place + distance] : nil
    }

    private mutating func next() throws -> String {
        guard let token = peek() else { throw DataSchema.Failure(description: "the schema ends early") }
        place += 1
        return token
    }

    private mutating func expect(_ token: String) throws {
        let found = try next()
        guard found == token else {
            throw DataSchema.Failure(description: "the schema has '\(found)' for '\(token)'")
        }
    }

    mutating func rules() throws -> [String: DataSchema.Shape] {
        var rules: [String: DataSchema.Shape] = [:]
        while peek() != nil {
            let name = try next()
            try expect("=")
            guard rules.updateValue(try choice(), forKey: name) == nil else {
                throw DataSchema.Failure(description: "the schema has two rules '\(name)'")
            }
        }
        return rules
    }

    private mutating func choice() throws -> DataSchema.Shape {
        var shapes = [try shape()]
        while peek() == "/" {
            place += 1
            shapes.append(try shape())
        }
        return shapes.count == 1 ? shapes[0] : .choice(shapes)
    }

    private mutating func shape() throws -> DataSchema.Shape {
        let shape = try simpleShape()
        switch peek() {
        case ".size":
            place += 1
            return .sized(shape, try sizes())
        case "..":
            place += 1
            guard case .number(let low) = shape, let high = Int64(try next()) else {
                throw DataSchema.Failure(description: "a range is between two numbers")
            }
            return .range(low, high)
        default: return shape
        }
    }

    private mutating func sizes() throws -> ClosedRange<Int> {
        func number(_ token: String) throws -> Int {
            guard let number = Int(token) else { throw DataSchema.Failure(description: "'\(token)' is no size") }
            return number
        }
        guard peek() == "(" else {
            let size = try number(next())
            return size...size
        }
        place += 1
        let low = try number(next())
        try expect("..")
        let high = try number(next())
        try expect(")")
        return low...high
    }

    private mutating func simpleShape() throws -> DataSchema.Shape {
        let token = try next()
        switch token {
        case "any": return .any
        case "never": return .never
        case "uint": return .unsigned
        case "int": return .int
        case "bytes": return .bytes
        case "text": return .text
        case "bool": return .bool
        case "null": return .null
        case "float": return .float
        case "true", "false": return .truth(token == "true")
        case "[": return .array(try entries(until: "]"))
        case "{": return .map(try entries(until: "}"))
        case "(":
            let shape = try choice()
            try expect(")")
            return shape
        default: return try named(token)
        }
    }

    private mutating func named(_ token: String) throws -> DataSchema.Shape {
        if token.hasPrefix("\"") { return .literal(String(token.dropFirst().dropLast())) }
        if token.hasPrefix("#6."), let number = UInt64(token.dropFirst(3)) {
            try expect("(")
            let content = try choice()
            try expect(")")
            return .tag(number, content)
        }
        if let number = Int64(token) { return .number(number) }
        guard token.first?.isLetter == true else {
            throw DataSchema.Failure(description: "'\(token)' is no type")
        }
        mentioned.insert(token)
        return .rule(token)
    }

    private mutating func entries(until end: String) throws -> [DataSchema.Entry] {
        var entries: [DataSchema.Entry] = []
        while peek() != end {
            entries.append(try entry())
            if peek() == "," { place += 1 }
        }
        place += 1
        return entries
    }

    private mutating func entry() throws -> DataSchema.Entry {
        var count = 1...1
        switch peek() {
        case "*": (count, place) = (0...Int.max - 1, place + 1)
        case "?": (count, place) = (0...1, place + 1)
        case "+": (count, place) = (1...Int.max - 1, place + 1)
        default: break
        }
        if peek() == "(" {
            place += 1
            return DataSchema.Entry(content: .group(try entries(until: ")")), count: count)
        }
        // A name before a colon is a label in an array, and a key of text in a map.
        if peek(1) == ":" {
            let name = try next()
            place += 1
            let key = DataSchema.Shape.literal(name.trimmingCharacters { $0 == "\"" })
            return DataSchema.Entry(content: .one(key: key, try choice()), count: count)
        }
        let first = try choice()
        guard peek() == "=>" else { return DataSchema.Entry(content: .one(key: nil, first), count: count) }
        place += 1
        return DataSchema.Entry(content: .one(key: first, try choice()), count: count)
    }
}

extension String {
    fileprivate func trimmingCharacters(_ isTrimmed: (Character) -> Bool) -> String {
        String(drop(while: isTrimmed).reversed().drop(while: isTrimmed).reversed())
    }
}
