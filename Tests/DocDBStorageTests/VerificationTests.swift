import DocDBCore
import DocDBStorage
import Foundation
import Testing

/// What `verify` finds where somebody altered the database behind the store's back.
@Suite("Verification")
struct VerificationTests {
    /// A store with two collections, an index, changes, a tombstone, an eviction and a folded block.
    static func fill(_ store: Store) throws {
        for number in Int64(0)..<20 {
            try store.put(["_id": .int(number), "price": .int(number * 10), "name": .string("car \(number)")])
        }
        try store.write { transaction in
            try transaction.createIndex(IndexDefinition(text: "price"), collection: "cars")
            try transaction.put(["_id": "a", "m": ["x": [1, "two", nil]], "price": 1.5])
            try transaction.put(["_id": ["k": 1], "text": "other"], in: "other")
        }
        for round in 0..<10 {
            try store.put(["_id": 3, "text": .string(String(repeating: "\(round)", count: 4_000))])
        }
        try store.write { transaction in
            _ = try transaction.remove(4)
            try transaction.set(["m", "x"], to: 5, of: "a")
        }
        _ = try store.write { try $0.evict(5) }
        try store.put(["_id": 6, "price": 1])
    }

    @Test("finds nothing in a sound store, also one that was reopened, compacted and backed up")
    func sound() throws {
        let place = TemporaryStore("verify")
        var store = try place.open()
        #expect(try store.verify() == [])
        try Self.fill(store)
        #expect(try store.verify() == [])
        try store.compact()
        try store.backup(to: place.directory + "/backup.docdb")
        try store.close()
        store = try place.open { $0.access = .readOnly }
        #expect(try store.verify() == [])
        let backup = try Store(path: place.directory + "/backup.docdb")
        #expect(try backup.verify() == [])
    }

    struct Alteration: CustomTestStringConvertible {
        var sql: String
        var location: String
        var testDescription: String { sql }
        init(_ sql: String, _ location: String) {
            self.sql = sql
            self.location = location
        }
    }

    @Test(
        "finds what was altered, and says where",
        arguments: [
            Alteration("UPDATE documents_1 SET body = x'A1' WHERE key = 2", "cars, key 2"),
            Alteration("UPDATE documents_1 SET body = x'' WHERE key = 2", "cars, key 2"),
            Alteration("UPDATE documents_1 SET body = x'A0' WHERE key = 2", "cars, key 2"),
            Alteration("UPDATE documents_1 SET body = NULL WHERE key = 2", "cars, key 2"),
            Alteration("UPDATE documents_1 SET body = x'A119FFFF01' WHERE key = 2", "cars, key 2"),
            Alteration("UPDATE documents_1 SET state = x'' WHERE key = 2", "cars, key 2"),
            Alteration("UPDATE documents_1 SET state = x'00' WHERE key = 2", "cars, key 2"),
            Alteration("UPDATE documents_1 SET state = x'FFFFFFFFFFFFFFFFFFFF' WHERE key = 2", "cars, key 2"),
            Alteration(
                "UPDATE documents_1 SET state = (SELECT state FROM documents_1 WHERE key = 4) WHERE key = 2",
                "cars, key 2"),
            Alteration(
                "UPDATE documents_1 SET body = (SELECT body FROM documents_1 WHERE key = 8) WHERE key = 2", "change log"
            ),
            Alteration("UPDATE documents_1 SET id = x'F6' WHERE key = 2", "cars, key 2"),
            Alteration("UPDATE documents_1 SET id = x'FB3FF8000000000000' WHERE key = 2", "cars, key 2"),
            Alteration("UPDATE documents_1 SET id = 1.5 WHERE key = 2", "cars, key 2"),
            Alteration("UPDATE documents_1 SET id = x'' WHERE key = 2", "cars, key 2"),
            Alteration("UPDATE documents_1 SET last_change = 1000 WHERE key = 2", "cars, key 2"),
            Alteration("UPDATE documents_1 SET last_change = -9223372036854775808 WHERE key = 2", "change log"),
            Alteration("UPDATE documents_1 SET last_change = 3 WHERE key = 2", "change log"),
            Alteration("UPDATE documents_1 SET key = 100000 WHERE key = 2", "cars, key 100000"),
            Alteration(
                "UPDATE documents_1 SET key = 9223372036854775807 WHERE key = 2", "cars, key 9223372036854775807"),
            Alteration("UPDATE documents_1 SET key = -5 WHERE key = 2", "change log"),
            Alteration("DELETE FROM documents_1 WHERE key = 2", "change log"),
            Alteration("DELETE FROM documents_2", "change log"),
            Alteration(
                "INSERT INTO documents_1 SELECT 50, 'new', body, state, last_change FROM documents_1 WHERE key = 2",
                "change log"),
            Alteration("UPDATE collections SET next_key = 1 WHERE number = 1", "cars, key 1"),
            Alteration("UPDATE meta SET value = 5 WHERE name = 'oldest_sum'", "change log"),
            Alteration("UPDATE log SET checksum = checksum + 1 WHERE seq = 1", "change log"),
            Alteration("DELETE FROM index_1 WHERE key = 2", "index"),
            Alteration("UPDATE index_1 SET value = x'01' WHERE key = 2", "index"),
            Alteration("INSERT INTO index_1 VALUES (x'01', 77)", "index"),
            Alteration("DELETE FROM documents_1 WHERE key = 5", "change log"),
        ])
    func altered(alteration: Alteration) throws {
        let place = TemporaryStore("verify")
        try Self.fill(place.open())
        try place.alter(alteration.sql)
        let store = try place.open { $0.access = .readOnly }
        let findings = try store.verify()
        #expect(findings.contains { $0.location.contains(alteration.location) }, "\(findings)")
        #expect(findings.count < 100)
        #expect(findings.allSatisfy { !$0.message.contains("car 1") && !$0.message.contains("two") })
    }

    /// A store that was written to in several sessions, one of which crashed, and that has met a peer.
    private static func fillWithPeer(_ place: TemporaryStore) throws {
        let first = try place.open()
        try first.put(["_id": 1, "a": 1])
        try first.close()
        // As after a crash that took the write-ahead log: the next session begins an incarnation, and takes an actor.
        try place.alter("UPDATE meta SET value = 0 WHERE name = 'is_clean'")
        let store = try place.open()
        try fill(store)
        try store.write { transaction in
            try transaction.rotateActor()
            try transaction.put(["_id": "by another actor", "a": 1])
            try transaction.put(["_id": "gone", "a": 1])
            try transaction.context.connection.execute(
                """
                INSERT INTO peers (number, store_id, name, is_keeper, last_seen, cursor_incarnation, cursor_seq,
                    cursor_interest, acknowledged_seq, epoch) VALUES (3, zeroblob(16), 'hub', 1, 9, zeroblob(16), 4,
                    zeroblob(16), 3, 1);
                INSERT INTO apart SELECT 3, 0, 1, min(key), 3, 4, 'no' FROM documents_1;
                INSERT INTO deferred_evictions SELECT 1, min(key) FROM documents_1;
                INSERT INTO voided VALUES (1, zeroblob(16), zeroblob(16), 5);
                """)
        }
        _ = try store.write { try $0.evict("gone") }
        try store.close()
        let findings = try place.open { $0.access = .readOnly }.verify()
        #expect(findings.isEmpty, "\(findings)")
    }

    @Test(
        "is told of facts that cannot be, though they stand nowhere else",
        arguments: [
            Alteration("UPDATE meta SET name = 'must_rotate_actos' WHERE name = 'is_clean'", "facts"),
            Alteration("DELETE FROM meta WHERE name = 'incarnation_nonce'", "facts"),
            Alteration("UPDATE meta SET value = zeroblob(17) WHERE name = 'store_id'", "facts"),
            Alteration("UPDATE meta SET value = 'x' WHERE name = 'clock_reserved'", "facts"),
            Alteration("UPDATE meta SET value = 2 WHERE name = 'is_clean'", "facts"),
            Alteration("UPDATE meta SET value = value - 1 WHERE name = 'actor'", "facts"),
            Alteration("UPDATE meta SET value = value - (1 << 40) WHERE name = 'clock_reserved'", "facts"),
            Alteration("UPDATE incarnations SET ordinal = 9 WHERE ordinal = 1", "incarnation"),
            Alteration("UPDATE incarnations SET id = zeroblob(15) WHERE ordinal = 1", "incarnation 1"),
            Alteration("UPDATE incarnations SET last_seq = 1 << 40 WHERE ordinal = 1", "incarnation 1"),
            Alteration("UPDATE incarnations SET last_seq = NULL WHERE ordinal = 1", "incarnation"),
            Alteration("UPDATE incarnations SET last_seq = 1 WHERE last_seq IS NULL", "incarnation"),
            Alteration(
                "UPDATE collections SET next_key = 1 + (SELECT max(key) FROM documents_1) WHERE number = 1", "cars"),
            Alteration("UPDATE sqlite_sequence SET seq = 2", "peers"),
            Alteration("UPDATE sqlite_sequence SET name = 'peert'", "peers"),
            Alteration("UPDATE peers SET store_id = zeroblob(15)", "peer 3"),
            Alteration("UPDATE peers SET is_keeper = 3", "peer 3"),
            Alteration("UPDATE peers SET cursor_interest = NULL", "peer 3"),
            Alteration("UPDATE peers SET acknowledged_seq = -1", "peer 3"),
            Alteration("UPDATE apart SET collection = 77", "peers"),
            Alteration("UPDATE apart SET side = 2", "peers"),
            Alteration("UPDATE deferred_evictions SET key = 1 << 40", "peers"),
            Alteration("UPDATE voided SET actor = zeroblob(8)", "peers"),
        ])
    func impossibleFacts(alteration: Alteration) throws {
        let place = TemporaryStore("verify")
        try Self.fillWithPeer(place)
        try place.alter(alteration.sql)
        let findings = try place.open { $0.access = .readOnly }.verify()
        #expect(findings.contains { $0.location.contains(alteration.location) }, "\(findings)")
    }

    @Test(
        "is told of names and actors that are gone",
        arguments: [
            "DELETE FROM field_names WHERE number = 0", "UPDATE field_names SET number = 70 WHERE number = 1",
            "UPDATE field_names SET name = 'not an identifier' WHERE number = 0", "DELETE FROM actors",
            "UPDATE actors SET id = x'00' WHERE number = 0", "UPDATE actors SET number = 3 WHERE number = 0",
            "UPDATE collections SET number = -1 WHERE number = 2",
            "UPDATE collections SET number = 5000000000 WHERE number = 2",
            "UPDATE collections SET number = 7 WHERE number = 2", "DELETE FROM meta", "DROP TABLE documents_2",
            "DROP TABLE field_names", "DROP TABLE log", "DROP TABLE index_1", "DELETE FROM indexes",
            "UPDATE indexes SET definition = 'price,,'", "UPDATE indexes SET number = -1",
            "UPDATE indexes SET collection = 9",
            "UPDATE meta SET value = 99 WHERE name = 'actor'", "UPDATE meta SET value = -1 WHERE name = 'actor'",
            "UPDATE meta SET value = x'' WHERE name = 'store_id'",
            "UPDATE meta SET value = -1 WHERE name = 'clock_reserved'",
            "UPDATE collections SET next_key = 9223372036854775807",
            "UPDATE collections SET next_key = -9223372036854775808",
            "DELETE FROM incarnations", "UPDATE incarnations SET id = x''",
        ])
    func damagedTables(sql: String) throws {
        let place = TemporaryStore("verify")
        try Self.fill(place.open())
        try place.alter(sql)
        for access in [StoreOptions.Access.readOnly, .readWrite] {
            var codes: [DocDBError.Code] = []
            do {
                let store = try place.open { $0.access = access }
                _ = try store.verify()
                _ = ChangeLogDamageTests.exercise(store)
                for name in ["cars", "other", "new"] {
                    codes += [errorCode { _ = try store.all(in: name) }].compactMap { $0 }
                    codes += [errorCode { try store.put(["_id": 2, "fresh": 1], in: name) }].compactMap { $0 }
                }
                try store.close()
            } catch let error as DocDBError {
                codes.append(error.code)
            }
            #expect(
                Set(codes).isSubset(of: [.corrupted, .storageFailed, .readOnly, .invalidIndex, .limitReached]),
                "\(codes)")
        }
    }
}
