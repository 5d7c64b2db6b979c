import DocDBCore
import DocDBStorage

/// What one side has defined for the other while it sends documents: names, actors, collections, documents' references.
///
/// Names and actors go by the numbers of the sender's store, so that stored bytes go out as they are. One dictionary
/// lasts for one pull (one number of an interest): frames of an earlier one are dropped whole, and their definitions with
/// them. `DocumentsWriter` therefore begins anew with each number, and tells the reader so in the bytes.
package final class SendingDictionary {
    /// The number of the interest that what follows is defined for.
    var number: UInt64?
    /// Whether the next content must begin anew.
    var beginsAnew = true
    /// Whether a content was begun and not finished: what it defined never reached the peer.
    var isUnfinished = false
    /// One bit for each name of the store that has been defined.
    let names: UnsafeMutablePointer<UInt64>
    private var actors: Set<UInt32> = []
    private var lastActor: UInt32?
    private var collections: [Int64: (number: UInt32, name: CollectionName)] = [:]
    private var lastCollection: (collection: Int64, number: UInt32, name: CollectionName)?
    private var collectionCount: UInt32 = 0
    private var slots: [DocumentReference: UInt32] = [:]
    private var slotOwners: [DocumentReference] = []
    private var nextSlot = 0

    /// How many documents have short references at a time.
    private static let slotCount = 256

    private static let nameWordCount = (Limits.internedFieldNameCount + 63) / 64

    package init() {
        names = .allocate(capacity: Self.nameWordCount)
        names.initialize(repeating: 0, count: Self.nameWordCount)
    }

    deinit { names.deallocate() }

    /// Forgets everything; the next content begins anew.
    package func reset() {
        beginsAnew = true
        names.update(repeating: 0, count: Self.nameWordCount)
        actors = []
        lastActor = nil
        collections = [:]
        lastCollection = nil
        collectionCount = 0
        slots = [:]
        slotOwners = []
        nextSlot = 0
    }

    /// Notes that an actor is used; returns whether this is the first time.
    func defineActor(_ actor: UInt32) -> Bool {
        if lastActor == actor { return false }
        lastActor = actor
        return actors.insert(actor).inserted
    }

    /// The short number of a collection, and whether it is new.
    ///
    /// Callers may give made-up numbers to collections that the store lacks, so the name counts too.
    func collection(_ collection: Int64, _ name: String) -> (number: UInt32, isNew: Bool) {
        let name = CollectionName(name)
        if let last = lastCollection, last.collection == collection, last.name == name { return (last.number, false) }
        if let known = collections[collection], known.name == name {
            lastCollection = (collection, known.number, name)
            return (known.number, false)
        }
        let number = collectionCount
        collectionCount += 1
        collections[collection] = (number, name)
        return (number, true)
    }

    /// The slot of a document, and whether it is new; the document that held the slot longest then loses it.
    func slot(of reference: DocumentReference) -> (slot: UInt32, isNew: Bool) {
        if let slot = slots[reference] { return (slot, false) }
        let slot = nextSlot
        nextSlot = (nextSlot + 1) % Self.slotCount
        if slot < slotOwners.count {
            slots[slotOwners[slot]] = nil
            slotOwners[slot] = reference
        } else {
            slotOwners.append(reference)
        }
        slots[reference] = UInt32(slot)
        return (UInt32(slot), true)
    }
}
