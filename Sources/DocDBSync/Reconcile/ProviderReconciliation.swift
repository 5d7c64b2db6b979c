package import DocDBCore

/// The provider's side of a reconciliation, which begins it: what it has in scope, against what the subscriber holds.
///
/// Both sides compare sums over ranges of fingerprints, split those that differ into sixteen parts, and list small ones; the
/// two take turns until nothing differs any more. Source: Meyer, "Range-Based Set Reconciliation" (2023).
package struct ProviderReconciliation: Sendable {
    /// What one message of the subscriber has told, and the answer to it.
    package struct Step: Sendable {
        /// The next message to send; nil where the reconciliation has ended.
        package var reply: [UInt8]?
        /// Documents in scope whose state the subscriber does not hold, none of them twice: to be sent.
        package var missingAtSubscriber: [DocumentReference] = []
        /// What the subscriber holds in another state, or holds that is not in scope: vectors to serve as bases.
        package var heldBySubscriber: [HeldDocument] = []

        package var isFinished: Bool { reply == nil }
    }

    /// What is to be written about a range.
    private enum Action: Sendable {
        case sum(FingerprintRange)
        case split(FingerprintRange)
        case list(FingerprintRange)
    }

    private let set: ReconciliationSet
    /// One bit for each item that was told as missing.
    private var isMissing: [UInt64]
    /// The last one is written first, so that ranges are settled one after another and few wait.
    private var pending: [Action] = []
    private var roundCount = 0
    private var isFinished = false

    package init(_ items: consuming ReconciliationSet) {
        items.arrange()
        isMissing = [UInt64](repeating: 0, count: (items.count + 63) / 64)
        set = items
    }

    /// The first message.
    package mutating func begin() -> [UInt8] {
        pending.append(set.count <= RangesCoding.listedCount ? .list(.all) : .sum(.all))
        return write()
    }

    /// Takes a message of the subscriber.
    ///
    /// - Throws: `DocDBError.protocolError` where the bytes are no such message, `.limitReached` after too many.
    /// - Complexity: O(d log n) over all messages, for d differences among n documents.
    package mutating func receive(_ bytes: [UInt8]) throws(DocDBError) -> Step {
        roundCount += 1
        guard roundCount <= SyncLimits.rangesRoundCount else { throw RangesCoding.tooMany }
        guard !isFinished, bytes.count <= 2 * SyncLimits.rangesByteCount else {
            throw RangesCoding.malformed(.malformed)
        }
        var step = Step()
        let result: Result<Bool, CBORError> = bytes.withUnsafeBytes { bytes in
            do throws(CBORError) { return .success(try read(bytes, &step)) } catch { return .failure(error) }
        }
        let subscriberHasMore: Bool
        do throws(CBORError) { subscriberHasMore = try result.get() } catch { throw RangesCoding.malformed(error) }
        guard pending.count <= SyncLimits.rangesPendingCount else { throw RangesCoding.tooMany }
        isFinished = pending.isEmpty && !subscriberHasMore
        if !isFinished { step.reply = write() }
        return step
    }

    /// Writes of what waits as much as fits.
    private mutating func write() -> [UInt8] {
        var output = ByteBuffer(capacity: 256)
        output.append(0)
        while output.count < SyncLimits.rangesByteCount, let action = pending.popLast() {
            switch action {
            case .sum(let range):
                output.append(RangesCoding.Mode.sum)
                output.append(range)
                output.append(set.summary(of: range))
            case .split(let range): output.appendSplit(range, of: set)
            case .list(let range): appendList(range, &output)
            }
        }
        if !pending.isEmpty { output[0] = RangesCoding.hasMore }
        return output.array
    }

    private func appendList(_ range: FingerprintRange, _ output: inout ByteBuffer) {
        let indices = set.indices(of: range)
        output.append(RangesCoding.Mode.list)
        output.append(range)
        output.appendVarint(UInt64(indices.count))
        for index in indices {
            let place = set.items[index].place
            for byte in 0..<range.placeByteCount {
                output.append(UInt8(truncatingIfNeeded: place >> UInt64(8 * (range.placeByteCount - 1 - byte))))
            }
        }
    }

    /// Reads a message; returns whether the subscriber has more to say.
    private mutating func read(_ bytes: UnsafeRawBufferPointer, _ step: inout Step) throws(CBORError) -> Bool {
        var cursor = WireCursor(bytes)
        let flags = try cursor.readByte()
        guard flags <= RangesCoding.hasMore else { throw .malformed }
        var held = HeldDocumentReader()
        while !cursor.isAtEnd {
            switch try cursor.readByte() {
            case RangesCoding.Mode.split: try readSplit(&cursor, &step)
            case RangesCoding.Mode.ask:
                let range = try cursor.readFingerprintRange()
                pending.append(isListed(range) ? .list(range) : .split(range))
            case RangesCoding.Mode.all: tellMissing(set.indices(of: try cursor.readFingerprintRange()), &step)
            case RangesCoding.Mode.need: try readNeed(&cursor, &step)
            case RangesCoding.Mode.held: step.heldBySubscriber.append(try held.read(&cursor))
            default: throw .malformed
            }
        }
        return flags == RangesCoding.hasMore
    }

    /// Whether a range is small enough to be listed, or cannot be split.
    private func isListed(_ range: FingerprintRange) -> Bool {
        range.level == FingerprintRange.maximalLevel || set.indices(of: range).count <= RangesCoding.listedCount
    }

    private mutating func readSplit(_ cursor: inout WireCursor, _ step: inout Step) throws(CBORError) {
        let range = try cursor.readSplitRange()
        for digit in 0..<FingerprintRange.childCount {
            let child = range.child(digit)
            let theirs = try cursor.readSummary()
            let own = set.summary(of: child)
            if own == theirs { continue }
            if theirs.count == 0 {
                tellMissing(set.indices(of: child), &step)
            } else {
                pending.append(isListed(child) ? .list(child) : .split(child))
            }
        }
    }

    private mutating func readNeed(_ cursor: inout WireCursor, _ step: inout Step) throws(CBORError) {
        let indices = set.indices(of: try cursor.readFingerprintRange())
        let bits = try cursor.read(count: (indices.count + 7) / 8)
        for (offset, index) in indices.enumerated() where bits[offset / 8] & 1 << UInt8(offset % 8) != 0 {
            tellMissing(index..<index + 1, &step)
        }
    }

    private mutating func tellMissing(_ indices: Range<Int>, _ step: inout Step) {
        for index in indices where isMissing[index >> 6] & 1 << UInt64(index & 63) == 0 {
            isMissing[index >> 6] |= 1 << UInt64(index & 63)
            step.missingAtSubscriber.append(set.items[index].reference)
        }
    }
}
