/// Who made a change and when, in the total order by which changes outrank each other.
///
/// A stamp flagged default ranks below every unflagged one; then the later time ranks higher, then the greater actor.
package struct Stamp: Hashable, Sendable {
    /// When the change was made; with `actor` it is the change's dot in version vectors.
    package var time: HybridTime
    package var actor: ActorID
    /// Marks a value that any real write replaces, whatever its time.
    package var isDefault: Bool

    package init(time: HybridTime, actor: ActorID, isDefault: Bool = false) {
        self.time = time
        self.actor = actor
        self.isDefault = isDefault
    }

    /// The stamp below all others, which no change has: what a counter builds on where nothing was assigned.
    package static let none = Stamp(time: .zero, actor: ActorID(high: 0, low: 0), isDefault: true)
}

extension Stamp: Comparable {
    package static func < (left: Stamp, right: Stamp) -> Bool {
        if left.isDefault != right.isDefault { return left.isDefault }
        if left.time != right.time { return left.time < right.time }
        return left.actor < right.actor
    }
}
