extension DocumentState {
    /// The newest time in the state: of its entries, and of what it has seen and deleted.
    ///
    /// - Complexity: O(n).
    package var newestTime: HybridTime {
        var newest = HybridTime.zero
        for entry in assignments { newest = max(newest, entry.stamp.time) }
        for tally in tallies { newest = max(newest, tally.time, tally.base.time) }
        for entry in unknowns { newest = max(newest, entry.time, entry.base.time) }
        for element in seen.elements { newest = max(newest, element.time) }
        for element in deleted.elements { newest = max(newest, element.time) }
        return newest
    }

    /// Tells whether an entry has another payload under the stamp that it has in an older state: two came under one stamp,
    /// and no vector tells that the one here is the later.
    ///
    /// - Complexity: O(n + m).
    package func rewrites(_ old: DocumentState) -> Bool {
        arena.withUnsafeBytes { mine in
            old.arena.withUnsafeBytes { theirs in
                Self.differs(assignments, old.assignments) {
                    CBOR.compare(mine[$0.path], theirs[$1.path])
                } isRewritten: {
                    $0.stamp == $1.stamp
                        && ($0.kind != $1.kind || CBOR.compare(mine[$0.payload], theirs[$1.payload]) != 0)
                }
                    || Self.differs(tallies, old.tallies) { left, right in
                        let order = CBOR.compare(mine[left.path], theirs[right.path])
                        if order != 0 { return order }
                        if left.base != right.base { return left.base < right.base ? -1 : 1 }
                        return left.actor == right.actor ? 0 : left.actor < right.actor ? -1 : 1
                    } isRewritten: {
                        $0.time == $1.time && !$0.sum.isIdentical(to: $1.sum)
                    }
            }
        }
    }

    /// Walks two sorted runs, and tells whether two entries of one key differ.
    private static func differs<Entry>(
        _ left: [Entry], _ right: [Entry], compare: (Entry, Entry) -> Int, isRewritten: (Entry, Entry) -> Bool
    ) -> Bool {
        var (i, j) = (0, 0)
        while i < left.count, j < right.count {
            let order = compare(left[i], right[j])
            if order == 0 {
                if isRewritten(left[i], right[j]) { return true }
                (i, j) = (i + 1, j + 1)
            } else if order < 0 {
                i += 1
            } else {
                j += 1
            }
        }
        return false
    }

    /// Tells whether another state has the same entries and vectors, byte for byte; names are of one table in both.
    ///
    /// - Complexity: O(n).
    package func isSame(as other: DocumentState) -> Bool {
        guard seen == other.seen, deleted == other.deleted, assignments.count == other.assignments.count,
            tallies.count == other.tallies.count, unknowns.count == other.unknowns.count
        else { return false }
        return arena.withUnsafeBytes { mine in
            other.arena.withUnsafeBytes { theirs in
                zip(assignments, other.assignments).allSatisfy {
                    $0.stamp == $1.stamp && $0.kind == $1.kind
                        && CBOR.compare(mine[$0.path], theirs[$1.path]) == 0
                        && CBOR.compare(mine[$0.payload], theirs[$1.payload]) == 0
                }
                    && zip(tallies, other.tallies).allSatisfy {
                        $0.base == $1.base && $0.actor == $1.actor && $0.time == $1.time
                            && $0.sum.isIdentical(to: $1.sum)
                            && CBOR.compare(mine[$0.path], theirs[$1.path]) == 0
                    }
                    && zip(unknowns, other.unknowns).allSatisfy {
                        $0.kind == $1.kind && $0.base == $1.base && $0.actor == $1.actor && $0.time == $1.time
                            && CBOR.compare(mine[$0.path], theirs[$1.path]) == 0
                            && CBOR.compare(mine[$0.key], theirs[$1.key]) == 0
                            && CBOR.compare(mine[$0.payload], theirs[$1.payload]) == 0
                    }
            }
        }
    }
    /// Tells whether this state, which came of a merge, has but seen more of what was deleted before than the state before it.
    ///
    /// Who held the document while it was dead has forgotten what it had seen before; who held it alive all the time has not.
    package func differsInForgottenOnly(from old: DocumentState) -> Bool {
        guard deleted == old.deleted,
            seen.elements.allSatisfy({ $0.time <= max(old.seen[$0.actor], deleted[$0.actor]) })
        else { return false }
        var old = old
        old.seen = seen
        return isSame(as: old)
    }
}
