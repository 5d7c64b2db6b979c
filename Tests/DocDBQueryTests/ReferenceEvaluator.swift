import DocDBCore
import DocDBQuery

/// The meaning of filters over decoded values, written from `Schemas/predicates.md` alone: slow, and nothing shared
/// with the evaluator under test.
struct ReferenceEvaluator {
    /// What paths begin at: the document with its `_id`, or an element.
    let root: Value

    func holds(_ filter: Filter) -> Bool {
        switch filter {
        case .and(let parts): parts.allSatisfy(holds)
        case .or(let parts): parts.contains(where: holds)
        case .not(let inner): !holds(inner)
        case .isTrue(let operand): values(operand).contains(.bool(true))
        case .compare(let comparison, let left, let right): compare(comparison, left, right)
        case .isIn(let left, let right): isIn(left, right)
        case .between(let operand, let low, let high):
            values(operand).contains { value in
                any(operand, low) { _, bound in ordered(value, operand, bound, low) { $0 >= 0 } }
                    && any(operand, high) { _, bound in ordered(value, operand, bound, high) { $0 <= 0 } }
            }
        case .like(let operand, let pattern): texts(operand).contains { Self.matches($0, pattern.string) }
        case .startsWith(let left, let right):
            texts(left).contains { text in texts(right).contains { text.starts(with: $0) } }
        case .endsWith(let left, let right):
            texts(left).contains { text in texts(right).contains { text.reversed().starts(with: $0.reversed()) } }
        case .contains(let subject, let part): contains(subject, part)
        case .regex(let operand, let pattern): texts(operand).contains { Self.search($0, pattern.string) }
        case .exists(let path): !present(path).isEmpty
        case .isMissing(let path): present(path).isEmpty
        }
    }

    // MARK: Operands

    /// The values of an operand; a single nil where there is none.
    private func values(_ operand: Filter.Operand) -> [Value?] {
        switch operand {
        case .literal(let value): [value]
        case .missing: [nil]
        case .path(let path): orMissing(present(path))
        case .condition(let filter): [.bool(holds(filter))]
        case .function(.length, let argument): [length(argument)]
        case .function(.sum, let argument): [sum(argument)]
        case .function(.lower, let argument): present(argument) { mapText($0) { $0.lowercased() } }
        case .function(.upper, let argument): present(argument) { mapText($0) { $0.uppercased() } }
        case .function(.abs, let argument): present(argument, absolute)
        case .function(.type, let argument): values(argument).map { .string(typeName($0)) }
        }
    }

    /// What a function gives for each value of its argument, where that is not missing.
    private func present(_ argument: Filter.Operand, _ function: (Value?) -> Value?) -> [Value?] {
        orMissing(values(argument).compactMap(function))
    }

    private func orMissing(_ values: [Value]) -> [Value?] { values.isEmpty ? [Value?.none] : values.map(Optional.some) }

    private func texts(_ operand: Filter.Operand) -> [[Unicode.Scalar]] {
        values(operand).compactMap { if case .string(let text)? = $0 { Array(text.unicodeScalars) } else { nil } }
    }

    /// The values of a path that are there.
    private func present(_ path: Filter.Path) -> [Value] {
        path.steps.reduce([root]) { values, step in
            values.flatMap { value -> [Value] in
                switch (step, value) {
                case (.name(let name), .object(let members)): members[name.string].map { [$0] } ?? []
                case (.index(let index), .array(let elements)):
                    elements.indices.contains(Int(index < 0 ? index + Int64(elements.count) : index))
                        ? [elements[Int(index < 0 ? index + Int64(elements.count) : index)]] : []
                case (.all, .array(let elements)): elements
                case (.filter(let filter), .array(let elements)):
                    elements.filter { ReferenceEvaluator(root: $0).holds(filter) }
                default: []
                }
            }
        }
    }

    private func isMulti(_ operand: Filter.Operand) -> Bool {
        switch operand {
        case .path(let path):
            path.steps.contains { step in
                switch step {
                case .all, .filter: true
                case .name, .index: false
                }
            }
        case .function(let function, let argument): function != .length && function != .sum && isMulti(argument)
        case .literal, .missing, .condition: false
        }
    }

    /// The operand as a list, or nil where it is none.
    private func list(_ operand: Filter.Operand) -> [Value]? {
        if isMulti(operand) {
            // A type has a value even of nothing, but a list of values has no such element.
            if case .function(let function, let argument) = operand {
                return (list(argument) ?? []).flatMap { element in
                    ReferenceEvaluator(root: root).values(.function(function, .literal(element))).compactMap { $0 }
                }
            }
            return values(operand).compactMap { $0 }
        }
        if case .array(let elements)?? = values(operand).first { return elements }
        return nil
    }

    private func any(_ left: Filter.Operand, _ right: Filter.Operand, _ test: (Value?, Value?) -> Bool) -> Bool {
        values(left).contains { leftValue in values(right).contains { test(leftValue, $0) } }
    }

    // MARK: Comparisons

    private func compare(_ comparison: Filter.Comparison, _ left: Filter.Operand, _ right: Filter.Operand) -> Bool {
        switch comparison {
        case .equal: any(left, right) { equal($0, left, $1, right) }
        case .notEqual: !any(left, right) { equal($0, left, $1, right) }
        case .less: any(left, right) { Self.order($0, $1).map { $0 < 0 } ?? false }
        case .greater: any(left, right) { Self.order($0, $1).map { $0 > 0 } ?? false }
        case .lessOrEqual: any(left, right) { ordered($0, left, $1, right) { $0 <= 0 } }
        case .greaterOrEqual: any(left, right) { ordered($0, left, $1, right) { $0 >= 0 } }
        }
    }

    private func ordered(
        _ left: Value?, _ leftOperand: Filter.Operand, _ right: Value?, _ rightOperand: Filter.Operand,
        _ test: (Int) -> Bool
    ) -> Bool {
        (Self.order(left, right).map(test) ?? false) || equal(left, leftOperand, right, rightOperand)
    }

    private func equal(
        _ left: Value?, _ leftOperand: Filter.Operand, _ right: Value?, _ rightOperand: Filter.Operand
    ) -> Bool {
        if leftOperand == .literal(.null) { return right == nil || right! == .null }
        if rightOperand == .literal(.null) { return left == nil || left! == .null }
        if leftOperand == .missing || rightOperand == .missing { return left == nil && right == nil }
        guard let left, let right else { return false }
        return Self.deepEqual(left, right)
    }

    static func deepEqual(_ left: Value, _ right: Value) -> Bool {
        switch (left, right) {
        case (.array(let a), .array(let b)): a.count == b.count && zip(a, b).allSatisfy(deepEqual)
        case (.object(let a), .object(let b)):
            a.count == b.count && a.allSatisfy { key, value in b[key].map { deepEqual(value, $0) } ?? false }
        case (.null, .null): true
        default: order(left, right) == 0
        }
    }

    /// Negative, zero or positive within numbers, strings, bytes and truth values; else nil.
    static func order(_ left: Value?, _ right: Value?) -> Int? {
        func sequence(_ a: [UInt8], _ b: [UInt8]) -> Int {
            a.lexicographicallyPrecedes(b) ? -1 : b.lexicographicallyPrecedes(a) ? 1 : 0
        }
        switch (left, right) {
        case (.string(let a)?, .string(let b)?): return sequence(Array(a.utf8), Array(b.utf8))
        case (.bytes(let a)?, .bytes(let b)?): return sequence(a, b)
        case (.bool(let a)?, .bool(let b)?): return (a ? 1 : 0) - (b ? 1 : 0)
        case (.int(let a)?, .int(let b)?): return a < b ? -1 : a > b ? 1 : 0
        case (.float(let a)?, .float(let b)?): return a < b ? -1 : a > b ? 1 : 0
        case (.int(let a)?, .float(let b)?): return mixed(a, b)
        case (.float(let a)?, .int(let b)?): return -mixed(b, a)
        default: return nil
        }
    }

    private static func mixed(_ integer: Int64, _ float: Double) -> Int {
        if float.magnitude > 1e20 { return float > 0 ? -1 : 1 }
        let floor = Int128(float.rounded(.down))
        if Int128(integer) != floor { return Int128(integer) < floor ? -1 : 1 }
        return float == float.rounded(.down) ? 0 : -1
    }

    private func isIn(_ left: Filter.Operand, _ right: Filter.Operand) -> Bool {
        guard let elements = list(right) else { return false }
        let isLiteralList = if case .literal = right { true } else { false }
        return values(left).contains { value in
            elements.contains { equal(value, left, $0, isLiteralList ? .literal($0) : .path(Filter.Path([]))) }
        }
    }

    private func contains(_ subject: Filter.Operand, _ part: Filter.Operand) -> Bool {
        if let elements = list(subject) {
            return values(part).contains { value in
                elements.contains { equal($0, .path(Filter.Path([])), value, part) }
            }
        }
        return texts(subject).contains { text in
            texts(part).contains { part in
                part.isEmpty || text.indices.contains { text[$0...].starts(with: part) }
            }
        }
    }

    // MARK: Functions

    private func length(_ operand: Filter.Operand) -> Value? {
        if isMulti(operand) { return .int(Int64(list(operand)?.count ?? 0)) }
        switch values(operand).first ?? nil {
        case .string(let text)?: return .int(Int64(text.unicodeScalars.count))
        case .bytes(let bytes)?: return .int(Int64(bytes.count))
        case .array(let elements)?: return .int(Int64(elements.count))
        case .object(let members)?: return .int(Int64(members.count))
        default: return nil
        }
    }

    private func sum(_ operand: Filter.Operand) -> Value? {
        guard let elements = list(operand) else { return nil }
        var whole: Int128 = 0
        var fractional: [Double] = []
        for element in elements {
            switch element {
            case .int(let value): whole += Int128(value)
            case .float(let value): fractional.append(value)
            default: return nil
            }
        }
        if fractional.isEmpty, whole >= Int128(Int64.min), whole <= Int128(Int64.max) { return .int(Int64(whole)) }
        let total = Double(whole) + fractional.reduce(0, +)
        return total.isFinite ? .float(total) : nil
    }

    private func mapText(_ value: Value?, _ change: (String) -> String) -> Value? {
        if case .string(let text)? = value { .string(change(text)) } else { nil }
    }

    private func absolute(_ value: Value?) -> Value? {
        switch value {
        case .int(.min)?: .float(9_223_372_036_854_775_808)
        case .int(let number)?: .int(number < 0 ? -number : number)
        case .float(let number)?: .float(number < 0 ? -number : number)
        default: nil
        }
    }

    private func typeName(_ value: Value?) -> String {
        switch value {
        case nil: "missing"
        case .null?: "null"
        case .bool?: "bool"
        case .int?: "int"
        case .float?: "float"
        case .string?: "string"
        case .bytes?: "bytes"
        case .array?: "array"
        case .object?: "object"
        }
    }

    // MARK: Texts

    /// `like`, by trying everything.
    private static func matches(_ text: [Unicode.Scalar], _ pattern: String) -> Bool {
        func matches(_ text: ArraySlice<Unicode.Scalar>, _ pattern: ArraySlice<Unicode.Scalar>) -> Bool {
            guard let first = pattern.first else { return text.isEmpty }
            let rest = pattern.dropFirst()
            switch first {
            case "%": return (text.startIndex...text.endIndex).contains { matches(text[$0...], rest) }
            case "_": return !text.isEmpty && matches(text.dropFirst(), rest)
            case "\\":
                if let next = rest.first, next == "%" || next == "_" || next == "\\" {
                    return text.first == next && matches(text.dropFirst(), rest.dropFirst())
                }
                return text.first == first && matches(text.dropFirst(), rest)
            default: return text.first == first && matches(text.dropFirst(), rest)
            }
        }
        return matches(text[...], Array(pattern.unicodeScalars)[...])
    }

    /// The three shapes of expression that random filters have: `x`, `^x`, `x$`, with plain letters.
    private static func search(_ text: [Unicode.Scalar], _ pattern: String) -> Bool {
        let letters = Array(pattern.unicodeScalars)
        if letters.first == "^" { return text.starts(with: letters.dropFirst()) }
        if letters.last == "$" { return text.reversed().starts(with: letters.dropLast().reversed()) }
        return letters.isEmpty || text.indices.contains { text[$0...].starts(with: letters) }
    }
}
