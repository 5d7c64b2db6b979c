import DocDBCore
import DocDBSimulation
import DocDBStorage
import Testing

/// What SQLite itself does on a simulated disk: the same as on a real one.
@Suite("SQLite on a simulated disk")
struct SimulatedDiskSQLiteTests {
    static func connect(
        _ disk: SimulatedDisk, _ path: String = "/test.sqlite", _ mode: SQLiteConnection.Mode = .readWriteCreate
    ) throws -> SQLiteConnection {
        let connection = try SQLiteConnection(
            path: path, mode: mode, busyTimeoutMilliseconds: 0, fileSystem: disk.fileSystem)
        if mode == .readWriteCreate { try connection.execute("PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL") }
        return connection
    }

    @Test("keeps a write-ahead log that readers see through, each its own moment")
    func snapshots() throws {
        let disk = SimulatedDisk(seed: 1)
        let writer = try Self.connect(disk)
        #expect(try writer.text("PRAGMA journal_mode") == "wal")
        try writer.execute("CREATE TABLE t (n); INSERT INTO t VALUES (1)")
        let reader = try Self.connect(disk, "/test.sqlite", .readOnly)
        try reader.execute("BEGIN")
        #expect(try reader.integer("SELECT count(*) FROM t") == 1)
        try writer.execute("INSERT INTO t VALUES (2), (3)")
        #expect(try reader.integer("SELECT count(*) FROM t") == 1)
        try reader.execute("COMMIT")
        #expect(try reader.integer("SELECT count(*) FROM t") == 3)
        #expect(disk.files() == ["/test.sqlite", "/test.sqlite-wal"])
    }

    @Test("lets one connection write at a time")
    func oneWriter() throws {
        let disk = SimulatedDisk(seed: 1)
        let first = try Self.connect(disk)
        try first.execute("CREATE TABLE t (n)")
        let second = try Self.connect(disk)
        try first.execute("BEGIN IMMEDIATE; INSERT INTO t VALUES (1)")
        #expect(errorCode { try second.execute("BEGIN IMMEDIATE") } == .busy)
        try first.execute("COMMIT")
        try second.execute("BEGIN IMMEDIATE; INSERT INTO t VALUES (2); COMMIT")
        #expect(try first.integer("SELECT sum(n) FROM t") == 3)
    }

    @Test("lets a reader hold up a checkpoint, and empties the log when it has gone")
    func checkpoints() throws {
        let disk = SimulatedDisk(seed: 1)
        let writer = try Self.connect(disk)
        try writer.execute("CREATE TABLE t (n); INSERT INTO t VALUES (1)")
        let reader = try Self.connect(disk, "/test.sqlite", .readOnly)
        try reader.execute("BEGIN")
        #expect(try reader.integer("SELECT count(*) FROM t") == 1)
        try writer.execute("INSERT INTO t VALUES (2)")
        #expect(try writer.integer("PRAGMA wal_checkpoint(TRUNCATE)") == 1)
        #expect(disk.content(of: "/test.sqlite-wal")?.isEmpty == false)
        try reader.execute("COMMIT")
        #expect(try writer.integer("PRAGMA wal_checkpoint(TRUNCATE)") == 0)
        #expect(disk.content(of: "/test.sqlite-wal")?.isEmpty == true)
        #expect(try writer.text("PRAGMA integrity_check") == "ok")
    }

    @Test("closes the last connection with the log moved into the database and gone, and finds all again")
    func closes() throws {
        let disk = SimulatedDisk(seed: 1)
        do {
            let writer = try Self.connect(disk)
            try writer.execute("CREATE TABLE t (n); INSERT INTO t VALUES (1)")
        }
        #expect(disk.files() == ["/test.sqlite"])
        #expect(try Self.connect(disk).integer("SELECT sum(n) FROM t") == 1)
    }

    @Test("works through many pages, a rollback, a vacuum and a copy into another file")
    func manyPages() throws {
        let disk = SimulatedDisk(seed: 1)
        let writer = try Self.connect(disk)
        try writer.execute(
            """
            CREATE TABLE t (n INTEGER PRIMARY KEY, text);
            WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE n < 5000)
            INSERT INTO t SELECT n, printf('%0200d', n) FROM c;
            BEGIN; DELETE FROM t; ROLLBACK;
            DELETE FROM t WHERE n % 2 = 0;
            VACUUM;
            VACUUM INTO '/copy.sqlite';
            """)
        #expect(try writer.text("PRAGMA integrity_check") == "ok")
        let copy = try Self.connect(disk, "/copy.sqlite", .readOnly)
        #expect(try copy.integer("SELECT count(*) FROM t") == 2_500)
        #expect(try copy.text("PRAGMA integrity_check") == "ok")
        // 2,500 rows of more than 200 bytes: less than twice that, all told.
        #expect(disk.content(of: "/copy.sqlite").map { (500_000..<1_000_000).contains($0.count) } == true)
    }

    @Test("keeps rollback journals, and recovers from one that a crash left", arguments: 0..<20)
    func rollbackJournal(stop: Int) throws {
        let disk = SimulatedDisk(seed: UInt64(stop))
        func connect() throws -> SQLiteConnection {
            try SQLiteConnection(
                path: "/old.sqlite", mode: .readWriteCreate, busyTimeoutMilliseconds: 0, fileSystem: disk.fileSystem)
        }
        do {
            let connection = try connect()
            // Without EXTRA the journal's removal is not durable, so that a power cut takes back the last transaction.
            try connection.execute("PRAGMA synchronous = EXTRA; CREATE TABLE t (n); INSERT INTO t VALUES (1)")
            disk.stop(afterChanges: stop)
            try? connection.execute("UPDATE t SET n = 2")
        }
        disk.cutPower(.tearsPages)
        let connection = try connect()
        let value = try connection.integer("SELECT n FROM t")
        #expect(value == 1 || value == 2)
        #expect(try connection.text("PRAGMA integrity_check") == "ok")
    }

    @Test("keeps disks apart, and their files, when they go")
    func manyDisks() throws {
        var disks = (0..<40).map { SimulatedDisk(seed: UInt64($0)) }
        var connections: [SQLiteConnection] = []
        for (index, disk) in disks.enumerated() {
            let connection = try Self.connect(disk)
            try connection.execute("CREATE TABLE t (n); INSERT INTO t VALUES (\(index))")
            connections.append(connection)
        }
        // The connections keep what they need of their disks.
        disks = []
        for (index, connection) in connections.enumerated() {
            #expect(try connection.integer("SELECT n FROM t") == Int64(index))
        }
    }

    @Test("does the same for the same seed")
    func deterministic() throws {
        func run() throws -> [String] {
            let disk = SimulatedDisk(seed: 5)
            disk.startRecording()
            let connection = try Self.connect(disk)
            try connection.execute("CREATE TABLE t (n); INSERT INTO t VALUES (1)")
            _ = try connection.integer("PRAGMA wal_checkpoint(TRUNCATE)")
            return disk.stopRecording().map(\.description)
        }
        let first = try run()
        #expect(first.count > 20)
        #expect(try run() == first)
    }
}

/// The code of the error that a closure throws, or nil where it throws none of DocDB's.
func errorCode<R>(_ body: () throws -> R) -> DocDBError.Code? {
    do {
        _ = try body()
        return nil
    } catch {
        return (error as? DocDBError)?.code
    }
}
