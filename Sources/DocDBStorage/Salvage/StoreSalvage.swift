import DocDBCore

/// Writes every document that can be read from a damaged store to a new one.
///
/// Reads pages, not SQL: what SQLite refuses as a whole may be sound but for a page. Three ways lead to a document: the tree of
/// its table, the leaves that no tree leads to any more, and the index of ids, which says what is lost. The damaged store
/// is locked against writers, and not written to.
package struct StoreSalvage {
    /// Salvages the store at `path` into a new one at `target`.
    ///
    /// States stay what they were, so that the new store merges with peers; but it is a store of its own, with a new id and
    /// a new actor, and knows of no peers: what it lacks comes back when it meets them. History and evictions are not carried over.
    ///
    /// - Parameter options: The new store's; its file system is the damaged one's too.
    /// - Throws: `misuse` where something exists at `target`, `storeLocked`, `storeTooNew`, `notAStore`, or what the new store throws.
    /// - Complexity: O(bytes stored), with some 50 bytes of memory a document.
    package static func run(
        from path: String, to target: String, options: StoreOptions = StoreOptions()
    ) throws -> SalvageReport {
        let files = options.fileSystem
        let source = StoreDirectory(path, fileSystem: files)
        try source.requireStore()
        let goal = StoreDirectory(target, fileSystem: files)
        guard !target.isEmpty, !target.utf8.contains(0) else {
            throw DocDBError(.misuse, "the new store's path is empty or has a NUL; name a path that does not exist yet")
        }
        try goal.requireMissing("new store")
        let lock = try lockedAgainstWriters(source)
        defer { lock?.close() }
        let partial = goal.partial(options.randomBytes)
        do {
            let store = try Store(path: partial.path, options: options)
            let salvage = try StoreSalvage(source, into: store)
            try salvage.run()
            try store.close()
            try files.rename(partial.path, to: goal.path)
            try files.synchronizeDirectory(goal.parent)
            return salvage.report
        } catch {
            partial.discard()
            throw error
        }
    }

    /// Takes the lock of writers without writing to it; nil where there is no such file.
    private static func lockedAgainstWriters(_ directory: StoreDirectory) throws(DocDBError) -> (any StoreFile)? {
        guard directory.fileSystem.kind(of: directory.lock) == .file else { return nil }
        let file = try directory.fileSystem.open(directory.lock, writing: false, creating: false)
        guard try file.tryLock() else {
            file.close()
            throw DocDBError(
                .storeLocked,
                "a process holds \(directory.path) for writing; stop it, or salvage a copy of the directory")
        }
        return file
    }

    /// What a run works on.
    private final class Work {
        var catalog: SalvageCatalog
        let log = SalvageLog()
        var report = SalvageReport()
        /// By collection, the key and a hash of the id of each document that the index of ids knows and that is not found yet.
        var expected: [Int64: [Int64: UInt64]] = [:]
        /// Collections whose index of ids could be read as a whole.
        var withSoundIndex: Set<Int64> = []
        var results: [Int64: SalvageReport.Collection] = [:]
        var presentSum: UInt64 = 0
        var hasOrphans = false
        /// Rows found where they do not belong.
        var strays: [PageRecord] = []

        init(_ catalog: SalvageCatalog) { self.catalog = catalog }
    }

    private let file: PageFile
    private let survey: PageTrees
    private let target: SalvageTarget
    private let work: Work
    private let isLogMissing: Bool

    var report: SalvageReport { work.report }

    /// The collection of documents of which nobody knows where they belong.
    private static let unknownCollection: Int64 = 0

    private init(_ directory: StoreDirectory, into store: Store) throws(DocDBError) {
        file = try PageFile(directory)
        if let version = file.formatVersion, version > Store.formatVersion {
            throw DocDBError(
                .storeTooNew,
                "the store at \(directory.path) has format \(version), this DocDB reads up to \(Store.formatVersion); update DocDB"
            )
        }
        isLogMissing = directory.fileSystem.kind(of: directory.writeAheadLog) == .missing
        survey = PageTrees(file)
        work = Work(SalvageCatalog(survey))
        target = SalvageTarget(store)
    }

    // MARK: The run

    private func run() throws {
        surveyTrees()
        let numbers = SalvageNumbers(work.catalog, randomBytes: Platform.randomBytes)
        target.numbers = numbers
        try salvageTables()
        if work.expected.values.contains(where: { !$0.isEmpty }) { work.hasOrphans = true }
        if work.hasOrphans || !work.strays.isEmpty { try salvageOrphans() }
        try target.flush()
        try createIndexes()
        try target.addVoided(work.catalog.voided)
        if let kind = work.catalog.identityKind { try target.store.setIdentityKind(kind) }
        listLost()
        finishReport()
    }

    /// Walks all that the schema leads to once, to know what is whole.
    private func surveyTrees() {
        let catalogNames = Set(["meta", "field_names", "actors", "collections", "indexes", "quarantine", "voided"])
        let hadFaults = !work.catalog.isWhole
        let insertionLimit = UInt64(file.pageCount) * UInt64(file.pageByteCount) / 16
        for (name, root) in work.catalog.roots.sorted(by: { $0.key < $1.key }) {
            if catalogNames.contains(name) || survey.visited.contains(root) { continue }
            if name == "log" {
                survey.walk(root: root) {
                    work.log.add(
                        $0, wantsCollections: hadFaults || survey.faultCount > 0, insertionLimit: insertionLimit)
                }
            } else {
                survey.walk(root: root) { _ in }
            }
        }
        work.hasOrphans = hadFaults || survey.faultCount > 0
        if work.hasOrphans {
            survey.walkOrphans { row in
                work.catalog.addOrphan(row)
                if row.columns.count == 7 { work.log.add(row, wantsCollections: true, insertionLimit: insertionLimit) }
            }
            // Trees whose roots only a lost page of the schema tells of are no orphans.
            for root in work.catalog.roots.values.sorted() where !survey.visited.contains(root) {
                survey.walk(root: root) { _ in }
            }
        }
        for number in Set(work.catalog.tableNumbers).union(work.catalog.collectionNames.keys).sorted() {
            readIndexOfIDs(number)
        }
    }

    private func readIndexOfIDs(_ number: Int64) {
        let table = "\(SalvageCatalog.documentsPrefix)\(number)"
        guard let root = work.catalog.roots[SalvageCatalog.uniqueIndex(of: table)] else { return }
        var ids: [Int64: UInt64] = [:]
        let isWhole = PageTrees(file).walk(root: root) { row in
            guard row.columns.count == 2, let key = row.int(1), let id = row.documentID(0) else { return }
            ids[key] = Self.hash(id)
        }
        work.expected[number] = ids
        if isWhole { work.withSoundIndex.insert(number) }
    }

    private static func hash(_ id: [UInt8]) -> UInt64 { id.withUnsafeBytes { ContentHash.checksum($0) } }

    private func salvageTables() throws {
        let trees = PageTrees(file)
        for number in Set(work.catalog.tableNumbers).union(work.catalog.collectionNames.keys).sorted() {
            work.results[number] = SalvageReport.Collection(name: work.catalog.name(of: number))
            try target.makeCollection(named: work.catalog.name(of: number))
            let root = work.catalog.roots["\(SalvageCatalog.documentsPrefix)\(number)"]
            let isWhole =
                try root.map { root in
                    try trees.walk(root: root) { row in
                        if Self.isDocument(row) {
                            try salvage(row, in: number, isFirst: true)
                        } else if work.withSoundIndex.contains(number) == false {
                            work.results[number]?.lostCount += 1
                        }
                    }
                } ?? false
            if !isWhole, !work.withSoundIndex.contains(number) { work.results[number]?.mayMissMore = true }
        }
    }

    /// Whether a row has the columns of a document.
    private static func isDocument(_ row: PageRecord) -> Bool {
        row.columns.count == 5 && row.isNull(0) && (row.isNull(2) || row.blob(2) != nil) && row.blob(3) != nil
            && row.int(4) != nil
    }

    /// Writes a document of a collection, unless the index of ids says that it is another's.
    private func salvage(_ row: PageRecord, in number: Int64, isFirst: Bool) throws {
        guard let id = row.documentID(1) else {
            lose(row, in: number)
            return
        }
        let known = work.expected[number]?[row.row]
        if isFirst, known != Self.hash(id), belongsElsewhere(row, id, than: number) || known != nil {
            work.strays.append(row)
            return
        }
        guard let document = target.read(row, id: id) else {
            lose(row, in: number)
            return
        }
        noteFound(row.row, id, in: number)
        if document.isAlive {
            work.results[number]?.documentCount += 1
        } else {
            work.results[number]?.tombstoneCount += 1
        }
        work.presentSum = work.presentSum &+ Self.contentHash(row, number)
        try target.add(document, to: work.results[number]?.name ?? work.catalog.name(of: number))
    }

    private func noteFound(_ key: Int64, _ id: [UInt8], in number: Int64) {
        if work.expected[number]?.removeValue(forKey: key) != nil || !work.withSoundIndex.contains(number) { return }
        // The key itself is damaged: the index knows the document under another.
        let hash = Self.hash(id)
        guard let other = work.expected[number]?.first(where: { $0.value == hash })?.key else { return }
        work.expected[number]?[other] = nil
    }

    private func belongsElsewhere(_ row: PageRecord, _ id: [UInt8], than number: Int64) -> Bool {
        let hash = Self.hash(id)
        return work.expected.contains { $0.key != number && $0.value[row.row] == hash }
    }

    /// Counts a document that cannot be read; where the index of ids knows it, it is counted with those not found.
    private func lose(_ row: PageRecord, in number: Int64) {
        if work.expected[number]?[row.row] == nil { work.results[number]?.lostCount += 1 }
    }

    private static func contentHash(_ row: PageRecord, _ number: Int64) -> UInt64 {
        let (body, state) = (row.blob(2), row.blob(3) ?? [])
        return state.withUnsafeBytes { state in
            guard let body else {
                return ContentHash.document(collection: number, key: row.row, body: nil, state: state)
            }
            return body.withUnsafeBytes {
                ContentHash.document(collection: number, key: row.row, body: $0, state: state)
            }
        }
    }

    // MARK: What no tree leads to

    private func salvageOrphans() throws {
        for row in work.strays { try salvageOrphan(row) }
        guard work.hasOrphans else { return }
        try survey.walkOrphans { row in
            if Self.isDocument(row), row.blob(3)?.first == 0x10 || row.blob(3)?.first == 0x11 {
                try salvageOrphan(row)
            }
        }
    }

    private func salvageOrphan(_ row: PageRecord) throws {
        guard let id = row.documentID(1) else { return }
        let hash = Self.hash(id)
        if let number = work.expected.filter({ $0.value[row.row] == hash }).keys.min() {
            try salvage(row, in: number, isFirst: false)
            return
        }
        // An id that differs from what the index says under this key: one of the two is damaged, and nobody knows which.
        let open = work.results.keys.filter { !work.withSoundIndex.contains($0) }
        guard !open.isEmpty || !work.catalog.isWhole else { return }
        let candidates = (work.log.collections[row.row] ?? []).filter { open.contains($0) }
        let number = candidates.count == 1 ? candidates.first : open.count == 1 ? open.first : nil
        if let number {
            try salvage(row, in: number, isFirst: false)
        } else {
            if work.results[Self.unknownCollection] == nil {
                work.results[Self.unknownCollection] = .init(name: work.catalog.name(of: Self.unknownCollection))
            }
            try salvage(row, in: Self.unknownCollection, isFirst: false)
        }
    }

    // MARK: The end

    private func createIndexes() throws {
        for (_, index) in work.catalog.indexes.sorted(by: { $0.key < $1.key }) {
            let name = work.catalog.name(of: index.collection)
            guard work.results[index.collection] != nil, let definition = try? IndexDefinition(text: index.definition)
            else {
                work.report.losses.append(
                    "an index of collection number \(index.collection), whose definition is damaged")
                continue
            }
            try target.store.write { _ = try $0.createIndex(definition, collection: name) }
        }
    }

    /// Counts the documents that the indexes of ids know and that were not found, and lists their ids.
    private func listLost() {
        for (number, keys) in work.expected where !keys.isEmpty {
            work.results[number]?.lostCount += Int64(keys.count)
            let table = "\(SalvageCatalog.documentsPrefix)\(number)"
            guard let root = work.catalog.roots[SalvageCatalog.uniqueIndex(of: table)] else { continue }
            var ids: [DocumentID] = []
            PageTrees(file).walk(root: root) { row in
                guard let key = row.int(1), keys[key] != nil, ids.count < SalvageReport.listedIDLimit,
                    let id = row.documentID(0)?.withUnsafeBytes({ try? DocumentID(canonicalCBOR: $0) })
                else { return }
                ids.append(id)
            }
            work.results[number]?.lostIDs = ids
        }
    }

    private func finishReport() {
        work.report.collections = work.results.values.sorted { $0.name.utf8.lexicographicallyPrecedes($1.name.utf8) }
        if !work.catalog.isWhole {
            work.report.losses.append(
                "the tables of names and collections are damaged; whole collections may be missing")
        }
        for number in work.results.keys.sorted() where work.catalog.collectionNames[number] == nil {
            work.report.losses.append(
                "the name of a collection; its documents are in \(work.catalog.name(of: number)), which peers do not know"
            )
        }
        if work.catalog.metadataNumbers[StoreMetadata.Name.isClean.rawValue] == 0, isLogMissing {
            work.report.losses.append("the write-ahead log is missing; commits since the last checkpoint are lost")
        }
        if !work.catalog.areVoidedWhole {
            work.report.losses.append("some of the changes that a hub has refused, which the hub tells again")
        }
        if file.log.isHeaderDamaged {
            work.report.losses.append("the write-ahead log's header is damaged; late commits may be missing")
        }
        if file.log.damagedFrameCount > 0 {
            work.report.losses.append(
                "late commits, perhaps; damaged pages of the write-ahead log: \(file.log.damagedFrameCount)")
        }
        checkSum()
        let pages = survey.damagedPages.union(file.unreadablePages).count
        if pages > 0 { work.report.remarks.append("pages of the database that could not be read: \(pages)") }
        if work.log.damagedRowCount > 0 {
            work.report.remarks.append("rows of the change log that are damaged: \(work.log.damagedRowCount)")
        }
        if work.catalog.quarantinedCount > 0 {
            work.report.remarks.append(
                "\(work.catalog.quarantinedCount) changes that waited because of their times are left out; peers send them again"
            )
        }
    }

    /// Compares what was found with the sums of the change log, which tell whether values were changed.
    private func checkSum() {
        guard work.report.isLossless,
            let oldest = work.catalog.metadataNumbers[StoreMetadata.Name.oldestSequence.rawValue],
            let oldestSum = work.catalog.metadataNumbers[StoreMetadata.Name.oldestSum.rawValue],
            work.log.isWhole(from: oldest), !work.results.keys.contains(Self.unknownCollection)
        else { return }
        if work.presentSum &- work.log.contentDelta != UInt64(bitPattern: oldestSum) {
            work.report.losses.append(
                "some document has other values than were written, as the sums of the change log tell; compare with a peer"
            )
        }
    }
}
