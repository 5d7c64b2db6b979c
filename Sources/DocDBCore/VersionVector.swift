/// A version vector: per actor the newest time that is covered.
///
/// Kept sorted by actor; an actor that is absent stands at time zero. Source: Parker et al., "Detection of Mutual
/// Inconsistency in Distributed Systems" (1983).
public struct VersionVector: Hashable, Sendable {
    /// One actor's newest covered time.
    public struct Element: Hashable, Sendable {
        /// The actor.
        public var actor: ActorID
        /// The newest time of that actor that is covered.
        public var time: HybridTime

        package init(actor: ActorID, time: HybridTime) {
            self.actor = actor
            self.time = time
        }
    }

    /// The elements, sorted by actor, no actor twice, no time zero.
    public private(set) var elements: [Element]

    /// Creates the empty vector, which covers nothing.
    public init() { elements = [] }

    package init(actor: ActorID, time: HybridTime) {
        elements = time == .zero ? [] : [Element(actor: actor, time: time)]
    }

    /// Tells whether the vector covers nothing.
    public var isEmpty: Bool { elements.isEmpty }

    /// The newest covered time of an actor, zero where there is none.
    ///
    /// - Complexity: O(log n) in the number of actors.
    public subscript(actor: ActorID) -> HybridTime {
        let index = lowerBound(of: actor)
        return index < elements.count && elements[index].actor == actor ? elements[index].time : .zero
    }

    private func lowerBound(of actor: ActorID) -> Int {
        if elements.count <= 1 { return elements.isEmpty || elements[0].actor >= actor ? 0 : 1 }
        var low = 0
        var high = elements.count
        while low < high {
            let middle = (low + high) / 2
            if elements[middle].actor < actor { low = middle + 1 } else { high = middle }
        }
        return low
    }

    /// Raises an actor's time to at least `time`.
    package mutating func advance(_ actor: ActorID, to time: HybridTime) {
        let index = lowerBound(of: actor)
        if index < elements.count, elements[index].actor == actor {
            if elements[index].time < time { elements[index].time = time }
        } else if time > .zero {
            elements.insert(Element(actor: actor, time: time), at: index)
        }
    }

    /// Sets an actor's time to exactly `time`, also backwards; zero removes the actor.
    package mutating func set(_ actor: ActorID, to time: HybridTime) {
        let index = lowerBound(of: actor)
        let isPresent = index < elements.count && elements[index].actor == actor
        switch (isPresent, time == .zero) {
        case (true, true): elements.remove(at: index)
        case (true, false): elements[index].time = time
        case (false, false): elements.insert(Element(actor: actor, time: time), at: index)
        case (false, true): break
        }
    }

    /// Joins another vector: the pointwise maximum.
    ///
    /// - Complexity: O(n + m).
    package mutating func join(_ other: VersionVector) {
        if other.elements.isEmpty { return }
        if elements.isEmpty { elements = other.elements; return }
        for element in other.elements { advance(element.actor, to: element.time) }
    }

    /// Tells whether `other` covers all that this vector covers.
    package func isCovered(by other: VersionVector) -> Bool {
        elements.allSatisfy { other[$0.actor] >= $0.time }
    }

    /// Tells whether the vector covers the dot (`actor`, `time`).
    package func covers(_ actor: ActorID, _ time: HybridTime) -> Bool { self[actor] >= time }
}
