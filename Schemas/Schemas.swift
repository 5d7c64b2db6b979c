/// The schema texts of the store, read from the files beside this one at build time.
package enum StoreSchema {
    /// The SQL that creates the tables every store of version 1 has.
    package static var version1: String { String(decoding: PackageResources.store_sql, as: UTF8.self) }

    /// The SQL that creates the table of one collection; `{N}` stands for its number.
    package static var collection: String { String(decoding: PackageResources.collection_sql, as: UTF8.self) }

    /// The SQL that creates the table of one secondary index; `{N}` stands for its number.
    package static var index: String { String(decoding: PackageResources.index_sql, as: UTF8.self) }
}
