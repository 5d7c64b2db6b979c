import DocDBCore

/// One container or scalar that a type has written, and may still be writing.
final class EncodedNode {
    enum Kind { case empty, scalar, array, object }

    /// A member, element or scalar: its name's bytes in the node's buffer, and its value.
    struct Entry {
        enum Content {
            /// Encoded bytes in the node's buffer.
            case bytes(Range<Int>)
            case node(EncodedNode)
            case value(Value)
        }

        var name: Range<Int>
        var content: Content
    }

    private(set) var kind = Kind.empty
    private(set) var bytes = ByteBuffer(capacity: 128)
    var entries: [Entry] = []
    /// Whether the members came in an order that means nothing.
    private(set) var isDictionary = false

    let userInfo: [CodingUserInfoKey: any Sendable]
    private let parent: EncodedNode?
    private let depth: Int
    /// The name or position in the parent.
    private let key: PathKey?
    /// The bytes of the name of the member that is being written.
    private var pendingName = 0..<0

    /// How deep types may be encoded within one another: a document's nesting, with room for wrapping types at each level.
    private static let depthLimit = 4 * Limits.nestingDepth

    init(userInfo: [CodingUserInfoKey: any Sendable], parent: EncodedNode? = nil, key: PathKey? = nil) {
        self.userInfo = userInfo
        self.parent = parent
        self.key = key
        depth = (parent?.depth ?? 0) + 1
    }

    var codingPath: [any CodingKey] { (parent?.codingPath ?? []) + (key.map { [$0] } ?? []) }

    /// Makes the node a container of this kind; a type may ask for its container more than once.
    func become(_ kind: Kind) {
        precondition(self.kind == .empty || self.kind == kind, "a value encodes as one kind of container only")
        self.kind = kind
    }

    /// Begins a member, whose value is written next.
    @inline(__always)
    func begin(_ name: String) {
        let start = bytes.count
        bytes.append(utf8: name)
        pendingName = start..<bytes.count
    }

    /// Writes the bytes of the value that is due.
    @inline(__always)
    func write(_ append: (inout ByteBuffer) -> Void) {
        let start = bytes.count
        append(&bytes)
        entries.append(Entry(name: pendingName, content: .bytes(start..<bytes.count)))
    }

    func write<I: FixedWidthInteger>(integer value: I) throws {
        guard let value = Int64(exactly: value) else { throw failure(value, .integerOutOfRange) }
        write { $0.appendCBOR(value) }
    }

    func write(double value: Double) throws {
        guard value.isFinite else { throw failure(value, .notFinite) }
        write { $0.appendCBOR(value) }
    }

    func write(value: Value) { entries.append(Entry(name: pendingName, content: .value(value))) }

    /// Adds a node in the place of the value that is due.
    func addChild() -> EncodedNode {
        let name = UnsafeRawBufferPointer(rebasing: bytes.bytes[pendingName])
        let key = kind == .array ? PathKey(entries.count) : PathKey(String(decoding: name, as: UTF8.self))
        let child = EncodedNode(userInfo: userInfo, parent: self, key: kind == .scalar ? nil : key)
        entries.append(Entry(name: pendingName, content: .node(child)))
        return child
    }

    /// Writes a value of any type in the place that is due.
    func writeElement<E: Encodable>(_ value: E) throws {
        if kind == .empty { become(.scalar) }
        if E.self == [String].self, let strings = value as? [String] {
            return write { buffer in
                buffer.appendCBORHead(major: CBOR.Major.array, UInt64(strings.count))
                for string in strings { buffer.appendCBOR(string) }
            }
        }
        if E.self == [Int].self, let integers = value as? [Int] {
            return write { buffer in
                buffer.appendCBORHead(major: CBOR.Major.array, UInt64(integers.count))
                for integer in integers { buffer.appendCBOR(Int64(integer)) }
            }
        }
        if try writeFoundationValue(value) { return }
        guard depth < Self.depthLimit else { throw failure(value, .nestedTooDeep) }
        try addChild().writeRoot(value)
    }

    /// Lets a type write itself to this node.
    func writeRoot<E: Encodable>(_ value: E) throws {
        isDictionary = value is any UnorderedMembers
        try value.encode(to: NodeEncoder(node: self))
    }

    func failure(_ value: Any, _ reason: EncodingReason) -> EncodingError {
        var path = codingPath
        if kind == .array { path.append(PathKey(entries.count)) }
        if kind == .object {
            path.append(
                PathKey(String(decoding: UnsafeRawBufferPointer(rebasing: bytes.bytes[pendingName]), as: UTF8.self)))
        }
        return .invalidValue(
            value, .init(codingPath: path, debugDescription: reason.text, underlyingError: reason))
    }
}

extension EncodedNode {
    /// The name of a member, valid until the node is written to again.
    func name(of entry: Entry) -> UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(rebasing: bytes.bytes[entry.name])
    }

    /// The node that holds what this one stands for: a type may have written another in its place.
    var resolved: EncodedNode {
        guard kind == .scalar, case .node(let child)? = entries.last?.content else { return self }
        return child.resolved
    }

    func hasName(_ name: StaticString, _ entry: Entry) -> Bool {
        let text = UnsafeRawBufferPointer(start: name.utf8Start, count: name.utf8CodeUnitCount)
        return CBOR.compare(self.name(of: entry), text) == 0
    }

    /// Gives members that came from a dictionary an order that does not change from run to run.
    func sortEntriesByName() {
        entries.sort { CBOR.compare(name(of: $0), name(of: $1)) < 0 }
    }

    /// Removes members whose name was written again later.
    func removeReplacedEntries() {
        var seen = Set<[UInt8]>()
        var kept: [Entry] = []
        for entry in entries.reversed() where seen.insert(Array(name(of: entry))).inserted { kept.append(entry) }
        entries = kept.reversed()
    }
}

/// Types whose members come in an order that differs from run to run.
private protocol UnorderedMembers {}

extension Dictionary: UnorderedMembers {}
