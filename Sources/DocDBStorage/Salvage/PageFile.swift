import DocDBCore

/// The pages of an SQLite database as its file and its write-ahead log hold them, read without SQLite.
///
/// Format: https://www.sqlite.org/fileformat2.html. Nothing is written, no lock of SQLite's taken.
final class PageFile {
    let pageByteCount: Int
    /// The bytes of a page that b-trees use.
    let usableByteCount: Int
    let pageCount: Int
    let log: WriteAheadLogFrames
    let isHeaderDamaged: Bool
    /// The version of the store's format, or nil where the header is damaged.
    let formatVersion: Int64?
    /// Pages that could not be read when they were asked for.
    private(set) var unreadablePages: Set<Int> = []

    private let file: any StoreFile
    private let logFile: (any StoreFile)?

    /// The size of the pages of all stores, for files that no longer tell it.
    private static let usualPageByteCount = 4096
    static let headerByteCount = 100

    init(_ directory: StoreDirectory) throws(DocDBError) {
        let files = directory.fileSystem
        file = try files.open(directory.database, writing: false, creating: false)
        let header = (try? file.read(at: 0, count: Self.headerByteCount)) ?? []
        let isKnown = header.count == Self.headerByteCount && header.starts(with: "SQLite format 3\0".utf8)
        let told = isKnown ? Int(header[16]) << 8 | Int(header[17]) : 0
        let size = told == 1 ? 65_536 : told
        let isSound = size >= 512 && size & (size - 1) == 0 && header[20] <= 32
        isHeaderDamaged = !isSound
        pageByteCount = isSound ? size : Self.usualPageByteCount
        usableByteCount = pageByteCount - (isSound ? Int(header[20]) : 0)
        func number(_ offset: Int) -> Int64 { header[offset..<offset + 4].reduce(0) { $0 << 8 | Int64($1) } }
        let isStore = isSound && number(68) == Store.applicationID
        formatVersion = isStore ? number(60) : nil
        if isSound, !isStore, number(68) == 0 || number(60) == 0, files.byteCount(of: directory.writeAheadLog) == 0 {
            throw DocDBError(
                .notAStore, "\(directory.database) is an SQLite database but no DocDB store; name another directory")
        }
        if files.kind(of: directory.writeAheadLog) == .file {
            logFile = try files.open(directory.writeAheadLog, writing: false, creating: false)
        } else {
            logFile = nil
        }
        let size64 = files.byteCount(of: directory.database)
        let filePageCount = Int(clamping: (size64 + Int64(pageByteCount) - 1) / Int64(pageByteCount))
        if let logFile {
            log = WriteAheadLogFrames(logFile, pageByteCount: pageByteCount)
        } else {
            log = WriteAheadLogFrames()
        }
        pageCount = log.pageCount ?? filePageCount
    }

    deinit {
        file.close()
        logFile?.close()
    }

    /// The bytes of a page, the first being 1, or nil where they cannot be read.
    func page(_ number: Int) -> [UInt8]? {
        guard number >= 1, number <= pageCount else { return nil }
        let read: [UInt8]?
        if let offset = log.offsets[number] {
            read = try? logFile?.read(at: offset, count: pageByteCount)
        } else {
            read = try? file.read(at: Int64(number - 1) * Int64(pageByteCount), count: pageByteCount)
        }
        guard let read, read.count == pageByteCount else {
            unreadablePages.insert(number)
            return nil
        }
        return read
    }
}

extension WriteAheadLogFrames {
    /// A log that holds nothing.
    init() {}
}
