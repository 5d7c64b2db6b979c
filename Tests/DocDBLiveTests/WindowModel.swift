import DocDBLive

/// The contents of a test document; a new object for each version.
final class WindowDocument: Sendable {
    let key: Int64
    let version: Int

    init(key: Int64, version: Int) {
        self.key = key
        self.version = version
    }
}

/// A seeded generator of random numbers, so that a failing history can be run again (SplitMix64).
struct WindowNumbers: RandomNumberGenerator {
    private var state: UInt64

    init(seed: UInt64) { state = seed }

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var word = state
        word = (word ^ (word >> 30)) &* 0xBF58_476D_1CE4_E5B9
        word = (word ^ (word >> 27)) &* 0x94D0_49BB_1331_11EB
        return word ^ (word >> 31)
    }

    mutating func below(_ bound: Int) -> Int { Int(next() % UInt64(max(1, bound))) }

    mutating func chance(_ percent: Int) -> Bool { below(100) < percent }
}

/// A result kept as a plain dictionary and sorted anew for each question.
struct WindowModel {
    struct Entry: Equatable {
        var sortValue: Int
        var version: Int
    }

    /// What a consumer sees of one document.
    struct Seen: Equatable {
        let key: Int64
        let sortValue: Int
        let version: Int
    }

    var entries: [Int64: Entry] = [:]
    /// Bytes before the sort value, to make comparisons go past the first eight bytes.
    let keyPrefix: [UInt8]
    let limit: Int?
    let offset: Int

    static func sortKey(_ sortValue: Int, _ key: Int64, prefix: [UInt8]) -> RowKey {
        var bytes = prefix
        bytes.append(UInt8(truncatingIfNeeded: sortValue >> 8))
        bytes.append(UInt8(truncatingIfNeeded: sortValue))
        for shift in stride(from: 56, through: 0, by: -8) {
            bytes.append(UInt8(truncatingIfNeeded: key >> Int64(shift)))
        }
        return RowKey(bytes)
    }

    /// All rows in the order of (sort value, key): the oracle of the order, which looks at no bytes.
    var sorted: [Seen] {
        entries.map { Seen(key: $0.key, sortValue: $0.value.sortValue, version: $0.value.version) }
            .sorted { ($0.sortValue, $0.key) < ($1.sortValue, $1.key) }
    }

    var visible: [Seen] {
        let rest = sorted.dropFirst(offset)
        return Array(limit.map { rest.prefix($0) } ?? rest)
    }

    func row(_ seen: Seen) -> ResultRow<WindowDocument> {
        ResultRow(
            sortKey: Self.sortKey(seen.sortValue, seen.key, prefix: keyPrefix), key: seen.key,
            document: WindowDocument(key: seen.key, version: seen.version))
    }

    /// The change that tells a window the present state of a document.
    func change(_ key: Int64) -> ResultChange<WindowDocument> {
        guard let entry = entries[key] else { return ResultChange(leaving: key) }
        return ResultChange(row(Seen(key: key, sortValue: entry.sortValue, version: entry.version)))
    }

    /// Answers a request for rows, as a keyset seek would.
    func rows(after bound: RowKey?, count: Int?) -> (rows: [ResultRow<WindowDocument>], isComplete: Bool) {
        let beyond = sorted.map(row).filter { row in bound.map { $0 < row.sortKey } ?? true }
        guard let count else { return (beyond, true) }
        return (Array(beyond.prefix(count)), beyond.count <= count)
    }

    func window() -> ResultWindow<WindowDocument> {
        let (rows, isComplete) = rows(
            after: nil, count: ResultWindow<WindowDocument>.capacity(limit: limit, offset: offset))
        return ResultWindow(limit: limit, offset: offset, rows: rows, isComplete: isComplete)
    }
}

extension ResultDiff {
    /// Applies the difference step by step, as its contract reads.
    func applyingLiterally<Element>(to old: [Element], new: [Element]) -> [Element] {
        var result = old
        for index in (deletions + moves.map(\.source)).sorted(by: >) { result.remove(at: index) }
        for index in (insertions + moves.map(\.target)).sorted() { result.insert(new[index], at: index) }
        for index in updates { result[index] = new[index] }
        return result
    }
}
