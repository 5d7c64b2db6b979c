import Testing

/// Reads what the byte tables of `Schemas/change-log.md` and `Schemas/document-state.md` describe, made from these pages alone.
struct StoredBytesReader {
    struct Damaged: Error {
        var reason: String
    }

    private let bytes: [UInt8]
    private(set) var place = 0

    init(_ bytes: [UInt8]) { self.bytes = bytes }

    var isAtEnd: Bool { place == bytes.count }
    var rest: ArraySlice<UInt8> { bytes[place...] }

    mutating func byte() throws -> UInt8 {
        guard place < bytes.count else { throw Damaged(reason: "the bytes end early") }
        defer { place += 1 }
        return bytes[place]
    }

    mutating func take(_ count: UInt64) throws -> [UInt8] {
        guard count <= UInt64(bytes.count - place) else { throw Damaged(reason: "the bytes end early") }
        defer { place += Int(count) }
        return Array(bytes[place..<place + Int(count)])
    }

    mutating func fixed() throws -> UInt64 { try take(8).reduce(0) { $0 << 8 | UInt64($1) } }

    mutating func varint() throws -> UInt64 {
        var (value, shift): (UInt64, UInt64) = (0, 0)
        while true {
            let next = try byte()
            guard shift < 63 || next <= 1 else { throw Damaged(reason: "a number has more than 64 bits") }
            value |= UInt64(next & 127) << shift
            if next < 128 { return value }
            shift += 7
        }
    }

    mutating func signed() throws -> Int64 {
        let value = try varint()
        return value & 1 == 0 ? Int64(value / 2) : -Int64(value / 2) - 1
    }

    // MARK: The change log

    struct Record: Equatable {
        var kind: UInt8
        var time: UInt64
        var contentDelta: UInt64
        var stamps: [Stamp] = []
        var entries: [Entry] = []
    }

    struct Stamp: Equatable {
        var actor: UInt64
        var time: UInt64
    }

    struct Entry: Equatable {
        enum Change: Equatable {
            case inserted, evicted, erased
            case changed(distance: UInt64, undo: [UInt8])
        }

        var collection: UInt64
        var key: Int64
        var stamp: Int
        var peer: UInt64
        var change: Change
    }

    /// A record that takes all bytes.
    mutating func record() throws -> Record {
        var record = Record(kind: try byte(), time: try fixed(), contentDelta: try fixed())
        for _ in 0..<(try varint()) {
            let actor = try varint()
            record.stamps.append(Stamp(actor: actor, time: record.time &+ UInt64(bitPattern: try signed())))
        }
        var (collection, key, stamp, peer): (UInt64, Int64, Int, UInt64) = (0, 0, 0, 0)
        func add(_ change: Entry.Change) {
            record.entries.append(
                Entry(collection: collection, key: key, stamp: stamp, peer: peer, change: change))
        }
        while !isAtEnd {
            switch try byte() {
            case 1: collection = try varint()
            case 2:
                key += try signed()
                for index in 0..<(try varint()) {
                    if index > 0 { key += 1 }
                    add(.inserted)
                }
            case 3:
                key += try signed()
                let distance = try varint()
                add(.changed(distance: distance, undo: try take(varint())))
            case 4:
                key += try signed()
                add(.evicted)
            case 5:
                key += try signed()
                add(.erased)
            case 6: stamp = Int(try varint())
            case 7: peer = try varint()
            case let tag: throw Damaged(reason: "an entry has the tag \(tag)")
            }
        }
        return record
    }

    /// The records of a row by its codec.
    static func records(codec: Int64, rawLength: Int64, data: [UInt8]) throws -> [Record] {
        guard codec != 0 else {
            var reader = StoredBytesReader(data)
            return [try reader.record()]
        }
        let raw = codec == 1 ? try LZ4Block.decode(data) : data
        guard raw.count == rawLength else { throw Damaged(reason: "a block has another raw length") }
        var (reader, records) = (StoredBytesReader(raw), [Record]())
        while !reader.isAtEnd {
            var part = StoredBytesReader(try reader.take(reader.varint()))
            records.append(try part.record())
        }
        return records
    }

    // MARK: The state of a document

    struct State: Equatable {
        /// The time and actor's number of each stamp.
        var stamps: [Stamp] = []
        /// For each leaf of the body the index of its stamp, or nil where it shows a sum.
        var leaves: [Int?] = []
        var seen: [Stamp] = []
        var deleted: [Stamp] = []
        var extraCount = 0
    }

    /// The state of a document whose body has so many leaves.
    mutating func state(leafCount: Int) throws -> State {
        var state = State()
        switch try byte() {
        case 0x10:
            let actor = try varint() / 2
            state.stamps = [Stamp(actor: actor, time: try fixed())]
            state.leaves = Array(repeating: 0, count: leafCount)
        case 0x11: try general(&state, leafCount)
        case let form: throw Damaged(reason: "a state has the form \(form)")
        }
        guard rest.allSatisfy({ $0 == 0 }) else { throw Damaged(reason: "bytes follow the state") }
        return state
    }

    private mutating func general(_ state: inout State, _ leafCount: Int) throws {
        let flags = try byte()
        guard flags < 16 else { throw Damaged(reason: "a state has unknown flags") }
        var time: UInt64 = 0
        for index in 0..<(try varint()) {
            let actor = try varint() / 2
            time = try index == 0 ? fixed() : distance(from: time)
            state.stamps.append(Stamp(actor: actor, time: time))
        }
        state.leaves = Array(repeating: 0, count: leafCount)
        var leaf = 0
        while flags & 1 != 0, leaf < leafCount {
            let reference = Int(try varint())
            guard reference <= state.stamps.count else { throw Damaged(reason: "a run names no stamp") }
            for _ in 0..<(try varint()) where leaf < leafCount {
                state.leaves[leaf] = reference == 0 ? nil : reference - 1
                leaf += 1
            }
        }
        let last = state.stamps.last?.time ?? 0
        if flags & 2 != 0 { state.seen = try vector(from: last) }
        if flags & 4 != 0 { state.deleted = try vector(from: last) }
        if flags & 8 != 0 {
            state.extraCount = Int(try varint())
            for _ in 0..<state.extraCount { try skipExtra() }
        }
    }

    private mutating func distance(from reference: UInt64) throws -> UInt64 {
        let head = try varint()
        let zigzag = head / 2
        let ticks = zigzag & 1 == 0 ? Int64(zigzag / 2) : -Int64(zigzag / 2) - 1
        let counter = try head & 1 == 1 ? varint() : 0
        return UInt64(Int64(reference >> 16) + ticks) << 16 | counter
    }

    private mutating func vector(from reference: UInt64) throws -> [Stamp] {
        try (0..<(try varint())).map { _ in
            let actor = try varint()
            return Stamp(actor: actor, time: try distance(from: reference))
        }
    }

    private mutating func skipExtra() throws {
        let kind = try varint()
        _ = try take(varint())
        switch kind {
        case 0, 1: _ = try varint()
        case 2:
            _ = try varint()
            try skipValue()
        case 3:
            _ = (try varint(), try varint())
            try skipValue()
        default:
            _ = (try varint(), try varint())
            _ = try take(varint())
            _ = try take(varint())
        }
    }

    /// Passes over one value of CBOR: the shortest run of bytes that is one.
    private mutating func skipValue() throws {
        for end in place..<bytes.count where (try? DataItem(cbor: Array(bytes[place...end]))) != nil {
            place = end + 1
            return
        }
        throw Damaged(reason: "a value of CBOR is missing")
    }
}
