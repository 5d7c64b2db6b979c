import DocDBLive
import Testing

@Suite("Result windows")
struct WindowTests {
    /// A window of documents 1...count whose sort value is ten times their key.
    private func window(_ count: Int, limit: Int? = nil, offset: Int = 0) -> (WindowModel, ResultWindow<WindowDocument>)
    {
        var model = WindowModel(keyPrefix: [], limit: limit, offset: offset)
        for key in 1...count { model.entries[Int64(key)] = .init(sortValue: key * 10, version: 0) }
        var window = model.window()
        _ = window.takeSnapshot()
        return (model, window)
    }

    /// The macros cannot call what changes a value.
    private func takeEvent(_ window: inout ResultWindow<WindowDocument>) -> ResultEvent<WindowDocument>? {
        window.takeEvent()
    }

    @Test("A window holds limit, offset and overscan")
    func capacity() {
        let (_, small) = window(100, limit: 5, offset: 3)
        #expect(small.heldCount == 3 + 5 + 32)
        #expect(!small.isComplete)
        let (_, large) = window(200, limit: 50)
        #expect(large.heldCount == 100)
        let (_, all) = window(30, limit: 5)
        #expect(all.heldCount == 30 && all.isComplete)
        #expect(ResultWindow<WindowDocument>.capacity(limit: .max, offset: .max) == .max)
    }

    @Test("A changed sort key that keeps the order is an update")
    func updateInOrder() {
        var (model, window) = window(10)
        model.entries[4] = .init(sortValue: 44, version: 1)
        window.apply([model.change(4)])
        let diff = window.takeEvent()?.diff
        #expect(diff == ResultDiff(updates: [3]))
    }

    @Test("A document that passes others moves, and they do not")
    func move() {
        var (model, window) = window(10)
        model.entries[2] = .init(sortValue: 75, version: 1)
        window.apply([model.change(2)])
        let diff = window.takeEvent()?.diff
        #expect(diff == ResultDiff(moves: [.init(source: 1, target: 6)]))
    }

    @Test("Of several changed documents the fewest move")
    func fewestMoves() {
        var (model, window) = window(4)
        // 1 and 2 keep their order beyond 3, which changed as well: moving 3 alone does.
        for (key, value) in [(1, 31), (2, 32), (3, 5)] as [(Int64, Int)] {
            model.entries[key] = .init(sortValue: value, version: 1)
        }
        window.apply([1, 2, 3].map(model.change))
        let diff = window.takeEvent()?.diff
        #expect(diff == ResultDiff(updates: [1, 2], moves: [.init(source: 2, target: 0)]))
    }

    @Test("Commits before a delivery join, and what entered and left again is not in the event")
    func coalescing() {
        var (model, window) = window(5)
        model.entries[9] = .init(sortValue: 15, version: 1)
        window.apply([model.change(9)])
        model.entries[3] = .init(sortValue: 30, version: 2)
        window.apply([model.change(3)])
        model.entries[9] = nil
        window.apply([model.change(9)])
        let diff = window.takeEvent()?.diff
        #expect(diff == ResultDiff(updates: [2]))
        let none = window.takeEvent()
        #expect(none == nil)
    }

    @Test("A change undone before the delivery is no event where contents are compared")
    func undone() {
        var (model, window) = window(5)
        model.entries[3] = .init(sortValue: 99, version: 1)
        window.apply([model.change(3)])
        model.entries[3] = .init(sortValue: 30, version: 0)
        window.apply([model.change(3)])
        let none = window.takeEvent { $0.version == $1.version }
        #expect(none == nil)
    }

    @Test("Documents pushed over the edge of limit and offset leave and enter")
    func edges() {
        var (model, window) = window(100, limit: 3, offset: 2)
        model.entries[101] = .init(sortValue: 5, version: 1)
        window.apply([model.change(101)])
        // Visible were 3, 4, 5; now 2, 3, 4.
        let event = window.takeEvent()
        #expect(event?.diff == ResultDiff(insertions: [0], deletions: [2]))
        #expect(event?.new.map(\.key) == [2, 3, 4])
        #expect(event?.old.map(\.key) == [3, 4, 5])
    }

    @Test("Changes beyond the limit are no event", arguments: [1, 40])
    func beyond(changeCount: Int) {
        var (model, window) = window(200, limit: 5)
        let keys = (100..<(100 + changeCount)).map(Int64.init)
        for key in keys { model.entries[key] = nil }
        window.apply(keys.map(model.change))
        model.entries[20] = .init(sortValue: 200, version: 1)
        window.apply([model.change(20)])
        let none = window.takeEvent()
        #expect(none == nil)
        #expect(window.neededRefill == nil)
    }

    @Test("A drained overscan asks for the rows after its bound")
    func refill() throws {
        var (model, window) = window(100, limit: 5)
        let keys = (1...33).map(Int64.init)
        for key in keys { model.entries[key] = nil }
        window.apply(keys.map(model.change))
        let request = try #require(window.neededRefill)
        #expect(request.after == WindowModel.sortKey(370, 37, prefix: []))
        #expect(request.count == 33)
        let (rows, isComplete) = model.rows(after: request.after, count: request.count)
        let fits = window.refill(rows, for: request, isComplete: isComplete)
        #expect(fits)
        #expect(window.neededRefill == nil)
        let event = try #require(takeEvent(&window))
        #expect(event.new.map(\.key) == [34, 35, 36, 37, 38])
        let fitsAgain = window.refill(rows, for: request, isComplete: false)
        #expect(!fitsAgain, "the bound has moved")
    }

    @Test("A refill as of a later commit is right once that commit is applied")
    func laterRefill() throws {
        var (model, window) = window(100, limit: 5)
        let keys = (1...33).map(Int64.init)
        for key in keys { model.entries[key] = nil }
        window.apply(keys.map(model.change))
        let request = try #require(window.neededRefill)
        // 35 moves behind the bound, 60 before it, 39 changes: the seek sees it, the commit is applied afterwards.
        model.entries[35] = .init(sortValue: 375, version: 1)
        model.entries[60] = .init(sortValue: 345, version: 1)
        model.entries[39] = .init(sortValue: 390, version: 1)
        let (rows, isComplete) = model.rows(after: request.after, count: request.count)
        window.refill(rows, for: request, isComplete: isComplete)
        window.apply([35, 60, 39].map(model.change))
        window.checkInvariants()
        let event = try #require(takeEvent(&window))
        #expect(event.new.map(\.key) == [34, 60, 36, 37, 35])
        #expect(event.diff.applying(to: event.old.map(\.version)) { event.new[$0].version } == event.new.map(\.version))
    }

    @Test("A document that was beyond the bound and came nearer is told when a refill brings it", arguments: [0, 32])
    func nearerBeyondBound(rowsPerLookup: Int) throws {
        var (model, window) = window(100, limit: 40)
        window.rowsPerLookup = rowsPerLookup
        // Documents before all others lower the bound to 200; 90 comes to 305 unseen; then they leave.
        let new = (200..<260).map(Int64.init)
        for key in new { model.entries[key] = .init(sortValue: 1, version: 1) }
        window.apply(new.map(model.change))
        model.entries[90] = .init(sortValue: 305, version: 2)
        window.apply([model.change(90)])
        let leaving = new + (1...10).map(Int64.init)
        for key in leaving { model.entries[key] = nil }
        window.apply(leaving.map(model.change))
        while let request = window.neededRefill {
            let (rows, isComplete) = model.rows(after: request.after, count: request.count)
            window.refill(rows, for: request, isComplete: isComplete)
        }
        let event = try #require(takeEvent(&window))
        #expect(event.new.map(\.key) == model.visible.map(\.key))
        #expect(event.diff.deletions == Array(0..<10))
        #expect(event.diff.insertions == [20] + Array(31..<40))
    }

    @Test("A document dropped from the end, changed unseen and brought back by a refill is an update")
    func changedWhileDropped() throws {
        var (model, window) = window(100, limit: 40)
        window.rowsPerLookup = 0
        let new = (200..<260).map(Int64.init)
        for key in new { model.entries[key] = .init(sortValue: 1, version: 1) }
        window.apply(new.map(model.change))
        model.entries[30]?.version = 2
        window.apply([model.change(30)])
        for key in new { model.entries[key] = nil }
        window.apply(new.map(model.change))
        let request = try #require(window.neededRefill)
        let (rows, isComplete) = model.rows(after: request.after, count: request.count)
        window.refill(rows, for: request, isComplete: isComplete)
        let diff = try #require(takeEvent(&window)).diff
        #expect(diff == ResultDiff(updates: [29]))
    }

    @Test("Replacing everything tells what differs, and only that", arguments: [0, 32, 100_000])
    func replaceAll(rowsPerLookup: Int) throws {
        var (model, window) = window(300)
        window.rowsPerLookup = rowsPerLookup
        window.replaceAll(with: model.rows(after: nil, count: nil).rows, isComplete: true) { $0.version == $1.version }
        let none = window.takeEvent()
        #expect(none == nil)
        model.entries[7]?.version = 1
        model.entries[8] = nil
        model.entries[400] = .init(sortValue: 5, version: 1)
        model.entries[299] = .init(sortValue: 6, version: 1)
        window.replaceAll(with: model.rows(after: nil, count: nil).rows, isComplete: true) { $0.version == $1.version }
        let diff = try #require(takeEvent(&window)).diff
        #expect(
            diff
                == ResultDiff(insertions: [0], deletions: [7], updates: [8], moves: [.init(source: 298, target: 1)]))
    }

    @Test("A consumer that takes nothing costs no more memory than the rows, and loses nothing", arguments: [0, 32])
    func endlessChanges(rowsPerLookup: Int) throws {
        var (model, window) = window(10)
        window.rowsPerLookup = rowsPerLookup
        model.entries[5] = nil
        window.apply([model.change(5)])
        for round in 0..<400 {
            let keys = (0..<40).map { Int64(1000 + round * 40 + $0) }
            for key in keys { model.entries[key] = .init(sortValue: 1, version: round) }
            window.apply(keys.map(model.change))
            for key in keys { model.entries[key] = nil }
            window.apply(keys.map(model.change))
        }
        #expect(window.pendingCount <= 1200)
        let diff = try #require(takeEvent(&window)).diff
        #expect(diff == ResultDiff(deletions: [4]))
    }

    @Test("A snapshot stays as it was while the window goes on")
    func snapshotIsAValue() {
        var (model, window) = window(3000)
        let before = window.snapshot
        let keys = (1...3000).map(Int64.init)
        for key in keys where key % 2 == 0 { model.entries[key] = nil }
        window.apply(keys.filter { $0 % 2 == 0 }.map(model.change))
        #expect(before.map(\.key) == keys)
        #expect(window.snapshot.map(\.key) == keys.filter { $0 % 2 == 1 })
        #expect(before[2999].key == 3000)
    }
}

@Suite("Sort keys of rows")
struct WindowRowKeyTests {
    @Test("Keys compare as their bytes do, wherever they differ")
    func order() {
        var numbers = WindowNumbers(seed: 5)
        for _ in 0..<20_000 {
            let common = (0..<numbers.below(20)).map { _ in UInt8(numbers.below(2)) }
            let left = common + (0..<numbers.below(12)).map { _ in UInt8(numbers.below(3)) }
            let right = common + (0..<numbers.below(12)).map { _ in UInt8(numbers.below(3) * 127) }
            #expect((RowKey(left) < RowKey(right)) == left.lexicographicallyPrecedes(right), "\(left) \(right)")
            #expect((RowKey(left) == RowKey(right)) == (left == right), "\(left) \(right)")
        }
    }
}
