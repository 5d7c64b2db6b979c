package import DocDBCore
import DocDBStorage

extension StoreReplicaReader {
    package func peer(storeID: [UInt8]) throws -> PeerRecord? {
        try willReadPeers()
        let rows = try statements[.peer]
        rows.bind(1, copying: storeID)
        defer { rows.reset() }
        return try rows.step() ? PeerRecord(rows) : nil
    }

    package func peers() throws -> [PeerRecord] {
        try willReadPeers()
        let rows = try statements[.peers]
        defer { rows.reset() }
        var peers: [PeerRecord] = []
        while try rows.step() { peers.append(try PeerRecord(rows)) }
        return peers
    }

    package func told(peer: Int64, _ reference: DocumentReference) throws -> StateDigest? {
        let rows = try statements[.told]
        rows.bind(1, peer)
        rows.bind(2, reference)
        defer { rows.reset() }
        return try rows.step() ? rows.digest(0) : nil
    }

    package func forEachTold(peer: Int64, _ body: (DocumentReference, StateDigest) throws -> Void) throws {
        let rows = try context.connection.prepareOnce(
            "SELECT collection, key, digest FROM told WHERE peer = ? ORDER BY collection, key")
        rows.bind(1, peer)
        defer { rows.reset() }
        while try rows.step() { try body(rows.reference(0), try rows.digest(2)) }
    }

    package func apart(peer: Int64, side: ApartDocument.Side) throws -> [ApartDocument] {
        let rows = try statements[.apart]
        rows.bind(1, peer)
        rows.bind(2, side.rawValue)
        defer { rows.reset() }
        var documents: [ApartDocument] = []
        while try rows.step() { documents.append(try ApartDocument(rows)) }
        return documents
    }

    package func apart(
        peer: Int64, side: ApartDocument.Side, _ reference: DocumentReference
    ) throws -> ApartDocument? {
        let rows = try statements[.apartOne]
        rows.bind(1, peer)
        rows.bind(2, side.rawValue)
        rows.bind(3, reference)
        defer { rows.reset() }
        return try rows.step() ? ApartDocument(rows) : nil
    }

    package func quarantine(peer: Int64?) throws -> [QuarantinedDelta] {
        let rows = try statements[peer == nil ? .quarantine : .quarantineOfPeer]
        if let peer { rows.bind(1, peer) }
        defer { rows.reset() }
        var deltas: [QuarantinedDelta] = []
        while try rows.step() { deltas.append(QuarantinedDelta(rows)) }
        return deltas
    }

    package func isEvicted(_ reference: DocumentReference) throws -> Bool {
        let rows = try statements[.isEvicted]
        rows.bind(1, reference)
        defer { rows.reset() }
        return try rows.step()
    }

    package func evicted(limit: Int) throws -> [(DocumentReference, id: [UInt8])] {
        let rows = try statements[.evicted]
        rows.bind(1, Int64(max(0, limit)))
        defer { rows.reset() }
        var documents: [(DocumentReference, id: [UInt8])] = []
        while try rows.step() { documents.append((rows.reference(0), rows.id(2))) }
        return documents
    }

    package func deferredEvictions() throws -> [DocumentReference] {
        let rows = try statements[.deferred]
        defer { rows.reset() }
        var documents: [DocumentReference] = []
        while try rows.step() { documents.append(rows.reference(0)) }
        return documents
    }
}

// MARK: Rows

extension SQLiteStatement {
    /// Binds a document's collection and key to two parameters.
    func bind(_ parameter: Int32, _ reference: DocumentReference) {
        bind(parameter, reference.collection)
        bind(parameter + 1, reference.key)
    }

    /// The document that two columns name by collection and key.
    func reference(_ column: Int32) -> DocumentReference {
        DocumentReference(collection: int(column), key: int(column + 1))
    }

    func bytes(_ column: Int32) -> [UInt8] { [UInt8](blob(column)) }

    /// The unsigned number that an integer column holds the bits of.
    func bits(_ column: Int32) -> UInt64 { UInt64(bitPattern: int(column)) }

    func digest(_ column: Int32) throws(DocDBError) -> StateDigest {
        guard let digest = StateDigest(bytes: blob(column)) else {
            throw DocDBError(
                .corrupted, "what is known of a peer is damaged; run 'docdb-inspect verify', restore a backup")
        }
        return digest
    }

    func sum(_ column: Int32) throws(DocDBError) -> DigestSum {
        let digest = try digest(column)
        return DigestSum(high: digest.high, low: digest.low)
    }
}

extension DigestSum {
    /// The 16 bytes of the sum, big-endian.
    var bytes: [UInt8] { StateDigest(high: high, low: low).bytes }
}

extension PeerRecord {
    /// Reads a row of `ReplicaStatements.Query.peer` or `peers`.
    fileprivate init(_ row: SQLiteStatement) throws(DocDBError) {
        self.init(storeID: row.bytes(1))
        number = row.int(0)
        name = row.text(2)
        isKeeper = row.int(3) != 0
        lastSeenNanoseconds = row.bits(4)
        if !row.isNull(5) {
            cursor = Cursor(
                incarnation: row.bytes(5), sequence: row.int(6), interestHash: try row.digest(7), epoch: row.bits(8))
        }
        toldCount = row.int(9)
        toldSum = try row.sum(10)
        currentCount = row.int(11)
        currentSum = try row.sum(12)
        acknowledgedSequence = row.int(13)
        if !row.isNull(14) { interest = Interest(try StoredInterest(bytes: row.blob(14))) }
        epoch = row.bits(15)
    }
}

extension Interest {
    init(_ stored: StoredInterest) {
        switch stored {
        case .everything: self = .everything
        case .collections(let elements):
            self = .collections(
                elements.map { Element(collection: $0.collection, predicate: $0.predicate) })
        }
    }

    var stored: StoredInterest {
        switch self {
        case .everything: .everything
        case .collections(let elements): .collections(elements.map { ($0.collection, $0.predicate) })
        }
    }
}

extension ApartDocument {
    /// Reads a row of `ReplicaStatements.Query.apart` or `apartOne`.
    fileprivate init(_ row: SQLiteStatement) throws(DocDBError) {
        guard let side = Side(rawValue: row.int(1)) else {
            throw DocDBError(
                .corrupted, "what is known of a peer is damaged; run 'docdb-inspect verify', restore a backup")
        }
        self.init(
            peer: row.int(0), side: side, reference: row.reference(2), code: RefusalCode(rawValue: row.bits(4)),
            epoch: row.bits(5), reason: row.text(6))
    }
}

extension QuarantinedDelta {
    /// Reads a row of `ReplicaStatements.Query.quarantine` or one of its relatives.
    init(_ row: SQLiteStatement) {
        self.init(
            peer: row.int(0), reference: row.reference(1), newestTime: HybridTime(rawValue: row.bits(3)),
            bytes: row.bytes(4))
    }
}
