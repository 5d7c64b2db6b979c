import DocDBCore

/// A seeded generator of random numbers (SplitMix64), so that a failing history can be run again.
struct SeededGenerator: RandomNumberGenerator {
    private var state: UInt64

    init(seed: UInt64) { state = seed }

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ mixed >> 30) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ mixed >> 27) &* 0x94D0_49BB_1331_11EB
        return mixed ^ mixed >> 31
    }

    mutating func chance() -> Double { Double(next() >> 11) * 0x1p-53 }
    mutating func below(_ bound: Int) -> Int { Int(next() % UInt64(bound)) }
}

/// A table without names, for documents whose keys are all text; making one is slow.
let noNames = FieldNames()

/// Encodes a value as deterministic CBOR, keys interned where a table is given.
func encoded(_ value: Value, _ names: FieldNames? = nil) -> [UInt8] {
    var buffer = ByteBuffer()
    switch value {
    case .null: buffer.appendCBORNull()
    case .bool(let flag): buffer.appendCBOR(flag)
    case .int(let number): buffer.appendCBOR(number)
    case .float(let number): buffer.appendCBOR(number)
    case .string(let text): buffer.appendCBOR(text)
    case .bytes(let bytes): buffer.appendCBOR(bytes: bytes)
    case .array(let elements):
        buffer.appendCBORHead(major: CBOR.Major.array, UInt64(elements.count))
        for element in elements { buffer.append(encoded(element, names)) }
    case .object(let members):
        buffer.appendCBORHead(major: CBOR.Major.map, UInt64(members.count))
        let pairs = members.map { (key: path([$0.key], names), value: encoded($0.value, names)) }
        for pair in pairs.sorted(by: { $0.key.lexicographicallyPrecedes($1.key) }) {
            buffer.append(pair.key)
            buffer.append(pair.value)
        }
    }
    return buffer.array
}

/// Encodes field names, from the root down, as a path.
func path(_ keys: [String], _ names: FieldNames? = nil) -> [UInt8] {
    var buffer = ByteBuffer()
    for key in keys {
        let number = Array(key.utf8).withUnsafeBytes { names?.intern($0) }
        if let number {
            buffer.appendCBORHead(major: CBOR.Major.unsigned, UInt64(number))
        } else {
            buffer.appendCBOR(key)
        }
    }
    return buffer.array
}

/// Decodes CBOR that the code under test wrote, keys spelt out.
func decoded(_ bytes: [UInt8], _ names: FieldNames? = nil) throws -> Value {
    try bytes.withUnsafeBytes { raw in
        var cursor = ByteCursor(raw)
        let value = try decoded(&cursor, names)
        guard cursor.isAtEnd else { throw CBORError.malformed }
        return value
    }
}

private func decoded(_ cursor: inout ByteCursor, _ names: FieldNames?) throws -> Value {
    switch try cursor.readCBORItem() {
    case .null: return .null
    case .bool(let flag): return .bool(flag)
    case .int(let number): return .int(number)
    case .float(let number): return .float(number)
    case .text(let text): return .string(String(decoding: text, as: UTF8.self))
    case .bytes(let bytes): return .bytes([UInt8](bytes))
    case .array(let count): return .array(try (0..<count).map { _ in try decoded(&cursor, names) })
    case .map(let count):
        var members: [String: Value] = [:]
        for _ in 0..<count {
            let key = try decoded(&cursor, nil)
            let name = key.stringValue ?? key.intValue.flatMap { names?.string(Int($0)) }
            guard let name else { throw CBORError.malformed }
            members[name] = try decoded(&cursor, names)
        }
        return .object(members)
    }
}

/// An actor whose bytes are those of a short name, so that actors sort as their names do.
func actorID(_ name: String) -> ActorID {
    var bytes = [UInt8](repeating: 0, count: 16)
    for (index, byte) in name.utf8.prefix(16).enumerated() { bytes[index] = byte }
    return ActorID(bytes: bytes)!
}

func stamp(_ time: UInt64, _ name: String = "A", isDefault: Bool = false) -> Stamp {
    Stamp(time: HybridTime(rawValue: time), actor: actorID(name), isDefault: isDefault)
}

/// One document as a store holds it, between its operations only as bytes.
struct StoredDocument: Equatable {
    var body: [UInt8]?
    var state: [UInt8]

    init(_ document: DocumentState, _ actors: ActorTable, padding: Int = 0) {
        var body = ByteBuffer()
        var state = ByteBuffer()
        let isAlive = document.encode(into: &body, state: &state, actors: actors, padding: padding)
        self.body = isAlive ? body.array : nil
        self.state = state.array
    }

    init(body: [UInt8]?, state: [UInt8]) {
        self.body = body
        self.state = state
    }

    func load(_ actors: ActorTable) throws -> DocumentState {
        try state.withUnsafeBytes { state in
            guard let body else { return try DocumentState(body: nil, state: state, actors: actors) }
            return try body.withUnsafeBytes { try DocumentState(body: $0, state: state, actors: actors) }
        }
    }
}

extension DocumentState {
    mutating func set(_ keys: [String], _ value: Value, _ stamp: Stamp, _ names: FieldNames? = nil) throws {
        try path(keys, names).withUnsafeBytes { path in
            try encoded(value, names).withUnsafeBytes { try set(path, to: $0, stamp: stamp) }
        }
    }

    @discardableResult
    mutating func merge(
        _ value: Value, at keys: [String] = [], skippingEqual: Bool = false, _ stamp: Stamp, _ names: FieldNames? = nil
    ) throws -> Bool {
        try path(keys, names).withUnsafeBytes { path in
            try encoded(value, names).withUnsafeBytes {
                try merge($0, at: path, skippingEqual: skippingEqual, stamp: stamp)
            }
        }
    }

    mutating func unset(_ keys: [String], _ stamp: Stamp, _ names: FieldNames? = nil) throws {
        try path(keys, names).withUnsafeBytes { try unset($0, stamp: stamp) }
    }

    mutating func increment(_ keys: [String], _ amount: Number, _ stamp: Stamp, _ names: FieldNames? = nil) throws {
        try path(keys, names).withUnsafeBytes { try increment($0, by: amount, stamp: stamp) }
    }

    /// The visible document, nil where it is not alive.
    func visible(_ names: FieldNames? = nil) throws -> Value? {
        var body = ByteBuffer()
        return appendBody(to: &body) ? try decoded(body.array, names) : nil
    }

    func canonical(_ names: FieldNames = noNames) throws -> [UInt8] {
        var output = ByteBuffer()
        try appendCanonical(to: &output, names: names)
        return output.array
    }

    /// Joins a whole state, for which no base is needed.
    mutating func join(_ other: DocumentState, forgets: Bool = false) {
        let isApplied = apply(other.delta(since: VersionVector()), forgets: forgets, names: noNames)
        precondition(isApplied, "a whole state always fits")
    }

    /// The state with another one joined.
    func joined(_ other: DocumentState, forgets: Bool = false) -> DocumentState {
        var result = self
        result.join(other, forgets: forgets)
        return result
    }

    /// The undo entry of the change from `old` to this state.
    func undo(from old: DocumentState, at time: HybridTime, _ actors: ActorTable) -> [UInt8] {
        var output = ByteBuffer()
        DocumentState.appendUndo(from: old, to: self, reference: time, actors: actors, to: &output)
        return output.array
    }

    func unwound(_ undo: [UInt8], at time: HybridTime, _ actors: ActorTable) throws -> DocumentState? {
        try undo.withUnsafeBytes { bytes in
            var cursor = ByteCursor(bytes)
            let previous = try unwound(by: &cursor, reference: time, actors: actors)
            guard cursor.isAtEnd else { throw CBORError.malformed }
            return previous
        }
    }
}
