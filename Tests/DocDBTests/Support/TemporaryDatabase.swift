import DocDB
import Foundation

/// A database in a directory of its own that goes with this object.
final class TemporaryDatabase: Sendable {
    let directory: String
    let path: String
    let db: Database

    init(_ configure: (inout Database.Options) -> Void = { _ in }) throws {
        directory = TemporaryDirectory.make()
        path = directory + "/test.docdb"
        var options = Database.Options()
        configure(&options)
        db = try Database(at: path, options: options)
    }

    deinit {
        try? db.close()
        try? FileManager.default.removeItem(atPath: directory)
    }

    /// The collection that most tests use.
    var cars: Collection { db.collection("cars") }

    /// Opens the same database anew, after the first one was closed, or for reading beside it.
    func reopen(_ access: Database.Options.Access = .readWrite) throws -> Database {
        var options = Database.Options()
        options.access = access
        return try Database(at: path, options: options)
    }
}

/// Directories of tests, which are gone when the tests have ended.
enum TemporaryDirectory {
    private static let base: String = {
        atexit { try? FileManager.default.removeItem(atPath: TemporaryDirectory.base) }
        return FileManager.default.temporaryDirectory.path + "/docdb-api-\(UUID().uuidString)"
    }()

    static func make() -> String {
        let path = base + "/" + UUID().uuidString
        try? FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
        return path
    }
}

/// The code of the error that a closure throws, or nil where it throws none of DocDB's.
func errorCode<R>(_ body: () throws -> R) -> DocDBError.Code? {
    do {
        _ = try body()
        return nil
    } catch {
        return (error as? DocDBError)?.code
    }
}

/// The error of DocDB that a closure throws.
func docDBError<R>(_ body: () throws -> R) -> DocDBError? {
    do {
        _ = try body()
        return nil
    } catch {
        return error as? DocDBError
    }
}

/// A document of the tests.
struct Car: Codable, Equatable {
    // swift-format-ignore: NoLeadingUnderscores
    var _id: String?
    var make: String
    var price: Int
    var views: Int?
    var seller: Seller?

    struct Seller: Codable, Equatable {
        var name: String
        var city: String?
    }
}
