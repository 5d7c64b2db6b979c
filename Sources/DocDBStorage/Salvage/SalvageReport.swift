package import DocDBCore

/// What a salvage found and what it could not.
package struct SalvageReport: Sendable {
    /// One collection of the new store.
    package struct Collection: Sendable {
        package var name: String
        package var documentCount: Int64 = 0
        /// Deleted documents, of which the version vector is kept.
        package var tombstoneCount: Int64 = 0
        package var lostCount: Int64 = 0
        /// The ids of documents that are lost, as far as they are known and not too many to list.
        package var lostIDs: [DocumentID] = []
        /// Whether an unknown number of documents may be missing.
        package var mayMissMore = false
    }

    package internal(set) var collections: [Collection] = []
    /// What is lost or may be, beside documents.
    package internal(set) var losses: [String] = []
    /// What else there is to know.
    package internal(set) var remarks: [String] = []

    /// Whether all that the store held of documents and indexes is in the new one.
    package var isLossless: Bool {
        losses.isEmpty && collections.allSatisfy { $0.lostCount == 0 && !$0.mayMissMore }
    }

    /// The most lost ids that are listed of one collection.
    static let listedIDLimit = 1_000
}
