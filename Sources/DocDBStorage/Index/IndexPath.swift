import DocDBCore
import DocDBQuery

/// A path of an index, compiled to find its values in encoded documents, as the evaluator of predicates finds them.
///
/// Plain bits but for `memory`: following it allocates nothing.
struct IndexPath {
    enum Kind: UInt8 { case name, index, all }

    struct Step {
        var kind: Kind
        /// The position, of `index`.
        var position: Int64 = 0
        /// The interned number of the name, or -1 while it has none.
        var number: Int64 = -1
        /// The UTF-8 bytes of the name, of `name`.
        var name = UnsafeRawBufferPointer(start: nil, count: 0)
    }

    let isInID: Bool
    private var steps: [Step] = []
    private let memory: NameMemory
    private var hasUnknownNames = false
    private var knownNameCount = -1

    /// The names' bytes, for as long as the path is there.
    private final class NameMemory {
        var blocks: [UnsafeMutableRawBufferPointer] = []
        deinit { for block in blocks { block.deallocate() } }

        func copy(_ text: String) -> UnsafeRawBufferPointer {
            let block = UnsafeMutableRawBufferPointer.allocate(byteCount: max(text.utf8.count, 1), alignment: 8)
            block.copyBytes(from: text.utf8)
            blocks.append(block)
            return UnsafeRawBufferPointer(rebasing: block[..<text.utf8.count])
        }
    }

    init(_ path: Filter.Path) {
        isInID = path.beginsWithID
        memory = NameMemory()
        for step in path.steps.dropFirst(isInID ? 1 : 0) {
            switch step {
            case .name(let name): steps.append(Step(kind: .name, name: memory.copy(name.string)))
            case .index(let position): steps.append(Step(kind: .index, position: position))
            // Definitions have no filters; a path with one would find the values of all elements.
            case .all, .filter: steps.append(Step(kind: .all))
            }
        }
        hasUnknownNames = !isInID
    }

    /// Looks up the numbers of names that had none so far.
    @inline(__always)
    mutating func resolve(_ names: FieldNames) {
        if hasUnknownNames, names.count != knownNameCount { resolveUnknown(names) }
    }

    @inline(never)
    private mutating func resolveUnknown(_ names: FieldNames) {
        knownNameCount = names.count
        hasUnknownNames = false
        for index in steps.indices where steps[index].kind == .name && steps[index].number < 0 {
            if let number = names.number(of: steps[index].name) {
                steps[index].number = Int64(number)
            } else {
                hasUnknownNames = true
            }
        }
    }

    /// Calls `visit` with each value of the path in a document, as encoded bytes; not at all where it is missing.
    func forEachValue(
        body: UnsafeRawBufferPointer, id: UnsafeRawBufferPointer,
        _ visit: (UnsafeRawBufferPointer) throws(CBORError) -> Void
    ) throws(CBORError) {
        try follow(0, ByteCursor(isInID ? id : body), visit)
    }

    private func follow(
        _ first: Int, _ start: ByteCursor, _ visit: (UnsafeRawBufferPointer) throws(CBORError) -> Void
    ) throws(CBORError) {
        var cursor = start
        for offset in first..<steps.count {
            let item = try cursor.readCBORItem()
            switch (steps[offset].kind, item) {
            case (.name, .map(let count)):
                guard try Self.moveToMember(&cursor, count, steps[offset]) else { return }
            case (.index, .array(let count)):
                let position = steps[offset].position
                let place = position < 0 ? position &+ Int64(count) : position
                guard place >= 0, place < Int64(count) else { return }
                for _ in 0..<place { try cursor.skipCBOR() }
            case (.all, .array(let count)):
                for _ in 0..<count {
                    try follow(offset + 1, cursor, visit)
                    try cursor.skipCBOR()
                }
                return
            default: return
            }
        }
        try visit(try cursor.readCBORSlice())
    }

    /// Moves to the value of a member, or returns false where the map has none of that name.
    @inline(__always)
    private static func moveToMember(
        _ cursor: inout ByteCursor, _ count: Int, _ step: Step
    ) throws(CBORError) -> Bool {
        for _ in 0..<count {
            let (major, _, argument) = try cursor.readCBORHead()
            switch major {
            case CBOR.Major.unsigned:
                if step.number >= 0, argument == UInt64(step.number) { return true }
            case CBOR.Major.text:
                guard argument <= UInt64(cursor.remaining) else { throw .truncated }
                let name = try cursor.read(count: Int(argument))
                if name.count == step.name.count, CBOR.compare(name, step.name) == 0 { return true }
            default: throw .malformed
            }
            try cursor.skipCBOR()
        }
        return false
    }
}
