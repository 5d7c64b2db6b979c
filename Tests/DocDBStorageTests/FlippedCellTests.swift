import DocDBCore
import DocDBStorage
import Foundation
import Testing

/// Single bits that have flipped in the cells of every table: whatever they change is told, and the rest stays readable.
@Suite("A bit that has flipped in any table", .timeLimit(.minutes(10)))
struct FlippedCellTests {
    /// A store with rows in every table.
    static func files() throws -> [String: Data] {
        let place = TemporaryStore("cells")
        let store = try place.open()
        try VerificationTests.fill(store)
        try store.write { transaction in
            try transaction.createIndex(IndexDefinition(text: "text"), collection: "other")
            for number in Int64(0)..<30 {
                try transaction.put(["_id": .int(number), "text": .string("t\(number)")], in: "other")
            }
            try transaction.context.connection.execute(
                """
                INSERT INTO peers (number, store_id, name, is_keeper, last_seen, acknowledged_seq, epoch, current_count, current_sum)
                    VALUES (1, x'000102030405060708090A0B0C0D0E0F', 'hub', 1, 123456789, 3, 1, 1, x'0102030405060708090A0B0C0D0E0F10');
                INSERT INTO told VALUES (1, 1, 1, x'0102030405060708090A0B0C0D0E0F10');
                INSERT INTO apart VALUES (1, 0, 1, 2, 3, 4, 'no');
                INSERT INTO quarantine VALUES (1, 1, 1, 3, 99, x'00010203');
                INSERT INTO deferred_evictions VALUES (1, 4);
                """)
        }
        #expect(try store.verify() == [])
        try store.close()
        var files: [String: Data] = [:]
        for name in try FileManager.default.contentsOfDirectory(atPath: place.path) {
            files[name] = FileManager.default.contents(atPath: place.path + "/" + name)
        }
        return files
    }

    /// For each table of a sound store, the query that shows it as this code reads it: by its columns' types.
    static func queries(_ path: String) throws -> [String: String] {
        let connection = try SQLiteConnection(path: path + "/store.sqlite", mode: .readOnly, busyTimeoutMilliseconds: 0)
        var queries: [String: String] = [:]
        let columns = try connection.prepareOnce(
            """
            SELECT tables.name, group_concat('quote(' || CASE columns.type WHEN '' THEN '[' || columns.name || ']'
                ELSE 'CAST([' || columns.name || '] AS ' || columns.type || ')' END || ')', '||'',''||')
            FROM sqlite_master AS tables, pragma_table_info(tables.name) AS columns WHERE tables.type = 'table'
                AND columns.name <> 'next_key' GROUP BY 1
            """)
        while try columns.step() {
            queries[columns.text(0)] = "SELECT \(columns.text(1)) FROM [\(columns.text(0))]"
        }
        return queries
    }

    /// What each table holds; one that cannot be read says why.
    static func tables(_ queries: [String: String], _ path: String) throws -> [String: String] {
        let connection = try SQLiteConnection(path: path + "/store.sqlite", mode: .readOnly, busyTimeoutMilliseconds: 0)
        return queries.mapValues { query in
            do {
                let rows = try connection.prepareOnce(query)
                var text = ""
                while try rows.step() { text += rows.text(0) + "\n" }
                return text
            } catch {
                return "\(error)"
            }
        }
    }

    /// Tables of facts that stand nowhere else: of what a bit makes of one that is in bounds, only its peers could tell.
    static let withoutCopies: Set<String> = [
        "absent_documents", "apart", "deferred_evictions", "incarnations", "meta", "peers", "quarantine",
        "sqlite_sequence",
        "told", "voided",
    ]

    /// Tables without which no document can be read as it was.
    static let needed: Set<String> = ["collections", "field_names", "actors"]

    static let seeds: Range<UInt64> = SalvageTests.runsAll ? 0..<150 : 0..<12

    @Test("is told by verification, and nothing else is lost", arguments: seeds)
    func flips(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        let files = try Self.files()
        let sound = try #require(files["store.sqlite"])
        let soundPlace = try DamagedFileTests.place(files)
        let queries = try Self.queries(soundPlace.path)
        let before = try Self.tables(queries, soundPlace.path)
        #expect(before.count > 15)
        let counts = try ["cars", "other"].map { name in
            try soundPlace.open { $0.access = .readOnly }.all(in: name).count
        }
        for round in 0..<25 {
            var data = sound
            var offset = 0
            // Zeros are mostly space that nothing uses.
            repeat { offset = Int.random(in: 100..<data.count, using: &random) } while data[offset] == 0
            data[offset] ^= 1 << UInt8.random(in: 0..<8, using: &random)
            var damaged = files
            damaged["store.sqlite"] = data
            let place = try DamagedFileTests.place(damaged)
            let comment: Comment = "seed \(seed), round \(round), byte \(offset)"
            do {
                let store = try place.open { $0.access = .readOnly }
                let findings = try store.verify()
                let after = try Self.tables(queries, place.path)
                let changed = before.filter { after[$0.key] != $0.value }.keys.sorted()
                if findings.isEmpty { #expect(Set(changed).subtracting(Self.withoutCopies) == [], comment) }
                for (number, name) in [(1, "cars"), (2, "other")]
                where !changed.contains("documents_\(number)") && Self.needed.isDisjoint(with: changed) {
                    do {
                        // The index that names collections, or the text of a table's columns, may be what was hit.
                        guard try store.read({ $0.catalog[name] }) != nil else {
                            #expect(!findings.isEmpty, comment)
                            continue
                        }
                        let count = try store.all(in: name).count
                        #expect(count == counts[number - 1], "\(name), \(findings.prefix(3)), \(changed): \(comment)")
                    } catch let error as DocDBError {
                        #expect(error.code == .corrupted && !findings.isEmpty, "\(error): \(comment)")
                    }
                }
            } catch let error as DocDBError {
                #expect(
                    [.corrupted, .notAStore, .storeTooNew, .storageFailed, .invalidIndex].contains(error.code),
                    "\(error): \(comment)")
            }
        }
    }
}
