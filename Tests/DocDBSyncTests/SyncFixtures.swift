import DocDBCore
import DocDBStorage
import DocDBSync
import Testing

/// A seeded generator of random numbers (SplitMix64), so that a failing case can be run again.
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

    mutating func below(_ bound: Int) -> Int { Int(next() % UInt64(bound)) }
    mutating func bytes(_ count: Int) -> [UInt8] { (0..<count).map { _ in UInt8(truncatingIfNeeded: next()) } }
}

/// The bytes that hexadecimal digits stand for; spaces are skipped.
func bytes(_ hexadecimal: String) -> [UInt8] {
    let digits = hexadecimal.filter { $0 != " " }.compactMap(\.hexDigitValue)
    return stride(from: 0, to: digits.count - 1, by: 2).map { UInt8(digits[$0] * 16 + digits[$0 + 1]) }
}

func hexadecimal(_ bytes: [UInt8]) -> String {
    let digits = Array("0123456789abcdef")
    return String(bytes.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] })
}

func actor(_ number: UInt64) -> ActorID { ActorID(high: number, low: ~number) }

/// The canonical CBOR of an id.
func encoded(_ id: DocumentID) -> [UInt8] {
    var buffer = ByteBuffer()
    id.appendCBOR(to: &buffer)
    return buffer.array
}

/// Documents of one store in memory, with its own numbers of names and actors.
final class MemoryStore {
    let names = FieldNames()
    let actors = ActorTable()
    private(set) var actor: ActorID
    private(set) var documents: [DocumentName: DocumentState] = [:]
    private(set) var clock: UInt64

    /// - Parameter interned: names that get their numbers first, in this order.
    init(actor: ActorID, interned: [String] = [], clock: UInt64 = 1000) {
        self.actor = actor
        self.clock = clock
        for name in interned { _ = Array(name.utf8).withUnsafeBytes { names.intern($0) } }
    }

    /// Makes the numbers of actors other than those of other stores.
    func intern(_ others: [ActorID]) { for other in others { _ = actors.intern(other) } }

    /// The stamp of a write to a document, under a new actor where the document's state asks for that.
    func stamp(_ name: DocumentName, isDefault: Bool = false) -> Stamp {
        clock += 3
        if self[name].needsActorRotation(actor) { actor = ActorID(high: actor.high + 100, low: actor.low) }
        return Stamp(
            time: HybridTime(rawValue: clock << 16 | (clock % 5 == 0 ? 7 : 0)), actor: actor, isDefault: isDefault)
    }

    func path(_ keys: [String]) -> [UInt8] {
        var buffer = ByteBuffer()
        for key in keys {
            Array(key.utf8).withUnsafeBytes { buffer.appendCBORKey($0, names: names, interning: true) }
        }
        return buffer.array
    }

    func encoded(_ value: Value) throws -> [UInt8] {
        var buffer = ByteBuffer()
        try value.appendCBOR(names: names, to: &buffer)
        return buffer.array
    }

    subscript(_ name: DocumentName) -> DocumentState {
        get { documents[name] ?? DocumentState() }
        set { documents[name] = newValue }
    }

    func merge(_ name: DocumentName, _ value: Value, isDefault: Bool = false) throws {
        let stamp = stamp(name, isDefault: isDefault)
        try encoded(value).withUnsafeBytes { value in
            _ = try self[name].merge(
                value, at: UnsafeRawBufferPointer(start: nil, count: 0), skippingEqual: false, stamp: stamp)
        }
    }

    func set(_ name: DocumentName, _ keys: [String], _ value: Value) throws {
        let (stamp, path) = (stamp(name), path(keys))
        try encoded(value).withUnsafeBytes { value in
            try path.withUnsafeBytes { try self[name].set($0, to: value, stamp: stamp) }
        }
    }

    func unset(_ name: DocumentName, _ keys: [String]) throws {
        let stamp = stamp(name)
        try path(keys).withUnsafeBytes { try self[name].unset($0, stamp: stamp) }
    }

    func increment(_ name: DocumentName, _ keys: [String], _ amount: Number) throws {
        let stamp = stamp(name)
        try path(keys).withUnsafeBytes { try self[name].increment($0, by: amount, stamp: stamp) }
    }

    func delete(_ name: DocumentName, forgets: Bool) { self[name].delete(stamp: stamp(name), forgets: forgets) }

    /// Calls `body` with the document as a store has it.
    func withStored<R>(
        _ name: DocumentName, key: Int64 = 1, padding: Int = 20, _ body: (StoredDocument) throws -> R
    ) rethrows -> R {
        var bodyBytes = ByteBuffer()
        var state = ByteBuffer()
        let isAlive = self[name].encode(into: &bodyBytes, state: &state, actors: actors, padding: padding)
        return try name.id.withUnsafeBytes { id in
            try body(
                StoredDocument(
                    reference: DocumentReference(collection: 1, key: key), id: id,
                    body: isAlive ? bodyBytes.bytes : nil, state: state.bytes, lastChange: 1))
        }
    }

    /// What a document is, in a form that is the same in every store.
    func canonical(_ name: DocumentName) throws -> [UInt8] { try canonical(self[name]) }

    func canonical(_ state: DocumentState) throws -> [UInt8] {
        var output = ByteBuffer()
        try state.appendCanonical(to: &output, names: names)
        return output.array
    }

    /// Joins a document that came; returns false where its base is missing.
    func join(_ document: IncomingDocument) throws -> Bool {
        guard let delta = try document.delta(actors: actors) else { return true }
        // Later writes are later than all that was seen.
        clock = max(clock, document.newestTime.rawValue >> 16)
        return self[document.name].apply(delta, forgets: true, names: names)
    }
}
