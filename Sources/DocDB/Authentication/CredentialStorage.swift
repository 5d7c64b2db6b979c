import DocDBAuth
import DocDBCore
import DocDBStorage

/// Where a database with the online identity keeps its key and its grant: files unless an app names a keychain.
public protocol CredentialStorage: Sendable {
    /// The bytes saved last under a name, or nil where there are none.
    func load(_ name: String) throws -> [UInt8]?
    /// Saves bytes under a name, durably and for this user alone; nil removes them.
    func save(_ name: String, _ bytes: [UInt8]?) throws
}

/// Credentials in files of mode 0600 in a directory of mode 0700, outside the database, so that no copy has them.
public struct CredentialFiles: CredentialStorage {
    /// The directory of the files.
    public let directory: String

    /// Creates the storage; the directory is made when something is saved.
    public init(directory: String) { self.directory = directory }

    /// Reads a file, which must be this user's alone.
    public func load(_ name: String) throws -> [UInt8]? {
        try PrivateFile.content(of: "\(directory)/\(name)", byteLimit: Self.byteLimit, isSecret: true)
    }

    /// Writes a file anew, at once and durably, or removes it.
    public func save(_ name: String, _ bytes: [UInt8]?) throws {
        let path = "\(directory)/\(name)"
        guard let bytes else { return try PrivateFile.remove(path) }
        try PrivateFile.makeDirectory(directory)
        try PrivateFile.replace(path, with: bytes)
    }

    /// Enough for as many revocations as there can be.
    private static let byteLimit = 16 * 1024 * 1024
}

/// The key of a database in its storage.
struct StoredPeerKey: KeyStorage {
    let storage: any CredentialStorage
    func load() throws -> [UInt8]? { try storage.load("peer-key") }
    func save(_ bytes: [UInt8]) throws { try storage.save("peer-key", bytes) }
}
