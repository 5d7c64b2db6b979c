import DocDBLive
import Testing

@Suite("Histories of result windows")
struct WindowHistoryTests {
    @Test("Random histories agree with a plain sorted array", arguments: [nil, 0, 1, 3, 10, 40, 100] as [Int?])
    func histories(limit: Int?) {
        for seed in UInt64(1)...40 {
            var history = WindowHistory(seed: seed, limit: limit)
            for _ in 0..<40 { history.step() }
        }
    }

    @Test("Random histories of large results agree with a plain sorted array", arguments: [nil, 200, 1500] as [Int?])
    func largeHistories(limit: Int?) {
        for seed in UInt64(1)...4 {
            var history = WindowHistory(seed: seed, limit: limit, documentCount: 2500)
            for _ in 0..<12 { history.step() }
        }
    }
}

/// One random history of a window beside the model, and the checks of each delivery.
struct WindowHistory {
    private var numbers: WindowNumbers
    private var model: WindowModel
    private var window: ResultWindow<WindowDocument>
    private var delivered: [WindowModel.Seen]
    private var changed: Set<Int64> = []
    private var nextVersion = 1
    private let keyCount: Int
    private let valueCount: Int
    private var nextFreshKey: Int64 = 1_000_000
    private let deliveryPercent: Int
    private let label: String

    init(seed: UInt64, limit: Int?, documentCount: Int? = nil) {
        var numbers = WindowNumbers(seed: seed &* 1000 &+ UInt64(limit ?? 999))
        let most = documentCount ?? [10, 60, 250][numbers.below(3)]
        let offset = [0, 0, 2, 7, 45][numbers.below(5)]
        label = "seed \(seed), limit \(limit.map(String.init) ?? "none"), offset \(offset), documents \(most)"
        keyCount = most * 3 / 2
        valueCount = [3, 50, 60_000][numbers.below(3)]
        var model = WindowModel(
            keyPrefix: numbers.chance(50) ? [] : Array("a long common prefix".utf8), limit: limit, offset: offset)
        for _ in 0..<most {
            model.entries[Int64(numbers.below(keyCount))] = .init(sortValue: numbers.below(valueCount), version: 0)
        }
        deliveryPercent = numbers.chance(50) ? 60 : 20
        let rowsPerLookup = [0, 0, 32, 100_000][numbers.below(4)]
        self.numbers = numbers
        self.model = model
        window = model.window()
        window.rowsPerLookup = rowsPerLookup
        delivered = model.visible
        let initial = window.takeSnapshot()
        #expect(seen(initial) == delivered, "\(label)")
    }

    /// Makes one commit, and sometimes a delivery.
    mutating func step() {
        let size = numbers.chance(60) ? 1 : numbers.chance(70) ? 1 + numbers.below(20) : 1 + numbers.below(keyCount)
        let keys = numbers.chance(20) ? wave(size) : scattered(size)
        changed.formUnion(keys)
        window.apply(keys.map(model.change))
        window.checkInvariants()
        if numbers.chance(15) { replaceAll() }
        // A refill may come later than the commit that made it necessary, but comes before the delivery.
        let isDelivery = numbers.chance(deliveryPercent)
        if isDelivery || numbers.chance(50) { refill() }
        if isDelivery { deliver() }
    }

    /// Changes documents all over the result.
    private mutating func scattered(_ size: Int) -> [Int64] {
        let kind = numbers.below(5)
        var keys: [Int64] = []
        var known: Set<Int64> = []
        for _ in 0..<size {
            let key = Int64(numbers.below(keyCount))
            guard known.insert(key).inserted else { continue }
            change(key, kind: kind)
            keys.append(key)
        }
        return keys
    }

    /// Puts new documents before most others, or removes the first ones: the bound goes down and up.
    private mutating func wave(_ size: Int) -> [Int64] {
        if numbers.chance(60) {
            let leaving = model.sorted.prefix(size + numbers.below(40)).map(\.key)
            for key in leaving { model.entries[key] = nil }
            return leaving
        }
        var keys: [Int64] = []
        for _ in 0..<(size + numbers.below(40)) {
            nextVersion += 1
            model.entries[nextFreshKey] = .init(sortValue: numbers.below(max(1, valueCount / 10)), version: nextVersion)
            keys.append(nextFreshKey)
            nextFreshKey += 1
        }
        return keys
    }

    private mutating func change(_ key: Int64, kind: Int) {
        nextVersion += 1
        let leaves = kind == 0 ? numbers.chance(80) : numbers.chance(20)
        if leaves {
            model.entries[key] = nil
        } else if let entry = model.entries[key], kind != 1, numbers.chance(kind == 2 ? 90 : 30) {
            model.entries[key] = .init(sortValue: entry.sortValue, version: nextVersion)
        } else if let entry = model.entries[key], numbers.chance(40) {
            let value = min(max(0, entry.sortValue - 2 + numbers.below(5)), valueCount - 1)
            model.entries[key] = .init(sortValue: value, version: nextVersion)
        } else {
            model.entries[key] = .init(sortValue: numbers.below(valueCount), version: nextVersion)
        }
    }

    private mutating func replaceAll() {
        let capacity = ResultWindow<WindowDocument>.capacity(limit: model.limit, offset: model.offset)
        let (rows, isComplete) = model.rows(after: nil, count: capacity)
        window.replaceAll(with: rows, isComplete: isComplete) { $0.version == $1.version }
        window.checkInvariants()
    }

    private mutating func refill() {
        while let request = window.neededRefill {
            let count = numbers.chance(30) ? 1 + numbers.below(request.count) : request.count
            let (rows, isComplete) = model.rows(after: request.after, count: count)
            let fits = window.refill(rows, for: request, isComplete: isComplete)
            #expect(fits, "\(label)")
            window.checkInvariants()
        }
    }

    private mutating func deliver() {
        let expected = model.visible
        #expect(seen(window.snapshot) == expected, "\(label)")
        let event = window.takeEvent { $0.version == $1.version }
        #expect((event == nil) == (expected == delivered), "an event where something visible changed; \(label)")
        if let event { check(event, expected) }
        delivered = expected
        changed = []
    }

    private func check(_ event: ResultEvent<WindowDocument>, _ expected: [WindowModel.Seen]) {
        let diff = event.diff
        #expect(seen(event.old) == delivered, "\(label)")
        #expect(seen(event.new) == expected, "\(label)")
        #expect(isAscending(diff.deletions, below: delivered.count), "\(label)")
        #expect(isAscending(diff.insertions, below: expected.count), "\(label)")
        #expect(isAscending(diff.updates, below: expected.count), "\(label)")
        #expect(isAscending(diff.moves.map(\.target), below: expected.count), "\(label)")
        #expect(diff.applyingLiterally(to: delivered, new: expected) == expected, "\(label)")
        #expect(diff.applying(to: delivered) { expected[$0] } == expected, "\(label)")
        checkKinds(diff, expected)
    }

    /// Checks that each document is in the one list it belongs to, and that there are no more moves than needed.
    private func checkKinds(_ diff: ResultDiff, _ expected: [WindowModel.Seen]) {
        let old = Dictionary(uniqueKeysWithValues: delivered.map { ($0.key, $0) })
        let new = Dictionary(uniqueKeysWithValues: expected.map { ($0.key, $0) })
        #expect(diff.deletions == delivered.indices.filter { new[delivered[$0].key] == nil }, "\(label)")
        #expect(diff.insertions == expected.indices.filter { old[expected[$0].key] == nil }, "\(label)")
        let moved = Set(diff.moves.map(\.target))
        for move in diff.moves {
            let (before, after) = (delivered[move.source], expected[move.target])
            #expect(before.key == after.key && before.sortValue != after.sortValue, "\(label)")
        }
        let updates = expected.indices.filter { index in
            guard let before = old[expected[index].key], !moved.contains(index) else { return false }
            return before != expected[index]
        }
        #expect(diff.updates == updates, "\(label)")
        for index in diff.updates { #expect(changed.contains(expected[index].key), "\(label)") }
        for move in diff.moves { #expect(changed.contains(expected[move.target].key), "\(label)") }
        if model.limit == nil, model.offset == 0 {
            for index in diff.insertions { #expect(changed.contains(expected[index].key), "\(label)") }
            for index in diff.deletions { #expect(changed.contains(delivered[index].key), "\(label)") }
        }
        if expected.count <= 300 { #expect(diff.moves.count == fewestMoves(old, expected), "\(label)") }
    }

    /// The fewest moves where documents with an unchanged sort key stay: the heaviest increasing subsequence of the old
    /// places in the new order, found by trying every predecessor.
    private func fewestMoves(_ old: [Int64: WindowModel.Seen], _ expected: [WindowModel.Seen]) -> Int {
        var place: [Int64: Int] = [:]
        for (index, seen) in delivered.enumerated() { place[seen.key] = index }
        let staying = expected.filter { place[$0.key] != nil }
        let places = staying.map { place[$0.key] ?? 0 }
        let weights = staying.map { old[$0.key]?.sortValue == $0.sortValue ? 100_000 : 1 }
        var best: [(weight: Int, length: Int)] = []
        for index in places.indices {
            var before = (weight: 0, length: 0)
            for earlier in 0..<index where places[earlier] < places[index] && best[earlier].weight > before.weight {
                before = best[earlier]
            }
            best.append((before.weight + weights[index], before.length + 1))
        }
        return staying.count - (best.max { $0.weight < $1.weight }?.length ?? 0)
    }

    private func isAscending(_ indices: [Int], below end: Int) -> Bool {
        zip(indices, indices.dropFirst()).allSatisfy(<) && indices.allSatisfy { $0 >= 0 && $0 < end }
    }

    private func seen(_ snapshot: ResultSnapshot<WindowDocument>) -> [WindowModel.Seen] {
        // By iteration and by index: both must agree.
        let iterated = snapshot.map(\.version)
        return snapshot.indices.map { index in
            let row = snapshot.row(at: index)
            #expect(snapshot[index].version == iterated[index], "\(label)")
            let value = row.sortKey.bytes.dropFirst(model.keyPrefix.count).prefix(2).reduce(0) { $0 << 8 | Int($1) }
            return WindowModel.Seen(key: row.key, sortValue: value, version: row.document.version)
        }
    }
}
