/// Builds the state before a commit from the present one and the items of an undo entry, which come in key order.
struct Unwinder {
    private let current: DocumentState
    private var previous = DocumentState()
    private var nextAssignment = 0
    private var nextTally = 0
    private var nextUnknown = 0

    init(current: DocumentState) {
        self.current = current
        previous.arena = current.arena
    }

    /// Takes one item back: what was written goes, what was displaced returns.
    mutating func take(_ item: UndoItem) throws(CBORError) {
        switch item.key {
        case .assignment: try takeAssignment(item)
        case .tally(let base, let actor):
            let key = DocumentState.Tally(
                path: previous.store(item.path), base: base, actor: actor, time: .zero, sum: .int(0))
            try takeTally(item, key)
        case .unknown(let kind, let base, let key):
            let key = DocumentState.Unknown(
                path: previous.store(item.path), kind: kind, base: base, time: .zero,
                actor: ActorID(high: 0, low: 0), key: previous.store(key), payload: .empty)
            try takeUnknown(item, key)
        }
    }

    /// The state with all entries that no item named; its vectors are still empty.
    mutating func finish() -> DocumentState {
        previous.assignments.append(contentsOf: current.assignments[nextAssignment...])
        previous.tallies.append(contentsOf: current.tallies[nextTally...])
        previous.unknowns.append(contentsOf: current.unknowns[nextUnknown...])
        return previous
    }

    private mutating func takeAssignment(_ item: UndoItem) throws(CBORError) {
        let path = previous.store(item.path)
        var isPresent = false
        while nextAssignment < current.assignments.count {
            let entry = current.assignments[nextAssignment]
            let order = previous.arena.withUnsafeBytes { CBOR.compare($0[entry.path], $0[path]) }
            if order > 0 { break }
            nextAssignment += 1
            if order == 0 {
                isPresent = true
                break
            }
            previous.assignments.append(entry)
        }
        guard isPresent == item.isWritten else { throw .malformed }
        if let last = previous.assignments.last {
            let order = previous.arena.withUnsafeBytes { CBOR.compare($0[last.path], $0[path]) }
            guard order < 0 else { throw .notCanonical }
        }
        guard case .assignment(let stamp, let kind, let payload) = item.displaced else { return }
        let slice = previous.store(payload)
        previous.assignments.append(
            DocumentState.Assignment(path: path, payload: slice, stamp: stamp, kind: kind))
    }

    private mutating func takeTally(_ item: UndoItem, _ key: DocumentState.Tally) throws(CBORError) {
        var isPresent = false
        while nextTally < current.tallies.count {
            let entry = current.tallies[nextTally]
            let order = previous.arena.withUnsafeBytes { DocumentState.compare(entry, key, $0) }
            if order > 0 { break }
            nextTally += 1
            if order == 0 {
                isPresent = true
                break
            }
            previous.tallies.append(entry)
        }
        guard isPresent == item.isWritten else { throw .malformed }
        if let last = previous.tallies.last {
            let order = previous.arena.withUnsafeBytes { DocumentState.compare(last, key, $0) }
            guard order < 0 else { throw .notCanonical }
        }
        guard case .tally(let time, let sum) = item.displaced else { return }
        var entry = key
        entry.time = time
        entry.sum = sum
        previous.tallies.append(entry)
    }

    private mutating func takeUnknown(_ item: UndoItem, _ key: DocumentState.Unknown) throws(CBORError) {
        var isPresent = false
        while nextUnknown < current.unknowns.count {
            let entry = current.unknowns[nextUnknown]
            let order = previous.arena.withUnsafeBytes { DocumentState.compare(entry, key, $0) }
            if order > 0 { break }
            nextUnknown += 1
            if order == 0 {
                isPresent = true
                break
            }
            previous.unknowns.append(entry)
        }
        guard isPresent == item.isWritten else { throw .malformed }
        if let last = previous.unknowns.last {
            let order = previous.arena.withUnsafeBytes { DocumentState.compare(last, key, $0) }
            guard order < 0 else { throw .notCanonical }
        }
        guard case .unknown(let time, let actor, let payload) = item.displaced else { return }
        var entry = key
        entry.time = time
        entry.actor = actor
        entry.payload = previous.store(payload)
        previous.unknowns.append(entry)
    }
}
