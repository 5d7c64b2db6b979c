package import DocDBCore

/// What collections and indexes a store has, at one moment.
package struct Catalog: Sendable {
    private var collections: [CollectionName: CollectionInfo] = [:]

    package init() {}

    /// The collections' names, in the order of their bytes.
    package var names: [String] {
        collections.keys.map(\.text).sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
    }

    package subscript(name: String) -> CollectionInfo? {
        get { collections[CollectionName(name)] }
        set { collections[CollectionName(name)] = newValue }
    }

    /// The collection with this number, or nil where there is none.
    package func collection(number: Int64) -> CollectionInfo? {
        collections.values.first { $0.number == number }
    }

    init(reading connection: SQLiteConnection) throws(DocDBError) {
        let rows = try connection.prepare("SELECT number, name FROM collections")
        defer { rows.reset() }
        var names: [Int64: String] = [:]
        while try rows.step() {
            let info = CollectionInfo(number: rows.int(0), name: rows.text(1))
            guard 1...Int64(Int32.max) ~= info.number else {
                throw DocDBError(.corrupted, "the table of collections is damaged; restore a backup of the store")
            }
            self[info.name] = info
            names[info.number] = info.name
        }
        let indexes = try connection.prepare("SELECT number, collection, definition FROM indexes ORDER BY number")
        defer { indexes.reset() }
        while try indexes.step() {
            guard let name = names[indexes.int(1)] else { continue }
            let definition = try IndexDefinition(text: indexes.text(2))
            self[name]?.indexes.append(IndexInfo(number: indexes.int(0), definition: definition))
        }
    }

    /// Checks a collection's name: 1 to 128 bytes, not beginning with two underscores.
    package static func validate(collectionName name: String) throws(DocDBError) {
        guard !name.isEmpty, name.utf8.count <= Limits.collectionNameByteCount, !name.utf8.starts(with: "__".utf8),
            !name.utf8.contains(0)
        else {
            throw DocDBError(
                .invalidCollectionName,
                "a collection's name has 1 to \(Limits.collectionNameByteCount) bytes, no NUL, and does not begin with '__'; choose another"
            )
        }
    }
}

/// The name of a collection as a key: two names are one only where their bytes are, as in the database.
///
/// A plain `String` would take names that differ in Unicode normalisation for the same.
package struct CollectionName: Hashable, Sendable, ExpressibleByStringLiteral {
    package let text: String

    package init(_ text: String) { self.text = text }
    package init(stringLiteral text: String) { self.text = text }

    package static func == (left: CollectionName, right: CollectionName) -> Bool {
        var (left, right) = (left.text, right.text)
        return left.withUTF8 { left in
            right.withUTF8 { right in
                guard left.count == right.count else { return false }
                for index in left.indices where left[index] != right[index] { return false }
                return true
            }
        }
    }

    package func hash(into hasher: inout Hasher) {
        var text = text
        text.withUTF8 { hasher.combine(bytes: UnsafeRawBufferPointer($0)) }
    }
}

/// One collection: its number, which names its table, and its indexes.
package struct CollectionInfo: Sendable {
    package let number: Int64
    package let name: String
    package var indexes: [IndexInfo] = []
}

/// One secondary index: its number, which names its table, and what it covers.
package struct IndexInfo: Sendable {
    package let number: Int64
    package let definition: IndexDefinition
}
