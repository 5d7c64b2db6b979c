import DocDBCore

/// The subscriber's side of a reconciliation: it answers each message of the provider with just one.
///
/// See `ProviderReconciliation`.
package struct SubscriberReconciliation: Sendable {
    /// What is to be written.
    private enum Action: Sendable {
        case split(FingerprintRange)
        /// The provider is to list the range.
        case ask(FingerprintRange)
        /// Nothing in the range is held.
        case all(FingerprintRange)
        /// Which of the items that the provider listed are not held.
        case need(FingerprintRange, bits: [UInt8])
        /// Items that only this side has.
        case held(Range<Int>)
    }

    private let set: ReconciliationSet
    /// The last one is written first.
    private var pending: [Action] = []
    private var roundCount = 0

    package init(_ items: consuming ReconciliationSet) {
        items.arrange()
        set = items
    }

    /// Takes a message of the provider and returns the answer.
    ///
    /// - Parameter describe: names a document and what its state (or the state told, of one not held) has seen; nil of one
    ///   that is gone.
    /// - Throws: `DocDBError.protocolError` where the bytes are no such message, `.limitReached` after too many; and what
    ///   `describe` throws.
    /// - Complexity: O(d log n) over all messages, for d differences among n documents.
    package mutating func receive(
        _ bytes: [UInt8], describe: (DocumentReference) throws -> HeldDocument?
    ) throws -> [UInt8] {
        roundCount += 1
        guard roundCount <= SyncLimits.rangesRoundCount else { throw RangesCoding.tooMany }
        guard bytes.count <= 2 * SyncLimits.rangesByteCount else { throw RangesCoding.malformed(.malformed) }
        let failure: CBORError? = bytes.withUnsafeBytes { bytes in
            do throws(CBORError) { try read(bytes) } catch { return error }
            return nil
        }
        if let failure { throw RangesCoding.malformed(failure) }
        guard pending.count <= SyncLimits.rangesPendingCount else { throw RangesCoding.tooMany }
        return try write(describe)
    }

    /// Writes of what waits as much as fits.
    private mutating func write(_ describe: (DocumentReference) throws -> HeldDocument?) throws -> [UInt8] {
        var output = ByteBuffer(capacity: 256)
        output.append(0)
        var held = HeldDocumentWriter()
        while output.count < SyncLimits.rangesByteCount, let action = pending.popLast() {
            switch action {
            case .split(let range): output.appendSplit(range, of: set)
            case .ask(let range):
                output.append(RangesCoding.Mode.ask)
                output.append(range)
            case .all(let range):
                output.append(RangesCoding.Mode.all)
                output.append(range)
            case .need(let range, let bits):
                output.append(RangesCoding.Mode.need)
                output.append(range)
                output.append(bits)
            case .held(let indices):
                var next = indices.lowerBound
                while next < indices.upperBound, output.count < SyncLimits.rangesByteCount {
                    if let document = try describe(set.items[next].reference) { held.append(document, to: &output) }
                    next += 1
                }
                if next < indices.upperBound { pending.append(.held(next..<indices.upperBound)) }
            }
        }
        if !pending.isEmpty { output[0] = RangesCoding.hasMore }
        return output.array
    }

    private mutating func read(_ bytes: UnsafeRawBufferPointer) throws(CBORError) {
        var cursor = WireCursor(bytes)
        guard try cursor.readByte() <= RangesCoding.hasMore else { throw .malformed }
        while !cursor.isAtEnd {
            switch try cursor.readByte() {
            case RangesCoding.Mode.sum:
                let range = try cursor.readFingerprintRange()
                compare(range, try cursor.readSummary())
            case RangesCoding.Mode.split:
                let range = try cursor.readSplitRange()
                for digit in 0..<FingerprintRange.childCount { compare(range.child(digit), try cursor.readSummary()) }
            case RangesCoding.Mode.list: try readList(&cursor)
            default: throw .malformed
            }
        }
    }

    private mutating func compare(_ range: FingerprintRange, _ theirs: ReconciliationSet.Summary) {
        let own = set.summary(of: range)
        if own == theirs { return }
        if own.count == 0 {
            pending.append(.all(range))
        } else if theirs.count == 0 {
            pending.append(.held(set.indices(of: range)))
        } else if theirs.count <= RangesCoding.listedCount || range.level == FingerprintRange.maximalLevel {
            pending.append(.ask(range))
        } else {
            pending.append(.split(range))
        }
    }

    /// Reads the provider's items of a range, in order, and finds out which are not here, and which are only here.
    private mutating func readList(_ cursor: inout WireCursor) throws(CBORError) {
        let range = try cursor.readFingerprintRange()
        let byteCount = range.placeByteCount
        let limit = byteCount == 0 ? SyncLimits.rangesByteCount : cursor.remaining / byteCount
        let count = try cursor.readCount(atMost: limit)
        let indices = set.indices(of: range)
        var bits = [UInt8](repeating: 0, count: (count + 7) / 8)
        var isNeeded = false
        var next = indices.lowerBound
        var previous: UInt64 = range.prefix
        for listed in 0..<count {
            let place = try readPlace(&cursor, range, byteCount)
            guard place >= previous, range.bounds.contains(place) else { throw .malformed }
            previous = place
            let first = next
            while next < indices.upperBound, set.items[next].place < place { next += 1 }
            if first < next { pending.append(.held(first..<next)) }
            if next < indices.upperBound, set.items[next].place == place {
                next += 1
            } else {
                bits[listed / 8] |= 1 << UInt8(listed % 8)
                isNeeded = true
            }
        }
        if next < indices.upperBound { pending.append(.held(next..<indices.upperBound)) }
        if isNeeded { pending.append(.need(range, bits: bits)) }
    }

    private func readPlace(
        _ cursor: inout WireCursor, _ range: FingerprintRange, _ byteCount: Int
    ) throws(CBORError) -> UInt64 {
        var place: UInt64 = 0
        for _ in 0..<byteCount { place = place << 8 | UInt64(try cursor.readByte()) }
        return byteCount == 8 ? place : range.prefix & (.max << UInt64(8 * byteCount)) | place
    }
}
