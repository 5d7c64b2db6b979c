import DocDBCore

/// Where a write-ahead log holds the newest pages of a database, read without SQLite.
///
/// SQLite stops at the first frame that is not what was written; this goes on behind it, since each frame's checksum is told
/// from that of the frame before. Format: https://www.sqlite.org/fileformat2.html, section 4.
struct WriteAheadLogFrames {
    /// The offset of the newest content of each page.
    private(set) var offsets: [Int: Int64] = [:]
    /// The pages of the database as of the last commit, or nil where the log holds no commit.
    private(set) var pageCount: Int?
    /// Frames that are not what was written, and what lies behind the last commit.
    private(set) var damagedFrameCount = 0
    private(set) var isHeaderDamaged = false

    private static let headerByteCount = 32
    private static let frameHeaderByteCount = 24
    private static let magic: UInt32 = 0x377F_0682

    private struct Sums: Equatable {
        var first: UInt32 = 0
        var second: UInt32 = 0

        /// Adds bytes, of which there are a multiple of eight.
        mutating func add(_ bytes: ArraySlice<UInt8>, isBigEndian: Bool) {
            bytes.withUnsafeBytes { bytes in
                var offset = 0
                while offset + 8 <= bytes.count {
                    let left = bytes.loadUnaligned(fromByteOffset: offset, as: UInt32.self)
                    let right = bytes.loadUnaligned(fromByteOffset: offset + 4, as: UInt32.self)
                    first &+= (isBigEndian ? left.bigEndian : left.littleEndian) &+ second
                    second &+= (isBigEndian ? right.bigEndian : right.littleEndian) &+ first
                    offset += 8
                }
            }
        }
    }

    /// A log of a page size; one that is too short for a header is empty.
    init(_ file: any StoreFile, pageByteCount: Int) {
        guard let header = try? file.read(at: 0, count: Self.headerByteCount), header.count == Self.headerByteCount
        else { return }
        let magic = Self.word(header, 0)
        let isBigEndian = magic & 1 == 1
        var sums = Sums()
        sums.add(header[..<24], isBigEndian: isBigEndian)
        var before = Sums(first: Self.word(header, 24), second: Self.word(header, 28))
        var salts = Array(header[16..<24])
        isHeaderDamaged =
            magic & ~1 != Self.magic || Int(Self.word(header, 8)) != pageByteCount || sums != before
        let frameByteCount = Self.frameHeaderByteCount + pageByteCount
        var pending: [Int: Int64] = [:]
        var suspectCount = 0
        var offset = Int64(Self.headerByteCount)
        while let frame = try? file.read(at: offset, count: frameByteCount), frame.count == frameByteCount {
            if isHeaderDamaged, offset == Int64(Self.headerByteCount) { salts = Array(frame[8..<16]) }
            let isOfThisLog = frame[8..<16].elementsEqual(salts)
            var sums = before
            sums.add(frame[..<8], isBigEndian: isBigEndian && !isHeaderDamaged)
            sums.add(frame[Self.frameHeaderByteCount...], isBigEndian: isBigEndian && !isHeaderDamaged)
            before = Sums(first: Self.word(frame, 16), second: Self.word(frame, 20))
            if isOfThisLog, sums == before {
                pending[Int(Self.word(frame, 0))] = offset + Int64(Self.frameHeaderByteCount)
                let committedPageCount = Int(Self.word(frame, 4))
                if committedPageCount > 0 {
                    offsets.merge(pending) { $1 }
                    pending.removeAll()
                    pageCount = committedPageCount
                    // What lies before a commit that holds is of this log, whatever its salts say.
                    damagedFrameCount += suspectCount
                    suspectCount = 0
                }
            } else {
                suspectCount += 1
                if isOfThisLog { damagedFrameCount += suspectCount; suspectCount = 0 }
            }
            offset += Int64(frameByteCount)
        }
    }

    private static func word(_ bytes: [UInt8], _ offset: Int) -> UInt32 {
        bytes[offset..<offset + 4].reduce(0) { $0 << 8 | UInt32($1) }
    }
}
