import DocDB
import DocDBCore

extension SimulatedPeer {
    /// Makes a backup through the database, which must be open.
    public func backUp() throws -> DiskSnapshot {
        let place = "/backup.docdb"
        try db.backup(to: place)
        defer { disk.remove(place) }
        return disk.snapshot(of: place)
    }

    /// Copies the database's directory as it stands, as an app that copies files does.
    public func copyDirectory() -> DiskSnapshot { disk.snapshot(of: path) }

    /// Puts a copy in the place of the database, which must not be open.
    ///
    /// - Parameters:
    ///   - copy: a backup or a copied directory, of this peer or another.
    ///   - keepsIdentity: whether the files stay those they were, as when a whole volume is rolled back, which no database
    ///     can notice.
    public func restore(_ copy: DiskSnapshot, keepsIdentity: Bool = false) throws {
        guard !isRunning else { throw DocDBError(.misuse, "\(name) runs; stop it before its database is replaced") }
        disk.remove(path)
        disk.restore(copy, to: path, keepsIdentity: keepsIdentity)
        simulation.auditor.noteLoss(self)
    }
}
