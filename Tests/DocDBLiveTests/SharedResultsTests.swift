import DocDBLive
import Testing

@Suite("Results that several consumers share")
struct SharedResultsTests {
    typealias Seen = WindowModel.Seen

    @Test(
        "Each consumer's events lead from what it had to what there is, whatever its pace",
        arguments: [nil, 1, 4, 30, 200] as [Int?])
    func paces(limit: Int?) {
        for seed in UInt64(1)...40 {
            var history = SharedHistory(seed: seed, limit: limit)
            for _ in 0..<60 { history.step() }
            history.finish()
        }
    }

    @Test("Consumers at one pace get one event, worked out once")
    func sharedEvent() {
        var model = WindowModel(keyPrefix: [], limit: nil, offset: 0)
        for key in Int64(1)...100 { model.entries[key] = .init(sortValue: Int(key), version: 0) }
        var results = SharedResults(model.window())
        for consumer in 1...3 { #expect(results.snapshot(for: consumer).count == 100) }
        model.entries[50] = .init(sortValue: 50, version: 1)
        results.window.apply([model.change(50)])
        // The contents are compared for the first consumer only.
        var comparisons = 0
        let events = (1...3).map { consumer in
            results.takeEvent(for: consumer) {
                comparisons += 1
                return $0.version == $1.version
            }
        }
        #expect(events.allSatisfy { $0?.diff == ResultDiff(updates: [49]) })
        #expect(comparisons == 1)
    }

    @Test("A consumer that takes nothing for long gets one right event, and holds back no steps")
    func laggard() {
        var model = WindowModel(keyPrefix: [], limit: nil, offset: 0)
        for key in Int64(1)...200 { model.entries[key] = .init(sortValue: Int(key) * 2, version: 0) }
        var results = SharedResults(model.window())
        let old = model.visible
        #expect(results.snapshot(for: 1).count == 200)
        #expect(results.snapshot(for: 2).count == 200)
        for version in 1...3_000 {
            let key = Int64(1 + version % 200)
            model.entries[key] = .init(sortValue: Int(key) * 2 + version % 3, version: version)
            results.window.apply([model.change(key)])
            #expect(results.takeEvent(for: 1) { $0.version == $1.version } != nil)
        }
        #expect(results.noteCount < 3_000)
        let event = results.takeEvent(for: 2) { $0.version == $1.version }
        #expect(event?.diff.applyingLiterally(to: old, new: model.visible) == model.visible)
        #expect(results.noteCount == 0)
    }
}

extension SharedResults {
    /// The macros cannot call what changes a value.
    fileprivate mutating func snapshot(for consumer: Consumer) -> ResultSnapshot<Reference> {
        takeSnapshot(for: consumer)
    }
}

/// One random history of shared results beside the model, with consumers that come, take when they like, and go.
struct SharedHistory {
    private var numbers: WindowNumbers
    private var model: WindowModel
    private var results: SharedResults<WindowDocument>
    private var delivered: [Int: [WindowModel.Seen]] = [:]
    private var nextConsumer = 0
    private var nextVersion = 1
    private let keyCount: Int
    private let valueCount: Int
    private let label: String

    init(seed: UInt64, limit: Int?) {
        numbers = WindowNumbers(seed: seed &* 7919 &+ UInt64(limit ?? 999))
        let offset = [0, 0, 3, 20][numbers.below(4)]
        keyCount = [20, 120, 300][numbers.below(3)]
        valueCount = [4, 1_000][numbers.below(2)]
        label = "seed \(seed), limit \(limit.map(String.init) ?? "none"), offset \(offset), keys \(keyCount)"
        model = WindowModel(keyPrefix: [], limit: limit, offset: offset)
        for key in 0..<Int64(keyCount) where numbers.chance(70) {
            model.entries[key] = .init(sortValue: numbers.below(valueCount), version: 0)
        }
        var window = model.window()
        window.rowsPerLookup = [0, 32, 100_000][numbers.below(3)]
        results = SharedResults(window)
        for _ in 0...numbers.below(3) { come() }
    }

    mutating func step() {
        commit()
        if numbers.chance(40) { refill() }
        for consumer in delivered.keys.sorted() where numbers.chance(10 + 25 * (consumer % 4)) { take(consumer) }
        if numbers.chance(5) { come() }
        if delivered.count > 1, numbers.chance(4) { leave(delivered.keys.sorted()[0]) }
    }

    mutating func finish() {
        for consumer in delivered.keys.sorted() {
            take(consumer)
            #expect(!results.hasPending(for: consumer), "\(label)")
        }
        #expect(results.noteCount == 0, "\(label)")
    }

    private mutating func commit() {
        let first = numbers.chance(25)
        let count = numbers.chance(70) ? 1 + numbers.below(4) : 1 + numbers.below(keyCount)
        let keys: [Int64] =
            first
            ? model.sorted.prefix(count).map(\.key)
            : Array(Set((0..<count).map { _ in Int64(numbers.below(keyCount)) })).sorted()
        for key in keys {
            nextVersion += 1
            if first || numbers.chance(25) {
                model.entries[key] = nil
            } else if let entry = model.entries[key], numbers.chance(40) {
                model.entries[key] = .init(sortValue: entry.sortValue, version: nextVersion)
            } else {
                model.entries[key] = .init(sortValue: numbers.below(valueCount), version: nextVersion)
            }
        }
        results.window.apply(keys.map(model.change))
    }

    private mutating func refill() {
        while let request = results.window.neededRefill {
            let (rows, isComplete) = model.rows(after: request.after, count: request.count)
            let fits = results.window.refill(rows, for: request, isComplete: isComplete)
            #expect(fits, "\(label)")
        }
        results.window.checkInvariants()
    }

    private mutating func come() {
        refill()
        nextConsumer += 1
        delivered[nextConsumer] = seen(results.takeSnapshot(for: nextConsumer))
        #expect(delivered[nextConsumer] == model.visible, "\(label)")
    }

    private mutating func leave(_ consumer: Int) {
        delivered[consumer] = nil
        results.remove(consumer)
    }

    private mutating func take(_ consumer: Int) {
        refill()
        let old = delivered[consumer] ?? []
        let new = model.visible
        let event = results.takeEvent(for: consumer) { $0.version == $1.version }
        #expect((event == nil) == (old == new), "an event where something visible changed; \(label)")
        delivered[consumer] = new
        guard let event else { return }
        #expect(seen(event.old) == old, "\(label)")
        #expect(seen(event.new) == new, "\(label)")
        #expect(event.diff.applyingLiterally(to: old, new: new) == new, "\(label)")
        let kept = Dictionary(grouping: old, by: \.key)
        let moved = Set(event.diff.moves.map(\.target))
        let updates = new.indices.filter { index in
            guard let before = kept[new[index].key]?.first, !moved.contains(index) else { return false }
            return before != new[index]
        }
        #expect(event.diff.updates == updates, "\(label)")
    }

    private func seen(_ snapshot: ResultSnapshot<WindowDocument>) -> [WindowModel.Seen] {
        snapshot.indices.map { index in
            let row = snapshot.row(at: index)
            let value = row.sortKey.bytes.prefix(2).reduce(0) { $0 << 8 | Int($1) }
            return WindowModel.Seen(key: row.key, sortValue: value, version: row.document.version)
        }
    }
}
