/// What a peer knows of the presence of others: of each the newest record, flooded from neighbour to neighbour.
package struct PresenceTable {
    private struct Entry {
        var record: PresenceRecord
        /// The link that it came over.
        var link: UInt64
        var heard: UInt64
    }

    package private(set) var own: PresenceRecord
    private var entries: [[UInt8]: Entry] = [:]
    /// What each link's peer was told: sequence numbers by peer.
    private var told: [UInt64: [[UInt8]: UInt64]] = [:]

    package init(own: PresenceRecord) { self.own = own }

    /// Sets this peer's own links; returns whether they are others than before.
    package mutating func setNeighbours(_ neighbours: [PresenceRecord.Neighbour], wallNanoseconds: UInt64) -> Bool {
        let isTold = neighbours.count <= ReplicationLimits.presenceNeighbourCount
        let sorted = isTold ? neighbours.sorted { $0.peer.lexicographicallyPrecedes($1.peer) } : []
        guard sorted != own.neighbours else { return false }
        own.neighbours = sorted
        beat(wallNanoseconds: wallNanoseconds)
        return true
    }

    /// Makes this peer's record a new one, so that others hear that it is still there.
    package mutating func beat(wallNanoseconds: UInt64) { own.sequence = max(own.sequence &+ 1, wallNanoseconds) }

    /// Takes news that came over a link; returns the peers that were heard of anew.
    package mutating func receive(_ records: [PresenceRecord], link: UInt64, now: UInt64) -> [[UInt8]] {
        var heard: [[UInt8]] = []
        for record in records {
            if record.peer == own.peer {
                // An older life of this peer is still going round: what it says now must be newer.
                if record.sequence >= own.sequence, record.sequence < .max { own.sequence = record.sequence + 1 }
                continue
            }
            if let known = entries[record.peer] {
                told[link, default: [:]][record.peer] = record.sequence
                guard record.sequence > known.record.sequence else { continue }
            } else if entries.count >= ReplicationLimits.presencePeerCount {
                // Nothing is noted of whom there is no room for.
                continue
            }
            told[link, default: [:]][record.peer] = record.sequence
            entries[record.peer] = Entry(record: record, link: link, heard: now)
            heard.append(record.peer)
        }
        return heard
    }

    /// Takes what a hello tells of the peer at the other end of a link, until the peer's own news come: a record whose
    /// number is zero, which is older than any news and is not told to others.
    package mutating func meet(_ record: PresenceRecord, link: UInt64, now: UInt64) {
        guard record.peer != own.peer, entries[record.peer] == nil,
            entries.count < ReplicationLimits.presencePeerCount
        else { return }
        var record = record
        record.sequence = 0
        entries[record.peer] = Entry(record: record, link: link, heard: now)
    }

    /// Forgets what a link's peer was told.
    package mutating func removeLink(_ link: UInt64) { told[link] = nil }

    /// How many facts are noted of what peers were told.
    package var noteCount: Int { told.values.reduce(0) { $0 + $1.count } }

    /// Forgets peers of which nothing was heard for too long; returns whether there were any.
    package mutating func expire(now: UInt64) -> Bool {
        let before = entries.count
        entries = entries.filter { $0.value.heard &+ ReplicationLimits.originSilenceNanoseconds > now }
        guard entries.count != before else { return false }
        for link in told.keys { told[link] = told[link]?.filter { $0.key == own.peer || entries[$0.key] != nil } }
        return true
    }

    /// What a link's peer has not been told yet, sorted by peer; notes that it is told now.
    ///
    /// A peer with many links tells of itself alone: what it forwarded would grow with their square.
    package mutating func takeNews(link: UInt64, peer: [UInt8], linkCount: Int) -> [PresenceRecord] {
        var known = told[link] ?? [:]
        var news: [PresenceRecord] = []
        if known[own.peer].map({ $0 < own.sequence }) ?? true { news.append(own) }
        if linkCount <= ReplicationLimits.presenceNeighbourCount {
            for entry in entries.values
            where entry.record.peer != peer && entry.link != link && entry.record.sequence > 0 {
                if known[entry.record.peer].map({ $0 < entry.record.sequence }) ?? true { news.append(entry.record) }
            }
        }
        for record in news { known[record.peer] = record.sequence }
        told[link] = known
        return news.sorted { $0.peer.lexicographicallyPrecedes($1.peer) }
    }

    /// The records of this peer and of those that are connected to it, directly or by others; sorted by peer.
    package func reachable() -> [PresenceRecord] {
        var found: [[UInt8]: PresenceRecord] = [own.peer: own]
        var waiting = [own]
        while let record = waiting.popLast() {
            for neighbour in record.neighbours where found[neighbour.peer] == nil {
                guard let next = entries[neighbour.peer]?.record else { continue }
                found[neighbour.peer] = next
                waiting.append(next)
            }
        }
        return found.values.sorted { $0.peer.lexicographicallyPrecedes($1.peer) }
    }
}
