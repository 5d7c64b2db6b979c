import DocDBCore
import DocDBStorage

/// A write transaction: everything done through it is committed together, or not at all.
///
/// It reads its own writes. Valid within the closure of `Database.write(durability:_:)` only; later use throws
/// `misuse`.
public struct Transaction {
    let scope: Scope

    /// Runs the closure of a write.
    static func run<R>(
        in transaction: WriteTransaction, names: FieldNames, _ body: (Transaction) throws -> R
    ) throws -> R {
        let scope = Scope(writing: transaction, names: names)
        defer { scope.end() }
        return try body(Transaction(scope: scope))
    }

    /// The collection with a name, within this transaction; the first document written to it creates it.
    public func collection(_ name: String) -> TransactionCollection { TransactionCollection(scope: scope, name: name) }

    /// The names of the collections there are, those that this transaction has created included, in the order of their
    /// UTF-8 bytes.
    ///
    /// - Throws: `DocDBError` with the code `misuse` once the closure has ended.
    public func collectionNames() throws -> [String] { try scope.context().catalog.names }

    /// The sequence number that this transaction has in the change log once it commits, if it changes anything.
    ///
    /// - Throws: `DocDBError` with the code `misuse` once the closure has ended.
    public func sequence() throws -> Int64 { try scope.transaction().sequence }
}
