import DocDBCore

/// Runs compiled conditions over one document at a time. Constant but for what `state` and the scratch space hold.
struct Machine {
    /// What changes from document to document.
    struct State {
        var bodyEnd: UnsafeRawPointer
        var idStart: UnsafeRawPointer
        var idEnd: UnsafeRawPointer
        /// The element that an element filter looks at.
        var elementStart: UnsafeRawPointer
        var elementEnd: UnsafeRawPointer
        var stepsLeft = 0
        var isExhausted = false
        var isDamaged = false
    }

    let tables: UnsafePointer<Tables>
    let state: UnsafeMutablePointer<State>

    /// Frees what the compiler's memory does not own.
    func destroy() {
        scratch.deinitialize(count: scratchCount)
    }

    @inline(__always)
    func matches(_ root: Int32, body: UnsafeRawBufferPointer, id: UnsafeRawBufferPointer) -> Bool {
        guard begin(body: body, id: id) else { return false }
        let holds = holds(root)
        return holds && !state.pointee.isDamaged && !state.pointee.isExhausted
    }

    /// Takes up a document and finds its fields; false where its body is no map.
    @inline(__always)
    func begin(body: UnsafeRawBufferPointer, id: UnsafeRawBufferPointer) -> Bool {
        state.pointee.stepsLeft = stepCount
        state.pointee.isExhausted = false
        state.pointee.isDamaged = false
        guard let start = body.baseAddress else {
            state.pointee.isDamaged = true
            return false
        }
        state.pointee.bodyEnd = start + body.count
        state.pointee.idStart = id.baseAddress ?? start
        state.pointee.idEnd = state.pointee.idStart + id.count
        guard findSlots(start, start + body.count) else {
            state.pointee.isDamaged = true
            return false
        }
        return true
    }

    /// Counts work; false once a document has used up its steps.
    @inline(__always)
    func spend(_ count: Int) -> Bool {
        state.pointee.stepsLeft &-= count
        if state.pointee.stepsLeft < 0 { state.pointee.isExhausted = true }
        return !state.pointee.isExhausted
    }

    @inline(__always)
    func read(_ start: UnsafeRawPointer, _ end: UnsafeRawPointer) -> EncodedValue {
        if let value = EncodedValue.read(at: start, end: end) { return value }
        state.pointee.isDamaged = true
        return .missing
    }

    /// Tells whether a condition holds for the document, or for the element that is looked at.
    func holds(_ index: Int32) -> Bool {
        let condition = conditions + Int(index)
        switch condition.pointee.kind {
        case .fieldEqualsBytes: return holdsFieldEqualsBytes(condition)
        case .fieldComparesInt: return holdsFieldComparesInt(condition)
        case .and:
            var child = condition.pointee.first
            while child >= 0 {
                if !holds(child) { return false }
                child = conditions[Int(child)].next
            }
            return true
        case .or:
            var child = condition.pointee.first
            while child >= 0 {
                if holds(child) { return true }
                child = conditions[Int(child)].next
            }
            return false
        case .not: return !holds(condition.pointee.first)
        default: return holdsTest(condition)
        }
    }

    @inline(__always)
    private func holdsFieldEqualsBytes(_ condition: UnsafePointer<CompiledCondition>) -> Bool {
        let isNegated = condition.pointee.comparison == .notEqual
        guard let start = slotValues[Int(condition.pointee.first)] else { return isNegated }
        let literal = operands[Int(condition.pointee.second)].literal
        // The literal's `start` is its encoding with the head, see the compiler.
        let count = literal.end - literal.start
        guard count <= state.pointee.bodyEnd - start else { return isNegated }
        return EncodedValue.isEqual(start, literal.start, count: count) != isNegated
    }

    @inline(__always)
    private func holdsFieldComparesInt(_ condition: UnsafePointer<CompiledCondition>) -> Bool {
        let comparison = condition.pointee.comparison
        guard let start = slotValues[Int(condition.pointee.first)] else { return comparison == .notEqual }
        let value = read(start, state.pointee.bodyEnd)
        let literal = operands[Int(condition.pointee.second)].literal.int
        let order: Int
        switch value.kind {
        case .int: order = value.int == literal ? 0 : value.int < literal ? -1 : 1
        case .float: order = -EncodedValue.compare(literal, value.float)
        default: return comparison == .notEqual
        }
        switch comparison {
        case .equal: return order == 0
        case .notEqual: return order != 0
        case .less: return order < 0
        case .lessOrEqual: return order <= 0
        case .greater: return order > 0
        case .greaterOrEqual: return order >= 0
        }
    }
}

// Reading the body's map.
extension Machine {
    /// Finds the values of all slots in one walk over the body's map, which ends with the last name that is needed.
    @inline(__always)
    private func findSlots(_ bodyStart: UnsafeRawPointer, _ end: UnsafeRawPointer) -> Bool {
        guard let head = EncodedValue.read(at: bodyStart, end: end), head.kind == .map else { return false }
        var position = head.start
        var slot = 0
        for _ in 0..<head.count {
            guard slot < slotCount else { return true }
            guard position < end else { return false }
            let byte = position.load(as: UInt8.self)
            if byte < 0x18 {
                let number = UInt64(byte)
                position += 1
                while slots[slot].number < number {
                    slotValues[slot] = nil
                    slot += 1
                    if slot == slotCount { return true }
                }
                if slots[slot].number == number {
                    slotValues[slot] = position
                    slot += 1
                    if slot == slotCount { return position < end }
                }
            } else {
                guard findSlotOfLongKey(&position, end, &slot) else { return false }
                if slot == slotCount { return true }
            }
            guard skip(&position, end) else { return false }
        }
        while slot < slotCount {
            slotValues[slot] = nil
            slot += 1
        }
        return true
    }

    /// Notes the value behind a key that is text or a number of more than one byte, and moves past the key.
    @inline(never)
    private func findSlotOfLongKey(
        _ position: inout UnsafeRawPointer, _ end: UnsafeRawPointer, _ slot: inout Int
    ) -> Bool {
        let start = position
        guard let key = EncodedValue.read(at: start, end: end) else { return false }
        let keyEnd: UnsafeRawPointer
        let number: UInt64
        switch key.kind {
        case .int where key.int >= 0:
            keyEnd = start + CBOR.headByteCount(key.bits)
            number = key.bits
        case .text:
            keyEnd = key.end
            number = CompiledSlot.textKey
        default: return false
        }
        let bytes = UnsafeRawBufferPointer(start: start, count: keyEnd - start)
        position = keyEnd
        while slot < slotCount {
            let wanted = slots[slot]
            if wanted.number > number { return true }
            if wanted.number == number {
                let order = number == CompiledSlot.textKey ? CBOR.compare(wanted.key, bytes) : 0
                if order > 0 { return true }
                if order == 0 {
                    slotValues[slot] = keyEnd
                    slot += 1
                    return keyEnd < end
                }
            }
            slotValues[slot] = nil
            slot += 1
        }
        return true
    }

    /// Moves past one value; false where the bytes end within it or are none.
    @inline(__always)
    func skip(_ position: inout UnsafeRawPointer, _ end: UnsafeRawPointer) -> Bool {
        guard position < end else { return false }
        let length = Int(skipLengths[Int(position.load(as: UInt8.self))])
        if length == 0 { return skipLong(&position, end) }
        position += length
        return position <= end
    }

    /// Moves past a value whose first byte does not say its length, or holds others.
    @inline(never)
    private func skipLong(_ position: inout UnsafeRawPointer, _ end: UnsafeRawPointer) -> Bool {
        var pending = 1
        var place = position
        repeat {
            pending &-= 1
            guard place < end else { return false }
            let byte = place.load(as: UInt8.self)
            let length = Int(skipLengths[Int(byte)])
            if length > 0 {
                place += length
                continue
            }
            switch byte {
            case 0x80..<0x98: (pending, place) = (pending + Int(byte - 0x80), place + 1)
            case 0xA0..<0xB8: (pending, place) = (pending + 2 * Int(byte - 0xA0), place + 1)
            default:
                guard let value = EncodedValue.read(at: place, end: end) else { return false }
                switch value.kind {
                case .text, .bytes: place = value.end
                case .array: (pending, place) = (pending + value.count, value.start)
                case .map: (pending, place) = (pending + 2 * value.count, value.start)
                default: return false
                }
            }
        } while pending > 0
        position = place
        return place <= end
    }

    static func makeSkipLengths() -> [UInt8] {
        (0..<256).map { byte in
            let additional = UInt8(byte & 0x1F)
            let argumentLength: [UInt8: UInt8] = [24: 2, 25: 3, 26: 5, 27: 9]
            switch UInt8(byte >> 5) {
            case CBOR.Major.unsigned, CBOR.Major.negative:
                return additional < 24 ? 1 : argumentLength[additional] ?? 0
            case CBOR.Major.bytes, CBOR.Major.text: return additional < 24 ? additional + 1 : 0
            case CBOR.Major.simple:
                return additional >= 20 && additional <= 22 ? 1 : additional > 24 ? argumentLength[additional] ?? 0 : 0
            default: return 0
            }
        }
    }
}
