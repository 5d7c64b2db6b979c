import DocDBCore

/// What the other side has defined while it sends documents: the mirror of its `SendingDictionary`.
package final class ReceivingDictionary {
    /// By the sender's number of a name: 0 where it is not defined, else the receiver's number plus one, or `isText` and an
    /// index into `texts` where the receiver's table is full.
    private(set) var keys: UnsafeMutablePointer<UInt16>
    private(set) var keyCount = 0
    private var texts: [UnsafeRawBufferPointer] = []
    /// The sender's number of `_id`, which is no member of a body.
    private(set) var identityKey: UInt64?
    /// Actors that were defined, by numbers of this dictionary: the receiver's store learns only of those that are stored.
    private(set) var actors = ActorTable()
    private var actorNumbers: [UInt32: UInt32] = [:]
    private var lastActor: (number: UInt64, actor: ActorID)?
    private var collections: [String] = []
    private var slots: [DocumentName?] = []
    private var hasBegun = false

    /// Bounds the names that are new to the receiver; nil where they have no bound.
    let allowance: FieldNameAllowance?

    /// Marks a key as an index into the texts.
    static let isText: UInt16 = 0x8000
    /// Marks such a key further as one of a name that the sender's user may not bring.
    static let isRefused: UInt16 = 0x4000

    package init(allowance: FieldNameAllowance? = nil) {
        self.allowance = allowance
        keys = .allocate(capacity: 1)
    }

    deinit {
        keys.deallocate()
        freeTexts()
    }

    private func freeTexts() {
        for text in texts { text.deallocate() }
        texts = []
    }

    /// Forgets everything: a new pull begins.
    func begin() {
        keys.deallocate()
        keys = .allocate(capacity: 1)
        keyCount = 0
        freeTexts()
        identityKey = nil
        actors = ActorTable()
        actorNumbers = [:]
        lastActor = nil
        collections = []
        slots = []
        hasBegun = true
    }

    // MARK: Definitions

    /// Defines a name, which is one that stores intern.
    func define(name number: UInt64, _ name: UnsafeRawBufferPointer, in names: FieldNames) throws(CBORError) {
        guard hasBegun, number < UInt64(Limits.internedFieldNameCount), FieldNames.isInternable(name) else {
            throw .malformed
        }
        let index = Int(number)
        if index >= keyCount { growKeys(index + 1) }
        guard keys[index] == 0 else { throw .malformed }
        switch NameSpelling(name, allowance, in: names) {
        case .number(let own): keys[index] = UInt16(own + 1)
        case let spelling:
            let copy = UnsafeMutableRawBufferPointer.allocate(byteCount: name.count, alignment: 1)
            copy.copyMemory(from: name)
            keys[index] = Self.isText | UInt16(texts.count)
            if case .refused = spelling { keys[index] |= Self.isRefused }
            texts.append(UnsafeRawBufferPointer(copy))
        }
        if name.count == 3, name[0] == UInt8(ascii: "_"), name[1] == UInt8(ascii: "i"), name[2] == UInt8(ascii: "d") {
            identityKey = number
        }
    }

    private func growKeys(_ count: Int) {
        let capacity = min(Limits.internedFieldNameCount, max(64, 2 * count))
        guard capacity > keyCount else { return }
        let larger = UnsafeMutablePointer<UInt16>.allocate(capacity: capacity)
        larger.initialize(repeating: 0, count: capacity)
        larger.update(from: keys, count: keyCount)
        keys.deallocate()
        keys = larger
        keyCount = capacity
    }

    func define(actor number: UInt64, _ actor: ActorID) throws(CBORError) {
        guard hasBegun, let number = UInt32(exactly: number), actorNumbers.count < SyncLimits.dictionaryActorCount
        else {
            throw .malformed
        }
        guard actorNumbers.updateValue(actors.intern(actor), forKey: number) == nil else { throw .malformed }
    }

    func define(collection name: UnsafeRawBufferPointer) throws(CBORError) {
        guard hasBegun, WireName.isCollection(name), collections.count < SyncLimits.dictionaryCollectionCount else {
            throw .malformed
        }
        collections.append(String(decoding: name, as: UTF8.self))
    }

    func define(slot: UInt64, _ name: DocumentName) throws(CBORError) {
        guard slot < UInt64(SyncLimits.referenceSlotCount) else { throw .malformed }
        let index = Int(slot)
        // The sender gives slots out in turn, so a gap is a lie.
        guard index <= slots.count else { throw .malformed }
        if index == slots.count { slots.append(name) } else { slots[index] = name }
    }

    // MARK: Look-up

    /// The bytes of a name by the sender's number; they stay in place as long as the dictionary and `names` do.
    func name(_ number: Int, in names: FieldNames) -> UnsafeRawBufferPointer? {
        guard number >= 0, number < keyCount else { return nil }
        let key = keys[number]
        if key == 0 { return nil }
        return key & Self.isText == 0 ? names.name(Int(key) - 1) : text(key)
    }

    static func isRefused(_ key: UInt16) -> Bool { key & (isText | isRefused) == isText | isRefused }

    func text(_ key: UInt16) -> UnsafeRawBufferPointer { texts[Int(key & ~(Self.isText | Self.isRefused))] }

    /// The number in `actors` of the sender's number.
    func actorNumber(_ number: UInt64) throws(CBORError) -> UInt32 {
        guard let number = UInt32(exactly: number), let own = actorNumbers[number] else { throw .malformed }
        return own
    }

    func actor(_ number: UInt64) throws(CBORError) -> ActorID {
        if let last = lastActor, last.number == number { return last.actor }
        guard let actor = actors.actor(UInt64(try actorNumber(number))) else { throw .malformed }
        lastActor = (number, actor)
        return actor
    }

    func collection(_ number: UInt64) throws(CBORError) -> String {
        guard number < UInt64(collections.count) else { throw .malformed }
        return collections[Int(number)]
    }

    func name(slot: UInt64) throws(CBORError) -> DocumentName {
        guard slot < UInt64(slots.count), let name = slots[Int(slot)] else { throw .malformed }
        return name
    }
}
