import DocDBQuery
import DocDBStorage

/// What a secondary index covers: one or more paths, in the order that they are compared in.
public struct IndexDefinition: Hashable, Sendable, CustomStringConvertible {
    /// The paths in canonical form, those that descend with the suffix `:desc`: what ``Collection/createIndex(_:)`` and
    /// ``Collection/dropIndex(_:)`` take.
    public let paths: [String]
    /// The definition in a line, such as `state, price desc`.
    public let description: String

    init(_ definition: DocDBStorage.IndexDefinition) {
        paths = definition.components.map { $0.path.description + ($0.isDescending ? ":desc" : "") }
        description = definition.text
    }
}
