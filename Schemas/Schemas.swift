/// The schema texts of the store, read from the files beside this one at build time.
package enum StoreSchema {
    /// The SQL that creates a store of version 1.
    package static var version1: String { String(decoding: PackageResources.store_sql, as: UTF8.self) }
}
