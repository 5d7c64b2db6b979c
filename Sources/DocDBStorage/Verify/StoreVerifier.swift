import DocDBCore

extension Store {
    /// Checks everything that the store holds against itself; an empty result is a sound store.
    ///
    /// SQLite's own integrity check; bodies against their states; ids; the log's checksums, and the log unwound from the
    /// present to its recorded start; every index against the documents; what peers have told against its counts and sums;
    /// single facts for what they can be.
    ///
    /// - Complexity: O(bytes stored), with memory for the documents that the retained log has changed.
    package func verify() throws -> [VerificationFinding] {
        try read { context in
            let verifier = StoreVerifier(context)
            if hasLostWriteAheadLog {
                verifier.report(
                    "write-ahead log",
                    "it is missing though the store was not closed in order; commits since the last checkpoint are lost, "
                        + "peers that have seen them send them again")
            }
            try verifier.run()
            return verifier.findings
        }
    }
}

/// One run over one snapshot of a store, which collects what is wrong instead of stopping there.
final class StoreVerifier {
    let context: ReadContext
    let reader: ChangeLogReader
    private(set) var findings: [VerificationFinding] = []
    private var suppressedCount = 0
    /// The sum of content hashes of all documents as they stand.
    var presentSum: UInt64 = 0
    /// The newest time of a commit of this store's own that the log tells of.
    private(set) var newestLocalTime = HybridTime.zero
    var body = ByteBuffer()
    var state = ByteBuffer()
    /// Whether every document could be read, without which unwinding says nothing more.
    private var areDocumentsSound = true

    /// The most findings that are listed; of more only the number is told.
    static let findingCountLimit = 1_000

    init(_ context: ReadContext) {
        self.context = context
        reader = ChangeLogReader(connection: context.connection)
    }

    func run() throws {
        checkDatabase()
        for name in context.catalog.names {
            guard let info = context.catalog[name] else { continue }
            attempt("collection \(name)") { try self.checkDocuments(info) }
            attempt("indexes of \(name)") { try self.checkIndexes(info) }
        }
        attempt("change log") { try self.checkLog() }
        attempt("facts") { try self.checkFacts() }
        attempt("peers") { try self.checkPeers() }
        if suppressedCount > 0 {
            findings.append(.init(location: "store", message: "\(suppressedCount) further findings"))
        }
    }

    func report(_ location: String, _ message: String) {
        if findings.count < Self.findingCountLimit {
            findings.append(VerificationFinding(location: location, message: message))
        } else {
            suppressedCount += 1
        }
    }

    /// Runs a check; where it cannot go on, that is a finding.
    private func attempt(_ location: String, _ check: () throws -> Void) {
        do {
            try check()
        } catch let error as DocDBError {
            report(location, error.message)
        } catch {
            report(location, "\(error)")
        }
    }

    private func checkDatabase() {
        attempt("database") {
            let rows = try self.context.connection.prepareOnce("PRAGMA integrity_check(\(Self.findingCountLimit))")
            while try rows.step() {
                let message = rows.text(0)
                if message != "ok" { self.report("database", message) }
            }
        }
    }

    // MARK: Documents

    private func checkDocuments(_ info: CollectionInfo) throws {
        let rows = try context.connection.prepareOnce(
            "SELECT key, id, body, state, last_change FROM documents_\(info.number) ORDER BY key")
        let nextKey =
            try context.connection.integer("SELECT next_key FROM collections WHERE number = \(info.number)") ?? 0
        let last = try reader.lastSequence()
        var id = ByteBuffer()
        while try rows.step() {
            let key = rows.int(0)
            let location = "\(info.name), key \(key)"
            id.removeAll()
            rows.appendID(1, to: &id)
            if (try? DocumentID(canonicalCBOR: id.bytes)) == nil { report(location, "its id is malformed") }
            if key >= nextKey { report(location, "its key was never reserved") }
            if rows.int(4) > last { report(location, "it names a change that the log has not reached") }
            let stored: UnsafeRawBufferPointer? = rows.isNull(2) ? nil : rows.blob(2)
            checkDocument(location, body: stored, stateBytes: rows.blob(3))
            presentSum &+= ContentHash.document(collection: info.number, key: key, body: stored, state: rows.blob(3))
        }
    }

    private func checkDocument(
        _ location: String, body stored: UnsafeRawBufferPointer?, stateBytes: UnsafeRawBufferPointer
    ) {
        if let stored {
            do throws(CBORError) {
                try CBOR.validate(stored, internedKeyCount: context.names.count)
            } catch {
                areDocumentsSound = false
                report(location, "its body is damaged (\(error))")
                return
            }
        }
        do throws(DocDBError) {
            let decoded = try DocumentState(body: stored, state: stateBytes, actors: context.actors)
            body.removeAll()
            state.removeAll()
            let isAlive = decoded.encode(into: &body, state: &state, actors: context.actors)
            let isSameBody = isAlive ? stored.map { CBOR.compare($0, body.bytes) == 0 } ?? false : stored == nil
            if !isSameBody || !DocumentState.isEqual(stateBytes, state.bytes) {
                report(location, "its body does not follow from its replication state")
            }
        } catch {
            areDocumentsSound = false
            report(location, "its replication state is damaged")
        }
    }

    // MARK: The change log

    private func checkLog() throws {
        let rows = try reader.rows()
        let oldest = try reader.oldestSequence()
        var expected = oldest
        var deltaSum: UInt64 = 0
        var isReadable = true
        for row in rows {
            if row.first != expected {
                report("change log", "the records from \(expected) to \(row.first - 1) are missing")
                isReadable = false
            }
            expected = row.last + 1
            do {
                var lastTime = HybridTime.zero
                try reader.forEachHead(in: row) { (_, head) in
                    deltaSum = deltaSum &+ head.contentDelta
                    if head.kind == .local { newestLocalTime = max(newestLocalTime, head.time) }
                    lastTime = head.time
                }
                if lastTime != row.lastTime {
                    report("change log, commit \(row.last)", "its row names another time than its record")
                }
            } catch {
                report("change log", error.message)
                isReadable = false
            }
        }
        guard isReadable, areDocumentsSound else {
            report("change log", "it could not be unwound, because of what is damaged above")
            return
        }
        let oldestSum = UInt64(bitPattern: try StoreMetadata.integer(.oldestSum, context.connection) ?? 0)
        if presentSum &- deltaSum != oldestSum {
            report("change log", "the documents are not what the log's sums say they are")
        }
        var unwinding = LogUnwinding(self)
        try unwinding.run(rows, oldestSum: oldestSum, oldest: oldest)
    }
}
