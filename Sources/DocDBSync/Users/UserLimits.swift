/// What one user may take of a peer that takes changes, over all devices together.
///
/// Where one is reached nothing is lost: sessions are refused, frames wait, and changes stay at their author, marked as
/// refused, and are offered again with the next session. Hubs and peers of full trust have none, as they bring what others wrote.
package struct UserLimits: Hashable, Sendable {
    /// Sessions with different stores at once.
    package var sessionCount = 1_024
    /// Predicates that the sessions ask by.
    package var predicateCount = 16_384
    /// Bytes a second that are taken from the devices, and as many that documents go to them with; a second's worth at once.
    package var bytesPerSecond = 32 * 1024 * 1024
    /// Actors that the devices bring into the store's table, for ever.
    package var actorCount = 65_536
    /// Deltas that wait because of their times.
    package var quarantineCount = 1_024
    /// The bytes of these.
    package var quarantineByteCount = 64 * 1024 * 1024
    /// Field names that the devices bring into the store's table, for ever.
    package var fieldNameCount = 2_048

    package init() {}
}

/// One of the limits of a user.
package enum UserLimit: String, CaseIterable, Sendable {
    case sessions, predicates, bytesPerSecond, actors, quarantined, fieldNames

    /// What has happened and what helps, for people.
    package var message: String {
        switch self {
        case .sessions:
            "the user has as many sessions as one may; close some devices, or raise 'sessions' in the hub's limits"
        case .predicates:
            "the user's devices subscribe by more predicates than one user may; cancel some, or raise 'predicates' in the "
                + "hub's limits"
        case .bytesPerSecond: "the user's devices send or receive faster than one user may; they wait"
        case .actors:
            "the user's devices have brought as many writers as one user may; raise 'actors' in the hub's limits"
        case .quarantined:
            "as many changes of the user wait because of their times as may; set the clocks of the devices, or raise "
                + "'quarantined' and 'quarantinedBytes' in the hub's limits"
        case .fieldNames:
            "the user's devices have brought as many field names as one user may; keep values out of field names, or raise "
                + "'fieldNames' in the hub's limits"
        }
    }
}

/// What a user has brought into the tables of a store that only grow.
package struct UserUsage: Hashable, Sendable {
    package var actorCount: Int
    package var fieldNameCount: Int

    package init(actorCount: Int = 0, fieldNameCount: Int = 0) {
        self.actorCount = actorCount
        self.fieldNameCount = fieldNameCount
    }
}
