import DocDBCore
import DocDBStorage
import Schemas

// What users have brought, in tables that are made when they are first needed: stores of older versions of the code pass them over.
extension StoreReplicaReader {
    package func usage(of user: String) throws -> UserUsage {
        guard try context.connection.integer("SELECT 1 FROM sqlite_master WHERE name = 'users'") != nil else {
            return UserUsage()
        }
        let rows = try statements[.usage]
        rows.bind(1, copying: Array(user.utf8))
        defer { rows.reset() }
        guard try rows.step() else { return UserUsage() }
        return UserUsage(actorCount: Int(rows.int(0)), fieldNameCount: Int(rows.int(1)))
    }
}

extension StoreReplicaWriter {
    private func makeUserTables() throws { try context.connection.execute(StoreSchema.users) }

    package func setUsage(_ usage: UserUsage, of user: String) throws {
        try makeUserTables()
        let set = try statements[.setUsage]
        set.bind(1, copying: Array(user.utf8))
        set.bind(2, Int64(usage.actorCount))
        set.bind(3, Int64(usage.fieldNameCount))
        try set.run()
    }

    package func setUser(_ user: String, ofPeer peer: Int64) throws {
        try makeUserTables()
        let set = try statements[.setUser]
        set.bind(1, peer)
        set.bind(2, copying: Array(user.utf8))
        try set.run()
    }

    package func quarantineTotal(user: String) throws -> (count: Int, byteCount: Int) {
        try makeUserTables()
        let total = try statements[.quarantineTotalOfUser]
        total.bind(1, copying: Array(user.utf8))
        defer { total.reset() }
        guard try total.step() else { return (0, 0) }
        return (Int(total.int(0)), Int(total.int(1)))
    }
}
