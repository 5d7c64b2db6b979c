import CSQLite
import DocDBCore
import DocDBStorage
import Foundation
import Testing

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// What a commit leaves behind that fails: nothing, on disk and in memory.
@Suite("A write that fails")
struct FailedCommitTests {
    static let large = String(repeating: "l", count: 30_000)

    /// Makes the disk full, as SQLite sees it, `pages` pages from now.
    static func limit(_ store: Store, pages: Int64?) throws {
        try store.write { transaction in
            let connection = transaction.context.connection
            let count = try connection.integer("PRAGMA page_count") ?? 0
            try connection.execute("PRAGMA max_page_count = \(pages.map { count + $0 } ?? 1_000_000)")
        }
    }

    @Test("for want of space leaves documents, names, collections, keys, stamps and log as they were", arguments: 0..<5)
    func leavesNothing(pages: Int64) throws {
        let place = TemporaryStore("failing")
        let store = try place.open()
        try store.put(["_id": 1, "a": 1])
        try store.put(["_id": 2, "a": 1])
        let before = try store.all()
        let records = try store.logRecords().map { "\($0)" }
        try Self.limit(store, pages: pages)
        for attempt in 0..<3 {
            let error = docdbError {
                try store.write { transaction in
                    try transaction.put(["_id": 1, "name\(attempt)": 2])
                    try transaction.put(["_id": 3, "other\(attempt)": 2], in: "fresh")
                    _ = try transaction.remove(2)
                    for number in Int64(10)..<20 {
                        try transaction.put(["_id": .int(number), "text": .string(Self.large)])
                    }
                }
            }
            #expect(error?.code == .diskFull)
            #expect(error?.message.contains(place.path) == true)
            #expect(try store.all() == before)
            #expect(try store.logRecords().map { "\($0)" } == records)
            #expect(try store.read { $0.catalog.names } == ["cars"])
        }
        try Self.limit(store, pages: nil)
        try store.put(["_id": 3, "other1": 3, "name0": 3], in: "fresh")
        try store.put(["_id": 10, "text": "short"])
        #expect(try store.get(3, in: "fresh") == ["other1": 3, "name0": 3])
        #expect(try store.lastSequence() == 4)
        try StampTests.expectRising(store, "after a full disk")
        #expect(try store.verify().isEmpty)
        try store.close()
        let reopened = try place.open()
        #expect(try reopened.get(3, in: "fresh") == ["other1": 3, "name0": 3])
        #expect(try reopened.get(10) == ["text": "short"])
        #expect(try reopened.verify().isEmpty)
    }

    @Test("cannot be gone on with, even where its error is caught")
    func cannotGoOn() throws {
        let place = TemporaryStore("failing")
        let store = try place.open()
        try store.put(["_id": 1, "a": 1])
        try Self.limit(store, pages: 2)
        let code = errorCode {
            try store.write { transaction in
                let text = Value.string(String(repeating: "x", count: 100_000))
                #expect(errorCode { try transaction.put(["_id": 2, "text": text]) } == .diskFull)
                #expect(errorCode { try transaction.put(["_id": 1, "a": 2]) } == .diskFull)
                #expect(errorCode { _ = try transaction.remove(1) } == .diskFull)
            }
        }
        #expect(code == .diskFull)
        #expect(try store.all() == [1: ["a": 1]])
    }

    @Test("writes nothing after SQLite has ended its transaction on its own")
    func noticesEnd() throws {
        let place = TemporaryStore("failing")
        let store = try place.open()
        try store.put(["_id": 1, "a": 1])
        let code = errorCode {
            try store.write { transaction in
                try transaction.put(["_id": 2])
                // As SQLite does where reading a page fails.
                try transaction.context.connection.execute("ROLLBACK")
                #expect(errorCode { try transaction.put(["_id": 3]) } == .storageFailed)
            }
        }
        #expect(code == .storageFailed)
        #expect(try store.all() == [1: ["a": 1]])
        try store.put(["_id": 4])
        #expect(try store.verify().isEmpty)
    }

    @Test("by an error of its own leaves nothing, whatever it had done")
    func ownError() throws {
        struct Abort: Error {}
        let place = TemporaryStore("failing")
        let store = try place.open()
        for round in 0..<3 {
            #expect(throws: Abort.self) {
                try store.write { transaction in
                    try transaction.put(["_id": 1, "field\(round)": 1], in: "collection\(round)")
                    throw Abort()
                }
            }
        }
        #expect(try store.read { $0.catalog.names } == [])
        #expect(try store.lastSequence() == 0)
        // The name interned by the second attempt is written with the commit that uses it.
        try store.put(["_id": 1, "field1": 1], in: "collection1")
        try store.close()
        let reopened = try place.open()
        #expect(try reopened.get(1, in: "collection1") == ["field1": 1])
        #expect(try reopened.read { $0.catalog.names } == ["collection1"])
        #expect(try reopened.verify().isEmpty)
    }

    @Test("because a file cannot grow leaves the store as it was, and later writes succeed", arguments: 0..<10)
    func fileLimit(seed: UInt64) async throws {
        let place = TemporaryStore("failing")
        await #expect(processExitsWith: .success) { [path = place.path as String, seed = seed as UInt64] in
            var random = SeededGenerator(seed: seed)
            signal(SIGXFSZ, SIG_IGN)
            let store = try Store(path: path)
            for number in Int64(0)..<20 { try store.put(["_id": .int(number), "n": 0]) }
            let size = Platform.fileByteCount(path + "/store.sqlite-wal")
            // Where in a commit the disk fails: anywhere in its pages.
            FileSize.limit(to: Int(size) + Int.random(in: 0...30_000, using: &random))
            var expected = try store.all()
            var failureCount = 0
            for round in 0..<40 {
                do {
                    try store.write { transaction in
                        try transaction.put(["_id": .int(Int64(round % 20)), "n": .int(Int64(round + 1))])
                        try transaction.put(["_id": .string("new\(round)"), "field\(round)": 1])
                    }
                    expected[DocumentID(Int64(round % 20))] = ["n": .int(Int64(round + 1))]
                    expected[try DocumentID("new\(round)")] = ["field\(round)": 1]
                } catch let error as DocDBError {
                    failureCount += 1
                    #expect(error.code == .storageFailed || error.code == .diskFull)
                }
                #expect(try store.all() == expected, "seed \(seed), round \(round)")
            }
            #expect(failureCount > 0)
            FileSize.limit(to: nil)
            try store.put(["_id": "late", "field39": 1])
            expected["late"] = ["field39": 1]
            #expect(try store.all() == expected)
            #expect(try store.verify().isEmpty, "seed \(seed)")
            try StampTests.expectRising(store, "seed \(seed)")
            try store.close()
            let reopened = try Store(path: path)
            #expect(try reopened.all() == expected)
        }
        #expect(try place.open().verify().isEmpty)
    }

    @Test("where the first write of a session fails, the next one begins the session", arguments: 0..<4)
    func firstWrite(pages: Int64) async throws {
        let place = TemporaryStore("failing")
        let store = try place.open()
        try store.put(["_id": 1])
        try store.close()
        await #expect(processExitsWith: .success) { [path = place.path as String, pages = pages as Int64] in
            signal(SIGXFSZ, SIG_IGN)
            let store = try Store(path: path)
            _ = try store.all()
            FileSize.limit(to: Int(pages) * 2_000)
            for _ in 0..<3 { #expect(errorCode { try store.put(["_id": 2]) } != nil) }
            FileSize.limit(to: nil)
            for number in Int64(3)..<6 { try store.put(["_id": .int(number)]) }
            #expect(try store.all().count == 4)
            #expect(try store.verify().isEmpty)
        }
        let reopened = try place.open()
        try reopened.put(["_id": 9])
        #expect(try reopened.all().count == 5)
        #expect(try reopened.verify().isEmpty)
    }
}
