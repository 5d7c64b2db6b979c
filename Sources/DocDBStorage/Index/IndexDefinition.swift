package import DocDBCore

/// What a secondary index covers: one or more paths, each ascending or descending.
package struct IndexDefinition: Hashable, Sendable {
    /// The canonical text, such as `state, price desc`: what `indexes.definition` holds.
    package let text: String

    package init(text: String) throws(DocDBError) {
        self.text = text
    }
}
