/// When an app is reminded of a grant that runs out: at half of its validity, then whenever a tenth of what remained has
/// passed, at most once a second, and at its end. All times in nanoseconds since 1970.
package struct AuthenticationSchedule: Equatable {
    package let expires: UInt64
    private var nextNotice: UInt64

    package enum Step: Equatable {
        case wait(until: UInt64)
        case remind(secondsRemaining: Int)
        case expire
    }

    package init(issued: UInt64, expires: UInt64) {
        self.expires = expires
        nextNotice = issued < expires ? issued + (expires - issued) / 2 : expires
    }

    /// What is due; a reminder is due once.
    package mutating func step(now: UInt64) -> Step {
        guard now < expires else { return .expire }
        guard now >= nextNotice else { return .wait(until: min(nextNotice, expires)) }
        let remaining = expires - now
        nextNotice = now + max(remaining / 10, 1_000_000_000)
        return .remind(secondsRemaining: Int((remaining + 999_999_999) / 1_000_000_000))
    }

    /// Puts off the next reminder, after a login that failed.
    package mutating func putOff(until time: UInt64) { nextNotice = max(nextNotice, time) }
}
