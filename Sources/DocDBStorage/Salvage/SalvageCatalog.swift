import DocDBCore

/// What the tables of a damaged store say of its names, actors and collections, read from their pages.
///
/// Where a table has lost a row, the index of its unique column may still have it. Where both are there and differ, nobody knows
/// which is right, and neither is used.
struct SalvageCatalog {
    /// The root page of each table and index, by name.
    var roots: [String: Int] = [:]
    private(set) var names: [Int64: [UInt8]] = [:]
    private(set) var actors: [Int64: [UInt8]] = [:]
    private(set) var collectionNames: [Int64: [UInt8]] = [:]
    /// Definitions of indexes by their numbers, with the numbers of their collections.
    private(set) var indexes: [Int64: (collection: Int64, definition: String)] = [:]
    private(set) var metadataNumbers: [String: Int64] = [:]
    private(set) var identityKind: String?
    private(set) var quarantinedCount = 0
    /// Changes that a hub has refused: document, actor and time.
    private(set) var voided: [(document: [UInt8], actor: [UInt8], time: Int64)] = []
    private(set) var areVoidedWhole = true
    /// Whether the tables and indexes that the schema should tell of are all there, and could be read.
    var isWhole = true

    static let documentsPrefix = "documents_"
    /// The index that SQLite keeps for the unique column of a table.
    static func uniqueIndex(of table: String) -> String { "sqlite_autoindex_\(table)_1" }

    /// The numbers of the collections that have a table.
    var tableNumbers: [Int64] {
        roots.keys.compactMap { name in
            name.hasPrefix(Self.documentsPrefix) ? Int64(name.dropFirst(Self.documentsPrefix.count)) : nil
        }.filter { 1...Int64(Int32.max) ~= $0 }.sorted()
    }

    /// Reads everything but the documents that the schema leads to.
    init(_ trees: PageTrees) {
        isWhole = trees.walk(root: 1) { addSchema($0) }
        for table in ["meta", "field_names", "actors", "collections", "indexes"] {
            guard let root = roots[table] else {
                isWhole = false
                continue
            }
            if !trees.walk(root: root, { add($0, of: table) }) { isWhole = false }
        }
        if let root = roots["quarantine"] { trees.walk(root: root) { _ in quarantinedCount += 1 } }
        if let root = roots["voided"] {
            areVoidedWhole = trees.walk(root: root) { row in
                guard let document = row.blob(1), let actor = row.blob(2), let time = row.int(3) else { return }
                voided.append((document, actor, time))
            }
        }
        isWhole = complete(&names, "field_names", trees) && isWhole
        isWhole = complete(&actors, "actors", trees) && isWhole
        isWhole = complete(&collectionNames, "collections", trees) && isWhole
        for number in collectionNames.keys where roots["\(Self.documentsPrefix)\(number)"] == nil { isWhole = false }
    }

    private mutating func addSchema(_ row: PageRecord) {
        guard row.columns.count == 5, let type = row.text(0), let name = row.text(1), let root = row.int(3),
            type.elementsEqual("table".utf8) || type.elementsEqual("index".utf8), root > 0, root <= Int64(Int32.max)
        else { return }
        roots[String(decoding: name, as: UTF8.self)] = Int(root)
    }

    private mutating func add(_ row: PageRecord, of table: String) {
        switch table {
        case "meta": addMetadata(row)
        case "field_names": if row.columns.count == 2, let name = row.text(1) { names[row.row] = name }
        case "actors": if row.columns.count == 2, let id = row.blob(1) { actors[row.row] = id }
        case "collections": if row.columns.count == 3, let name = row.text(1) { collectionNames[row.row] = name }
        default:
            if let collection = row.int(1), let definition = row.text(2) {
                indexes[row.row] = (collection, String(decoding: definition, as: UTF8.self))
            }
        }
    }

    private mutating func addMetadata(_ row: PageRecord) {
        guard row.columns.count == 2, let name = row.text(0) else { return }
        let text = String(decoding: name, as: UTF8.self)
        if let number = row.int(1) { metadataNumbers[text] = number }
        if text == StoreMetadata.Name.identityKind.rawValue, let kind = row.blob(1), kind.count <= 64 {
            identityKind = String(decoding: kind, as: UTF8.self)
        }
    }

    /// Adds what only the index of a table's unique column has; false where the two differ or the index cannot be read.
    private func complete(_ values: inout [Int64: [UInt8]], _ table: String, _ trees: PageTrees) -> Bool {
        guard let root = roots[Self.uniqueIndex(of: table)] else { return false }
        let known = values
        var differs = false
        let isWhole = trees.walk(root: root) { row in
            guard row.columns.count == 2, let number = row.int(1), let value = row.text(0) ?? row.blob(0) else {
                return
            }
            if let other = known[number] {
                guard other != value else { return }
                values[number] = nil
                differs = true
            } else {
                values[number] = value
                differs = true
            }
        }
        return isWhole && !differs
    }

    /// Adds rows of the tables above whose pages nothing leads to any more.
    mutating func addOrphan(_ row: PageRecord) {
        let second = row.columns.count > 1 && row.isNull(0)
        switch row.columns.count {
        case 2 where second:
            if let name = row.text(1), names[row.row] == nil { names[row.row] = name }
            if let id = row.blob(1), id.count == 16, actors[row.row] == nil { actors[row.row] = id }
        case 3 where second:
            if let name = row.text(1), row.int(2) != nil, collectionNames[row.row] == nil {
                collectionNames[row.row] = name
            }
            if let collection = row.int(1), let definition = row.text(2), indexes[row.row] == nil {
                indexes[row.row] = (collection, String(decoding: definition, as: UTF8.self))
            }
        case 5 where !second: addSchema(row)
        default: break
        }
    }

    /// The name under which a collection is written: its own, or one made of its number.
    func name(of collection: Int64) -> String {
        if let bytes = collectionNames[collection] {
            let name = String(decoding: bytes, as: UTF8.self)
            if (try? Catalog.validate(collectionName: name)) != nil { return name }
        }
        return "recovered_\(collection)"
    }
}

/// Names and actors of a damaged store by their numbers, some of which may be lost.
final class SalvageNumbers {
    let actors = ActorTable()
    /// Ids that stand for actors that are lost.
    private var lostActors: Set<ActorID> = []
    private var names: [Int: UnsafeRawBufferPointer] = [:]
    /// One more than the highest number of a name.
    private(set) var nameCount = 0

    /// The highest number of an actor that is believed.
    private static let actorCountLimit: Int64 = 1 << 24

    init(_ catalog: SalvageCatalog, randomBytes: (Int) -> [UInt8]) {
        var uses: [[UInt8]: Int] = [:]
        for name in catalog.names.values { uses[name, default: 0] += 1 }
        for (number, name) in catalog.names where 0..<Int64(Limits.internedFieldNameCount) ~= number {
            guard uses[name] == 1, name.withUnsafeBytes({ FieldNames.isInternable($0) }) else { continue }
            let bytes = UnsafeMutableRawBufferPointer.allocate(byteCount: name.count, alignment: 1)
            bytes.copyBytes(from: name)
            names[Int(number)] = UnsafeRawBufferPointer(bytes)
            nameCount = max(nameCount, Int(number) + 1)
        }
        let last = catalog.actors.keys.filter { 0..<Self.actorCountLimit ~= $0 }.max() ?? -1
        for number in 0..<max(0, last + 1) {
            let id = catalog.actors[number].flatMap { $0.withUnsafeBytes { ActorID(bytes: $0) } }
            if let id, Int64(actors.intern(id)) == number { continue }
            // The numbers of those that follow must stay what they are.
            guard let stand = randomBytes(16).withUnsafeBytes({ ActorID(bytes: $0) }) else { continue }
            _ = actors.intern(stand)
            lostActors.insert(stand)
        }
    }

    deinit { for name in names.values { name.deallocate() } }

    func name(_ number: Int) -> UnsafeRawBufferPointer? { names[number] }

    /// Whether a state speaks of an actor that is lost.
    func namesLostActor(_ state: DocumentState) -> Bool {
        if lostActors.isEmpty { return false }
        return state.seen.elements.contains { lostActors.contains($0.actor) }
            || state.deleted.elements.contains { lostActors.contains($0.actor) }
            || state.assignments.contains { lostActors.contains($0.stamp.actor) }
            || state.tallies.contains { lostActors.contains($0.actor) || lostActors.contains($0.base.actor) }
            || state.unknowns.contains { lostActors.contains($0.actor) || lostActors.contains($0.base.actor) }
    }
}
