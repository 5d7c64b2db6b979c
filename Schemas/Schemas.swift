/// The schema texts of the store, read from the files beside this one at build time.
package enum StoreSchema {
    /// The SQL that creates the tables every store has had since version 1.
    package static var version1: String { String(decoding: PackageResources.store_sql, as: UTF8.self) }

    /// The SQL that creates what version 2 added: the tables of replication.
    package static var replication: String { String(decoding: PackageResources.replication_sql, as: UTF8.self) }

    /// The SQL that creates what version 3 added: changes that a hub has refused.
    package static var voided: String { String(decoding: PackageResources.voided_sql, as: UTF8.self) }

    /// The SQL that creates, where they are missing, the tables of what users have brought.
    package static var users: String { String(decoding: PackageResources.users_sql, as: UTF8.self) }

    /// The SQL that creates the table of one collection; `{N}` stands for its number.
    package static var collection: String { String(decoding: PackageResources.collection_sql, as: UTF8.self) }

    /// The SQL that creates the table of one secondary index; `{N}` stands for its number.
    package static var index: String { String(decoding: PackageResources.index_sql, as: UTF8.self) }
}
