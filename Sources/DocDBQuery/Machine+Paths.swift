import DocDBCore

// Following paths, and the values of operands.
extension Machine {
    /// Where a path begins: the start of an encoded value, and the end of the bytes around it. Nil where it is missing.
    @inline(__always)
    func root(of path: CompiledPath) -> (start: UnsafeRawPointer, end: UnsafeRawPointer)? {
        switch path.root {
        case .slot:
            guard let start = slotValues[Int(path.slot)] else { return nil }
            return (start, state.pointee.bodyEnd)
        case .id: return (state.pointee.idStart, state.pointee.idEnd)
        case .element: return (state.pointee.elementStart, state.pointee.elementEnd)
        }
    }

    /// The value of a path that leads to one value at most.
    func value(ofPath index: Int32) -> EncodedValue {
        guard let (start, end) = place(ofPath: index) else { return .missing }
        return read(start, end)
    }

    /// Where the value of such a path begins, and the end of the bytes around it; nil where it is missing.
    func place(ofPath index: Int32) -> (start: UnsafeRawPointer, end: UnsafeRawPointer)? {
        let path = paths[Int(index)]
        guard let (first, end) = root(of: path) else { return nil }
        var start = first
        for offset in 0..<path.stepCount {
            guard let next = follow(steps + Int(path.firstStep + offset), start, end) else { return nil }
            start = next
        }
        return (start, end)
    }

    /// Takes one step to a name or a position; nil where nothing is there.
    func follow(
        _ step: UnsafePointer<CompiledStep>, _ start: UnsafeRawPointer, _ end: UnsafeRawPointer
    ) -> UnsafeRawPointer? {
        let value = read(start, end)
        switch (step.pointee.kind, value.kind) {
        case (.name, .map): return member(of: value, step.pointee.name, number: step.pointee.number)
        case (.index, .array): return element(of: value, at: step.pointee.number)
        default: return nil
        }
    }

    /// The member of a map with this name, whose key is its number where it has one, else text.
    func member(of map: EncodedValue, _ name: UnsafeRawBufferPointer, number: Int64) -> UnsafeRawPointer? {
        var position = map.start
        for _ in 0..<map.count {
            guard spend(1) else { return nil }
            guard let key = EncodedValue.read(at: position, end: map.end) else { return damaged() }
            switch key.kind {
            case .int where key.int >= 0:
                position += CBOR.headByteCount(key.bits)
                if key.int == number { return position }
            case .text:
                position = key.end
                if key.content.count == name.count, CBOR.compare(key.content, name) == 0 { return position }
            default: return damaged()
            }
            guard skip(&position, map.end) else { return damaged() }
        }
        return nil
    }

    private func element(of array: EncodedValue, at index: Int64) -> UnsafeRawPointer? {
        let place = index < 0 ? index &+ Int64(array.count) : index
        guard place >= 0, place < Int64(array.count), spend(Int(place)) else { return nil }
        var position = array.start
        for _ in 0..<place {
            guard skip(&position, array.end) else { return damaged() }
        }
        return position
    }

    func damaged() -> UnsafeRawPointer? {
        state.pointee.isDamaged = true
        return nil
    }

    /// Calls `body` with each value of a path until it says true, and tells whether it did.
    func anyValue(ofPath index: Int32, _ body: (EncodedValue) -> Bool) -> Bool {
        let path = paths[Int(index)]
        guard let (start, end) = root(of: path) else { return false }
        return anyValue(path.firstStep, path.stepCount, start, end, body)
    }

    private func anyValue(
        _ firstStep: Int32, _ stepCount: Int32, _ start: UnsafeRawPointer, _ end: UnsafeRawPointer,
        _ body: (EncodedValue) -> Bool
    ) -> Bool {
        var place = start
        for offset in 0..<stepCount {
            let step = steps + Int(firstStep + offset)
            switch step.pointee.kind {
            case .name, .index:
                guard let next = follow(step, place, end) else { return false }
                place = next
            case .all, .filter:
                let array = read(place, end)
                guard array.kind == .array else { return false }
                if step.pointee.kind == .all, offset == stepCount - 1 { return anyElementValue(of: array, body) }
                let condition: Int32? = step.pointee.kind == .filter ? Int32(step.pointee.number) : nil
                return anyElement(of: array, where: condition) { element in
                    anyValue(firstStep + offset + 1, stepCount - offset - 1, element, end, body)
                }
            }
        }
        return spend(1) && body(read(place, end))
    }

    /// Calls `body` with the place of each element for which the condition holds, until it says true.
    func anyElement(
        of array: EncodedValue, where condition: Int32?, _ body: (UnsafeRawPointer) -> Bool
    ) -> Bool {
        var position = array.start
        for _ in 0..<array.count {
            guard spend(1) else { return false }
            if condition.map({ holds($0, forElement: position, array.end) }) ?? true, body(position) { return true }
            guard skip(&position, array.end) else {
                state.pointee.isDamaged = true
                return false
            }
        }
        return false
    }

    private func holds(_ condition: Int32, forElement start: UnsafeRawPointer, _ end: UnsafeRawPointer) -> Bool {
        let (outerStart, outerEnd) = (state.pointee.elementStart, state.pointee.elementEnd)
        state.pointee.elementStart = start
        state.pointee.elementEnd = end
        let result = holds(condition)
        state.pointee.elementStart = outerStart
        state.pointee.elementEnd = outerEnd
        return result
    }

    /// The value of an operand that has one value at most.
    func value(of index: Int32) -> EncodedValue {
        let operand = operands + Int(index)
        switch operand.pointee.kind {
        case .literal: return operand.pointee.literal
        case .path: return value(ofPath: operand.pointee.index)
        case .condition: return EncodedValue(holds(operand.pointee.index))
        case .length: return length(of: operand.pointee.index)
        case .sum: return sum(of: operand.pointee.index)
        case .lower, .upper, .abs, .type: return apply(operand, to: value(of: operand.pointee.index))
        }
    }

    /// Calls `body` with each value of an operand until it says true; where there is none, with a missing value.
    @inline(__always)
    func anyValue(of index: Int32, _ body: (EncodedValue) -> Bool) -> Bool {
        let operand = operands + Int(index)
        guard operand.pointee.isMultiValued else { return body(value(of: index)) }
        var hasValues = false
        let isFound = anyPresentValue(of: index) { value in
            hasValues = true
            return body(value)
        }
        return isFound || (!hasValues && !state.pointee.isExhausted && body(orMissing(operand)))
    }

    /// What an operand without values gives: a missing value, or what its functions make of one.
    private func orMissing(_ operand: UnsafePointer<CompiledOperand>) -> EncodedValue {
        guard operand.pointee.kind != .path else { return .missing }
        return apply(operand, to: orMissing(operands + Int(operand.pointee.index)))
    }

    /// Calls `body` with each value of a multi-valued operand until it says true.
    private func anyPresentValue(of index: Int32, _ body: (EncodedValue) -> Bool) -> Bool {
        let operand = operands + Int(index)
        switch operand.pointee.kind {
        case .path: return anyValue(ofPath: operand.pointee.index, body)
        default:
            return anyPresentValue(of: operand.pointee.index) {
                let value = apply(operand, to: $0)
                return value.kind != .missing && body(value)
            }
        }
    }

    /// Calls `body` with each value of what `in`, `contains` and `sum` take as a list, until it says true: the values
    /// of a multi-valued operand, else the elements of an array.
    func anyListValue(of index: Int32, _ body: (EncodedValue) -> Bool) -> Bool {
        if operands[Int(index)].isMultiValued { return anyPresentValue(of: index, body) }
        return anyElementValue(of: value(of: index), body)
    }

    func anyElementValue(of array: EncodedValue, _ body: (EncodedValue) -> Bool) -> Bool {
        guard array.kind == .array else { return false }
        return anyElement(of: array, where: nil) { body(read($0, array.end)) }
    }
}
