import DocDBStorage

/// What writing a whole document does where there is one with its id.
public enum UpsertStrategy: Sendable, CaseIterable {
    /// Writes the fields that differ from the document, and keeps those that are not given.
    ///
    /// A field that is as the document has it makes no change at all. So writing back a whole struct of which one property
    /// was changed writes that one field, and changes that other replicas make to the others at the same time stay.
    case merge
    /// Replaces the whole document: fields that are not given are gone.
    case replace
    /// Throws `documentExists`.
    case insert
    /// Does nothing.
    case insertIfAbsent
    /// Does nothing; where there is no document, writes one that every real write replaces, whatever the times.
    ///
    /// For defaults that each replica may write on its own without overwriting what a user has set on another. A
    /// document that was deleted stays so.
    case insertDefault

    var stored: WriteStrategy {
        switch self {
        case .merge: .merge
        case .replace: .replace
        case .insert: .insert
        case .insertIfAbsent: .insertIfAbsent
        case .insertDefault: .insertDefault
        }
    }
}
