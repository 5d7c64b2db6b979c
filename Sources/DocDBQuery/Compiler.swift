import DocDBCore

/// Turns a filter into the tables that a machine runs.
struct Compiler {
    let names: FieldNames
    let nameCount: Int
    let memory = ProgramMemory()
    var stepCount = QueryLimits.evaluationStepCount
    private(set) var usesID = false
    private(set) var unknownNames: [String] = []
    private(set) var patterns: [RegexPattern] = []

    private var conditions: [CompiledCondition] = []
    private var operands: [CompiledOperand] = []
    private var paths: [CompiledPath] = []
    private var steps: [CompiledStep] = []
    private var lists: [CompiledList] = []
    private var listValues: [EncodedValue] = []
    private var likePatterns: [CompiledPattern] = []
    private var slots: [CompiledSlot] = []
    private var scratchCount = 0
    /// How many element filters enclose the place.
    private var elementDepth = 0

    init(names: FieldNames) {
        self.names = names
        nameCount = names.count
    }

    /// Compiles a filter and returns its index.
    mutating func compile(_ filter: Filter) -> Int32 {
        switch filter {
        case .and(let parts): return add(.init(kind: .and, first: compile(parts)))
        case .or(let parts): return add(.init(kind: .or, first: compile(parts)))
        case .not(let inner): return add(.init(kind: .not, first: compile(inner)))
        case .isTrue(let operand): return add(.init(kind: .isTrue, first: compile(operand)))
        case .compare(let comparison, let left, let right):
            return compileComparison(comparison, left, right)
        case .isIn(let left, .literal(.array(let values))):
            return add(.init(kind: .isInList, first: compile(left), second: compile(list: values)))
        case .isIn(let left, let right): return add(.isInOperand, left, right)
        case .between(let operand, let low, let high):
            return add(.init(kind: .between, first: compile(operand), second: compile(low), third: compile(high)))
        case .like(let operand, let pattern):
            return add(.init(kind: .like, first: compile(operand), second: compile(likePattern: pattern.string)))
        case .startsWith(let left, let right): return add(.startsWith, left, right)
        case .endsWith(let left, let right): return add(.endsWith, left, right)
        case .contains(let left, let right): return add(.contains, left, right)
        case .regex(let operand, let pattern): return compileRegex(operand, pattern.string)
        case .exists(let path): return add(.init(kind: .exists, first: compile(path)))
        case .isMissing(let path): return add(.init(kind: .isMissing, first: compile(path)))
        }
    }

    private mutating func add(_ condition: CompiledCondition) -> Int32 {
        conditions.append(condition)
        return Int32(conditions.count - 1)
    }

    private mutating func add(
        _ kind: CompiledCondition.Kind, _ left: Filter.Operand, _ right: Filter.Operand
    ) -> Int32 {
        add(.init(kind: kind, first: compile(left), second: compile(right)))
    }

    /// Compiles the parts of a conjunction or disjunction and returns the first; each names the next.
    private mutating func compile(_ parts: [Filter]) -> Int32 {
        let children = parts.map { compile($0) }
        for (child, next) in zip(children, children.dropFirst()) { conditions[Int(child)].next = next }
        return children.first ?? -1
    }

    private mutating func compileComparison(
        _ comparison: Filter.Comparison, _ left: Filter.Operand, _ right: Filter.Operand
    ) -> Int32 {
        if case .literal = left, case .path = right { return compileComparison(comparison.swapped, right, left) }
        let first = compile(left)
        let second = compile(right)
        var condition = CompiledCondition(kind: .compare, comparison: comparison, first: first, second: second)
        if operands[Int(first)].kind == .path, operands[Int(second)].kind == .literal {
            let path = paths[Int(operands[Int(first)].index)]
            let isEquality = comparison == .equal || comparison == .notEqual
            if path.root == .slot, path.stepCount == 0 {
                switch right {
                case .literal(.int): condition.kind = .fieldComparesInt
                case .literal(.string), .literal(.bytes), .literal(.bool):
                    if isEquality { condition = fieldEqualsBytes(condition, right) }
                default: break
                }
                if condition.kind != .compare { condition.first = path.slot }
            }
        }
        return add(condition)
    }

    /// A comparison of whole encodings: the literal's value then spans its bytes, the head included.
    private mutating func fieldEqualsBytes(
        _ comparison: CompiledCondition, _ literal: Filter.Operand
    ) -> CompiledCondition {
        guard case .literal(let value) = literal, let encoding = encode(value) else { return comparison }
        var condition = comparison
        condition.kind = .fieldEqualsBytes
        operands.append(CompiledOperand(kind: .literal, literal: EncodedValue(text: encoding)))
        condition.second = Int32(operands.count - 1)
        return condition
    }

    private mutating func compileRegex(_ operand: Filter.Operand, _ pattern: String) -> Int32 {
        let first = compile(operand)
        // The parser has compiled the pattern before; one that no longer compiles matches nothing.
        guard let regex = try? RegexPattern(pattern) else { return compile(Filter.nothing) }
        patterns.append(regex)
        return add(.init(kind: .regex, first: first, second: Int32(patterns.count - 1)))
    }
}

// Operands and literals.
extension Compiler {
    private mutating func compile(_ operand: Filter.Operand) -> Int32 {
        var compiled: CompiledOperand
        switch operand {
        case .literal(let value):
            compiled = CompiledOperand(kind: .literal, literal: literal(value))
            if case .null = value { compiled.isLiteralNull = true }
        case .missing: compiled = CompiledOperand(kind: .literal, isLiteralMissing: true)
        case .path(let path): compiled = CompiledOperand(kind: .path, index: compile(path))
        case .condition(let filter): compiled = CompiledOperand(kind: .condition, index: compile(filter))
        case .function(let function, let argument):
            compiled = CompiledOperand(kind: kind(of: function), index: compile(argument))
            if function == .lower || function == .upper {
                compiled.scratch = Int32(scratchCount)
                scratchCount += 1
            }
        }
        compiled.isMultiValued = operand.isMultiValued
        operands.append(compiled)
        return Int32(operands.count - 1)
    }

    private func kind(of function: Filter.Function) -> CompiledOperand.Kind {
        switch function {
        case .length: .length
        case .sum: .sum
        case .lower: .lower
        case .upper: .upper
        case .abs: .abs
        case .type: .type
        }
    }

    /// The bytes of a literal as bodies have them; nil where it cannot be in a body.
    private func encode(_ value: Value) -> UnsafeRawBufferPointer? {
        var buffer = ByteBuffer()
        do throws(DocDBError) { try value.appendCBOR(names: names, interning: false, to: &buffer) } catch { return nil }
        return memory.copy(buffer.bytes)
    }

    private func literal(_ value: Value) -> EncodedValue {
        guard let bytes = encode(value), let start = bytes.baseAddress else { return .missing }
        return EncodedValue.read(at: start, end: start + bytes.count) ?? .missing
    }

    private mutating func compile(list values: [Value]) -> Int32 {
        var scalars: [EncodedValue] = []
        var containers: [EncodedValue] = []
        var hasNull = false
        for value in values {
            switch value {
            case .null: hasNull = true
            case .array, .object: containers.append(literal(value))
            case .bool, .int, .float, .string, .bytes: scalars.append(literal(value))
            }
        }
        scalars.sort { Machine.compareForSearch($0, $1) < 0 }
        lists.append(
            CompiledList(
                first: Int32(listValues.count), scalarCount: Int32(scalars.count),
                count: Int32(scalars.count + containers.count), hasNull: hasNull))
        listValues += scalars + containers
        return Int32(lists.count - 1)
    }

    private mutating func compile(likePattern pattern: String) -> Int32 {
        let elements = LikePattern.elements(of: pattern)
        let isLiteral = { (slice: ArraySlice<UInt16>) in slice.allSatisfy { $0 < 256 } }
        let anyText = CompiledPattern.anyText
        let kind: CompiledPattern.Kind
        var text = elements[...]
        if isLiteral(text) {
            kind = .exact
        } else if elements.last == anyText, isLiteral(elements.dropLast()) {
            (kind, text) = (.prefix, elements.dropLast())
        } else if elements.first == anyText, isLiteral(elements.dropFirst()) {
            (kind, text) = (.suffix, elements.dropFirst())
        } else if elements.count > 1, elements.first == anyText, elements.last == anyText,
            isLiteral(elements.dropFirst().dropLast())
        {
            (kind, text) = (.part, elements.dropFirst().dropLast())
        } else {
            kind = .general
        }
        let bytes = kind == .general ? [] : text.map { UInt8(truncatingIfNeeded: $0) }
        likePatterns.append(
            CompiledPattern(
                kind: kind, text: bytes.withUnsafeBytes { memory.copy($0) },
                elements: UnsafeBufferPointer(start: memory.copy(elements), count: elements.count)))
        return Int32(likePatterns.count - 1)
    }
}

// Paths.
extension Compiler {
    mutating func compile(_ path: Filter.Path) -> Int32 {
        var compiled = CompiledPath(root: .element)
        var rest = path.steps[...]
        if elementDepth == 0, case .name(let name)? = rest.first {
            rest = rest.dropFirst()
            if name.string.utf8.elementsEqual("_id".utf8) {
                compiled.root = .id
                usesID = true
            } else {
                compiled.root = .slot
                compiled.slot = slot(of: name.string)
            }
        }
        // Element filters compile paths of their own: finish these steps before they are placed.
        let compiledSteps = rest.map { compile($0) }
        compiled.firstStep = Int32(steps.count)
        compiled.stepCount = Int32(compiledSteps.count)
        compiled.isMultiValued = path.isMultiValued
        steps += compiledSteps
        paths.append(compiled)
        return Int32(paths.count - 1)
    }

    private mutating func compile(_ step: Filter.Step) -> CompiledStep {
        switch step {
        case .name(let name):
            return CompiledStep(
                kind: .name, number: number(of: name.string) ?? -1, name: memory.copy(utf8: name.string))
        case .index(let index): return CompiledStep(kind: .index, number: index)
        case .all: return CompiledStep(kind: .all)
        case .filter(let filter):
            elementDepth += 1
            defer { elementDepth -= 1 }
            return CompiledStep(kind: .filter, number: Int64(compile(filter)))
        }
    }

    private mutating func number(of name: String) -> Int64? {
        if let number = names.number(of: name) { return Int64(number) }
        unknownNames.append(name)
        return nil
    }

    private mutating func slot(of name: String) -> Int32 {
        let number = number(of: name)
        var key = ByteBuffer()
        if let number { key.appendCBOR(number) } else { key.appendCBOR(name) }
        let bytes = key.bytes
        if let known = slots.firstIndex(where: { $0.key.elementsEqual(bytes) }) { return Int32(known) }
        slots.append(
            CompiledSlot(number: number.map { UInt64($0) } ?? CompiledSlot.textKey, key: memory.copy(bytes)))
        return Int32(slots.count - 1)
    }

    /// Sorts the slots as bodies sort their keys, and makes all that name them follow.
    private mutating func sortSlots() {
        let order = slots.indices.sorted { CBOR.compare(slots[$0].key, slots[$1].key) < 0 }
        var places = [Int32](repeating: 0, count: slots.count)
        for (place, index) in order.enumerated() { places[index] = Int32(place) }
        slots = order.map { slots[$0] }
        for index in paths.indices where paths[index].root == .slot {
            paths[index].slot = places[Int(paths[index].slot)]
        }
        for index in conditions.indices
        where conditions[index].kind == .fieldEqualsBytes || conditions[index].kind == .fieldComparesInt {
            conditions[index].first = places[Int(conditions[index].first)]
        }
    }

    /// Places all tables in memory; call once, at the end.
    mutating func makeMachine() -> Machine {
        sortSlots()
        let typeNames = ["missing", "null", "bool", "int", "float", "string", "bytes", "array", "object"]
        let scratch = memory.allocate(byteCount: max(scratchCount, 1) * MemoryLayout<ByteBuffer>.stride)
            .bindMemory(to: ByteBuffer.self, capacity: max(scratchCount, 1))
        for index in 0..<scratchCount { (scratch + index).initialize(to: ByteBuffer(capacity: 64)) }
        let nowhere = memory.copy([UInt8(0)])
        let state = Machine.State(
            bodyEnd: nowhere, idStart: nowhere, idEnd: nowhere, elementStart: nowhere, elementEnd: nowhere)
        let tables = Tables(
            conditions: memory.copy(conditions), operands: memory.copy(operands), paths: memory.copy(paths),
            steps: memory.copy(steps), lists: memory.copy(lists), listValues: memory.copy(listValues),
            likePatterns: memory.copy(likePatterns),
            regexPatterns: memory.copy(patterns.map { Unmanaged.passUnretained($0) }),
            typeNames: memory.copy(typeNames.map { EncodedValue(text: memory.copy(utf8: $0)) }),
            skipLengths: memory.copy(Machine.makeSkipLengths()), names: Unmanaged.passUnretained(names),
            slots: memory.copy(slots), slotCount: slots.count,
            slotValues: memory.copy([UnsafeRawPointer?](repeating: nil, count: slots.count)),
            scratch: scratch, scratchCount: scratchCount, stepCount: stepCount)
        return Machine(tables: UnsafePointer(memory.copy([tables])), state: memory.copy([state]))
    }
}
