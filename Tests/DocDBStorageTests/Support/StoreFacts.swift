import CSQLite
import DocDBCore
import DocDBStorage
import Foundation

/// One incarnation of a change log, as the store lists it.
struct Incarnation: Hashable {
    var id: [UInt8]
    /// The last sequence number of it, or nil for the one that goes on.
    var lastSequence: Int64?
}

extension Store {
    /// Every record that the log holds, oldest first.
    func logRecords() throws -> [ChangeLogRecord] {
        try read { context in
            let reader = ChangeLogReader(connection: context.connection)
            return try reader.rows().flatMap { try reader.records(in: $0) }
        }
    }

    /// The number of the newest commit.
    func lastSequence() throws -> Int64 {
        try read { try ChangeLogReader(connection: $0.connection).lastSequence() }
    }

    /// The first commit that the log holds.
    func oldestSequence() throws -> Int64 {
        try read { try ChangeLogReader(connection: $0.connection).oldestSequence() }
    }

    /// The actor that the newest commit was stamped with last.
    func lastActor() throws -> ActorID? {
        guard let number = try logRecords().last?.stamps.last?.actorNumber else { return nil }
        return actors.actor(UInt64(number))
    }

    /// The incarnations of the change log, oldest first.
    func incarnations() throws -> [Incarnation] {
        try read { context in
            let rows = try context.connection.prepareOnce("SELECT id, last_seq FROM incarnations ORDER BY ordinal")
            var result: [Incarnation] = []
            while try rows.step() {
                result.append(Incarnation(id: [UInt8](rows.blob(0)), lastSequence: rows.isNull(1) ? nil : rows.int(1)))
            }
            return result
        }
    }

    /// The versions of a document, newest first.
    func revisions(of id: DocumentID, in collection: String = "cars") throws -> [StoredRevision] {
        try read { context in
            guard let reader = try context.collection(collection) else { return [] }
            var bytes = ByteBuffer()
            id.appendCBOR(to: &bytes)
            return try context.revisions(of: bytes.bytes, in: reader)
        }
    }

    /// The visible documents of a collection as they stood after a commit.
    func all(in collection: String = "cars", asOf sequence: Int64) throws -> [DocumentID: Value] {
        try read { context in
            var result: [DocumentID: Value] = [:]
            guard let reader = try context.collection(collection) else { return result }
            try context.forEachDocument(in: reader, asOf: sequence) { _, id, body in
                result[try DocumentID(canonicalCBOR: id)] = try Value.decode(body, names: context.names)
            }
            return result
        }
    }
}

extension StoredRevision {
    /// The document of this version, or nil where it is a deletion.
    func value(_ names: FieldNames) throws -> Value? {
        try body.map { try $0.withUnsafeBytes { try Value.decode($0, names: names) } }
    }
}

extension TemporaryStore {
    var database: String { path + "/store.sqlite" }
    var incarnationFile: String { path + "/incarnation" }

    /// Runs SQL on the database of a store that is closed, behind its back.
    func alter(_ sql: String) throws {
        let connection = try SQLiteConnection(path: database, mode: .readWriteCreate, busyTimeoutMilliseconds: 1_000)
        try connection.execute(sql)
    }

    /// The bytes that a query's first row starts with, of a store that is closed.
    func storedBytes(_ sql: String) throws -> [UInt8] {
        let connection = try SQLiteConnection(path: database, mode: .readWriteCreate, busyTimeoutMilliseconds: 1_000)
        let statement = try connection.prepareOnce(sql)
        guard try statement.step() else { return [] }
        return [UInt8](statement.blob(0))
    }

    /// A copy of the store's directory, made file by file.
    func copy() throws -> TemporaryStore {
        let copy = TemporaryStore("copy")
        try FileManager.default.copyItem(atPath: path, toPath: copy.path)
        return copy
    }
}

/// The code of the error that `body` throws; nil where it throws none, or one that is no `DocDBError`.
func errorCode(_ body: () throws -> Void) -> DocDBError.Code? { docdbError(body)?.code }

/// The `DocDBError` that `body` throws, or nil.
func docdbError(_ body: () throws -> Void) -> DocDBError? {
    do {
        try body()
        return nil
    } catch {
        return error as? DocDBError
    }
}

extension [UInt8] {
    /// The bytes as an SQL literal.
    var sqlLiteral: String {
        let digits = Array<Character>("0123456789ABCDEF")
        return "x'" + String(flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }) + "'"
    }
}
