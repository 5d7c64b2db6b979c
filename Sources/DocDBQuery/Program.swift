import DocDBCore

/// One compiled condition. Conditions, operands, paths and steps are plain bits that name each other by index.
struct CompiledCondition {
    enum Kind: UInt8 {
        case and, or, not, isTrue, compare, isInList, isInOperand, between, like, startsWith, endsWith, contains, regex
        case exists, isMissing
        /// A top-level field equals one literal whose encoding it must have byte for byte.
        case fieldEqualsBytes
        /// A top-level field compares with an integer literal.
        case fieldComparesInt
    }

    var kind: Kind
    var comparison: Filter.Comparison = .equal
    /// The first child, operand, slot or path, by kind.
    var first: Int32 = -1
    /// The second operand, list, pattern or literal, by kind.
    var second: Int32 = -1
    var third: Int32 = -1
    /// The next child of the same `and` or `or`; negative at the end.
    var next: Int32 = -1
}

struct CompiledOperand {
    enum Kind: UInt8 {
        case literal, path, length, sum, lower, upper, abs, type, condition
    }

    var kind: Kind
    var isMultiValued = false
    /// The literal `null`, which equals missing values too, or the word `missing`.
    var isLiteralNull = false
    var isLiteralMissing = false
    /// The path, the function's argument or the condition, by kind.
    var index: Int32 = -1
    /// The buffer that `lower` and `upper` write to.
    var scratch: Int32 = -1
    var literal: EncodedValue = .missing
}

struct CompiledPath {
    enum Root: UInt8 { case slot, id, element }

    var root: Root
    var slot: Int32 = -1
    var firstStep: Int32 = 0
    var stepCount: Int32 = 0
    var isMultiValued = false
}

struct CompiledStep {
    enum Kind: UInt8 { case name, index, all, filter }

    var kind: Kind
    /// The name's interned number, negative where it has none; the position; or the condition.
    var number: Int64 = -1
    /// The name's UTF-8 bytes.
    var name: UnsafeRawBufferPointer = UnsafeRawBufferPointer(start: nil, count: 0)
}

/// The literals of an `in`: scalars in order, to search by halves, then arrays and objects.
struct CompiledList {
    var first: Int32
    var scalarCount: Int32
    var count: Int32
    var hasNull: Bool
}

/// One top-level name of the predicate, by the order of its encoded key.
struct CompiledSlot {
    /// The interned number, or `textKey` for a name that stands as text.
    var number: UInt64
    /// The key as it is encoded in bodies.
    var key: UnsafeRawBufferPointer

    static let textKey = UInt64.max
}

/// A pattern of `like`, sorted by the cheapest way to match it.
struct CompiledPattern {
    enum Kind: UInt8 { case exact, prefix, suffix, part, general }

    var kind: Kind
    /// The literal text of all kinds but `general`.
    var text: UnsafeRawBufferPointer
    /// The elements of `general`: a byte, or one of the two below.
    var elements: UnsafeBufferPointer<UInt16>

    static let anyScalar: UInt16 = 256
    static let anyText: UInt16 = 257
}

/// Raw memory that lives as long as this object, for tables of plain bits.
final class ProgramMemory {
    private var blocks: [UnsafeMutableRawPointer] = []

    deinit { for block in blocks { block.deallocate() } }

    func allocate(byteCount: Int) -> UnsafeMutableRawPointer {
        let block = UnsafeMutableRawPointer.allocate(byteCount: max(byteCount, 1), alignment: 16)
        blocks.append(block)
        return block
    }

    /// Copies elements of plain bits.
    func copy<T: BitwiseCopyable>(_ elements: [T]) -> UnsafeMutablePointer<T> {
        let start = allocate(byteCount: elements.count * MemoryLayout<T>.stride).bindMemory(
            to: T.self, capacity: elements.count)
        for (index, element) in elements.enumerated() { (start + index).initialize(to: element) }
        return start
    }

    func copy(_ bytes: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer {
        let start = allocate(byteCount: bytes.count)
        if let source = bytes.baseAddress { start.copyMemory(from: source, byteCount: bytes.count) }
        return UnsafeRawBufferPointer(start: start, count: bytes.count)
    }

    func copy(utf8 text: String) -> UnsafeRawBufferPointer {
        var text = text
        return text.withUTF8 { copy(UnsafeRawBufferPointer($0)) }
    }
}
