package import DocDBCore
import Schemas

extension WriteTransaction {
    /// Adds an index to a collection and fills it from the documents there are; a new collection is created.
    ///
    /// - Returns: whether it was added; false where the collection has it already.
    /// - Throws: `invalidIndex` where the collection has the most indexes it may have; `corrupted` where a document cannot
    ///   be read.
    /// - Complexity: O(n log n) in the number of documents; memory is bounded.
    @discardableResult
    package func createIndex(_ definition: IndexDefinition, collection name: String) throws(DocDBError) -> Bool {
        try checkIsUsable()
        try Catalog.validate(collectionName: name)
        let known = context.catalog[name]?.indexes ?? []
        if known.contains(where: { $0.definition == definition }) { return false }
        guard known.count < IndexDefinition.indexCountLimit else {
            throw DocDBError(
                .invalidIndex,
                "the collection has \(IndexDefinition.indexCountLimit) indexes, the most there may be; drop one first")
        }
        try writing { () throws(DocDBError) in
            guard let info = try writer.collection(name, creating: true)?.info else { return }
            let index = try addIndex(definition, to: info)
            var filler = try IndexFiller(index, connection: writer.connection, names: writer.names)
            try filler.fill(from: info, writer.connection)
            writer.setCatalog(changing: info.number) { $0[name]?.indexes.append(index) }
        }
        return true
    }

    private func addIndex(_ definition: IndexDefinition, to info: CollectionInfo) throws(DocDBError) -> IndexInfo {
        let connection = writer.connection
        let insert = try connection.prepare("INSERT INTO indexes (collection, definition) VALUES (?, ?)")
        insert.bind(1, info.number)
        insert.bind(2, definition.text)
        try insert.run()
        guard let number = try connection.integer("SELECT last_insert_rowid()") else {
            throw DocDBError(.storageFailed, "the new index has no number; check the disk and try again")
        }
        try connection.execute(StoreSchema.index.replacingNumber(number))
        return IndexInfo(number: number, definition: definition)
    }

    /// Removes an index from a collection.
    ///
    /// Readers that begin from now on do without it, also before the transaction commits.
    ///
    /// - Throws: `invalidIndex` where the collection has no index with this definition.
    package func dropIndex(_ definition: IndexDefinition, collection name: String) throws(DocDBError) {
        try checkIsUsable()
        guard let info = context.catalog[name],
            let index = info.indexes.first(where: { $0.definition == definition })
        else {
            throw DocDBError(
                .invalidIndex, "the collection has no such index; list its indexes for the exact paths and directions",
                context: ["index": definition.text])
        }
        try writing { () throws(DocDBError) in
            writer.readers.withdraw(index: index.number, collection: name)
            writer.setCatalog(changing: info.number) { $0[name]?.indexes.removeAll { $0.number == index.number } }
            writer.context.invalidate()
            let delete = try writer.connection.prepare("DELETE FROM indexes WHERE number = ?")
            delete.bind(1, index.number)
            try delete.run()
            try writer.connection.execute("DROP TABLE index_\(index.number)")
        }
    }

    /// The indexes of a collection, oldest first; none where there is no such collection.
    package func indexes(collection name: String) -> [IndexDefinition] {
        context.catalog[name]?.indexes.map(\.definition) ?? []
    }
}
