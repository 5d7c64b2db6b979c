import DocDBCore

extension StoreVerifier {
    /// Checks every index of a collection against its documents.
    func checkIndexes(_ info: CollectionInfo) throws {
    }
}
