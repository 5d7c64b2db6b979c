package import DocDBCore

/// Keys that a transaction has handed out to documents that are not stored yet, by collection and id.
struct KeyReservations {
    private struct Name: Hashable {
        var collection: Int64
        var id: [UInt8]
    }

    private var keys: [Name: Int64] = [:]

    var isEmpty: Bool { keys.isEmpty }

    func key(collection: Int64, id: UnsafeRawBufferPointer) -> Int64? {
        keys.isEmpty ? nil : keys[Name(collection: collection, id: [UInt8](id))]
    }

    func id(collection: Int64, key: Int64) -> [UInt8]? {
        keys.first { $0.key.collection == collection && $0.value == key }?.key.id
    }

    mutating func add(_ key: Int64, collection: Int64, id: UnsafeRawBufferPointer) {
        keys[Name(collection: collection, id: [UInt8](id))] = key
    }

    mutating func remove(collection: Int64, id: UnsafeRawBufferPointer) {
        if !keys.isEmpty { keys[Name(collection: collection, id: [UInt8](id))] = nil }
    }

    /// Takes all that are left, in the order in which the keys were handed out.
    mutating func takeAll() -> [(collection: Int64, key: Int64, id: [UInt8])] {
        defer { keys.removeAll() }
        return keys.map { ($0.key.collection, $0.value, $0.key.id) }.sorted { ($0.0, $0.1) < ($1.0, $1.1) }
    }
}

extension WriteTransaction {
    /// The key of a document, stored or not: a new one is set aside where it has none.
    package func makeKey(collection number: Int64, id: UnsafeRawBufferPointer) throws(DocDBError) -> Int64 {
        try checkIsUsable()
        let collection = try existingCollection(number)
        if let key = try storedKey(id: id, collection) { return key }
        if let key = try knownKey(id: id, collection) { return key }
        return try writing { () throws(DocDBError) in
            let key = try collection.takeKey()
            reservations.add(key, collection: number, id: id)
            return key
        }
    }

    /// The key that this transaction or an earlier one has set aside for a document that is not stored.
    package func reservedKey(collection number: Int64, id: UnsafeRawBufferPointer) throws(DocDBError) -> Int64? {
        try checkIsUsable()
        return try knownKey(id: id, existingCollection(number))
    }

    /// The id for which this transaction has set a key aside.
    package func reservedID(collection: Int64, key: Int64) -> [UInt8]? {
        reservations.id(collection: collection, key: key)
    }

    /// Makes the next question after acknowledgements look at the peers anew.
    package func forgetAcknowledgements() { acknowledgements = nil }

    func knownKey(id: UnsafeRawBufferPointer, _ collection: CollectionWriter) throws(DocDBError) -> Int64? {
        if let key = reservations.key(collection: collection.info.number, id: id) { return key }
        return try collection.absent.entry(id: id)?.key
    }

    private func storedKey(id: UnsafeRawBufferPointer, _ collection: CollectionWriter) throws(DocDBError) -> Int64? {
        let statement = collection.selectStatement
        try statement.bind(1, id: id)
        defer { statement.reset() }
        return try statement.step() ? statement.int(0) : nil
    }

    /// The writer of a collection that exists.
    func existingCollection(_ number: Int64) throws(DocDBError) -> CollectionWriter {
        if let last = writer.lastCollection, last.info.number == number { return last }
        guard let found = try writer.collection(number: number) else {
            throw DocDBError(.collectionNotFound, "there is no collection with this number; make it by its name first")
        }
        writer.lastCollection = found
        return found
    }

    /// Writes down the keys set aside for documents that have not come, and returns which.
    @discardableResult
    package func persistReservations() throws(DocDBError) -> [(collection: Int64, key: Int64)] {
        if reservations.isEmpty { return [] }
        var written: [(collection: Int64, key: Int64)] = []
        for reservation in reservations.takeAll() {
            let collection = try existingCollection(reservation.collection)
            let failure: DocDBError? = reservation.id.withUnsafeBytes { id in
                do throws(DocDBError) {
                    try collection.absent.insert(key: reservation.key, id: id, evictedSequence: nil)
                    return nil
                } catch {
                    return error
                }
            }
            if let failure { throw failure }
            written.append((reservation.collection, reservation.key))
        }
        return written
    }

    /// Forgets the key of a document that is not stored and was never, of which nothing is known any more.
    package func releaseKey(collection number: Int64, key: Int64) throws(DocDBError) {
        try checkIsUsable()
        try existingCollection(number).absent.remove(key: key)
    }
}
