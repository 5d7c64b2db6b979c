import DocDBCore

/// Finds the names and actors that a stored document uses, and defines those that the peer does not know yet.
struct NameUse: ~Copyable, StateVisitor {
    private let dictionary: SendingDictionary
    /// One bit for each name: the dictionary's own.
    private let defined: UnsafeMutablePointer<UInt64>
    private let names: FieldNames
    private let actors: ActorTable
    /// Where definitions go: the content that is being written.
    var content: ByteBuffer
    /// The leaves of the body that was walked last.
    private(set) var leafCount = 0

    init(dictionary: SendingDictionary, names: FieldNames, actors: ActorTable) {
        self.dictionary = dictionary
        defined = dictionary.names
        self.names = names
        self.actors = actors
        content = ByteBuffer(capacity: 512)
    }

    // MARK: Bodies

    /// Walks one whole body.
    mutating func walkBody(_ body: UnsafeRawBufferPointer) throws(CBORError) {
        leafCount = 0
        var cursor = WireCursor(body)
        let (major, count) = try cursor.readHead()
        guard major == Major.map, count <= UInt64(cursor.remaining) else { throw .malformed }
        try walkMembers(Int(count), &cursor, depth: 0, isInArray: false)
        guard cursor.isAtEnd else { throw .malformed }
    }

    private mutating func walkMembers(
        _ count: Int, _ cursor: inout WireCursor, depth: Int, isInArray: Bool
    ) throws(CBORError) {
        guard depth <= Limits.nestingDepth else { throw .tooDeep }
        for _ in 0..<count {
            try walkKey(&cursor)
            try walkValue(&cursor, depth: depth, isInArray: isInArray)
        }
    }

    @inline(__always)
    private mutating func walkKey(_ cursor: inout WireCursor) throws(CBORError) {
        let (major, argument) = try cursor.readHead()
        if major == Major.unsigned {
            try use(name: argument)
        } else {
            guard argument <= UInt64(cursor.remaining) else { throw .truncated }
            _ = try cursor.read(count: Int(argument))
        }
    }

    @inline(__always)
    private mutating func walkValue(_ cursor: inout WireCursor, depth: Int, isInArray: Bool) throws(CBORError) {
        let (major, argument) = try cursor.readHead()
        switch major {
        case Major.bytes, Major.text:
            guard argument <= UInt64(cursor.remaining) else { throw .truncated }
            _ = try cursor.read(count: Int(argument))
        case Major.array, Major.map:
            return try walkContainer(major, argument, &cursor, depth: depth, isInArray: isInArray)
        default: break
        }
        if !isInArray { leafCount += 1 }
    }

    @inline(never)
    private mutating func walkContainer(
        _ major: UInt8, _ count: UInt64, _ cursor: inout WireCursor, depth: Int, isInArray: Bool
    ) throws(CBORError) {
        guard count <= UInt64(cursor.remaining), depth <= Limits.nestingDepth else { throw .malformed }
        let isArray = major == Major.array
        if !isInArray, isArray || count == 0 { leafCount += 1 }
        if isArray {
            for _ in 0..<Int(count) { try walkValue(&cursor, depth: depth + 1, isInArray: true) }
        } else {
            try walkMembers(Int(count), &cursor, depth: depth + 1, isInArray: isInArray)
        }
    }

    // MARK: States

    mutating func pass(_ bytes: UnsafeRawBufferPointer) {}

    mutating func actor(_ word: UInt64, isFlagged: Bool) throws(CBORError) {
        guard let number = UInt32(exactly: isFlagged ? word >> 1 : word) else { throw .malformed }
        if dictionary.defineActor(number) { try define(actor: number) }
    }

    mutating func path(_ path: UnsafeRawBufferPointer) throws(CBORError) {
        var cursor = WireCursor(path)
        while !cursor.isAtEnd { try walkKey(&cursor) }
    }

    mutating func value(_ value: UnsafeRawBufferPointer, at path: UnsafeRawBufferPointer) throws(CBORError) {
        var cursor = WireCursor(value)
        try walkValue(&cursor, depth: 0, isInArray: true)
    }

    // MARK: Definitions

    @inline(__always)
    private mutating func use(name number: UInt64) throws(CBORError) {
        guard number < UInt64(Limits.internedFieldNameCount) else { throw .malformed }
        let word = defined + Int(number >> 6)
        let bit: UInt64 = 1 << (number & 63)
        if word.pointee & bit != 0 { return }
        word.pointee |= bit
        try define(name: Int(number))
    }

    @inline(never)
    private mutating func define(name number: Int) throws(CBORError) {
        guard let name = names.name(number) else { throw .malformed }
        content.append(WireDocument.definesName)
        content.appendVarint(UInt64(number))
        content.appendVarint(UInt64(name.count))
        content.append(name)
    }

    @inline(never)
    private mutating func define(actor number: UInt32) throws(CBORError) {
        guard let actor = actors.actor(UInt64(number)) else { throw .malformed }
        content.append(WireDocument.definesActor)
        content.appendVarint(UInt64(number))
        content.append(bigEndian: actor.high)
        content.append(bigEndian: actor.low)
    }

    /// The number of an actor, defined where it is new.
    mutating func number(of actor: ActorID) throws(CBORError) -> UInt64 {
        let number = actors.intern(actor)
        if dictionary.defineActor(number) { try define(actor: number) }
        return UInt64(number)
    }

    /// The number of a collection, defined where it is new.
    mutating func number(ofCollection collection: Int64, _ name: String) throws(CBORError) -> UInt64 {
        let (number, isNew) = dictionary.collection(collection, name)
        if isNew {
            guard WireName.isCollection(name) else { throw .malformed }
            content.append(WireDocument.definesCollection)
            content.appendVarint(UInt64(name.utf8.count))
            content.append(utf8: name)
        }
        return UInt64(number)
    }
}
