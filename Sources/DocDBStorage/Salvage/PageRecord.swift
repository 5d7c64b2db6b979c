import DocDBCore

/// The columns of one row as a page of an SQLite database holds them.
struct PageRecord {
    enum Column: Equatable {
        case null
        case int(Int64)
        /// A float, which no table of a store has.
        case float
        case text(Range<Int>)
        case blob(Range<Int>)
    }

    let bytes: [UInt8]
    let columns: [Column]
    /// The row's number; of a row of an index 0.
    let row: Int64

    /// The most columns of a table that a store has is far below this.
    private static let columnCountLimit = 64

    /// Reads a record; nil where its bytes are not one.
    init?(_ bytes: [UInt8], row: Int64) {
        var cursor = PageCursor(bytes, 0..<bytes.count)
        guard let headerByteCount = cursor.readVarint(), headerByteCount <= UInt64(bytes.count),
            Int(headerByteCount) >= cursor.offset
        else { return nil }
        var header = PageCursor(bytes, cursor.offset..<Int(headerByteCount))
        var columns: [Column] = []
        var offset = Int(headerByteCount)
        while !header.isAtEnd {
            guard columns.count < Self.columnCountLimit, let type = header.readVarint(), type <= 1 << 40,
                let column = Self.column(Int(type), bytes, &offset)
            else { return nil }
            columns.append(column)
        }
        guard offset == bytes.count else { return nil }
        self.bytes = bytes
        self.columns = columns
        self.row = row
    }

    private static func column(_ type: Int, _ bytes: [UInt8], _ offset: inout Int) -> Column? {
        let length: Int
        switch type {
        case 0: return .null
        case 1...4: length = type
        case 5: length = 6
        case 6, 7: length = 8
        case 8, 9: return .int(Int64(type - 8))
        case 12...: length = (type - 12) / 2
        default: return nil
        }
        guard length <= bytes.count - offset else { return nil }
        let range = offset..<offset + length
        offset += length
        if type == 7 { return .float }
        if type >= 12 { return type % 2 == 0 ? .blob(range) : .text(range) }
        let isNegative = bytes[range.lowerBound] >= 0x80
        return .int(bytes[range].reduce(isNegative ? -1 : 0) { $0 << 8 | Int64($1) })
    }

    func int(_ column: Int) -> Int64? {
        guard columns.indices.contains(column), case .int(let value) = columns[column] else { return nil }
        return value
    }

    func text(_ column: Int) -> [UInt8]? {
        guard columns.indices.contains(column), case .text(let range) = columns[column] else { return nil }
        return Array(bytes[range])
    }

    func blob(_ column: Int) -> [UInt8]? {
        guard columns.indices.contains(column), case .blob(let range) = columns[column] else { return nil }
        return Array(bytes[range])
    }

    func isNull(_ column: Int) -> Bool { columns.indices.contains(column) && columns[column] == .null }

    /// The document id in a column as canonical CBOR, or nil where it is none.
    func documentID(_ column: Int) -> [UInt8]? {
        guard columns.indices.contains(column) else { return nil }
        var buffer = ByteBuffer()
        switch columns[column] {
        case .int(let value): buffer.appendCBOR(value)
        case .text(let range): bytes[range].withUnsafeBytes { buffer.appendCBOR(text: $0) }
        case .blob(let range): buffer.append(Array(bytes[range]))
        case .null, .float: return nil
        }
        return (try? DocumentID(canonicalCBOR: buffer.bytes)) == nil ? nil : buffer.array
    }
}

/// Reads numbers from a run of bytes as SQLite writes them; nothing beyond its bounds is touched.
struct PageCursor {
    private let bytes: [UInt8]
    private(set) var offset: Int
    private let end: Int

    init(_ bytes: [UInt8], _ range: Range<Int>) {
        self.bytes = bytes
        end = max(0, min(range.upperBound, bytes.count))
        offset = max(0, min(range.lowerBound, end))
    }

    var isAtEnd: Bool { offset >= end }

    /// A big-endian number of so many bytes.
    mutating func readNumber(_ byteCount: Int) -> Int? {
        guard end - offset >= byteCount else { return nil }
        let value = bytes[offset..<offset + byteCount].reduce(0) { $0 << 8 | Int($1) }
        offset += byteCount
        return value
    }

    /// A varint of SQLite's: seven bits a byte, most significant first, eight in the ninth.
    mutating func readVarint() -> UInt64? {
        var value: UInt64 = 0
        for index in 0..<9 {
            guard offset < end else { return nil }
            let byte = bytes[offset]
            offset += 1
            if index == 8 { return value << 8 | UInt64(byte) }
            value = value << 7 | UInt64(byte & 0x7F)
            if byte < 0x80 { return value }
        }
        return nil
    }
}
