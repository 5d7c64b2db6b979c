extension DocumentState {
    /// What a path shows.
    enum VisibleValue {
        /// The encoded scalar or array of an assignment.
        case payload(Slice)
        /// An object; as a leaf, one without members.
        case map
        /// A number that tallies contribute to.
        case sum(Number)
    }

    /// One leaf of the visible document.
    struct VisibleLeaf {
        var path: Slice
        /// The index of the path's assignment, or -1 where it has none.
        var assignment: Int
        var value: VisibleValue

        /// Tells whether the leaf shows its assignment as it is.
        var isPlain: Bool { if case .sum = value { false } else { true } }
    }

    /// The leaves of the visible document in path order, whether it is alive or not.
    ///
    /// An entry is a leaf if it shows something and nothing beneath it does. The root is always an object, never a leaf.
    struct VisibleLeaves {
        private let arena: UnsafeRawBufferPointer
        private var nextAssignment = 0
        private var nextTally = 0
        private var pending: VisibleLeaf?

        init(_ arena: UnsafeRawBufferPointer) { self.arena = arena }

        @inline(__always)
        mutating func next(in state: borrowing DocumentState) -> VisibleLeaf? {
            while let node = nextShown(in: state) {
                guard node.path.count > 0 else { continue }
                guard let candidate = pending else {
                    pending = node
                    continue
                }
                pending = node
                if !arena[node.path].hasPrefix(arena[candidate.path]) { return candidate }
            }
            defer { pending = nil }
            return pending
        }

        /// The next path in order at which something is shown, not regarding what lies beneath it.
        @inline(__always)
        private mutating func nextShown(in state: borrowing DocumentState) -> VisibleLeaf? {
            while nextTally == state.tallies.count {
                guard nextAssignment < state.assignments.count else { return nil }
                let index = nextAssignment
                nextAssignment += 1
                let path = state.assignments[index].path
                switch state.assignments[index].kind {
                case .value:
                    return VisibleLeaf(path: path, assignment: index, value: .payload(state.assignments[index].payload))
                case .map: return VisibleLeaf(path: path, assignment: index, value: .map)
                case .absent: continue
                }
            }
            return nextShownAmongTallies(in: state)
        }

        @inline(never)
        private mutating func nextShownAmongTallies(in state: borrowing DocumentState) -> VisibleLeaf? {
            while nextTally < state.tallies.count || nextAssignment < state.assignments.count {
                var order = nextTally < state.tallies.count ? 1 : -1
                if order > 0, nextAssignment < state.assignments.count {
                    order = CBOR.compare(
                        arena[state.assignments[nextAssignment].path], arena[state.tallies[nextTally].path])
                }
                let path = order <= 0 ? state.assignments[nextAssignment].path : state.tallies[nextTally].path
                let assignment = order <= 0 ? nextAssignment : -1
                if order <= 0 { nextAssignment += 1 }
                let firstTally = nextTally
                if order >= 0 {
                    while nextTally < state.tallies.count,
                        CBOR.compare(arena[state.tallies[nextTally].path], arena[path]) == 0
                    { nextTally += 1 }
                }
                let value = state.ownValue(
                    at: path, assignment: assignment, tallies: firstTally..<nextTally, arena)
                if let value { return VisibleLeaf(path: path, assignment: assignment, value: value) }
            }
            return nil
        }
    }

    /// What the entries at just one path show: the assignment plus the tallies on its base, or nil for nothing.
    func ownValue(
        at path: Slice, assignment: Int, tallies range: Range<Int>, _ arena: UnsafeRawBufferPointer
    ) -> VisibleValue? {
        var sum = NumberSum()
        var hasTallies = false
        if !range.isEmpty {
            let base = newestStamp(atOrAbove: arena[path], arena)
            for tally in tallies[range] where tally.base == base {
                sum.add(tally.sum)
                hasTallies = true
            }
        }
        guard assignment >= 0 else { return hasTallies ? .sum(sum.result) : nil }
        let entry = assignments[assignment]
        switch entry.kind {
        case .value:
            guard hasTallies, let number = Number(cbor: arena[entry.payload]) else { return .payload(entry.payload) }
            sum.add(number)
            return .sum(sum.result)
        case .map: return hasTallies ? .sum(sum.result) : .map
        case .absent: return hasTallies ? .sum(sum.result) : nil
        }
    }

    /// What the document shows at a path, or nil where the field is missing.
    func visibleValue(at path: Slice, _ arena: UnsafeRawBufferPointer) -> VisibleValue? {
        guard isAlive else { return nil }
        if path.count == 0 { return .map }
        let bytes = arena[path]
        let entries = Self.subtree(of: bytes, in: assignments, arena)
        let counters = Self.subtree(of: bytes, in: tallies, arena)
        var index = entries.lowerBound
        let own = index < entries.upperBound && assignments[index].path.count == path.count ? index : -1
        if own >= 0 { index += 1 }
        var tallyEnd = counters.lowerBound
        while tallyEnd < counters.upperBound, tallies[tallyEnd].path.count == path.count { tallyEnd += 1 }
        if assignments[index..<entries.upperBound].contains(where: { $0.kind != .absent }) { return .map }
        var next = tallyEnd
        while next < counters.upperBound {
            var end = next
            while end < counters.upperBound,
                CBOR.compare(arena[tallies[end].path], arena[tallies[next].path]) == 0
            { end += 1 }
            let absent = assignmentIndex(of: arena[tallies[next].path], arena) ?? -1
            if ownValue(at: tallies[next].path, assignment: absent, tallies: next..<end, arena) != nil { return .map }
            next = end
        }
        return ownValue(at: path, assignment: own, tallies: counters.lowerBound..<tallyEnd, arena)
    }
}
