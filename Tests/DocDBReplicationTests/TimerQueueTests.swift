import DocDBReplication
import Testing

@Suite("The queue of timers") struct TimerQueueTests {
    @Test("hands out work by time, then by the order in which it was set", arguments: 0..<20)
    func random(_ seed: Int) {
        var random = SeededNumbers(seed: UInt64(seed))
        var queue = TimerQueue()
        // What stands under each key: deadline, order, and the mark that its work leaves.
        var model: [UInt64: (deadline: UInt64, order: Int, mark: Int)] = [:]
        let marks = Marks()
        for step in 0..<2_000 {
            let key = UInt64(random.next(below: 40))
            switch random.next(below: 10) {
            case 0..<5:
                let deadline = UInt64(random.next(below: 1_000))
                queue.set(key: key, deadline: deadline) { marks.add(step) }
                model[key] = (deadline, step, step)
            case 5..<7:
                queue.cancel(key: key)
                model[key] = nil
            default:
                let now = UInt64(random.next(below: 1_000))
                let due = model.filter { $0.value.deadline <= now }
                    .min { ($0.value.deadline, $0.value.order) < ($1.value.deadline, $1.value.order) }
                queue.takeDue(now: now)?()
                #expect(marks.take() == due.map { [$0.value.mark] } ?? [], "seed \(seed), step \(step)")
                if let due { model[due.key] = nil }
            }
            #expect(queue.count == model.count)
            check(queue.nextDeadline() == model.values.map(\.deadline).min(), "seed \(seed), step \(step)")
        }
    }

    private final class Marks: @unchecked Sendable {
        // Unchecked: of one thread.
        private var marks: [Int] = []
        func add(_ mark: Int) { marks.append(mark) }
        func take() -> [Int] {
            defer { marks = [] }
            return marks
        }
    }
}
