import DocDBCore

/// How an import goes about it.
package struct ImportSettings: Sendable {
    package static let defaultBatchCount = 1000

    /// How many documents are committed together.
    package var batchCount = defaultBatchCount
    /// The top-level field whose value is the `_id`; nil takes the record's own.
    package var identifierField: String?
    package var chunkByteCount = RecordSplitter.defaultChunkByteCount

    package init() {}
}

/// Where an import writes to.
package protocol ImportTarget {
    /// Runs `body` in one transaction and commits what it wrote, unless it throws.
    ///
    /// `upsert` takes one document's JSON, and throws `DocDBError` where it is none.
    func commit(_ body: (_ upsert: (UnsafeRawBufferPointer) throws -> Void) throws -> Void) throws
}

/// What an import did.
package struct ImportOutcome {
    package enum Ending {
        case finished
        case interrupted
        /// A record is no document; all before it are committed.
        case badRecord(RecordError)
        /// Reading or committing failed; the batch at work is lost.
        case failed(any Error)
    }

    package var committedCount = 0
    package var byteCount = 0
    package var ending = Ending.finished

    package init() {}
}

/// Reads documents from a source and writes them in batches.
package struct Importer {
    private let source: any ByteSource
    private let target: any ImportTarget
    private let settings: ImportSettings
    private let isInterrupted: () -> Bool

    package init(
        _ source: any ByteSource, into target: any ImportTarget, settings: ImportSettings,
        isInterrupted: @escaping () -> Bool
    ) {
        self.source = source
        self.target = target
        self.settings = settings
        self.isInterrupted = isInterrupted
    }

    /// Imports everything; `progress` is told of the committed documents and bytes after each batch.
    package func run(progress: (ImportOutcome) -> Void) -> ImportOutcome {
        var splitter = RecordSplitter(source, chunkByteCount: settings.chunkByteCount)
        var identifier = settings.identifierField.map { RecordIdentifier(field: $0) }
        var outcome = ImportOutcome()
        while true {
            if isInterrupted() {
                outcome.ending = .interrupted
                return outcome
            }
            do {
                let batch = try importBatch(&splitter, &identifier)
                outcome.committedCount += batch.count
                outcome.byteCount = splitter.consumedByteCount
                progress(outcome)
                if let fault = batch.fault {
                    // A read that a signal broke off looks like a file that ends too early.
                    outcome.ending = isInterrupted() ? .interrupted : .badRecord(fault)
                    return outcome
                }
                if batch.isLast {
                    outcome.ending = isInterrupted() ? .interrupted : .finished
                    return outcome
                }
            } catch {
                outcome.ending = .failed(error)
                return outcome
            }
        }
    }

    private struct Batch {
        var count = 0
        var isLast = false
        var fault: RecordError?
    }

    private func importBatch(
        _ splitter: inout RecordSplitter, _ identifier: inout RecordIdentifier?
    ) throws -> Batch {
        var batch = Batch()
        try target.commit { upsert in
            batch = Batch()
            while batch.count < settings.batchCount {
                do {
                    guard let record = try splitter.next() else {
                        batch.isLast = true
                        return
                    }
                    try Self.write(record.bytes, splitter, &identifier, upsert)
                    batch.count += 1
                } catch let fault as RecordError {
                    batch.fault = fault
                    return
                }
            }
        }
        return batch
    }

    /// Writes one record; faults of its content become `RecordError` with their place in the file.
    private static func write(
        _ record: UnsafeRawBufferPointer, _ splitter: borrowing RecordSplitter, _ identifier: inout RecordIdentifier?,
        _ upsert: (UnsafeRawBufferPointer) throws -> Void
    ) throws {
        var text = record
        if identifier != nil {
            do {
                text = try identifier!.identified(record)
            } catch {
                throw RecordError(error.message, at: splitter.position().advanced(by: error.position))
            }
        }
        do {
            try upsert(text)
        } catch let error as DocDBError where isFaultOfContent(error.code) {
            let offset = error.context["offset"].flatMap { Int($0) } ?? 0
            let inRecord = identifier?.recordOffset(offset) ?? offset
            throw RecordError(messageWithoutPlace(error), at: splitter.position(ofByte: inRecord))
        }
    }

    /// The message without the place in the record, which would mislead beside the place in the file.
    private static func messageWithoutPlace(_ error: DocDBError) -> String {
        guard let line = error.context["line"], let column = error.context["column"] else { return error.message }
        let place = "line \(line), column \(column)"
        return error.message.replacing(" at \(place)", with: "").replacing("\(place): ", with: "")
    }

    private static func isFaultOfContent(_ code: DocDBError.Code) -> Bool {
        [.invalidJSON, .invalidValue, .invalidDocumentID, .documentTooLarge, .documentTooDeep].contains(code)
    }
}
