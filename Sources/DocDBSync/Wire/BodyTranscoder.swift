import DocDBCore

/// Checks bodies and values that a peer sent, and spells them with the receiver's names, in one pass.
///
/// Nothing that a store does not itself write passes: shortest heads and floats, key order, UTF-8, nesting, names that are
/// defined. Keys are put in order anew only where the receiver's numbers are in another order.
struct BodyTranscoder: ~Copyable {
    private let names: FieldNames
    private let dictionary: ReceivingDictionary
    /// The names defined, as in the dictionary; taken anew for each document.
    private var keys: UnsafeMutablePointer<UInt16>
    private var keyCount = 0
    private var identityKey = UInt64.max
    /// What was transcoded last.
    private(set) var output = ByteBuffer(capacity: 1024)
    /// The leaves of the body that was transcoded last.
    private(set) var leafCount = 0
    /// Whether a name has come that the sender's user may not bring; whoever reads a document sets it back.
    var usesRefusedNames = false
    /// About how many bytes the paths of its leaves have together: what decoding a state from it takes.
    private var pathByteCount = 0
    private var order = MemberOrder()

    init(dictionary: ReceivingDictionary, names: FieldNames) {
        self.dictionary = dictionary
        self.names = names
        keys = dictionary.keys
    }

    private mutating func begin() {
        keys = dictionary.keys
        keyCount = dictionary.keyCount
        identityKey = dictionary.identityKey ?? .max
        output.removeAll()
        order.truncate(to: 0)
        leafCount = 0
        pathByteCount = 0
    }

    /// Transcodes one whole body into `output`.
    mutating func transcodeBody(_ cursor: inout WireCursor) throws(CBORError) {
        begin()
        let (major, argument) = try cursor.readStrictHead()
        guard major == Major.map else { throw .malformed }
        try appendMap(argument, &cursor, depth: 0, prefix: 0, isInArray: false)
        guard leafCount <= SyncLimits.documentLeafCount else { throw .tooDeep }
    }

    /// Transcodes one whole value, no map, into `output`.
    ///
    /// - Parameter depth: the number of objects that it lies in.
    mutating func transcodeValue(_ cursor: inout WireCursor, depth: Int) throws(CBORError) {
        begin()
        guard !cursor.isAtEnd, cursor.position.load(as: UInt8.self) >> 5 != Major.map else { throw .malformed }
        try appendValue(&cursor, depth: depth, prefix: 0, isInArray: true)
    }

    /// Checks a path and returns the number of its keys.
    mutating func check(path: UnsafeRawBufferPointer) throws(CBORError) -> Int {
        begin()
        var cursor = WireCursor(path)
        var depth = 0
        while !cursor.isAtEnd {
            let (major, argument) = try cursor.readStrictHead()
            if major == Major.unsigned {
                guard argument < UInt64(keyCount), keys[Int(argument)] != 0, depth > 0 || argument != identityKey else {
                    throw .malformed
                }
                if ReceivingDictionary.isRefused(keys[Int(argument)]) { usesRefusedNames = true }
            } else {
                guard major == Major.text else { throw .malformed }
                let text = try cursor.read(argument: argument)
                guard UTF8Validation.isValid(text), depth > 0 || !Self.isIdentity(text) else { throw .malformed }
                if case .refused = NameSpelling(text, dictionary.allowance, in: names) { usesRefusedNames = true }
            }
            depth += 1
        }
        guard depth <= Limits.nestingDepth else { throw .tooDeep }
        return depth
    }

    private static func isIdentity(_ text: UnsafeRawBufferPointer) -> Bool {
        text.count == 3 && text[0] == UInt8(ascii: "_") && text[1] == UInt8(ascii: "i") && text[2] == UInt8(ascii: "d")
    }

    /// Where the keys of a map have come to: in the sender's order, and in the receiver's.
    private struct KeyOrder {
        /// The sender's last number, plus one; keys that are text come after all numbers.
        var sourceNumber: UInt64 = 0
        var sourceText: UnsafeRawBufferPointer?
        /// The receiver's last number, plus one; a greater one than any where the last key became text.
        var target = 0
        var isBroken = false

        static let text = Int.max
    }

    private mutating func appendMap(
        _ count: UInt64, _ cursor: inout WireCursor, depth: Int, prefix: Int, isInArray: Bool
    ) throws(CBORError) {
        guard depth < Limits.nestingDepth else { throw .tooDeep }
        guard count <= UInt64(cursor.remaining / 2) else { throw .truncated }
        output.appendCBORHead(major: Major.map, count)
        if count == 0 {
            if depth > 0, !isInArray { leafCount += 1 }
            return
        }
        // The count is at most half of a frame's bytes, and so is the prefix: no overflow.
        pathByteCount += Int(count) * prefix
        guard pathByteCount <= SyncLimits.documentPathByteCount, leafCount <= SyncLimits.documentLeafCount else {
            throw .tooDeep
        }
        let first = order.count
        var keyOrder = KeyOrder()
        for _ in 0..<Int(count) {
            let start = output.count
            order.push(start)
            try appendKey(&cursor, &keyOrder, isTop: depth == 0 && !isInArray)
            try appendValue(
                &cursor, depth: depth + 1, prefix: prefix + output.count - start, isInArray: isInArray)
        }
        if keyOrder.isBroken, !order.sort(from: first, base: output.start, end: output.count) { throw .malformed }
        order.truncate(to: first)
    }

    @inline(__always)
    private mutating func appendKey(
        _ cursor: inout WireCursor, _ keyOrder: inout KeyOrder, isTop: Bool
    ) throws(CBORError) {
        let start = cursor.position
        let (major, argument) = try cursor.readStrictHead()
        guard major == Major.unsigned else {
            guard major == Major.text else { throw .malformed }
            return try appendTextKey(from: start, argument, &cursor, &keyOrder, isTop: isTop)
        }
        guard argument >= keyOrder.sourceNumber, keyOrder.sourceText == nil else { throw .notCanonical }
        keyOrder.sourceNumber = argument + 1
        guard argument < UInt64(keyCount), !(isTop && argument == identityKey) else { throw .malformed }
        let key = keys[Int(argument)]
        guard key != 0 else { throw .malformed }
        if key & ReceivingDictionary.isText == 0 {
            if Int(key) <= keyOrder.target { keyOrder.isBroken = true }
            keyOrder.target = Int(key)
            output.appendCBORHead(major: Major.unsigned, UInt64(key - 1))
        } else {
            keyOrder.isBroken = true
            keyOrder.target = KeyOrder.text
            if ReceivingDictionary.isRefused(key) { usesRefusedNames = true }
            output.appendCBOR(text: dictionary.text(key))
        }
    }

    @inline(never)
    private mutating func appendTextKey(
        from start: UnsafeRawPointer, _ count: UInt64, _ cursor: inout WireCursor, _ keyOrder: inout KeyOrder,
        isTop: Bool
    ) throws(CBORError) {
        let text = try cursor.read(argument: count)
        let encoded = UnsafeRawBufferPointer(start: start, count: cursor.position - start)
        if let previous = keyOrder.sourceText, CBOR.compare(previous, encoded) >= 0 { throw .notCanonical }
        keyOrder.sourceText = encoded
        guard UTF8Validation.isValid(text), !(isTop && Self.isIdentity(text)) else { throw .malformed }
        switch NameSpelling(text, dictionary.allowance, in: names) {
        case .number(let number):
            if number + 1 <= keyOrder.target { keyOrder.isBroken = true }
            keyOrder.target = number + 1
            output.appendCBORHead(major: Major.unsigned, UInt64(number))
        case let spelling:
            if case .refused = spelling { usesRefusedNames = true }
            keyOrder.target = KeyOrder.text
            output.append(encoded)
        }
    }

    @inline(__always)
    private mutating func appendValue(
        _ cursor: inout WireCursor, depth: Int, prefix: Int, isInArray: Bool
    ) throws(CBORError) {
        let start = cursor.position
        guard !cursor.isAtEnd else { throw .truncated }
        let first = start.load(as: UInt8.self)
        switch first >> 5 {
        case Major.simple:
            _ = try cursor.readByte()
            try cursor.readStrictSimple(first: first)
        case Major.unsigned, Major.negative:
            guard try cursor.readStrictHead().argument <= UInt64(Int64.max) else { throw .malformed }
        case Major.text:
            let text = try cursor.read(argument: try cursor.readStrictHead().argument)
            guard UTF8Validation.isValid(text) else { throw .malformed }
        case Major.bytes:
            _ = try cursor.read(argument: try cursor.readStrictHead().argument)
        default:
            return try appendContainer(&cursor, depth: depth, prefix: prefix, isInArray: isInArray)
        }
        if !isInArray { leafCount += 1 }
        output.append(start, count: cursor.position - start)
    }

    @inline(never)
    private mutating func appendContainer(
        _ cursor: inout WireCursor, depth: Int, prefix: Int, isInArray: Bool
    ) throws(CBORError) {
        let (major, count) = try cursor.readStrictHead()
        if major == Major.map {
            return try appendMap(count, &cursor, depth: depth, prefix: isInArray ? 0 : prefix, isInArray: isInArray)
        }
        guard major == Major.array else { throw .malformed }
        guard depth < Limits.nestingDepth else { throw .tooDeep }
        guard count <= UInt64(cursor.remaining) else { throw .truncated }
        output.appendCBORHead(major: major, count)
        for _ in 0..<Int(count) { try appendValue(&cursor, depth: depth + 1, prefix: 0, isInArray: true) }
        if !isInArray { leafCount += 1 }
    }
}
