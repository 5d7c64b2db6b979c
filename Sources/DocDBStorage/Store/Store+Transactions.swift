import Dispatch
package import DocDBCore

extension Store {
    /// Runs `body` as one transaction and returns when it is committed.
    ///
    /// Blocks this thread while another transaction runs. Where `body` throws, nothing is changed.
    package func write<R>(
        durability: StoreDurability? = nil, _ body: (WriteTransaction) throws -> R
    ) throws -> R {
        try requireWriter().write(durability: durability, body)
    }

    /// Runs `body` as one transaction, grouped with those of other tasks, and returns when it is committed.
    ///
    /// No thread of the cooperative pool waits. Where `body` throws, nothing is changed.
    package func write<R: Sendable>(
        durability: StoreDurability? = nil, _ body: @escaping @Sendable (WriteTransaction) throws -> R
    ) async throws -> R {
        let writer = try requireWriter()
        guard !Task.isCancelled else {
            throw DocDBError(.cancelled, "the task was cancelled before its write began; nothing was written")
        }
        return try await withCheckedThrowingContinuation { continuation in
            let result = JobResult<R>()
            let job = AsyncWriteQueue.Job(
                run: { transaction in result.value = try body(transaction) },
                finish: { error in
                    if let error { continuation.resume(throwing: error); return }
                    guard let value = result.value else {
                        continuation.resume(
                            throwing: DocDBError(
                                .misuse, "a committed transaction left no result; report this as a bug"))
                        return
                    }
                    continuation.resume(returning: value)
                })
            writer.asyncWrites.enqueue(job, durability: durability ?? writer.options.durability, on: writer)
        }
    }

    /// Where a job leaves its result.
    private final class JobResult<R: Sendable>: @unchecked Sendable {
        // Unchecked: written by the writer's thread before `finish`, read by `finish` on the same thread.
        var value: R?
    }

    /// Begins the session of writing that the first write would begin, so that the store has its actor and its
    /// incarnation of the change log.
    package func beginSession() throws {
        let writer = try requireWriter()
        try writer.exclusively { try writer.session.prepare(writer) }
    }

    /// Calls `body` with one consistent moment of the store.
    package func read<R>(_ body: (ReadContext) throws -> R) throws -> R {
        try checkIsOpen()
        return try readers.withSnapshot(body)
    }

    /// Calls `body`, on a thread outside the cooperative pool, with one consistent moment of the store.
    package func read<R: Sendable>(_ body: @escaping @Sendable (ReadContext) throws -> R) async throws -> R {
        try checkIsOpen()
        return try await withCheckedThrowingContinuation { continuation in
            DispatchQueue.global().async {
                continuation.resume(with: Result { try self.readers.withSnapshot(body) })
            }
        }
    }

    /// Calls `body` with a connection for one statement, which is a moment of its own.
    @inline(__always)
    package func readOnce<R>(_ body: (ReadContext) throws -> R) throws -> R {
        try checkIsOpen()
        return try readers.withConnection(body)
    }

    /// Makes everything committed durable and returns its newest sequence number; what replication calls before it sends.
    @discardableResult
    package func synchronize() throws(DocDBError) -> Int64 { try requireWriter().synchronize() }
}
