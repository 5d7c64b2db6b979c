/// Reads the fields of one document in place: what decoders stand on.
///
/// Values are named by their offsets in the body; the document's id, which lies apart from it, has offsets from
/// `idBase` on. Every read is checked against the bytes at hand, so that an offset of an earlier document gives a wrong
/// answer at worst. Reads of one kind return nil where the value is of another kind or damaged.
package struct DocumentReader: ~Copyable {
    /// The offset of the id's first byte.
    package static let idBase = 1 << 48
    /// An offset that stands for a null that is not in the document.
    package static let nullOffset = -1

    private var body = UnsafeRawBufferPointer(start: nil, count: 0)
    private var id = UnsafeRawBufferPointer(start: nil, count: 0)
    private let names: FieldNames
    /// The maps in use, the innermost one last.
    private var maps: UnsafeMutablePointer<OpenMap>
    private var mapCapacity = 16
    package private(set) var openMapCount = 0

    /// A map in use, and where the search for its next key begins.
    private struct OpenMap {
        var first: Int
        var count: Int
        var isDocument: Bool
        /// The key that is looked at first: its index and its offset, or that of the value before it.
        var index = 0
        var next: Int
        var isBeforeValue = false
    }

    package init(names: FieldNames) {
        self.names = names
        maps = .allocate(capacity: mapCapacity)
    }

    deinit { maps.deallocate() }

    /// Begins to read a document, whose bytes must stay in place until `close`.
    package mutating func open(body: UnsafeRawBufferPointer, id: UnsafeRawBufferPointer) {
        self.body = body
        self.id = id
        openMapCount = 0
    }

    /// Ends reading: later reads find nothing.
    package mutating func close() {
        open(body: UnsafeRawBufferPointer(start: nil, count: 0), id: UnsafeRawBufferPointer(start: nil, count: 0))
    }

    /// A cursor at a value, or an empty one where there is none.
    @inline(__always)
    func cursor(at offset: Int) -> ByteCursor {
        let isIdentity = offset >= Self.idBase
        let bytes = isIdentity ? id : body
        let offset = isIdentity ? offset - Self.idBase : offset
        guard offset >= 0, offset < bytes.count else {
            return ByteCursor(UnsafeRawBufferPointer(start: nil, count: 0))
        }
        return ByteCursor(UnsafeRawBufferPointer(rebasing: bytes[offset...]))
    }

    /// The offset of a cursor's position, given an offset in the same bytes.
    @inline(__always)
    func offset(of cursor: ByteCursor, near offset: Int) -> Int {
        offset >= Self.idBase ? Self.idBase + id.count - cursor.remaining : body.count - cursor.remaining
    }
}

// MARK: Maps

extension DocumentReader {
    /// Begins to look up members of the map at an offset; returns its handle, or nil where there is no map.
    package mutating func openMap(at offset: Int) -> Int? {
        var cursor = cursor(at: offset)
        guard let item = try? cursor.readCBORItem(), case .map(let count) = item else { return nil }
        if openMapCount == mapCapacity { growMaps() }
        let first = self.offset(of: cursor, near: offset)
        (maps + openMapCount).initialize(
            to: OpenMap(first: first, count: count, isDocument: offset == 0, next: first))
        openMapCount += 1
        return openMapCount - 1
    }

    private mutating func growMaps() {
        let larger = UnsafeMutablePointer<OpenMap>.allocate(capacity: mapCapacity * 2)
        larger.update(from: maps, count: openMapCount)
        maps.deallocate()
        maps = larger
        mapCapacity *= 2
    }

    /// Forgets the maps opened since there were `count`.
    package mutating func closeMaps(to count: Int) { openMapCount = min(openMapCount, count) }

    /// The offset of the value of a member, or nil where the map has no such member.
    ///
    /// - Complexity: O(1) where members are asked for in their order, else O(n) in the number of members.
    package mutating func find(_ name: String, in map: Int) -> Int? {
        guard map < openMapCount else { return nil }
        var name = name
        return name.withUTF8 { find(UnsafeRawBufferPointer($0), in: map) }
    }

    private mutating func find(_ name: UnsafeRawBufferPointer, in map: Int) -> Int? {
        let open = maps + map
        if open.pointee.isDocument, name.count == 3, Self.isIdentity(name) { return id.isEmpty ? nil : Self.idBase }
        guard open.pointee.index < open.pointee.count else { return search(name, open) }
        var cursor = cursor(at: open.pointee.next)
        if open.pointee.isBeforeValue {
            guard (try? cursor.skipCBOR()) != nil else { return nil }
            open.pointee.next = offset(of: cursor, near: open.pointee.first)
            open.pointee.isBeforeValue = false
        }
        guard let (major, _, argument) = try? cursor.readCBORHead() else { return nil }
        let isMatch: Bool
        if major == CBOR.Major.unsigned {
            isMatch = argument < UInt64(Limits.internedFieldNameCount) && names.matches(Int(argument), name)
        } else {
            guard major == CBOR.Major.text, argument <= UInt64(cursor.remaining),
                let text = try? cursor.read(count: Int(argument))
            else { return nil }
            isMatch = text.count == name.count && CBOR.compare(text, name) == 0
        }
        return isMatch ? found(cursor, index: open.pointee.index, open) : search(name, open)
    }

    private func found(_ cursor: ByteCursor, index: Int, _ open: UnsafeMutablePointer<OpenMap>) -> Int {
        open.pointee.next = offset(of: cursor, near: open.pointee.first)
        open.pointee.index = index + 1
        open.pointee.isBeforeValue = true
        return open.pointee.next
    }

    /// Looks through the whole map, whose interned keys ascend and come before those that are text.
    @inline(never)
    private func search(_ name: UnsafeRawBufferPointer, _ open: UnsafeMutablePointer<OpenMap>) -> Int? {
        let sought = names.number(of: name).map(UInt64.init)
        var cursor = cursor(at: open.pointee.first)
        for index in 0..<open.pointee.count {
            guard let (major, _, argument) = try? cursor.readCBORHead() else { return nil }
            if major == CBOR.Major.unsigned {
                if argument == sought { return found(cursor, index: index, open) }
                if let sought, argument > sought { return nil }
            } else {
                guard major == CBOR.Major.text, argument <= UInt64(cursor.remaining),
                    let text = try? cursor.read(count: Int(argument))
                else { return nil }
                if text.count == name.count, CBOR.compare(text, name) == 0 { return found(cursor, index: index, open) }
            }
            guard (try? cursor.skipCBOR()) != nil else { return nil }
        }
        return nil
    }

    private static func isIdentity(_ name: UnsafeRawBufferPointer) -> Bool {
        name[0] == UInt8(ascii: "_") && name[1] == UInt8(ascii: "i") && name[2] == UInt8(ascii: "d")
    }

    /// The names of a map's members, a document's `_id` first.
    package func memberNames(of map: Int) -> [String] {
        guard map < openMapCount else { return [] }
        let open = maps[map]
        var result = open.isDocument && !id.isEmpty ? ["_id"] : []
        var cursor = cursor(at: open.first)
        for _ in 0..<open.count {
            guard let name = try? cursor.readCBORKey(names: names), (try? cursor.skipCBOR()) != nil else { break }
            result.append(String(decoding: name, as: UTF8.self))
        }
        return result
    }
}

// MARK: Arrays

extension DocumentReader {
    /// The offset of an array's first element, and the number of elements; nil where there is no array.
    package func array(at offset: Int) -> (first: Int, count: Int)? {
        var cursor = cursor(at: offset)
        guard let item = try? cursor.readCBORItem(), case .array(let count) = item else { return nil }
        return (self.offset(of: cursor, near: offset), count)
    }

    /// The offset behind a value, or nil where it is damaged.
    package func end(of offset: Int) -> Int? {
        var cursor = cursor(at: offset)
        guard (try? cursor.skipCBOR()) != nil else { return nil }
        return self.offset(of: cursor, near: offset)
    }

    /// The elements of an array of strings only.
    package func strings(at offset: Int) -> [String]? {
        elements(at: offset) { item in if case .text(let text) = item { Self.string(text) } else { nil } }
    }

    /// The elements of an array of whole numbers only.
    package func integers(at offset: Int) -> [Int]? {
        elements(at: offset) { item in Self.integer(item).flatMap(Int.init(exactly:)) }
    }

    /// The elements of an array of numbers only.
    package func doubles(at offset: Int) -> [Double]? {
        elements(at: offset, Self.double)
    }

    @inline(__always)
    private func elements<Element>(at offset: Int, _ element: (CBORItem) -> Element?) -> [Element]? {
        var cursor = cursor(at: offset)
        guard let item = try? cursor.readCBORItem(), case .array(let count) = item else { return nil }
        var result: [Element] = []
        result.reserveCapacity(min(count, 1024))
        for _ in 0..<count {
            guard let item = try? cursor.readCBORItem(), let value = element(item) else { return nil }
            result.append(value)
        }
        return result
    }
}

// MARK: Scalars

extension DocumentReader {
    /// Tells whether the value is null.
    package func isNull(at offset: Int) -> Bool {
        var cursor = cursor(at: offset)
        guard offset != Self.nullOffset else { return true }
        return (try? cursor.readByte()) == CBOR.nullByte
    }

    /// A truth value.
    package func bool(at offset: Int) -> Bool? {
        if case .bool(let value) = item(at: offset) { value } else { nil }
    }

    /// An integer, or a float that is a whole number in range.
    package func integer(at offset: Int) -> Int64? { item(at: offset).flatMap(Self.integer) }

    /// A number; an integer beyond 2^53 is rounded.
    package func double(at offset: Int) -> Double? { item(at: offset).flatMap(Self.double) }

    /// A string.
    package func string(at offset: Int) -> String? {
        if case .text(let text) = item(at: offset) { Self.string(text) } else { nil }
    }

    /// Bytes, where the document's bytes are.
    package func bytes(at offset: Int) -> UnsafeRawBufferPointer? {
        if case .bytes(let bytes) = item(at: offset) { bytes } else { nil }
    }

    /// Any value; of a whole document with its id.
    package func value(at offset: Int) -> Value? {
        if offset == Self.nullOffset { return .null }
        if offset == 0, !id.isEmpty { return try? Value.document(body: body, id: id, names: names) }
        var cursor = cursor(at: offset)
        return try? Value.decode(&cursor, names: names)
    }

    /// What kind of value there is, for messages.
    package func kind(at offset: Int) -> String {
        if offset == Self.nullOffset { return "null" }
        return switch item(at: offset) {
        case .null: "null"
        case .bool: "a truth value"
        case .int: "an integer"
        case .float: "a float"
        case .text: "a string"
        case .bytes: "bytes"
        case .array: "an array"
        case .map: "an object"
        case nil: "damaged bytes"
        }
    }

    @inline(__always)
    private func item(at offset: Int) -> CBORItem? {
        var cursor = cursor(at: offset)
        return try? cursor.readCBORItem()
    }

    @inline(__always)
    private static func integer(_ item: CBORItem) -> Int64? {
        switch item {
        case .int(let value): value
        case .float(let value): Int64(exactly: value)
        default: nil
        }
    }

    @inline(__always)
    private static func double(_ item: CBORItem) -> Double? {
        switch item {
        case .int(let value): Double(value)
        case .float(let value) where value.isFinite: value
        default: nil
        }
    }

    @inline(__always)
    private static func string(_ text: UnsafeRawBufferPointer) -> String { String(decoding: text, as: UTF8.self) }
}

// MARK: Paths

extension DocumentReader {
    /// One step from the top of a document to a value.
    package enum PathStep: Equatable {
        case name(String)
        case index(Int)
    }

    /// The steps to the value at an offset, for messages; found by walking down to it.
    package func path(to target: Int) -> [PathStep] {
        guard target > 0 else { return [] }
        var steps: [PathStep] = target >= Self.idBase ? [.name("_id")] : []
        var current = target >= Self.idBase ? Self.idBase : 0
        while current < target, steps.count <= Limits.nestingDepth {
            var cursor = cursor(at: current)
            guard let item = try? cursor.readCBORItem() else { break }
            let count: Int
            switch item {
            case .array(let elements): count = elements
            case .map(let members): count = members
            default: return steps
            }
            var isFound = false
            for index in 0..<count where !isFound {
                var step = PathStep.index(index)
                if case .map = item {
                    guard let name = try? cursor.readCBORKey(names: names) else { return steps }
                    step = .name(String(decoding: name, as: UTF8.self))
                }
                let offset = offset(of: cursor, near: target)
                guard (try? cursor.skipCBOR()) != nil else { return steps }
                if target < self.offset(of: cursor, near: target) {
                    steps.append(step)
                    current = offset
                    isFound = true
                }
            }
            if !isFound { return steps }
        }
        return steps
    }
}
