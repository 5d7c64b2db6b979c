extension DocumentState {
    /// Tells whose changes this state says it has seen although it lacks their effect: `union`, in which it was joined with
    /// another state, has entries of them that nothing here has replaced.
    ///
    /// Of what stores write themselves there is none. Vectors that were made up have such, and those of a store that has
    /// lost what others know of it.
    ///
    /// - Parameter base: what the other side was taken to hold already, so that it need not be among the entries here.
    /// - Complexity: O(n + m).
    package func actorsSeenWithoutEntries(in union: DocumentState, beyond base: VersionVector) -> Set<ActorID> {
        guard !union.hasNoEntries, !seen.isCovered(by: base) else { return [] }
        var actors: Set<ActorID> = []
        arena.withUnsafeBytes { mine in
            union.arena.withUnsafeBytes { all in
                compareAssignments(union, base, mine, all, &actors)
                compareTallies(union, base, mine, all, &actors)
            }
        }
        return actors
    }

    /// Tells whether there are entries of changes that a vector covers.
    package func hasEntries(coveredBy vector: VersionVector) -> Bool {
        assignments.contains { vector.covers($0.stamp.actor, $0.stamp.time) }
            || tallies.contains { vector.covers($0.actor, $0.time) }
    }

    /// Whether the state claims to have seen a change, which `base` does not cover, and of which no deletion took the effect.
    private func claims(_ actor: ActorID, _ time: HybridTime, _ base: VersionVector) -> Bool {
        seen.covers(actor, time) && !base.covers(actor, time) && !deleted.covers(actor, time)
    }

    private func compareAssignments(
        _ union: DocumentState, _ base: VersionVector, _ mine: UnsafeRawBufferPointer, _ all: UnsafeRawBufferPointer,
        _ actors: inout Set<ActorID>
    ) {
        var next = 0
        for entry in union.assignments where claims(entry.stamp.actor, entry.stamp.time, base) {
            // Both are sorted by path, of which each has one entry.
            while next < assignments.count, CBOR.compare(mine[assignments[next].path], all[entry.path]) < 0 {
                next += 1
            }
            if next < assignments.count, assignments[next].stamp == entry.stamp,
                CBOR.compare(mine[assignments[next].path], all[entry.path]) == 0
            {
                continue
            }
            actors.insert(entry.stamp.actor)
        }
    }

    private func compareTallies(
        _ union: DocumentState, _ base: VersionVector, _ mine: UnsafeRawBufferPointer, _ all: UnsafeRawBufferPointer,
        _ actors: inout Set<ActorID>
    ) {
        // Counters are few, and each has few of them.
        for tally in union.tallies where claims(tally.actor, tally.time, base) {
            let isHere = tallies.contains {
                $0.base == tally.base && $0.actor == tally.actor && $0.time == tally.time
                    && CBOR.compare(mine[$0.path], all[tally.path]) == 0
            }
            if !isHere { actors.insert(tally.actor) }
        }
    }
}
