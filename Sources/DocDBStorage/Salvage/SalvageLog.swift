import DocDBCore

/// What the change log of a damaged store says of its documents, as far as its rows can be read.
final class SalvageLog {
    /// The collections in which commits have changed a document with this key.
    private(set) var collections: [Int64: Set<Int64>] = [:]
    /// The sum of the content deltas of all records.
    private(set) var contentDelta: UInt64 = 0
    /// First and last sequence number of each row that can be read.
    private var ranges: [(first: Int64, last: Int64)] = []
    private(set) var damagedRowCount = 0
    private var raw = ByteBuffer()

    /// - Parameter wantsCollections: whether the collections of keys are wanted, which takes memory for each document.
    func add(_ row: PageRecord, wantsCollections: Bool, insertionLimit: UInt64) {
        guard let last = row.int(1), let codec = row.int(3).flatMap({ ChangeLogFormat.Codec(rawValue: $0) }),
            let rawLength = row.int(4), let checksum = row.int(5), let data = row.blob(6), row.row > 0, last >= row.row,
            last <= ChangeLogFormat.sequenceLimit
        else {
            damagedRowCount += 1
            return
        }
        do {
            try data.withUnsafeBytes {
                try ChangeLogBlock.unpack($0, codec: codec, rawLength: rawLength, checksum: checksum, into: &raw)
            }
            var sum: UInt64 = 0
            var found: [(key: Int64, collection: Int64)] = []
            try ChangeLogBlock.forEachRecord(raw.bytes, codec: codec, first: row.row, last: last) {
                (sequence, bytes) throws(DocDBError) in
                do throws(CBORError) {
                    var cursor = ByteCursor(bytes)
                    let head = try ChangeLogRecord.readHead(&cursor)
                    sum = sum &+ head.contentDelta
                    guard wantsCollections else { return }
                    var entries = ChangeLogRecord.EntryReader(
                        cursor: cursor, sequence: sequence, stampCount: head.stamps.count,
                        insertionLimit: insertionLimit, readsUndo: false)
                    while let entry = try entries.next() { found.append((entry.key, entry.collection)) }
                } catch {
                    throw ChangeLog.damaged(sequence, "a record is malformed")
                }
            }
            for (key, collection) in found { collections[key, default: []].insert(collection) }
            contentDelta = contentDelta &+ sum
            ranges.append((row.row, last))
        } catch {
            damagedRowCount += 1
        }
    }

    /// Whether every record from `oldest` on is there up to the last that is known.
    func isWhole(from oldest: Int64) -> Bool {
        var expected = oldest
        for range in ranges.sorted(by: { $0.first < $1.first }) {
            guard range.first == expected else { return false }
            expected = range.last + 1
        }
        return damagedRowCount == 0
    }
}
