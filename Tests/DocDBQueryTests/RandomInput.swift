import DocDBCore
import DocDBQuery

/// Random values, documents and filters over few names and values, so that they often meet.
struct RandomInput {
    var generator: SeededGenerator

    init(seed: UInt64) { generator = SeededGenerator(seed: seed) }

    static let names = ["a", "b", "c", "d", "in", "odd key", "größe", "é'`\\"]
    static let texts = [
        "", "a", "b", "ab", "ba", "aab", "A", "é", "éa", "éé", "é\u{1F600}b", "a%b", "a_b", "\\", "x\0y", "\u{1F600}a",
        "a\n",
    ]
    static let numbers: [Value] = [
        0, 1, 2, -1, 3, 1.0, 1.5, -0.0, 2.0, .int(.max), .int(.min), .float(0x1p63), .float(-0x1p63),
        9_007_199_254_740_993, .float(0x1p53), 1e300, -1e300, .float(Double.leastNonzeroMagnitude), 24, 300, 70_000,
        5_000_000_000,
    ]

    mutating func next(_ count: Int) -> Int { Int.random(in: 0..<count, using: &generator) }
    mutating func chance(_ percent: Int) -> Bool { next(100) < percent }
    mutating func pick<T>(_ elements: [T]) -> T { elements[next(elements.count)] }

    mutating func scalar() -> Value {
        switch next(10) {
        case 0: .null
        case 1: .bool(chance(50))
        case 2...5: pick(Self.numbers)
        case 6...8: .string(pick(Self.texts))
        default: .bytes(pick([[], [0], [1, 2], [255]]))
        }
    }

    mutating func value(depth: Int = 0) -> Value {
        guard depth < 3, chance(45) else { return scalar() }
        if chance(55) { return .array((0..<next(4)).map { _ in value(depth: depth + 1) }) }
        return .object(members(depth: depth + 1))
    }

    mutating func members(depth: Int) -> [String: Value] {
        var members: [String: Value] = [:]
        for name in Self.names where chance(depth == 0 ? 70 : 25) { members[name] = value(depth: depth) }
        return members
    }

    mutating func document() -> [String: Value] {
        var document = members(depth: 0)
        switch next(3) {
        case 0: document["_id"] = .string(pick(Self.texts))
        case 1: document["_id"] = .int(Int64(next(5)))
        default: document["_id"] = ["a": .int(Int64(next(3))), "b": .string(pick(Self.texts))]
        }
        return document
    }

    // MARK: Filters

    mutating func path(isElement: Bool = false, isMulti: Bool = true, depth: Int = 0) -> Filter.Path {
        var steps: [Filter.Step] = []
        if !isElement || chance(60) {
            steps.append(.name(.init(!isElement && chance(8) ? "_id" : pick(Self.names))))
        }
        while chance(40), steps.count < 4 {
            switch next(isMulti ? 8 : 5) {
            case 0...2: steps.append(.name(.init(pick(Self.names))))
            case 3...4: steps.append(.index(Int64(next(5) - 2)))
            case 5...6: steps.append(.all)
            default: steps.append(depth < 3 ? .filter(filter(isElement: true, depth: depth + 2)) : .all)
            }
        }
        return Filter.Path(steps)
    }

    mutating func operand(isElement: Bool, depth: Int) -> Filter.Operand {
        switch next(14) {
        case 0...5: return .path(path(isElement: isElement, depth: depth))
        case 6...8: return .literal(value(depth: 1))
        case 9: return chance(50) ? .missing : .literal(.null)
        case 10 where depth < 4: return filter(isElement: isElement, depth: depth + 2).operand
        default:
            guard depth < 4 else { return .literal(scalar()) }
            return .function(pick(Filter.Function.allCases), operand(isElement: isElement, depth: depth + 1))
        }
    }

    mutating func filter(isElement: Bool = false, depth: Int = 0) -> Filter {
        if depth < 4, chance(45) {
            let parts = (0..<(2 + next(2))).map { _ in filter(isElement: isElement, depth: depth + 1) }
            return switch next(3) {
            case 0: Filter.all(of: parts)
            case 1: Filter.any(of: parts)
            default: parts[0].negated
            }
        }
        return test(isElement: isElement, depth: depth)
    }

    private mutating func test(isElement: Bool, depth: Int) -> Filter {
        let left = operand(isElement: isElement, depth: depth)
        switch next(14) {
        case 0...4:
            let comparisons: [Filter.Comparison] = [.equal, .notEqual, .less, .lessOrEqual, .greater, .greaterOrEqual]
            return .compare(pick(comparisons), left, operand(isElement: isElement, depth: depth))
        case 5: return .isIn(left, .literal(.array((0..<next(6)).map { _ in value(depth: 2) })))
        case 6: return .isIn(left, .path(path(isElement: isElement, depth: depth)))
        case 7:
            return .between(
                left, operand(isElement: isElement, depth: depth), operand(isElement: isElement, depth: depth))
        case 8: return .like(left, .init(pattern()))
        case 9: return .contains(left, operand(isElement: isElement, depth: depth))
        case 10: return .startsWith(left, operand(isElement: isElement, depth: depth))
        case 11: return .endsWith(left, operand(isElement: isElement, depth: depth))
        case 12: return .regex(left, .init(pick(["a", "^a", "b$", "ab", "^", "é", "x"])))
        default:
            let path = path(isElement: isElement, depth: depth)
            return chance(30) ? .exists(path) : chance(50) ? .isMissing(path) : Filter.truth(of: left)
        }
    }

    mutating func pattern() -> String {
        (0..<next(6)).map { _ in pick(["%", "_", "a", "b", "é", "\\%", "\\_", "\\\\", "A"]) }.joined()
    }
}
