import DocDBCore

// Tests of texts, on their UTF-8 bytes.
extension Machine {
    func hasPrefix(_ text: UnsafeRawBufferPointer, _ prefix: UnsafeRawBufferPointer) -> Bool {
        guard prefix.count <= text.count, spend(prefix.count >> 6) else { return false }
        guard let start = text.baseAddress, let other = prefix.baseAddress else { return prefix.isEmpty }
        return EncodedValue.isEqual(start, other, count: prefix.count)
    }

    func hasSuffix(_ text: UnsafeRawBufferPointer, _ suffix: UnsafeRawBufferPointer) -> Bool {
        guard suffix.count <= text.count, spend(suffix.count >> 6) else { return false }
        guard let start = text.baseAddress, let other = suffix.baseAddress else { return suffix.isEmpty }
        return EncodedValue.isEqual(start + (text.count - suffix.count), other, count: suffix.count)
    }

    /// Tells whether a text has a part; each place where the first byte fits costs steps for the bytes compared.
    func contains(_ text: UnsafeRawBufferPointer, _ part: UnsafeRawBufferPointer) -> Bool {
        guard part.count > 0 else { return true }
        guard part.count <= text.count, spend(text.count >> 4) else { return false }
        let first = part[0]
        for offset in 0...(text.count - part.count) where text[offset] == first {
            var length = 1
            while length < part.count, text[offset + length] == part[length] { length += 1 }
            if length == part.count { return true }
            if length >= 16, !spend(length >> 4) { return false }
        }
        return false
    }

    func matches(_ text: UnsafeRawBufferPointer, regex index: Int32) -> Bool {
        // A match may scan the rest of the text from each of its places.
        guard spend(1 + text.count / 16 + text.count * text.count / 1024) else { return false }
        let pattern = regexPatterns[Int(index)]
        let (outcome, steps) = pattern._withUnsafeGuaranteedRef { regex in
            regex.search(text, steps: min(state.pointee.stepsLeft, QueryLimits.regexStepCount))
        }
        guard spend(steps) else { return false }
        switch outcome {
        case .found: return true
        case .notFound: return false
        case .exhausted: state.pointee.isExhausted = true
        case .damaged: state.pointee.isDamaged = true
        }
        return false
    }

    func matches(_ text: UnsafeRawBufferPointer, _ pattern: UnsafePointer<CompiledPattern>) -> Bool {
        let literal = pattern.pointee.text
        switch pattern.pointee.kind {
        case .exact: return text.count == literal.count && hasPrefix(text, literal)
        case .prefix: return hasPrefix(text, literal)
        case .suffix: return hasSuffix(text, literal)
        case .part: return contains(text, literal)
        case .general: return matches(text, pattern.pointee.elements)
        }
    }

    /// Matches text of any length and single scalars; goes back to the last `%` only, which suffices.
    ///
    /// - Complexity: O(text * pattern) at worst, counted as steps.
    private func matches(_ text: UnsafeRawBufferPointer, _ pattern: UnsafeBufferPointer<UInt16>) -> Bool {
        guard spend(1 + text.count >> 4) else { return false }
        var place = 0
        var element = 0
        var retry: (place: Int, element: Int)?
        while true {
            if element < pattern.count, pattern[element] == CompiledPattern.anyText {
                element += 1
                retry = (place, element)
            } else if element < pattern.count, place < text.count,
                pattern[element] == CompiledPattern.anyScalar || pattern[element] == UInt16(text[place])
            {
                place = pattern[element] == CompiledPattern.anyScalar ? scalarEnd(text, place) : place + 1
                element += 1
            } else if element == pattern.count, place == text.count {
                return true
            } else {
                guard let last = retry, last.place < text.count, spend(1 + (place - last.place) >> 4) else {
                    return false
                }
                place = scalarEnd(text, last.place)
                element = last.element
                retry = (place, element)
            }
        }
    }

    /// Where the scalar that begins at a place ends.
    private func scalarEnd(_ text: UnsafeRawBufferPointer, _ place: Int) -> Int {
        var end = place + 1
        while end < text.count, text[end] & 0xC0 == 0x80 { end += 1 }
        return end
    }
}

// Functions.
extension Machine {
    /// The number of scalars, bytes, elements or members; missing of anything else.
    func length(of index: Int32) -> EncodedValue {
        if operands[Int(index)].isMultiValued {
            var count: Int64 = 0
            _ = anyListValue(of: index) { _ in
                count += 1
                return false
            }
            return EncodedValue(count)
        }
        let value = value(of: index)
        switch value.kind {
        case .text:
            guard spend(value.content.count >> 4) else { return .missing }
            var count: Int64 = 0
            for byte in value.content where byte & 0xC0 != 0x80 { count += 1 }
            return EncodedValue(count)
        case .bytes: return EncodedValue(Int64(value.content.count))
        case .array, .map: return EncodedValue(Int64(value.count))
        case .missing, .null, .bool, .int, .float: return .missing
        }
    }

    /// The sum of an array's numbers: exact where all are integers and it fits 64 bits, else a float.
    ///
    /// Missing where an element is no number, or the sum is not finite.
    func sum(of index: Int32) -> EncodedValue {
        if !operands[Int(index)].isMultiValued {
            let array = value(of: index)
            guard array.kind == .array else { return .missing }
            return sum { anyElementValue(of: array, $0) }
        }
        return sum { anyListValue(of: index, $0) }
    }

    private func sum(_ anyValue: ((EncodedValue) -> Bool) -> Bool) -> EncodedValue {
        // Five million 64-bit integers at most: far from the bounds of 128 bits.
        var integers: Int128 = 0
        var floats = 0.0
        var hasFloats = false
        let hasOthers = anyValue { value in
            switch value.kind {
            case .int: integers += Int128(value.int)
            case .float:
                floats += value.float
                hasFloats = true
            default: return true
            }
            return false
        }
        if hasOthers || state.pointee.isExhausted { return .missing }
        if !hasFloats, let exact = Int64(exactly: integers) { return EncodedValue(exact) }
        let total = Double(integers) + floats
        return total.isFinite ? EncodedValue(total) : .missing
    }

    /// Applies a function of one value.
    func apply(_ operand: UnsafePointer<CompiledOperand>, to value: EncodedValue) -> EncodedValue {
        switch operand.pointee.kind {
        case .type: return typeNames[Int(value.kind.rawValue)]
        case .abs:
            switch value.kind {
            case .int: return value.int == .min ? EncodedValue(0x1p63) : EncodedValue(Swift.abs(value.int))
            case .float: return EncodedValue(value.float.magnitude)
            default: return .missing
            }
        case .lower: return changeCase(value, scratch + Int(operand.pointee.scratch), isUpper: false)
        case .upper: return changeCase(value, scratch + Int(operand.pointee.scratch), isUpper: true)
        case .literal, .path, .length, .sum, .condition: return .missing
        }
    }

    /// A text in lower or upper case, written to a buffer of the operand's own.
    private func changeCase(
        _ value: EncodedValue, _ buffer: UnsafeMutablePointer<ByteBuffer>, isUpper: Bool
    ) -> EncodedValue {
        guard value.kind == .text, spend(1 + value.content.count >> 3) else { return .missing }
        let first: UInt8 = isUpper ? 0x61 : 0x41
        buffer.pointee.removeAll()
        buffer.pointee.reserve(value.content.count)
        var isASCII = true
        for byte in value.content {
            if byte >= 0x80 { isASCII = false; break }
            buffer.pointee.append(byte >= first && byte < first + 26 ? byte ^ 0x20 : byte)
        }
        if !isASCII {
            // Full Unicode case conversion is the standard library's: the one place that allocates.
            let text = String(decoding: value.content, as: UTF8.self)
            buffer.pointee.removeAll()
            buffer.pointee.append(utf8: isUpper ? text.uppercased() : text.lowercased())
        }
        return EncodedValue(text: buffer.pointee.bytes)
    }
}
