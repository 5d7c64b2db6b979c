import DocDBCore

/// Finds the values at a set of paths in one walk over a document's body, and order-encodes them.
///
/// One thread at a time. Allocates only for objects, and these only where predicates wait for objects at the path.
final class PathReader {
    private let machine: Machine
    private let paths: [Int32]
    private let compiledNameCount: Int
    private let unknownNames: [String]
    // Owned here, used by the machine.
    private let memory: ProgramMemory
    private let names: FieldNames

    init(_ paths: [Filter.Path], names: FieldNames) {
        var compiler = Compiler(names: names)
        self.paths = paths.map { compiler.compile($0) }
        machine = compiler.makeMachine()
        compiledNameCount = compiler.nameCount
        unknownNames = compiler.unknownNames
        memory = compiler.memory
        self.names = names
    }

    deinit { machine.destroy() }

    /// Tells whether a name of a path that no body had when this was compiled has been interned since.
    var needsRecompile: Bool {
        names.count != compiledNameCount && unknownNames.contains { names.number(of: $0) != nil }
    }

    /// Takes up a document; false where its body is no map.
    @inline(__always)
    func begin(body: UnsafeRawBufferPointer, id: UnsafeRawBufferPointer) -> Bool { machine.begin(body: body, id: id) }

    /// Tells whether all that was read of the document was well-formed and within the limits.
    @inline(__always)
    var isSound: Bool { !machine.state.pointee.isDamaged && !machine.state.pointee.isExhausted }

    /// What came of encoding the value at a path.
    enum Outcome {
        case encoded
        /// No predicate waits for a value of this kind.
        case unwanted
        case damaged
    }

    /// Encodes the value at a path that leads to one value.
    @inline(__always)
    func encode(_ index: PathIndex, at position: Int, into scratch: inout KeyScratch) -> Outcome {
        if let (start, end) = machine.place(ofPath: paths[position]) { return encode(start, end, index, &scratch) }
        guard index.kinds & ValueKind.missing.bit != 0 else { return .unwanted }
        scratch.encodeMissing()
        return .encoded
    }

    @inline(__always)
    private func encode(
        _ start: UnsafeRawPointer, _ end: UnsafeRawPointer, _ index: PathIndex, _ scratch: inout KeyScratch
    ) -> Outcome {
        guard start < end else { return .damaged }
        guard let kind = ValueKind(cbor: start.load(as: UInt8.self)) else { return .damaged }
        guard index.kinds & kind.bit != 0 else { return .unwanted }
        return scratch.encode(start, end, names: index.isID ? nil : names) ? .encoded : .damaged
    }

    /// Encodes each value of an array path in turn and calls `body` with it; false where bytes are damaged.
    func forEachKey(
        _ index: PathIndex, at position: Int, scratch: inout KeyScratch, _ body: (UnsafeRawBufferPointer) -> Void
    ) -> Bool {
        var isSound = true
        _ = machine.anyPlace(ofPath: paths[position]) { start, end in
            switch encode(start, end, index, &scratch) {
            case .encoded: body(scratch.key.bytes)
            case .unwanted: break
            case .damaged: isSound = false
            }
            return !isSound
        }
        return isSound
    }
}

extension Machine {
    /// Calls `body` with the place of each value of a path without element filters, and the end of the bytes around it,
    /// until it says true; tells whether it did.
    func anyPlace(ofPath index: Int32, _ body: (UnsafeRawPointer, UnsafeRawPointer) -> Bool) -> Bool {
        let path = paths[Int(index)]
        guard let (start, end) = root(of: path) else { return false }
        return anyPlace(path.firstStep, path.stepCount, start, end, body)
    }

    private func anyPlace(
        _ firstStep: Int32, _ stepCount: Int32, _ start: UnsafeRawPointer, _ end: UnsafeRawPointer,
        _ body: (UnsafeRawPointer, UnsafeRawPointer) -> Bool
    ) -> Bool {
        var place = start
        for offset in 0..<stepCount {
            let step = steps + Int(firstStep + offset)
            if step.pointee.kind == .all {
                let array = read(place, end)
                guard array.kind == .array else { return false }
                return anyElement(of: array, where: nil) { element in
                    anyPlace(firstStep + offset + 1, stepCount - offset - 1, element, end, body)
                }
            }
            guard let next = follow(step, place, end) else { return false }
            place = next
        }
        return spend(1) && body(place, end)
    }
}
