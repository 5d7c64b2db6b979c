import DocDBCore

/// Where the compiled tables of a program lie.
struct Tables {
    let conditions: UnsafePointer<CompiledCondition>
    let operands: UnsafePointer<CompiledOperand>
    let paths: UnsafePointer<CompiledPath>
    let steps: UnsafePointer<CompiledStep>
    let lists: UnsafePointer<CompiledList>
    let listValues: UnsafePointer<EncodedValue>
    let likePatterns: UnsafePointer<CompiledPattern>
    let regexPatterns: UnsafePointer<Unmanaged<RegexPattern>>
    /// The names that `type` gives, by kind.
    let typeNames: UnsafePointer<EncodedValue>
    /// The length of an encoded value by its first byte, 0 where that does not say it.
    let skipLengths: UnsafePointer<UInt8>
    let names: Unmanaged<FieldNames>

    let slots: UnsafePointer<CompiledSlot>
    let slotCount: Int
    /// Where the value of each slot begins in this body.
    let slotValues: UnsafeMutablePointer<UnsafeRawPointer?>
    let scratch: UnsafeMutablePointer<ByteBuffer>
    let scratchCount: Int
    /// The most steps on one document.
    let stepCount: Int
}

// The tables, as if they were the machine's own: it stays small enough to be passed in registers.
extension Machine {
    @inline(__always) var conditions: UnsafePointer<CompiledCondition> { tables.pointee.conditions }
    @inline(__always) var operands: UnsafePointer<CompiledOperand> { tables.pointee.operands }
    @inline(__always) var paths: UnsafePointer<CompiledPath> { tables.pointee.paths }
    @inline(__always) var steps: UnsafePointer<CompiledStep> { tables.pointee.steps }
    @inline(__always) var lists: UnsafePointer<CompiledList> { tables.pointee.lists }
    @inline(__always) var listValues: UnsafePointer<EncodedValue> { tables.pointee.listValues }
    @inline(__always) var likePatterns: UnsafePointer<CompiledPattern> { tables.pointee.likePatterns }
    @inline(__always) var regexPatterns: UnsafePointer<Unmanaged<RegexPattern>> { tables.pointee.regexPatterns }
    @inline(__always) var typeNames: UnsafePointer<EncodedValue> { tables.pointee.typeNames }
    @inline(__always) var skipLengths: UnsafePointer<UInt8> { tables.pointee.skipLengths }
    @inline(__always) var names: Unmanaged<FieldNames> { tables.pointee.names }
    @inline(__always) var slots: UnsafePointer<CompiledSlot> { tables.pointee.slots }
    @inline(__always) var slotCount: Int { tables.pointee.slotCount }
    @inline(__always) var slotValues: UnsafeMutablePointer<UnsafeRawPointer?> { tables.pointee.slotValues }
    @inline(__always) var scratch: UnsafeMutablePointer<ByteBuffer> { tables.pointee.scratch }
    @inline(__always) var scratchCount: Int { tables.pointee.scratchCount }
    @inline(__always) var stepCount: Int { tables.pointee.stepCount }
}
