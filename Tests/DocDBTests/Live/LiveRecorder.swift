import DocDB
import Foundation
import Testing

/// Keeps what an observation delivers, and checks each event against the results before it.
final class LiveRecorder: @unchecked Sendable {
    // Unchecked: everything is touched under `condition` only.
    private let condition = NSCondition()
    private var results: [String] = []
    private var eventCount = 0
    private var hasBegun = false
    private var problems: [String] = []
    private var observation: LiveObservation?

    /// The longest that a test waits for a delivery: only a broken build waits so long.
    private static let patience = 60.0

    /// Observes a query, checking each event.
    func observe(_ query: Query) throws {
        let observation = try query.observe(onError: { [weak self] in self?.note("failed: \($0)") }) {
            [weak self] documents, event in
            self?.receive(documents, event)
        }
        condition.withLock { self.observation = observation }
    }

    func cancel() { condition.withLock { observation }?.cancel() }

    private func note(_ problem: String) {
        condition.withLock {
            problems.append(problem)
            condition.broadcast()
        }
    }

    func receive(_ documents: LiveDocuments, _ event: LiveEvent) {
        let new = documents.map(Self.text)
        condition.withLock {
            if let problem = Self.problem(event, from: results, to: new, hasBegun: hasBegun) {
                problems.append(problem)
            }
            results = new
            hasBegun = true
            eventCount += 1
            condition.broadcast()
        }
    }

    static func text(_ document: Document) -> String { (try? document.json()) ?? "damaged" }

    /// What is wrong with an event; nil where all is well. Works the contract out on its own.
    private static func problem(
        _ event: LiveEvent, from old: [String], to new: [String], hasBegun: Bool
    ) -> String? {
        guard case .update(let insertions, let deletions, let updates, let moves, let oldDocuments) = event else {
            return hasBegun ? "a second initial event" : nil
        }
        guard hasBegun else { return "no initial event" }
        if oldDocuments.map(text) != old { return "the old documents are not those delivered last" }
        if old == new { return "an event without a visible change" }
        var array: [String?] = old
        for index in (deletions + moves.map(\.source)).sorted(by: >) {
            guard array.indices.contains(index) else { return "a deletion out of bounds" }
            array.remove(at: index)
        }
        for index in (insertions + moves.map(\.target)).sorted() {
            guard index <= array.count, index < new.count else { return "an insertion out of bounds" }
            array.insert(new[index], at: index)
        }
        for index in updates {
            guard array.indices.contains(index), index < new.count else { return "an update out of bounds" }
            if array[index] == new[index] { return "an update without a change" }
            array[index] = new[index]
        }
        if array != new { return "the event does not lead to the new results" }
        let applied = event.applied(to: old) { new[$0] }
        return applied == new ? nil : "applied(to:) does not lead to the new results"
    }

    /// Waits until the results are these; returns what went wrong, else nil.
    func wait(for expected: [String]) -> String? {
        condition.withLock {
            let deadline = Date(timeIntervalSinceNow: Self.patience)
            while problems.isEmpty, !hasBegun || results != expected {
                guard condition.wait(until: deadline) else { return "has \(results), not \(expected)" }
            }
            return problems.first
        }
    }

    var count: Int { condition.withLock { eventCount } }
}

/// A value that other threads set and a test waits for.
final class Awaited<T: Sendable>: @unchecked Sendable {
    // Unchecked: `values` is touched under `condition` only.
    private let condition = NSCondition()
    private var values: [T] = []

    func append(_ value: T) {
        condition.withLock {
            values.append(value)
            condition.broadcast()
        }
    }

    /// All values, once there are as many as this; fewer where they never come.
    func wait(count: Int) -> [T] {
        condition.withLock {
            let deadline = Date(timeIntervalSinceNow: 60)
            while values.count < count, condition.wait(until: deadline) {}
            return values
        }
    }

    var all: [T] { condition.withLock { values } }
}
