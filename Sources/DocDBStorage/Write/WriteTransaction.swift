import DocDBCore

/// One transaction of one writer: its stamps, its log record, and its view of the store.
///
/// Valid only within the closure it is handed to.
package final class WriteTransaction {
    let writer: StoreWriter
    /// The error after which nothing but a rollback is possible.
    var failure: DocDBError?
    private(set) var isActive = true
    /// Whether the closure of an edit runs, which works on the buffers that another write would use.
    var isEditing = false
    private var stamps: [ChangeLogFormat.Stamp] = []
    private(set) var currentStamp: Stamp?
    var kind = ChangeLogFormat.Kind.local
    /// Keys handed out to documents that may come, until they do or the transaction ends.
    var reservations = KeyReservations()
    /// Changes of how much peers have told, until they are written.
    var toldTotals = ToldTotals()
    /// Which changes keepers hold, once somebody has asked.
    var acknowledgements: Acknowledgements?

    init(writer: StoreWriter) {
        self.writer = writer
        writer.scratch.pointee.record.removeAll()
    }

    /// The connection and catalog as this transaction sees them, its own writes included.
    package var context: ReadContext { writer.context }

    /// The sequence number this transaction gets when it commits.
    package var sequence: Int64 { writer.changeLog.state.nextSequence }

    /// Checks that the closure has not ended and nothing has failed beyond repair.
    @inline(__always)
    func checkIsUsable() throws(DocDBError) {
        if isActive, failure == nil, !isEditing, writer.connection.isInTransaction { return }
        throw failure ?? unusable
    }

    private var unusable: DocDBError {
        guard isActive else {
            return DocDBError(
                .misuse, "a transaction was used after its closure had ended; do the work within the closure")
        }
        if isEditing {
            return DocDBError(
                .misuse, "a write was begun within the closure of an update; do it before or after the update")
        }
        // SQLite rolls back on its own after some failures of reads; writes after it would each stand alone.
        return DocDBError(
            .storageFailed, "the transaction ended early because of a failure of the disk; check the disk and try again"
        )
    }

    /// Runs a step that writes; where it fails half-way, the whole transaction must roll back.
    @inline(__always)
    func writing<R>(_ body: () throws(DocDBError) -> R) throws(DocDBError) -> R {
        do throws(DocDBError) {
            return try body()
        } catch {
            failure = error
            throw error
        }
    }

    // MARK: Stamps

    /// The stamp of this transaction's changes, issued at the first of them.
    func stamp() throws(DocDBError) -> Stamp {
        if let currentStamp { return currentStamp }
        return try issueStamp()
    }

    /// The time of the record: what the times in its undo entries are told from. It is that of the first stamp, or of the
    /// first remote change.
    var recordTime = HybridTime.zero

    /// The place of the current stamp among the record's stamps.
    var stampIndex: Int { max(0, stamps.count - 1) }

    /// Issues a new stamp for the changes that follow: a later time, and the writer's actor as it is now.
    ///
    /// One is enough for a transaction unless it writes to a document it has deleted itself, or must rotate the actor.
    @discardableResult
    func issueStamp() throws(DocDBError) -> Stamp {
        guard let actor = writer.state.actor else {
            throw DocDBError(.misuse, "a write needs an actor; the session did not begin")
        }
        var time = HybridTime.next(after: writer.state.lastTime, nowNanosecondsSince1970: writer.now)
        // A transaction may outlast the margin of the reservation; its time then stays within what is reserved.
        if time > writer.session.reservedTime {
            time = HybridTime.next(after: writer.state.lastTime, nowNanosecondsSince1970: 0)
        }
        guard time > writer.state.lastTime, time <= writer.session.reservedTime,
            stamps.count < ChangeLogFormat.stampCountLimit
        else {
            throw DocDBError(.limitReached, "the transaction needs more times than are reserved; split the transaction")
        }
        writer.state.lastTime = time
        if recordTime == .zero { recordTime = time }
        stamps.append(.init(actorNumber: writer.actors.intern(actor), time: time))
        let stamp = Stamp(time: time, actor: actor)
        currentStamp = stamp
        return stamp
    }

    /// Makes the next change issue a new stamp.
    func forgetStamp() { currentStamp = nil }

    /// Whether nothing has been stamped yet.
    var isStampless: Bool { stamps.isEmpty }

    // MARK: End

    /// Writes what the commit needs beside the documents: names, actors, and the log record.
    ///
    /// One that has changed no document has no record and no sequence number.
    func finish() throws(DocDBError) {
        try checkIsUsable()
        try persistReservations()
        try writeToldTotals()
        isActive = false
        let scratch = writer.scratch
        // Also what is only kept aside, such as a delta in quarantine, has names and actors.
        try writer.persistNames()
        writer.state.persistedActorCount = try writer.persistActors(from: writer.state.persistedActorCount)
        try persistClock()
        guard !scratch.pointee.record.isEmpty else { return }
        // A record without changes, as of evictions alone, says when it was made.
        let time = recordTime == .zero ? presentTime : recordTime
        scratch.pointee.recordBytes.removeAll()
        scratch.pointee.record.finish(kind: kind, time: time, stamps: stamps, to: &scratch.pointee.recordBytes)
        let tailBefore = writer.changeLog.state.tailFirst
        try writer.changeLog.append(scratch.pointee.recordBytes.bytes, time: time)
        if writer.changeLog.state.tailFirst != tailBefore { try cutLog() }
    }

    /// What a record's time is that has no stamp: now, and not before any stamp that is known.
    var presentTime: HybridTime {
        max(HybridTime(nanosecondsSince1970: writer.now), writer.state.lastTime)
    }

    private func cutLog() throws(DocDBError) {
        // Read once: a clock that moves on between two readings would make a long age wrap to the far future.
        let now = writer.now
        let notBefore = writer.options.historyAgeNanoseconds.map {
            HybridTime(nanosecondsSince1970: now - min($0, now))
        }
        try writer.changeLog.cut(byteLimit: writer.options.historyByteCount, notBefore: notBefore)
    }

    /// Makes the transaction unusable, after its closure has thrown.
    func abandon() { isActive = false }
}
