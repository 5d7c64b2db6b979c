/// A window that several consumers take from, each at its own pace: the rows are held once, and a commit is applied once.
///
/// What changed between two deliveries is a step. A consumer that is one step behind gets that step's event, which is
/// worked out once for all of them; one that is further behind gets the sum of the steps it missed. Steps that all have
/// taken are forgotten, and those that a slow consumer leaves behind are as well once they are many: its next event is
/// then found by comparing the results, so that it costs no more memory than its own old results.
package struct SharedResults<Reference: Sendable>: Sendable {
    /// What changed from one version of the results to the next.
    private struct Step: Sendable {
        let touched: [Int64: ResultWindow<Reference>.Touch]
        var outcome = Outcome.unknown
    }

    /// What a step means to a consumer that has missed just this one.
    private enum Outcome: Sendable {
        /// No consumer has asked yet.
        case unknown
        /// The event, nil where nothing visible changed.
        case known(ResultEvent<Reference>?)
    }

    /// What one consumer got last.
    private struct Place: Sendable {
        var version: Int
        var snapshot: ResultSnapshot<Reference>
    }

    /// Names a consumer.
    package typealias Consumer = Int

    /// The rows; what changes them is noted until a consumer takes.
    package var window: ResultWindow<Reference>
    private var places: [Consumer: Place] = [:]
    /// The steps that led to `version`, the last one at the end.
    private var steps: [Step] = []
    private var version = 0
    /// The documents that the steps name.
    private var stepDocumentCount = 0

    package init(_ window: ResultWindow<Reference>) { self.window = window }

    /// Takes what is visible now as the first delivery to a consumer.
    package mutating func takeSnapshot(for consumer: Consumer) -> ResultSnapshot<Reference> {
        advance()
        places[consumer] = Place(version: version, snapshot: window.delivered)
        return window.delivered
    }

    /// Takes one event with all that changed visibly since the last delivery to a consumer; nil where nothing did, or where
    /// there was no first one.
    ///
    /// - Complexity: as of `ResultWindow.takeEvent`; O(1) where another consumer has taken the same event.
    package mutating func takeEvent(
        for consumer: Consumer, isSame: @escaping (Reference, Reference) -> Bool
    ) -> ResultEvent<Reference>? {
        // Alone, and with all that was delivered, it needs no steps.
        if places.count == 1, let place = places[consumer], place.version == version {
            let event = window.takeEvent(isSame: isSame)
            places[consumer] = Place(version: version, snapshot: window.delivered)
            return event
        }
        advance()
        guard let place = places[consumer], place.version < version else { return nil }
        places[consumer] = Place(version: version, snapshot: window.delivered)
        defer { forgetTakenSteps() }
        let missed = version - place.version
        if missed == 1, case .known(let event)? = steps.last?.outcome { return event }
        let diff = DiffBuilder(old: place.snapshot, new: window.delivered, rowsPerLookup: window.rowsPerLookup)
            .build(touched: touched(inLast: missed), heldRows: window.heldRows, isSame: isSame)
        let event = diff.isEmpty ? nil : ResultEvent(old: place.snapshot, new: window.delivered, diff: diff)
        if missed == 1, places.count > 1, let last = steps.indices.last { steps[last].outcome = .known(event) }
        return event
    }

    /// Forgets a consumer.
    package mutating func remove(_ consumer: Consumer) {
        places[consumer] = nil
        forgetTakenSteps()
    }

    /// Tells whether a consumer has something to take; where that is nothing visible, `takeEvent` gives nil.
    package func hasPending(for consumer: Consumer) -> Bool {
        window.pendingCount > 0 || places[consumer].map { $0.version < version } ?? true
    }

    /// The documents noted for consumers that have not taken what others have.
    package var noteCount: Int { stepDocumentCount }

    /// Makes a step of what changed since the last one.
    private mutating func advance() {
        guard window.pendingCount > 0 else {
            if places.isEmpty { _ = window.takeSnapshot() }
            return
        }
        let touched = window.takeTouched()
        version += 1
        guard !places.isEmpty else { return }
        steps.append(Step(touched: touched))
        stepDocumentCount += touched.count
        let most = 2 * window.heldCount + WindowLimits.leastTouchedBeforePruning
        while steps.count > 1, stepDocumentCount > most { forgetFirstStep() }
    }

    private mutating func forgetTakenSteps() {
        let least = places.values.reduce(version) { min($0, $1.version) }
        while steps.count > version - least { forgetFirstStep() }
    }

    private mutating func forgetFirstStep() { stepDocumentCount -= steps.removeFirst().touched.count }

    /// What happened in the last steps together; nil where some of them are forgotten.
    private func touched(inLast count: Int) -> [Int64: ResultWindow<Reference>.Touch]? {
        guard count <= steps.count else { return nil }
        let missed = steps.suffix(count)
        guard var sum = missed.first?.touched else { return nil }
        for step in missed.dropFirst() {
            // Where a document stood is what the first step says; whether it changed, any of them.
            sum.merge(step.touched) { first, later in
                ResultWindow.Touch(deliveredRow: first.deliveredRow, isChanged: first.isChanged || later.isChanged)
            }
        }
        guard count > 1 else { return sum }
        // What one step dropped from the end of the window the next ones do not follow: not held now, it may have changed.
        for index in sum.indices where !sum.values[index].isChanged && window.heldRows[sum.keys[index]] == nil {
            sum.values[index].isChanged = true
        }
        return sum
    }
}
