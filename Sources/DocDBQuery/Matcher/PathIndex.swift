import DocDBCore

/// The predicates that wait for one value, or for the values of one range.
struct PostingList: BitwiseCopyable {
    /// The first posting; negative where there is none.
    var first: Int32 = -1
    var count: Int32 = 0
}

/// The kinds of values, by the first half of the first byte of their order encoding (`Schemas/order-encoding.md`).
enum ValueKind: UInt8, BitwiseCopyable {
    case missing = 1
    case null, bool, number, string, bytes, array, object

    /// The kind of an order-encoded value, by its first byte.
    init(encoded tag: UInt8) { self = ValueKind(rawValue: tag >> 4) ?? .object }

    /// The kind of a CBOR value by its first byte; nil where none begins so.
    @inline(__always)
    init?(cbor byte: UInt8) {
        switch byte >> 5 {
        case CBOR.Major.unsigned, CBOR.Major.negative: self = .number
        case CBOR.Major.text: self = .string
        case CBOR.Major.bytes: self = .bytes
        case CBOR.Major.array: self = .array
        case CBOR.Major.map: self = .object
        default:
            switch byte {
            case CBOR.nullByte: self = .null
            case CBOR.falseByte, CBOR.trueByte: self = .bool
            case CBOR.halfByte, CBOR.singleByte, CBOR.doubleByte: self = .number
            default: return nil
            }
        }
    }

    @inline(__always) var bit: UInt16 { 1 << UInt16(rawValue) }
}

/// One predicate in one list.
struct Posting: BitwiseCopyable {
    var predicate: Int32
    /// The node that holds the list, in the table of points or in the tree of ranges.
    var node: Int32
    var isRange: Bool
    /// The kind of the values that the list is for.
    var kind: ValueKind
    var next: Int32
    var previous: Int32 = -1
    /// The next posting of the same predicate; negative at the end.
    var nextOfPredicate: Int32
}

/// The standing predicates of one collection that are found by the values at one path.
final class PathIndex {
    let path: Filter.Path
    /// The path leads into the document's id.
    let isID: Bool
    let isMultiValued: Bool
    private(set) var predicateCount = 0
    private var points = PointTable()
    private var ranges = RangeTree()
    private var postings = Pool<Posting>()
    /// How many postings there are for each kind of value.
    private var kindCounts = [Int](repeating: 0, count: 16)
    /// A bit for each kind of value that has postings.
    private(set) var kinds: UInt16 = 0

    init(_ path: Filter.Path) {
        self.path = path
        isMultiValued = path.isMultiValued
        isID = if case .name(let name)? = path.steps.first { name.string.utf8.elementsEqual("_id".utf8) } else { false }
    }

    /// Registers a predicate for a set of values, and returns the first of its postings; negative where there are none.
    ///
    /// - Complexity: O(log n) expected for a range, O(1) expected for each point.
    func add(_ predicate: Int32, _ values: ValueSet, scratch: inout KeyScratch) throws(DocDBError) -> Int32 {
        var first: Int32 = -1
        predicateCount += 1
        do {
            switch values {
            case .points(let points):
                for value in points {
                    try scratch.encode(value)
                    let node = self.points.findOrInsert(scratch.key.bytes)
                    first = link(
                        predicate, node, isRange: false, ValueKind(encoded: scratch.key[0]), after: first)
                }
            case .range:
                for range in try values.keyRanges(descending: false) {
                    let node = ranges.findOrInsert(range)
                    first = link(
                        predicate, node, isRange: true, ValueKind(encoded: range.lower[0]), after: first)
                }
            }
        } catch {
            remove(first)
            throw error
        }
        return first
    }

    private func list(_ node: Int32, isRange: Bool) -> PostingList {
        isRange ? ranges.postings(node) : points.postings(node)
    }

    private func setList(_ node: Int32, isRange: Bool, _ list: PostingList) {
        if isRange { ranges.setPostings(node, list) } else { points.setPostings(node, list) }
    }

    private func link(_ predicate: Int32, _ node: Int32, isRange: Bool, _ kind: ValueKind, after: Int32) -> Int32 {
        var list = list(node, isRange: isRange)
        let next = list.first
        let posting = postings.insert(
            Posting(
                predicate: predicate, node: node, isRange: isRange, kind: kind, next: next, nextOfPredicate: after))
        if next >= 0 { postings[next].pointee.previous = posting }
        list.first = posting
        list.count += 1
        setList(node, isRange: isRange, list)
        kindCounts[Int(kind.rawValue)] += 1
        kinds |= kind.bit
        return posting
    }

    /// Takes a predicate out, by the first of its postings.
    ///
    /// - Complexity: as of `add`.
    func remove(_ firstPosting: Int32) {
        var number = firstPosting
        while number >= 0 {
            let posting = postings[number].pointee
            var list = list(posting.node, isRange: posting.isRange)
            if posting.previous >= 0 {
                postings[posting.previous].pointee.next = posting.next
            } else {
                list.first = posting.next
            }
            if posting.next >= 0 { postings[posting.next].pointee.previous = posting.previous }
            list.count -= 1
            setList(posting.node, isRange: posting.isRange, list)
            if list.first < 0 {
                if posting.isRange { ranges.remove(posting.node) } else { points.remove(posting.node) }
            }
            kindCounts[Int(posting.kind.rawValue)] -= 1
            if kindCounts[Int(posting.kind.rawValue)] == 0 { kinds &= ~posting.kind.bit }
            postings.remove(number)
            number = posting.nextOfPredicate
        }
        predicateCount -= 1
    }

    /// Marks the predicates that wait for a value, given order-encoded.
    @inline(__always)
    func collect(_ key: UnsafeRawBufferPointer, _ sides: UInt8, into candidates: inout Candidates) {
        if points.count > 0 {
            let node = points.find(key)
            if node >= 0 { collect(points.postings(node).first, sides, &candidates) }
        }
        if !ranges.isEmpty {
            _ = ranges.anyRange(around: key) { node in
                collect(ranges.postings(node).first, sides, &candidates)
                return false
            }
        }
    }

    @inline(__always)
    private func collect(_ first: Int32, _ sides: UInt8, _ candidates: inout Candidates) {
        var number = first
        while number >= 0 {
            let posting = postings[number]
            candidates.mark(posting.pointee.predicate, sides)
            number = posting.pointee.next
        }
    }
}

// What it would cost to find one more predicate here.
extension PathIndex {
    /// About how many predicates a document meets here that meets a new one for `values`; `limit` or more is too many.
    func crowd(at values: ValueSet, limit: Int, scratch: inout KeyScratch) throws(DocDBError) -> Int {
        switch values {
        case .points(let points):
            var most = 0
            for value in points.prefix(Self.sampledPointCount) {
                try scratch.encode(value)
                let node = self.points.find(scratch.key.bytes)
                if node >= 0 { most = max(most, Int(self.points.postings(node).count)) }
            }
            return most
        case .range:
            guard let range = try values.keyRanges(descending: false).first else { return 0 }
            var count = 0
            return range.lower.withUnsafeBytes { lower in
                _ = ranges.anyRange(around: lower) { node in
                    count += Int(ranges.postings(node).count)
                    return count >= limit
                }
                return count
            }
        }
    }

    private static let sampledPointCount = 16
}
