package import DocDBSync

/// The interests that a peer knows of, its own and others', as link state: of each origin the newest version.
///
/// A relay passes others' interests on, so that a chain works whose middle alone knows both ends. Plain unions circle in
/// a ring for ever; versions per origin, as in link-state routing (McQuillan, Richer, Rosen, "The New Routing Algorithm
/// for the ARPANET", 1980), end that: an origin's newer version replaces the older one everywhere, and an origin that is
/// not heard of for ten minutes is dropped.
package struct InterestTable {
    private struct Entry {
        var announced: AnnouncedInterest
        /// The link it came over; nil where that has closed.
        var link: UInt64?
        /// When the origin was last heard of, monotonic.
        var heard: UInt64
        /// Whether it came from the origin itself.
        var isDirect: Bool
    }

    /// A version that was dropped because its origin fell silent.
    private struct Dropped {
        var version: UInt64
        var heard: UInt64
    }

    private let ownID: [UInt8]
    private let relayLimit: Int
    private var entries: [[UInt8]: Entry] = [:]
    private var dropped: [[UInt8]: Dropped] = [:]
    package private(set) var own: AnnouncedInterest

    package init(ownID: [UInt8], relayLimit: Int, wallNanoseconds: UInt64) {
        self.ownID = ownID
        self.relayLimit = max(relayLimit, 0)
        own = AnnouncedInterest(origin: ownID, version: wallNanoseconds, hops: 0, interest: .nothing)
    }

    /// Sets what this peer itself wants; returns whether that is something else than before.
    ///
    /// Versions follow the wall clock, so that they rise over restarts too.
    package mutating func setOwn(_ interest: Interest, wallNanoseconds: UInt64) -> Bool {
        guard interest != own.interest else { return false }
        own.interest = interest
        own.version = max(own.version &+ 1, wallNanoseconds)
        return true
    }

    /// Takes all that a peer announces over a link, in place of what it announced there before; returns whether that
    /// changes what others are told.
    package mutating func receive(
        _ announced: [AnnouncedInterest], from peer: [UInt8], link: UInt64, now: UInt64
    ) -> Bool {
        guard relayLimit > 0 else { return false }
        var hasChanged = false
        var named: Set<[UInt8]> = []
        for item in announced where item.origin != ownID {
            named.insert(item.origin)
            let isDirect = item.origin == peer
            guard isDirect || item.hops <= ReplicationLimits.interestHopCount else { continue }
            if accept(item, isDirect: isDirect, link: link, now: now) { hasChanged = true }
        }
        let gone = entries.filter { $0.value.link == link && !named.contains($0.key) }.map(\.key)
        for origin in gone {
            entries[origin] = nil
            hasChanged = true
        }
        return hasChanged
    }

    private mutating func accept(_ item: AnnouncedInterest, isDirect: Bool, link: UInt64, now: UInt64) -> Bool {
        if let known = entries[item.origin] {
            // What an origin says itself counts whatever its version, as it may have lost its clock.
            let isNewer = item.version > known.announced.version
            let isCloser = item.version == known.announced.version && known.link == nil
            guard isDirect || (!known.isDirect || known.link == nil) && (isNewer || isCloser) else { return false }
            entries[item.origin] = Entry(announced: item, link: link, heard: now, isDirect: isDirect)
            return known.announced != item || known.link != link
        }
        if !isDirect, let dropped = dropped[item.origin], item.version <= dropped.version { return false }
        guard isDirect || entries.count < ReplicationLimits.presencePeerCount else { return false }
        dropped[item.origin] = nil
        entries[item.origin] = Entry(announced: item, link: link, heard: now, isDirect: isDirect)
        return true
    }

    /// Notes that an origin was heard of, by news of its presence.
    package mutating func hear(_ origin: [UInt8], now: UInt64) {
        entries[origin]?.heard = now
        dropped[origin] = nil
    }

    /// Notes that a link has closed: what came over it stays until its origin has been silent for too long.
    package mutating func removeLink(_ link: UInt64, now: UInt64) {
        let origins = entries.filter { $0.value.link == link }.map(\.key)
        for origin in origins {
            entries[origin]?.link = nil
            entries[origin]?.heard = now
        }
    }

    /// Drops origins that have been silent for too long; returns whether there were any.
    package mutating func expire(now: UInt64) -> Bool {
        let silence = ReplicationLimits.originSilenceNanoseconds
        let silent = entries.filter { entry in
            let isConnected = entry.value.isDirect && entry.value.link != nil
            return !isConnected && entry.value.heard &+ silence <= now
        }
        for (origin, entry) in silent {
            entries[origin] = nil
            dropped[origin] = Dropped(version: entry.announced.version, heard: now)
        }
        dropped = dropped.filter { $0.value.heard &+ 2 &* silence > now }
        return !silent.isEmpty
    }

    /// What a peer is told: this peer's interest, and those of others that it relays, never one to its origin or back
    /// over the link that it came from. Sorted by origin.
    package func announcement(to peer: [UInt8], link: UInt64) -> [AnnouncedInterest] {
        guard relayLimit > 0 else { return [own] }
        let relayed = entries.values.filter { entry in
            entry.announced.origin != peer && entry.link != link
                && entry.announced.hops < ReplicationLimits.interestHopCount
        }
        let sorted = relayed.map(\.announced).sorted { $0.origin.lexicographicallyPrecedes($1.origin) }
        return [own]
            + sorted.prefix(relayLimit).map { entry in
                var entry = entry
                entry.hops += 1
                return entry
            }
    }

    /// The origins whose interests are known, beside this peer.
    package var origins: [[UInt8]] { entries.keys.sorted { $0.lexicographicallyPrecedes($1) } }
}
