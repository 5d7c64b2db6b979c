import DocDBCore
import DocDBStorage

extension FuzzTarget {
    /// Two states of one document as a store holds them: for each its body and its state; an empty body is none.
    static let state = FuzzTarget(name: "state", words: [], seeds: stateSeeds, run: runState)

    private static func runState(_ bytes: [UInt8]) throws {
        var input = FuzzInput(bytes)
        let (names, actors) = (someNames(), someActors())
        guard let left = try readState(input.part(), input.part(), actors) else { return }
        try checkEncoding(left, names, actors)
        guard let right = try readState(input.part(), input.part(), actors) else { return }
        try checkUndo(from: left, to: right, actors)
        try checkUndo(from: right, to: left, actors)
        var merged = left
        _ = merged.apply(right.delta(since: VersionVector()), forgets: false, names: names)
        guard isSound(left), isSound(right) else { return }
        try checkMerge(left, right, merged, names)
        try checkUndo(from: left, to: merged, actors)
    }

    private static func readState(_ body: [UInt8], _ state: [UInt8], _ actors: ActorTable) throws -> DocumentState? {
        let isBodySound = (try? body.withUnsafeBytes { try CBOR.validate($0, internedKeyCount: 8) }) != nil
        return try accepted([.corrupted]) {
            try withBlock(state) { state in
                guard !body.isEmpty else { return try DocumentState(body: nil, state: state, actors: actors) }
                let read = try withBlock(body) { try DocumentState(body: $0, state: state, actors: actors) }
                // Only bodies that the store or the wire has checked lie beside states.
                if !isBodySound { throw DocDBError(.corrupted, "") }
                return read
            }
        }
    }

    /// A state encodes to bytes that decode to the same state, and to the same bytes again.
    private static func checkEncoding(_ state: DocumentState, _ names: FieldNames, _ actors: ActorTable) throws {
        var body = ByteBuffer()
        var bytes = ByteBuffer()
        let isAlive = state.encode(into: &body, state: &bytes, actors: actors)
        guard isSound(state) else { return }
        try require(
            !isAlive || (try? CBOR.validate(body.bytes, internedKeyCount: names.count)) != nil,
            "a state is written with a body that is not valid")
        let again: DocumentState
        do {
            again = try DocumentState(body: isAlive ? body.bytes : nil, state: bytes.bytes, actors: actors)
        } catch { throw FuzzFailure(description: "what is encoded does not decode: \(error)") }
        try require(again.isSame(as: state), "a state decodes to another")
        var secondBody = ByteBuffer()
        var secondBytes = ByteBuffer()
        again.encode(into: &secondBody, state: &secondBytes, actors: actors)
        try require(
            secondBody.array == body.array && secondBytes.array == bytes.array, "a state has two encodings")
    }

    private static func checkUndo(from old: DocumentState, to new: DocumentState, _ actors: ActorTable) throws {
        let reference = HybridTime(rawValue: 0x10_0000)
        var undo = ByteBuffer()
        DocumentState.appendUndo(from: old, to: new, reference: reference, actors: actors, to: &undo)
        var cursor = ByteCursor(undo.bytes)
        let back: DocumentState?
        do { back = try new.unwound(by: &cursor, reference: reference, actors: actors) } catch {
            throw FuzzFailure(description: "an undo entry does not lead back: \(error)")
        }
        try require(cursor.isAtEnd && back?.isSame(as: old) == true, "an undo entry leads to another state")
    }

    /// Joining is idempotent and takes either order.
    private static func checkMerge(
        _ left: DocumentState, _ right: DocumentState, _ merged: DocumentState, _ names: FieldNames
    ) throws {
        var other = right
        _ = other.apply(left.delta(since: VersionVector()), forgets: false, names: names)
        try require(try canonical(other, names) == canonical(merged, names), "two orders of joining differ")
        var twice = merged
        for state in [left, right, merged] {
            _ = twice.apply(state.delta(since: VersionVector()), forgets: false, names: names)
        }
        try require(try canonical(twice, names) == canonical(merged, names), "joining once more changes something")
    }

    private static func canonical(_ state: DocumentState, _ names: FieldNames) throws -> [UInt8] {
        var output = ByteBuffer()
        do { try state.appendCanonical(to: &output, names: names) } catch {
            throw FuzzFailure(description: "a state has no canonical form: \(error)")
        }
        return output.array
    }

    /// Tells whether a state is one that operations and joins can lead to: all seen, nothing dominated.
    ///
    /// States of a damaged disk need not be; they must only do no harm.
    private static func isSound(_ state: DocumentState) -> Bool {
        let isSeen =
            state.assignments.allSatisfy { state.seen.covers($0.stamp.actor, $0.stamp.time) }
            && state.tallies.allSatisfy { state.seen.covers($0.actor, $0.time) }
            && state.unknowns.allSatisfy { state.seen.covers($0.actor, $0.time) }
        guard isSeen, hasSoundBytes(state) else { return false }
        // What joining with an entry of nothing drops was dominated.
        var joined = DocumentState()
        _ = joined.apply(state.delta(since: VersionVector()), forgets: false, names: someNames())
        return joined.isSame(as: state)
    }

    /// Tells whether paths and payloads are in their one form, which what comes from outside is checked for.
    private static func hasSoundBytes(_ state: DocumentState) -> Bool {
        let names = someNames()
        func isPath(_ slice: DocumentState.Slice) -> Bool {
            state.withBytes(of: slice) { path in
                var cursor = ByteCursor(path)
                var spelt = ByteBuffer()
                while !cursor.isAtEnd {
                    guard let name = try? cursor.readCBORKey(names: names), UTF8Validation.isValid(name) else {
                        return false
                    }
                    spelt.appendCBORKey(name, names: names, interning: false)
                }
                return CBOR.compare(spelt.bytes, path) == 0
            }
        }
        func isPayload(_ entry: DocumentState.Assignment) -> Bool {
            entry.kind != .value
                || state.withBytes(of: entry.payload) { payload in
                    (try? CBOR.validate(payload, internedKeyCount: names.count)) != nil
                        && payload.first.map { $0 >> 5 != CBOR.Major.map } == true
                }
        }
        return state.assignments.allSatisfy { isPath($0.path) && isPayload($0) }
            && state.tallies.allSatisfy { isPath($0.path) } && state.unknowns.allSatisfy { isPath($0.path) }
    }

    private static func stateSeeds() throws -> [[UInt8]] {
        let (names, actors) = (someNames(), someActors())
        func stamp(_ time: UInt64, _ actor: UInt64 = 1, isDefault: Bool = false) -> Stamp {
            Stamp(
                time: HybridTime(rawValue: time << 16), actor: ActorID(high: actor, low: ~actor), isDefault: isDefault)
        }
        func encoded(_ value: Value) throws -> [UInt8] {
            var buffer = ByteBuffer()
            try value.appendCBOR(names: names, to: &buffer)
            return buffer.array
        }
        func path(_ keys: [String]) -> [UInt8] {
            var buffer = ByteBuffer()
            for key in keys {
                Array(key.utf8).withUnsafeBytes { buffer.appendCBORKey($0, names: names, interning: true) }
            }
            return buffer.array
        }
        var fresh = DocumentState()
        _ = try encoded(["a": 1, "b": ["c": "x", "make": [1, 2]], "tags": [:]]).withUnsafeBytes {
            try fresh.merge(
                $0, at: UnsafeRawBufferPointer(start: nil, count: 0), skippingEqual: false, stamp: stamp(16))
        }
        var changed = fresh
        try path(["b", "c"]).withUnsafeBytes { path in
            try encoded(.string("y")).withUnsafeBytes { try changed.set(path, to: $0, stamp: stamp(17, 2)) }
        }
        try path(["a"]).withUnsafeBytes { try changed.increment($0, by: .int(5), stamp: stamp(18, 2)) }
        try path(["tags"]).withUnsafeBytes { try changed.unset($0, stamp: stamp(19, 3)) }
        var counted = fresh
        try path(["a"]).withUnsafeBytes { try counted.increment($0, by: .float(0.5), stamp: stamp(18, 3)) }
        var dead = changed
        dead.delete(stamp: stamp(20, 1), forgets: true)
        var revived = dead
        _ = try encoded(["a": true]).withUnsafeBytes {
            try revived.merge(
                $0, at: UnsafeRawBufferPointer(start: nil, count: 0), skippingEqual: false,
                stamp: stamp(21, 4, isDefault: true))
        }
        func parts(_ state: DocumentState) -> [UInt8] {
            var body = ByteBuffer()
            var bytes = ByteBuffer()
            let isAlive = state.encode(into: &body, state: &bytes, actors: actors)
            return FuzzInput.part(isAlive ? body.array : []) + FuzzInput.part(bytes.array)
        }
        let pairs = [
            (fresh, changed), (changed, counted), (changed, dead), (dead, revived), (revived, fresh),
            (counted, revived),
        ]
        return pairs.map { parts($0) + parts($1) }
    }

    // MARK: Log

    /// A row of the change log: the codec, what it says of its raw length (three bytes), how many records it says to hold
    /// and its bytes.
    static let log = FuzzTarget(name: "log", words: [], seeds: logSeeds, run: runLog)

    private static func runLog(_ bytes: [UInt8]) throws {
        var input = FuzzInput(bytes)
        let codec = ChangeLogFormat.Codec(rawValue: Int64(input.byte() % 3)) ?? .record
        let length = Int64(input.byte()) << 16 | Int64(input.byte()) << 8 | Int64(input.byte())
        let (first, last) = (100 as Int64, 100 + Int64(input.byte()))
        let data = input.remainder()
        var raw = ByteBuffer()
        try withBlock(data) { data in
            let checksum = Int64(bitPattern: ContentHash.checksum(data))
            guard
                try decoded({
                    try ChangeLogBlock.unpack(data, codec: codec, rawLength: length, checksum: checksum, into: &raw)
                }) != nil
            else { return }
            try require(raw.count == Int(length), "a block has another raw length than it says")
            try require(
                try decoded {
                    try ChangeLogBlock.unpack(
                        data, codec: codec, rawLength: length, checksum: checksum ^ 1, into: &raw)
                } == nil, "a wrong checksum is accepted")
        }
        try withBlock(raw.array) { raw in
            var count: Int64 = 0
            let isWhole: Void? = try accepted([.corrupted]) {
                try ChangeLogBlock.forEachRecord(raw, codec: codec, first: first, last: last) {
                    (sequence, bytes) throws(DocDBError) in
                    count += 1
                    do { try checkRecord(sequence, bytes) } catch { throw DocDBError(.misuse, "\(error)") }
                }
            }
            guard isWhole != nil, codec != .record else { return }
            try require(count == last - first + 1, "a block has another number of records than it says")
        }
    }

    private static func checkRecord(_ sequence: Int64, _ bytes: UnsafeRawBufferPointer) throws {
        guard
            let record = try decoded({
                try ChangeLogRecord(sequence: sequence, bytes: bytes, insertionLimit: 10_000)
            })
        else { return }
        try require(record.entries.count <= 10_000 + bytes.count, "a record tells of more than it may")
        var written = ByteBuffer()
        record.append(to: &written)
        let again = try decoded {
            try ChangeLogRecord(sequence: sequence, bytes: written.bytes, insertionLimit: 10_000)
        }
        guard let again else { throw FuzzFailure(description: "a record that is written does not read") }
        try require(description(again) == description(record), "a record that is written reads as another")
        for entry in record.entries {
            guard case .changed(_, let undo) = entry.change else { continue }
            _ = try withBlock(undo) { undo in
                try decoded {
                    var cursor = ByteCursor(undo)
                    try UndoReader.skip(&cursor, reference: record.time, actors: someActors())
                }
            }
        }
    }

    /// What a record tells. Of evictions neither stamp nor peer count, of erased changes no stamp.
    private static func description(_ record: ChangeLogRecord) -> String {
        let entries = record.entries.map { entry in
            var entry = entry
            switch entry.change {
            case .evicted: (entry.stampIndex, entry.peer) = (0, ChangeLogFormat.noPeer)
            case .erased: entry.stampIndex = 0
            case .inserted, .changed: break
            }
            return entry
        }
        return "\(record.kind) \(record.time) \(record.contentDelta) \(record.stamps) \(entries)"
    }

    private static func logSeeds() throws -> [[UInt8]] {
        var builder = ChangeLogRecordBuilder()
        builder.contentDelta = 77
        for key in Int64(1)...20 { builder.addInsertion(collection: 1, key: key, stampIndex: 0) }
        [UInt8]([1, 0x02, 0x00]).withUnsafeBytes {
            builder.addChange(collection: 2, key: 5, sequenceDistance: 3, stampIndex: 1, undo: $0)
        }
        [UInt8]([0x08]).withUnsafeBytes {
            builder.addChange(collection: 2, key: 3, sequenceDistance: 0, stampIndex: 1, undo: $0, peer: 4)
        }
        builder.addEviction(collection: 1, key: 2)
        builder.addErasure(collection: 1, key: 9, peer: 2)
        var record = ByteBuffer()
        let time = HybridTime(rawValue: 0x10_0000)
        builder.finish(
            kind: .remote, time: time, stamps: [.init(actorNumber: 0, time: time), .init(actorNumber: 1, time: .zero)],
            to: &record)
        func seed(_ codec: ChangeLogFormat.Codec, _ length: Int, _ count: UInt8, _ data: [UInt8]) -> [UInt8] {
            [UInt8(codec.rawValue), UInt8(length >> 16), UInt8(length >> 8 & 255), UInt8(length & 255), count - 1]
                + data
        }
        var seeds = [seed(.record, record.count, 1, record.array)]
        var raw = ByteBuffer()
        for _ in 0..<12 {
            raw.appendVarint(UInt64(record.count))
            raw.append(record.bytes)
        }
        var packed = ByteBuffer()
        let codec = ChangeLogBlock.pack(raw.bytes, into: &packed)
        seeds.append(seed(codec, raw.count, 12, packed.array))
        seeds.append(seed(.rawBlock, raw.count, 12, raw.array))
        return seeds
    }
}
