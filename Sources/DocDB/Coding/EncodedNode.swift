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

    /// What has been written. Raw memory, as class properties are checked for exclusive access at every use.
    struct Storage: ~Copyable {
        var bytes = ByteBuffer(capacity: 128)
        var entries: [Entry] = []
        /// The bytes of the name of the member that is being written.
        var pendingName = 0..<0
    }

    let storage: UnsafeMutablePointer<Storage>
    private(set) var kind = Kind.empty
    /// Whether the members came in an order that means nothing.
    private(set) var isDictionary = false

    let userInfo: [CodingUserInfoKey: any Sendable]
    private let parent: EncodedNode?
    private let depth: Int
    /// The name or position in the parent.
    private let key: PathKey?

    /// How deep types may be encoded within one another: a document's nesting, with room for wrapping types at each level.
    private static let depthLimit = 4 * Limits.nestingDepth

    init(userInfo: [CodingUserInfoKey: any Sendable], parent: EncodedNode? = nil, key: PathKey? = nil) {
        self.userInfo = userInfo
        self.parent = parent
        self.key = key
        depth = (parent?.depth ?? 0) + 1
        storage = .allocate(capacity: 1)
        storage.initialize(to: Storage())
    }

    deinit {
        storage.deinitialize(count: 1)
        storage.deallocate()
    }

    /// Lets go of all that was written: nodes and their parents hold each other.
    func dismantle() {
        for entry in entries { if case .node(let child) = entry.content { child.dismantle() } }
        storage.pointee.entries = []
    }

    /// The members, elements or scalar written so far.
    var entries: [Entry] { storage.pointee.entries }

    var codingPath: [any CodingKey] { (parent?.codingPath ?? []) + (key.map { [$0] } ?? []) }

    /// Makes the node a container of this kind; a type may ask for its container more than once.
    func become(_ kind: Kind) {
        precondition(self.kind == .empty || self.kind == kind, "a value encodes as one kind of container only")
        self.kind = kind
    }

    /// Begins a member, whose value is written next.
    @inline(__always)
    func begin(_ name: String) {
        let start = storage.pointee.bytes.count
        storage.pointee.bytes.append(utf8: name)
        storage.pointee.pendingName = start..<storage.pointee.bytes.count
    }

    /// Writes the bytes of the value that is due.
    @inline(__always)
    func write(_ append: (inout ByteBuffer) -> Void) {
        let start = storage.pointee.bytes.count
        append(&storage.pointee.bytes)
        add(.bytes(start..<storage.pointee.bytes.count))
    }

    func write<I: FixedWidthInteger>(integer value: I) throws {
        guard let value = Int64(exactly: value) else { throw failure(value, .integerOutOfRange) }
        write { $0.appendCBOR(value) }
    }

    func write(double value: Double) throws {
        guard value.isFinite else { throw failure(value, .notFinite) }
        write { $0.appendCBOR(value) }
    }

    func write(value: Value) { add(.value(value)) }

    @inline(__always)
    private func add(_ content: Entry.Content) {
        if storage.pointee.entries.isEmpty { storage.pointee.entries.reserveCapacity(kind == .scalar ? 1 : 12) }
        storage.pointee.entries.append(Entry(name: storage.pointee.pendingName, content: content))
    }

    /// The name of the member that is being written.
    private var pendingKey: PathKey {
        PathKey(String(decoding: name(at: storage.pointee.pendingName), as: UTF8.self))
    }

    /// Adds a node in the place of the value that is due.
    func addChild() -> EncodedNode {
        let key: PathKey? =
            switch kind {
            case .array: PathKey(entries.count)
            case .object: pendingKey
            case .empty, .scalar: nil
            }
        let child = EncodedNode(userInfo: userInfo, parent: self, key: key)
        add(.node(child))
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
        if kind == .object { path.append(pendingKey) }
        return .invalidValue(
            value, .init(codingPath: path, debugDescription: reason.text, underlyingError: reason))
    }
}

extension EncodedNode {
    /// The name of a member, valid until the node is written to again.
    func name(of entry: Entry) -> UnsafeRawBufferPointer { name(at: entry.name) }

    private func name(at range: Range<Int>) -> UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(rebasing: storage.pointee.bytes.bytes[range])
    }

    /// Takes out the last member with a name, and earlier ones that it replaces.
    func removeEntry(_ name: StaticString) -> Entry? {
        let text = UnsafeRawBufferPointer(start: name.utf8Start, count: name.utf8CodeUnitCount)
        guard let last = entries.last(where: { CBOR.compare(self.name(of: $0), text) == 0 }) else { return nil }
        storage.pointee.entries.removeAll { CBOR.compare(self.name(of: $0), text) == 0 }
        return last
    }

    /// The node that holds what this one stands for: a type may have written another in its place.
    var resolved: EncodedNode {
        guard kind == .scalar, case .node(let child)? = entries.last?.content else { return self }
        return child.resolved
    }

    /// Gives members that came from a dictionary an order that does not change from run to run.
    func sortEntriesByName() {
        storage.pointee.entries.sort { CBOR.compare(name(of: $0), name(of: $1)) < 0 }
    }

    /// Removes members whose name was written again later.
    func removeReplacedEntries() {
        var seen = Set<[UInt8]>()
        var kept: [Entry] = []
        for entry in entries.reversed() where seen.insert(Array(name(of: entry))).inserted { kept.append(entry) }
        storage.pointee.entries = kept.reversed()
    }
}

/// Types whose members come in an order that differs from run to run.
private protocol UnorderedMembers {}

extension Dictionary: UnorderedMembers {}
