import DocDBCore
import DocDBStorage

/// What a transaction or a snapshot shares with all that comes from it; it is of use until the closure ends.
///
/// Only queries carry it to other threads, as they are `Sendable`; they ask `checkThread` first.
final class Scope: @unchecked Sendable {
    // Unchecked: `content` is touched by the thread that made the scope, which `checkThread` makes sure of.

    /// Raw memory, as class properties are checked for exclusive access at every use.
    private let content: UnsafeMutablePointer<Content>
    let names: FieldNames
    private let thread = Platform.threadID
    let isTransaction: Bool

    private struct Content: ~Copyable {
        /// Nil once the closure has ended.
        var context: ReadContext?
        var transaction: WriteTransaction?
        /// The collections that were asked for, by name.
        var collections: [(name: CollectionName, reader: CollectionReader?)] = []
        var id = ByteBuffer(capacity: 320)
        var body = ByteBuffer(capacity: 512)
    }

    init(reading context: ReadContext) {
        names = context.names
        isTransaction = false
        content = .allocate(capacity: 1)
        content.initialize(to: Content(context: context))
    }

    init(writing transaction: WriteTransaction, names: FieldNames) {
        self.names = names
        isTransaction = true
        content = .allocate(capacity: 1)
        content.initialize(to: Content(context: transaction.context, transaction: transaction))
    }

    deinit {
        content.deinitialize(count: 1)
        content.deallocate()
    }

    /// Makes everything that comes from the scope throw from now on.
    func end() {
        content.pointee.context = nil
        content.pointee.transaction = nil
        content.pointee.collections.removeAll()
    }

    // MARK: What is valid within the closure

    /// The connection to read through.
    @inline(__always)
    func context() throws(DocDBError) -> ReadContext {
        if let context = content.pointee.context { return context }
        throw ended
    }

    /// The transaction to write in.
    @inline(__always)
    func transaction() throws(DocDBError) -> WriteTransaction {
        if let transaction = content.pointee.transaction { return transaction }
        throw ended
    }

    /// Checks that a query of this scope runs on the scope's own thread.
    func checkThread() throws(DocDBError) {
        guard Platform.threadID == thread else {
            throw DocDBError(
                .misuse,
                "a query of a \(kind) was run on another thread; run it within the closure, or make it from the database"
            )
        }
    }

    private var kind: String { isTransaction ? "transaction" : "snapshot" }

    private var ended: DocDBError {
        DocDBError(.misuse, "a \(kind) was used after its closure had ended; do the work within the closure")
    }

    // MARK: Collections

    /// The place of a collection among those that were asked for.
    func slot(of name: String) -> Int {
        let collections = content.pointee.collections
        let name = CollectionName(name)
        for index in collections.indices where collections[index].name == name { return index }
        content.pointee.collections.append((name, nil))
        return collections.count
    }

    /// The reader of a collection, or nil where there is no such collection.
    @inline(__always)
    func reader(_ slot: Int) throws(DocDBError) -> CollectionReader? {
        let context = try context()
        if let reader = content.pointee.collections[slot].reader { return reader }
        return try findReader(slot, context)
    }

    @inline(never)
    private func findReader(_ slot: Int, _ context: ReadContext) throws(DocDBError) -> CollectionReader? {
        let name = content.pointee.collections[slot].name.text
        guard let reader = try context.collection(name) else {
            try Catalog.validate(collectionName: name)
            return nil
        }
        content.pointee.collections[slot].reader = reader
        return reader
    }

    // MARK: Buffers

    /// Encodes an id into the scope's buffer; the bytes stay until the next call.
    @inline(__always)
    func encode(_ id: DocumentID) -> UnsafeRawBufferPointer {
        content.pointee.id.removeAll()
        id.appendCBOR(to: &content.pointee.id)
        return content.pointee.id.bytes
    }

    /// Calls `write` with the buffers for a document's body and id; no code of the app may run in it.
    @inline(__always)
    func withBuffers<R>(
        _ write: (_ body: inout ByteBuffer, _ id: inout ByteBuffer) throws(DocDBError) -> R
    ) throws(DocDBError) -> R {
        content.pointee.body.removeAll()
        content.pointee.id.removeAll()
        return try write(&content.pointee.body, &content.pointee.id)
    }
}
