import Synchronization

/// The interned actors of one store: small numbers for actor ids, and ids for numbers.
///
/// Append-only: an actor's number never changes while the process lives. Actors are added under the store's write lock;
/// readers on any thread find an id by its number without a lock.
package final class ActorTable: @unchecked Sendable {
    // Unchecked: the chunks are raw memory that only `intern` writes, under `numbers`; a number is published through
    // `publishedCount`, with release order, after its id and its chunk are in place. Chunk k holds `firstChunk << k` ids.
    private let chunks: UnsafeMutablePointer<UnsafeMutablePointer<ActorID>?>
    private let publishedCount = Atomic<Int>(0)
    private let recent = Atomic<Int>(0)
    /// Guards the numbers by id, and adding to them.
    private let numbers = Lock<[ActorID: UInt32]>([:])

    private static let firstChunk = 64
    private static let chunkCount = 27

    package init() {
        chunks = .allocate(capacity: Self.chunkCount)
        chunks.initialize(repeating: nil, count: Self.chunkCount)
    }

    deinit {
        for index in 0..<Self.chunkCount { chunks[index]?.deallocate() }
        chunks.deallocate()
    }

    /// The number of actors; their numbers are below it.
    package var count: Int { publishedCount.load(ordering: .acquiring) }

    /// The actor with this number, or nil where there is none.
    @inline(__always)
    package func actor(_ number: UInt64) -> ActorID? {
        let count = count
        guard number < UInt64(count) else { return nil }
        return id(Int(number))
    }

    /// The id of a number below the published count.
    @inline(__always)
    private func id(_ number: Int) -> ActorID? {
        let (chunk, offset) = Self.place(of: number)
        return chunks[chunk]?[offset]
    }

    @inline(__always)
    private static func place(of number: Int) -> (chunk: Int, offset: Int) {
        let group = number / firstChunk + 1
        let chunk = Int.bitWidth - 1 - group.leadingZeroBitCount
        return (chunk, number - firstChunk * ((1 << chunk) - 1))
    }

    /// The number of an actor, or nil where it has none yet.
    package func number(of actor: ActorID) -> UInt32? {
        let last = recent.load(ordering: .relaxed)
        if last < count, id(last) == actor { return UInt32(last) }
        guard let number = numbers.withLock({ $0[actor] }) else { return nil }
        recent.store(Int(number), ordering: .relaxed)
        return number
    }

    /// The number of an actor, which is added where it is new.
    package func intern(_ actor: ActorID) -> UInt32 {
        if let known = number(of: actor) { return known }
        return numbers.withLock { numbers in
            if let known = numbers[actor] { return known }
            let number = publishedCount.load(ordering: .relaxed)
            precondition(number < UInt32.max, "an actor table holds at most 2^32 - 1 actors")
            let (chunk, offset) = Self.place(of: number)
            // Written once, as those read it without the lock whose numbers are in this chunk already.
            if chunks[chunk] == nil { chunks[chunk] = .allocate(capacity: Self.firstChunk << chunk) }
            guard let ids = chunks[chunk] else { preconditionFailure("the chunk has just been made") }
            (ids + offset).initialize(to: actor)
            numbers[actor] = UInt32(number)
            publishedCount.store(number + 1, ordering: .releasing)
            return UInt32(number)
        }
    }
}
