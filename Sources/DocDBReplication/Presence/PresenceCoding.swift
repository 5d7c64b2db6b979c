import DocDBCore

/// The bytes of news of presence: a CBOR array of records, each an array.
///
/// ```text
/// news      = [* record]
/// record    = [peer, sequence: uint, name: text, system: text, software: text, keeper: bool, [* neighbour]]
/// neighbour = [peer, kind: uint, since: uint]
/// peer      = bytes .size 16 / bytes .size 0
/// ```
///
/// What both sides of a link know is empty: the ids of the two stores, the sender's as a record's peer and the receiver's
/// as a neighbour, and the texts of the sender's own record, which its hello has told.
package enum PresenceCoding {
    /// Why bytes of presence were not taken.
    package struct Malformed: Error {}

    /// Encodes records for a link between two stores, where they are named.
    package static func encode(
        _ records: [PresenceRecord], from sender: [UInt8]? = nil, to receiver: [UInt8]? = nil
    ) -> [UInt8] {
        var buffer = ByteBuffer(capacity: 64 + records.count * 96)
        buffer.appendCBORHead(major: CBOR.Major.array, UInt64(records.count))
        for record in records {
            buffer.appendCBORHead(major: CBOR.Major.array, 7)
            buffer.appendCBOR(bytes: record.peer == sender ? [] : record.peer)
            buffer.appendCBORHead(major: CBOR.Major.unsigned, record.sequence)
            buffer.appendCBOR(record.name)
            buffer.appendCBOR(record.operatingSystem)
            buffer.appendCBOR(record.softwareVersion)
            buffer.appendCBOR(record.isKeeper)
            buffer.appendCBORHead(major: CBOR.Major.array, UInt64(record.neighbours.count))
            for neighbour in record.neighbours {
                buffer.appendCBORHead(major: CBOR.Major.array, 3)
                buffer.appendCBOR(bytes: neighbour.peer == receiver ? [] : neighbour.peer)
                buffer.appendCBORHead(major: CBOR.Major.unsigned, neighbour.kind.rawValue)
                buffer.appendCBORHead(major: CBOR.Major.unsigned, neighbour.sinceNanoseconds)
            }
        }
        return buffer.array
    }

    /// Reads news; every bound is checked, and nothing is reserved beyond the bytes at hand.
    package static func decode(
        _ bytes: [UInt8], from sender: [UInt8]? = nil, to receiver: [UInt8]? = nil
    ) throws(Malformed) -> [PresenceRecord] {
        do {
            return try bytes.withUnsafeBytes { bytes in
                var cursor = ByteCursor(bytes)
                let count = try array(&cursor)
                guard count <= ReplicationLimits.presencePeerCount else { throw Malformed() }
                var records: [PresenceRecord] = []
                for _ in 0..<count { records.append(try record(&cursor, sender, receiver)) }
                guard cursor.remaining == 0 else { throw Malformed() }
                return records
            }
        } catch {
            throw Malformed()
        }
    }

    private static func record(
        _ cursor: inout ByteCursor, _ sender: [UInt8]?, _ receiver: [UInt8]?
    ) throws -> PresenceRecord {
        guard try array(&cursor) == 7 else { throw Malformed() }
        var record = PresenceRecord(peer: try peer(&cursor, orEmpty: sender), sequence: try unsigned(&cursor))
        record.name = try text(&cursor)
        record.operatingSystem = try text(&cursor)
        record.softwareVersion = try text(&cursor)
        guard case .bool(let isKeeper) = try cursor.readCBORItem() else { throw Malformed() }
        record.isKeeper = isKeeper
        let count = try array(&cursor)
        guard count <= ReplicationLimits.presenceNeighbourCount else { throw Malformed() }
        for _ in 0..<count {
            guard try array(&cursor) == 3 else { throw Malformed() }
            record.neighbours.append(
                PresenceRecord.Neighbour(
                    peer: try peer(&cursor, orEmpty: receiver), kind: .init(rawValue: try unsigned(&cursor)),
                    sinceNanoseconds: try unsigned(&cursor)))
        }
        return record
    }

    private static func array(_ cursor: inout ByteCursor) throws -> Int {
        guard case .array(let count) = try cursor.readCBORItem() else { throw Malformed() }
        return count
    }

    private static func unsigned(_ cursor: inout ByteCursor) throws -> UInt64 {
        let (major, _, argument) = try cursor.readCBORHead()
        guard major == CBOR.Major.unsigned else { throw Malformed() }
        return argument
    }

    private static func peer(_ cursor: inout ByteCursor, orEmpty known: [UInt8]?) throws -> [UInt8] {
        guard case .bytes(let bytes) = try cursor.readCBORItem() else { throw Malformed() }
        if bytes.isEmpty, let known { return known }
        guard bytes.count == 16 else { throw Malformed() }
        return [UInt8](bytes)
    }

    private static func text(_ cursor: inout ByteCursor) throws -> String {
        guard case .text(let bytes) = try cursor.readCBORItem(), bytes.count <= ReplicationLimits.nameByteCount,
            let text = String(validating: bytes, as: UTF8.self)
        else { throw Malformed() }
        return text
    }
}

extension String {
    /// The text cut to at most so many bytes of UTF-8, at a character.
    func cut(toByteCount limit: Int) -> String {
        guard utf8.count > limit else { return self }
        var cut = self
        while cut.utf8.count > limit { cut.removeLast() }
        return cut
    }
}
