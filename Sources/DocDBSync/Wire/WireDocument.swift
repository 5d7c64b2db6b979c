import DocDBCore

/// The first bytes of what a documents' content holds, and checks of what it tells; see Schemas/sync-documents.md.
enum WireDocument {
    /// Set in the first byte of all that is no document.
    static let isDefinition: UInt8 = 0x80
    static let beginsAnew: UInt8 = 0x80
    static let definesName: UInt8 = 0x81
    static let definesActor: UInt8 = 0x82
    static let definesCollection: UInt8 = 0x83

    static let kindMask: UInt8 = 7
    static let contentShift: UInt8 = 3
    static let nameShift: UInt8 = 5

    enum ContentForm {
        static let none: UInt8 = 0
        static let whole: UInt8 = 1
        static let delta: UInt8 = 2
        static let dead: UInt8 = 3
    }

    enum NameForm {
        static let full: UInt8 = 0
        static let newSlot: UInt8 = 1
        static let slot: UInt8 = 2
    }

    static func malformed(_ error: CBORError) -> DocDBError {
        DocDBError(
            .protocolError,
            "a peer sent documents that are not what the protocol says (\(error)); update the older of the two sides")
    }

    static func damaged(_ error: CBORError) -> DocDBError {
        DocDBError(
            .corrupted, "a stored document is damaged (\(error)); restore the store from a backup or a peer")
    }

    static func newestTime(of vector: VersionVector) -> HybridTime {
        var newest = HybridTime.zero
        for element in vector.elements where element.time > newest { newest = element.time }
        return newest
    }

    /// Tells whether `seen` covers every entry, as it must in any state, and the vectors are within their limit.
    static func isSound(_ state: DocumentState) -> Bool {
        guard state.seen.elements.count <= SyncLimits.vectorActorCount,
            state.deleted.elements.count <= SyncLimits.vectorActorCount
        else { return false }
        for entry in state.assignments where !state.seen.covers(entry.stamp.actor, entry.stamp.time) { return false }
        for tally in state.tallies where !state.seen.covers(tally.actor, tally.time) { return false }
        for entry in state.unknowns where !state.seen.covers(entry.actor, entry.time) { return false }
        return true
    }
}
