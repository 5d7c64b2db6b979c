import DocDBCore

/// One entry for bytes from outside, and what must hold of it whatever the bytes are.
///
/// The fuzzer (`Scripts/fuzz`) and the tests that replay its corpora run the same code.
package struct FuzzTarget: Sendable {
    /// The name of the target and of its corpus under `Tests/Corpora`.
    package let name: String
    /// Words of the format that the fuzzer puts into inputs, beside those it finds itself.
    package let words: [String]
    /// Inputs that reach deep, to begin a corpus with.
    package let seeds: @Sendable () throws -> [[UInt8]]
    /// Gives the bytes to the code under test.
    ///
    /// Throws a `FuzzFailure` where a property does not hold. What the code refuses is no failure.
    package let run: @Sendable ([UInt8]) throws -> Void

    /// All targets, in the order of their names.
    package static let all = [
        body, documents, grant, handshake, json, log, permissions, predicate, provider, salvage, session, splitter,
        state,
        store, token,
    ]

    package static func named(_ name: String) -> FuzzTarget? { all.first { $0.name == name } }
}

/// A property that does not hold.
package struct FuzzFailure: Error, CustomStringConvertible {
    package let description: String
}

/// Throws where a property does not hold.
func require(_ holds: Bool, _ property: @autoclosure () -> String) throws {
    if !holds { throw FuzzFailure(description: property()) }
}

/// The result, or nil where the code under test refuses the input with one of some codes.
///
/// A failure of a property passes through; any other error is a failure itself.
func accepted<R>(_ codes: [DocDBError.Code], _ body: () throws -> R) throws -> R? {
    do { return try body() } catch let error as DocDBError where codes.contains(error.code) {
        return nil
    } catch let failure as FuzzFailure {
        throw failure
    } catch { throw FuzzFailure(description: "refused with \(error) and not with one of \(codes)") }
}

/// The result, or nil where the bytes are refused by a reader of encoded values.
func decoded<R>(_ body: () throws -> R) throws -> R? {
    do { return try body() } catch is CBORError { return nil }
}

/// Calls `body` with the bytes in a block of just their size, so that a sanitizer sees a read beyond them.
func withBlock<R>(_ bytes: some Collection<UInt8>, _ body: (UnsafeRawBufferPointer) throws -> R) rethrows -> R {
    let block = UnsafeMutableRawBufferPointer.allocate(byteCount: bytes.count, alignment: 1)
    defer { block.deallocate() }
    block.copyBytes(from: bytes)
    return try body(UnsafeRawBufferPointer(block))
}

/// Takes an input apart.
struct FuzzInput {
    private var rest: ArraySlice<UInt8>

    init(_ bytes: [UInt8]) { rest = bytes[...] }

    var isAtEnd: Bool { rest.isEmpty }

    /// The next byte, zero at the end.
    mutating func byte() -> UInt8 { rest.popFirst() ?? 0 }

    /// The next part: two bytes say how long it is; at the end it is as long as what is left.
    mutating func part() -> [UInt8] {
        let count = Int(byte()) << 8 | Int(byte())
        let part = rest.prefix(count)
        rest = rest.dropFirst(count)
        return Array(part)
    }

    /// All that is left.
    mutating func remainder() -> [UInt8] {
        defer { rest = [] }
        return Array(rest)
    }

    /// The bytes that `part` reads as these.
    static func part(_ bytes: [UInt8]) -> [UInt8] {
        let bytes = bytes.prefix(Int(UInt16.max))
        return [UInt8(bytes.count >> 8), UInt8(truncatingIfNeeded: bytes.count)] + bytes
    }
}

/// A table of names that bodies of an input may use by number.
func someNames() -> FieldNames {
    let names = FieldNames()
    for name in ["a", "b", "c", "make", "model", "year", "tags", "größe"] {
        _ = Array(name.utf8).withUnsafeBytes { names.intern($0) }
    }
    return names
}

/// Actors that states of an input may name by number.
func someActors() -> ActorTable {
    let actors = ActorTable()
    for number in UInt64(1)...4 { _ = actors.intern(ActorID(high: number, low: ~number)) }
    return actors
}
