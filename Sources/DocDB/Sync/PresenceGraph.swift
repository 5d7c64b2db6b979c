import DocDBCore
import DocDBReplication

/// Who is connected to whom, as far as a database hears of it: ``DatabaseSync/presence``.
///
/// It holds this database and the peers that are connected to it, directly or by others. Databases with more than 64
/// connections tell of themselves alone.
public struct PresenceGraph: Hashable, Sendable {
    /// One peer of the graph.
    public struct Peer: Hashable, Sendable {
        /// The peer's database.
        public let id: PeerID
        /// What the peer calls itself.
        public let name: String
        /// The operating system of the peer.
        public let operatingSystem: String
        /// The software of the peer, with its version.
        public let softwareVersion: String
        /// Whether the peer is a keeper.
        public let isKeeper: Bool
        /// Whether the peer is this database.
        public let isSelf: Bool
    }

    /// A connection between two peers, which is listed once.
    public struct Connection: Hashable, Sendable {
        /// The peer with the smaller id.
        public let first: PeerID
        /// The peer with the greater id.
        public let second: PeerID
        /// How the two are connected.
        public let kind: ConnectionKind
        /// Since when, by the clock of the one that tells it.
        public let since: HybridTime
    }

    /// The peers, by id.
    public let peers: [Peer]
    /// The connections, by the ids of both ends.
    public let connections: [Connection]

    init(_ records: [PresenceRecord], own: [UInt8]) {
        peers = records.map { record in
            Peer(
                id: PeerID(record.peer), name: record.name, operatingSystem: record.operatingSystem,
                softwareVersion: record.softwareVersion, isKeeper: record.isKeeper, isSelf: record.peer == own)
        }
        let known = Set(peers.map(\.id))
        var connections: [Connection] = []
        var seen: Set<[PeerID]> = []
        for record in records {
            for neighbour in record.neighbours {
                let ends = [PeerID(record.peer), PeerID(neighbour.peer)].sorted()
                guard known.isSuperset(of: ends), seen.insert(ends).inserted else { continue }
                connections.append(
                    Connection(
                        first: ends[0], second: ends[1], kind: ConnectionKind(neighbour.kind),
                        since: HybridTime(nanosecondsSince1970: neighbour.sinceNanoseconds)))
            }
        }
        self.connections = connections.sorted { ($0.first, $0.second) < ($1.first, $1.second) }
    }
}
