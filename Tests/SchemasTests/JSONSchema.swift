import Foundation

/// Judges values by a JSON Schema: the keywords of draft 2020-12 that `permissions.schema.json` uses.
struct JSONSchema {
    /// Keywords that describe and do not judge.
    private static let annotations: Set<String> = ["$schema", "title", "description", "examples", "$defs"]
    private let root: DataItem

    struct Unknown: Error {
        var keyword: String
    }

    init(_ text: String) throws { root = try DataItem(json: [UInt8](text.utf8)) }

    var examples: [DataItem] { if case .array(let examples) = root["examples"] { examples } else { [] } }

    func accepts(_ item: DataItem) throws -> Bool { try accepts(item, root) }

    private func accepts(_ item: DataItem, _ schema: DataItem) throws -> Bool {
        guard case .map(let keywords) = schema else { throw Unknown(keyword: "no schema") }
        return try keywords.allSatisfy { keyword in
            guard let name = keyword.key.text, !Self.annotations.contains(name) else { return true }
            return try judges(name, keyword.value, item, schema)
        }
    }

    private func judges(_ keyword: String, _ value: DataItem, _ item: DataItem, _ schema: DataItem) throws -> Bool {
        switch keyword {
        case "type": return Self.type(of: item) == value.text
        case "$ref":
            let names = (value.text ?? "").split(separator: "/").dropFirst()
            guard let target = names.reduce(root as DataItem?, { $0?[String($1)] }) else {
                throw Unknown(keyword: "$ref")
            }
            return try accepts(item, target)
        case "const": return item == value
        case "properties", "required", "propertyNames", "additionalProperties", "maxProperties":
            guard case .map(let members) = item else { return true }
            return try judgesMembers(keyword, value, members, schema)
        case "items":
            guard case .array(let elements) = item else { return true }
            return try elements.allSatisfy { try accepts($0, value) }
        case "minLength", "maxLength", "pattern":
            guard case .text(let text) = item else { return true }
            return try judgesText(keyword, value, text)
        case "if": return try !accepts(item, value) || schema["then"].map { try accepts(item, $0) } ?? true
        case "then": return true
        default: throw Unknown(keyword: keyword)
        }
    }

    private func judgesMembers(
        _ keyword: String, _ value: DataItem, _ members: [DataItem.Member], _ schema: DataItem
    ) throws -> Bool {
        switch (keyword, value) {
        case ("properties", _):
            return try members.allSatisfy { member in
                try value[member.key.text ?? ""].map { try accepts(member.value, $0) } ?? true
            }
        case ("required", .array(let names)): return names.allSatisfy { name in members.contains { $0.key == name } }
        case ("propertyNames", _): return try members.allSatisfy { try accepts($0.key, value) }
        case ("additionalProperties", _):
            return try members.allSatisfy { member in
                try schema["properties"]?[member.key.text ?? ""] != nil || accepts(member.value, value)
            }
        case ("maxProperties", .unsigned(let count)): return members.count <= Int(count)
        default: throw Unknown(keyword: keyword)
        }
    }

    private func judgesText(_ keyword: String, _ value: DataItem, _ text: String) throws -> Bool {
        switch (keyword, value) {
        // Lengths count characters of Unicode.
        case ("minLength", .unsigned(let count)): return text.unicodeScalars.count >= Int(count)
        case ("maxLength", .unsigned(let count)): return text.unicodeScalars.count <= Int(count)
        case ("pattern", .text(let pattern)):
            let expression = try NSRegularExpression(pattern: pattern)
            return expression.firstMatch(in: text, range: NSRange(text.startIndex..., in: text)) != nil
        default: throw Unknown(keyword: keyword)
        }
    }

    private static func type(of item: DataItem) -> String {
        switch item {
        case .map: "object"
        case .array: "array"
        case .text: "string"
        case .bool: "boolean"
        case .null: "null"
        default: "number"
        }
    }
}
