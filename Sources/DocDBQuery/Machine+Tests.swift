import DocDBCore

// The tests: what is left when conditions have been taken apart.
extension Machine {
    @inline(never)
    func holdsTest(_ condition: UnsafePointer<CompiledCondition>) -> Bool {
        guard spend(1) else { return false }
        let first = condition.pointee.first
        let second = condition.pointee.second
        switch condition.pointee.kind {
        case .isTrue: return anyValue(of: first) { $0.isTrue }
        case .compare: return compare(condition.pointee.comparison, first, second)
        case .isInList: return anyValue(of: first) { isIn(list: second, $0) }
        case .isInOperand: return isIn(first, operand: second)
        case .between: return isBetween(first, second, condition.pointee.third)
        case .like:
            return anyValue(of: first) { $0.kind == .text && matches($0.content, likePatterns + Int(second)) }
        case .startsWith: return anyTextPair(first, second) { hasPrefix($0, $1) }
        case .endsWith: return anyTextPair(first, second) { hasSuffix($0, $1) }
        case .contains: return contains(first, second)
        case .regex: return anyValue(of: first) { $0.kind == .text && matches($0.content, regex: second) }
        case .exists: return exists(path: first)
        case .isMissing: return !exists(path: first)
        case .and, .or, .not, .fieldEqualsBytes, .fieldComparesInt: return holds(condition.pointee.first)
        }
    }

    private func exists(path index: Int32) -> Bool {
        if paths[Int(index)].isMultiValued { return anyValue(ofPath: index) { _ in true } }
        return value(ofPath: index).kind != .missing
    }

    private func compare(_ comparison: Filter.Comparison, _ left: Int32, _ right: Int32) -> Bool {
        if comparison == .notEqual { return !compare(.equal, left, right) }
        let leftOperand = operands + Int(left)
        let rightOperand = operands + Int(right)
        if !leftOperand.pointee.isMultiValued, !rightOperand.pointee.isMultiValued {
            return compare(comparison, value(of: left), value(of: right), leftOperand, rightOperand)
        }
        if !rightOperand.pointee.isMultiValued {
            let rightValue = value(of: right)
            return anyValue(of: left) { compare(comparison, $0, rightValue, leftOperand, rightOperand) }
        }
        return anyValue(of: left) { leftValue in
            anyValue(of: right) { compare(comparison, leftValue, $0, leftOperand, rightOperand) }
        }
    }

    @inline(__always)
    private func compare(
        _ comparison: Filter.Comparison, _ left: EncodedValue, _ right: EncodedValue,
        _ leftOperand: UnsafePointer<CompiledOperand>, _ rightOperand: UnsafePointer<CompiledOperand>
    ) -> Bool {
        switch comparison {
        case .equal: return isEqual(left, right, leftOperand, rightOperand)
        case .notEqual: return !isEqual(left, right, leftOperand, rightOperand)
        case .less: return EncodedValue.compare(left, right).map { $0 < 0 } ?? false
        case .greater: return EncodedValue.compare(left, right).map { $0 > 0 } ?? false
        case .lessOrEqual:
            if let order = EncodedValue.compare(left, right) { return order <= 0 }
            return isEqual(left, right, leftOperand, rightOperand)
        case .greaterOrEqual:
            if let order = EncodedValue.compare(left, right) { return order >= 0 }
            return isEqual(left, right, leftOperand, rightOperand)
        }
    }

    /// Equality of two operands' values: a literal `null` also equals missing values, and `missing` equals them only.
    private func isEqual(
        _ left: EncodedValue, _ right: EncodedValue,
        _ leftOperand: UnsafePointer<CompiledOperand>, _ rightOperand: UnsafePointer<CompiledOperand>
    ) -> Bool {
        if leftOperand.pointee.isLiteralNull { return right.kind == .null || right.kind == .missing }
        if rightOperand.pointee.isLiteralNull { return left.kind == .null || left.kind == .missing }
        if left.kind == .missing, right.kind == .missing {
            return leftOperand.pointee.isLiteralMissing || rightOperand.pointee.isLiteralMissing
        }
        return isEqual(left, right)
    }

    /// Tells whether one value of the first operand lies between a low and a high bound, both included.
    private func isBetween(_ operand: Int32, _ low: Int32, _ high: Int32) -> Bool {
        let pointer = operands + Int(operand)
        let lowPointer = operands + Int(low)
        let highPointer = operands + Int(high)
        return anyValue(of: operand) { value in
            anyValue(of: low) { compare(.greaterOrEqual, value, $0, pointer, lowPointer) }
                && anyValue(of: high) { compare(.lessOrEqual, value, $0, pointer, highPointer) }
        }
    }

    /// `in` with a list of literals: scalars by halves, arrays and objects one by one.
    private func isIn(list index: Int32, _ value: EncodedValue) -> Bool {
        let list = lists[Int(index)]
        if value.kind == .null || value.kind == .missing { return list.hasNull }
        let values = listValues + Int(list.first)
        if value.kind == .array || value.kind == .map {
            for offset in Int(list.scalarCount)..<Int(list.count) where isEqual(values[offset], value) { return true }
            return false
        }
        var low = 0
        var high = Int(list.scalarCount)
        while low < high {
            let middle = (low + high) / 2
            let order = Self.compareForSearch(values[middle], value)
            if order == 0 { return spend(1) }
            if order < 0 { low = middle + 1 } else { high = middle }
        }
        return false
    }

    /// An order of all scalars, within which the literals of a list are sorted.
    static func compareForSearch(_ left: EncodedValue, _ right: EncodedValue) -> Int {
        if let order = EncodedValue.compare(left, right) { return order }
        func rank(_ value: EncodedValue) -> Int {
            Int((value.kind == .float ? EncodedValue.Kind.int : value.kind).rawValue)
        }
        return rank(left) - rank(right)
    }

    /// `in` with a value of the document: any element of it, or any value of a path that leads to many.
    private func isIn(_ left: Int32, operand right: Int32) -> Bool {
        let leftOperand = operands + Int(left)
        let rightOperand = operands + Int(right)
        return anyValue(of: left) { value in
            anyListValue(of: right) { isEqual(value, $0, leftOperand, rightOperand) }
        }
    }

    private func contains(_ subject: Int32, _ part: Int32) -> Bool {
        let subjectOperand = operands + Int(subject)
        let partOperand = operands + Int(part)
        if subjectOperand.pointee.isMultiValued {
            return anyValue(of: part) { value in
                anyListValue(of: subject) { isEqual($0, value, subjectOperand, partOperand) }
            }
        }
        let whole = value(of: subject)
        switch whole.kind {
        case .array:
            return anyValue(of: part) { value in
                anyElementValue(of: whole) { isEqual($0, value, subjectOperand, partOperand) }
            }
        case .text: return anyValue(of: part) { $0.kind == .text && contains(whole.content, $0.content) }
        default: return false
        }
    }

    private func anyTextPair(
        _ left: Int32, _ right: Int32, _ test: (UnsafeRawBufferPointer, UnsafeRawBufferPointer) -> Bool
    ) -> Bool {
        anyValue(of: left) { subject in
            subject.kind == .text
                && anyValue(of: right) { $0.kind == .text && test(subject.content, $0.content) }
        }
    }
}

// Deep equality.
extension Machine {
    /// Tells whether two values are equal: numbers by value, arrays and objects deeply; a missing value equals nothing.
    func isEqual(_ left: EncodedValue, _ right: EncodedValue) -> Bool { isEqual(left, right, depth: 0) }

    private func isEqual(_ left: EncodedValue, _ right: EncodedValue, depth: Int) -> Bool {
        switch (left.kind, right.kind) {
        case (.null, .null): return true
        case (.text, .text), (.bytes, .bytes):
            let count = left.end - left.start
            return count == right.end - right.start && EncodedValue.isEqual(left.start, right.start, count: count)
                && spend(count >> 6)
        case (.array, .array), (.map, .map):
            guard left.count == right.count else { return false }
            guard depth <= Limits.nestingDepth else {
                state.pointee.isDamaged = true
                return false
            }
            return left.kind == .array ? hasEqualElements(left, right, depth) : hasEqualMembers(left, right, depth)
        default: return EncodedValue.compare(left, right) == 0
        }
    }

    private func hasEqualElements(_ left: EncodedValue, _ right: EncodedValue, _ depth: Int) -> Bool {
        var leftPlace = left.start
        var rightPlace = right.start
        for _ in 0..<left.count {
            guard spend(1) else { return false }
            guard isEqual(read(leftPlace, left.end), read(rightPlace, right.end), depth: depth + 1) else {
                return false
            }
            guard skip(&leftPlace, left.end), skip(&rightPlace, right.end) else { return damaged() != nil }
        }
        return true
    }

    /// Compares the members of two maps with one count; looks names up where keys differ, as of ids, whose keys are text.
    private func hasEqualMembers(_ left: EncodedValue, _ right: EncodedValue, _ depth: Int) -> Bool {
        var leftPlace = left.start
        var rightPlace = right.start
        for _ in 0..<left.count {
            guard spend(1) else { return false }
            let leftKey = leftPlace
            let rightKey = rightPlace
            guard let (name, number) = readKey(&leftPlace, left.end), readKey(&rightPlace, right.end) != nil
            else { return damaged() != nil }
            let count = leftPlace - leftKey
            var value = rightPlace
            if count != rightPlace - rightKey || !EncodedValue.isEqual(leftKey, rightKey, count: count) {
                guard let place = member(of: right, name, number: number) else { return false }
                value = place
            }
            guard isEqual(read(leftPlace, left.end), read(value, right.end), depth: depth + 1) else { return false }
            guard skip(&leftPlace, left.end), skip(&rightPlace, right.end) else { return damaged() != nil }
        }
        return true
    }

    /// Reads a map's key and moves past it: the name, and its number where it has one.
    private func readKey(
        _ place: inout UnsafeRawPointer, _ end: UnsafeRawPointer
    ) -> (name: UnsafeRawBufferPointer, number: Int64)? {
        guard let key = EncodedValue.read(at: place, end: end) else { return nil }
        switch key.kind {
        case .text:
            place = key.end
            let number = names._withUnsafeGuaranteedRef { $0.number(of: key.content) }
            return (key.content, number.map { Int64($0) } ?? -1)
        case .int where key.int >= 0 && key.int < Int64(Limits.internedFieldNameCount):
            place += CBOR.headByteCount(key.bits)
            guard let name = names._withUnsafeGuaranteedRef({ $0.name(Int(key.int)) }) else { return nil }
            return (name, key.int)
        default: return nil
        }
    }
}
