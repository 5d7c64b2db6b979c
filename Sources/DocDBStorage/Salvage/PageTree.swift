import DocDBCore

/// Walks b-trees of a database page by page, around whatever is damaged.
final class PageTrees {
    let file: PageFile
    /// The pages that a walk has been to.
    private(set) var visited: Set<Int> = []
    /// Pages that are no pages of the tree that leads to them.
    private(set) var damagedPages: Set<Int> = []
    /// Rows of which the bytes are no record.
    private(set) var damagedRowCount = 0

    private enum PageType {
        static let indexInterior = 2
        static let tableInterior = 5
        static let indexLeaf = 10
        static let tableLeaf = 13
    }

    /// SQLite's trees are never deeper than this.
    private static let depthLimit = 24
    /// The most bytes of one row; the largest of a store are blocks of the change log.
    private static let rowByteLimit = 1 << 30

    init(_ file: PageFile) { self.file = file }

    /// The number of faults met so far.
    var faultCount: Int { damagedPages.count + file.unreadablePages.count + damagedRowCount }

    /// Calls `body` with each row of the tree whose root is this page, in order.
    ///
    /// - Returns: whether the whole tree could be read.
    @discardableResult
    func walk(root: Int, _ body: (PageRecord) throws -> Void) rethrows -> Bool {
        let before = faultCount
        try walk(page: root, depth: 0, isTable: nil, body)
        return faultCount == before
    }

    /// Calls `body` with each row of the tables' leaves that no walk has been to.
    func walkOrphans(_ body: (PageRecord) throws -> Void) rethrows {
        guard file.pageCount > 0 else { return }
        for number in 1...file.pageCount where !visited.contains(number) {
            guard let page = file.page(number) else { continue }
            if Int(page[number == 1 ? PageFile.headerByteCount : 0]) == PageType.tableLeaf {
                try readPage(page, number, depth: 0, isTable: true, isExpected: false, body)
            }
        }
    }

    private func walk(
        page number: Int, depth: Int, isTable: Bool?, _ body: (PageRecord) throws -> Void
    ) rethrows {
        guard number >= 1, number <= file.pageCount, depth < Self.depthLimit, !visited.contains(number) else {
            damagedPages.insert(number)
            return
        }
        visited.insert(number)
        guard let page = file.page(number) else { return }
        try readPage(page, number, depth: depth, isTable: isTable, isExpected: true, body)
    }

    private func readPage(
        _ page: [UInt8], _ number: Int, depth: Int, isTable: Bool?, isExpected: Bool,
        _ body: (PageRecord) throws -> Void
    ) rethrows {
        let start = number == 1 ? PageFile.headerByteCount : 0
        // A leaf whose type is damaged may have its rows all the same.
        let isKnown = [
            PageType.indexInterior, PageType.tableInterior, PageType.indexLeaf, PageType.tableLeaf,
        ].contains(Int(page[start]))
        let type = !isKnown && isTable == true ? PageType.tableLeaf : Int(page[start])
        if !isKnown, isExpected { damagedPages.insert(number) }
        let isOfTable = type == PageType.tableLeaf || type == PageType.tableInterior
        let isInterior = type == PageType.tableInterior || type == PageType.indexInterior
        guard isOfTable || type == PageType.indexLeaf || type == PageType.indexInterior,
            isTable == nil || isTable == isOfTable
        else {
            if isExpected { damagedPages.insert(number) }
            return
        }
        let cellCount = Int(page[start + 3]) << 8 | Int(page[start + 4])
        let headerByteCount = isInterior ? 12 : 8
        var pointers = PageCursor(page, start + headerByteCount..<file.usableByteCount)
        for _ in 0..<cellCount {
            guard let offset = pointers.readNumber(2), offset >= start + headerByteCount, offset < file.usableByteCount
            else {
                damagedRowCount += 1
                continue
            }
            var cell = PageCursor(page, offset..<file.usableByteCount)
            if isInterior {
                guard let child = cell.readNumber(4) else {
                    damagedRowCount += 1
                    continue
                }
                try walk(page: child, depth: depth + 1, isTable: isOfTable, body)
                if isOfTable { continue }
            }
            guard let record = readCell(&cell, page, isOfTable: isOfTable) else {
                if isExpected { damagedRowCount += 1 }
                continue
            }
            try body(record)
        }
        if isInterior {
            var cursor = PageCursor(page, start + 8..<start + 12)
            try walk(page: cursor.readNumber(4) ?? 0, depth: depth + 1, isTable: isOfTable, body)
        }
    }

    private func readCell(_ cell: inout PageCursor, _ page: [UInt8], isOfTable: Bool) -> PageRecord? {
        guard let length = cell.readVarint(), length <= UInt64(Self.rowByteLimit),
            Int(length) / file.usableByteCount <= file.pageCount
        else { return nil }
        var row: Int64 = 0
        if isOfTable {
            guard let number = cell.readVarint() else { return nil }
            row = Int64(bitPattern: number)
        }
        let count = Int(length)
        let local = localByteCount(of: count, isOfTable: isOfTable)
        guard cell.offset + local + (local < count ? 4 : 0) <= file.usableByteCount else { return nil }
        var bytes = Array(page[cell.offset..<cell.offset + local])
        if local < count {
            var link = PageCursor(page, cell.offset + local..<cell.offset + local + 4)
            guard readOverflow(from: link.readNumber(4) ?? 0, into: &bytes, count: count) else { return nil }
        }
        return PageRecord(bytes, row: row)
    }

    /// How many bytes of a row lie in the page itself (section 1.6 of the format).
    private func localByteCount(of count: Int, isOfTable: Bool) -> Int {
        let usable = file.usableByteCount
        let most = isOfTable ? usable - 35 : (usable - 12) * 64 / 255 - 23
        if count <= most { return count }
        let least = (usable - 12) * 32 / 255 - 23
        let rest = least + (count - least) % (usable - 4)
        return rest <= most ? rest : least
    }

    private func readOverflow(from first: Int, into bytes: inout [UInt8], count: Int) -> Bool {
        var number = first
        // Every page adds bytes, so that a chain that leads back to itself ends.
        while bytes.count < count {
            guard let page = file.page(number) else { return false }
            visited.insert(number)
            var link = PageCursor(page, 0..<4)
            number = link.readNumber(4) ?? 0
            bytes += page[4..<min(file.usableByteCount, 4 + count - bytes.count)]
        }
        return true
    }
}
