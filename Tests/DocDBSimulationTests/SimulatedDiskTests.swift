import DocDB
import DocDBSimulation
import DocDBStorage
import Testing

/// What of files and names a simulated disk keeps, and what it loses.
@Suite("A simulated disk")
struct SimulatedDiskTests {
    static func write(_ bytes: [UInt8], to path: String, on disk: SimulatedDisk, isDurable: Bool) throws {
        let file = try disk.fileSystem.open(path, writing: true, creating: true)
        defer { file.close() }
        try file.replaceContent(with: bytes, isDurable: isDurable)
    }

    @Test("keeps what was written when the process ends, and loses what was not synchronised when the power goes")
    func keeps() throws {
        let disk = SimulatedDisk(seed: 1)
        try Self.write([1, 2, 3], to: "/a", on: disk, isDurable: true)
        try disk.fileSystem.synchronizeDirectory("/")
        try Self.write([4, 5], to: "/a", on: disk, isDurable: false)
        disk.endProcess()
        #expect(disk.content(of: "/a") == [4, 5])
        disk.cutPower(.losesUnsynchronized)
        #expect(disk.content(of: "/a") == [1, 2, 3])
    }

    @Test("loses a file whose name was not synchronised, and brings back one whose removal was not")
    func names() throws {
        let disk = SimulatedDisk(seed: 1)
        try Self.write([1], to: "/a", on: disk, isDurable: true)
        try disk.fileSystem.synchronizeDirectory("/")
        try Self.write([2], to: "/b", on: disk, isDurable: true)
        disk.fileSystem.remove("/a")
        #expect(disk.files() == ["/b"])
        disk.cutPower(.losesUnsynchronized)
        #expect(disk.files() == ["/a"])
        #expect(disk.content(of: "/a") == [1])
    }

    @Test("renames whole directories at once, durably once their parent is synchronised")
    func renames() throws {
        let disk = SimulatedDisk(seed: 1)
        try disk.fileSystem.makeDirectory("/x")
        try Self.write([1], to: "/x/a", on: disk, isDurable: true)
        try disk.fileSystem.synchronizeDirectory("/x")
        try disk.fileSystem.synchronizeDirectory("/")
        try disk.fileSystem.rename("/x", to: "/y")
        #expect(disk.files() == ["/y/a"])
        disk.cutPower(.losesUnsynchronized)
        #expect(disk.files() == ["/x/a"])
        try disk.fileSystem.rename("/x", to: "/y")
        try disk.fileSystem.synchronizeDirectory("/")
        disk.cutPower(.losesUnsynchronized)
        #expect(disk.files() == ["/y/a"])
    }

    @Test("tears writes into sectors, of which each has survived or not", arguments: 0..<50 as Range<UInt64>)
    func tears(seed: UInt64) throws {
        let disk = SimulatedDisk(seed: seed)
        let old = [UInt8](repeating: 1, count: 4_096)
        let new = [UInt8](repeating: 2, count: 4_096)
        try Self.write(old, to: "/a", on: disk, isDurable: true)
        try disk.fileSystem.synchronizeDirectory("/")
        try Self.write(new, to: "/a", on: disk, isDurable: false)
        disk.cutPower(.tearsPages)
        let content = try #require(disk.content(of: "/a"))
        #expect(content.count == 4_096)
        for sector in 0..<8 {
            let bytes = Set(content[sector * 512..<(sector + 1) * 512])
            #expect(bytes == [1] || bytes == [2])
        }
    }

    @Test("draws every outcome of a power cut sooner or later, and the same one for one seed")
    func outcomes() throws {
        func outcome(_ seed: UInt64, _ loss: PowerLoss) throws -> [UInt8] {
            let disk = SimulatedDisk(seed: 1)
            try Self.write([UInt8](repeating: 1, count: 1_024), to: "/a", on: disk, isDurable: true)
            try disk.fileSystem.synchronizeDirectory("/")
            try Self.write([UInt8](repeating: 2, count: 1_024), to: "/a", on: disk, isDurable: false)
            disk.cutPower(loss, seed: seed)
            let content = try #require(disk.content(of: "/a"))
            return [content[0], content[1_023]]
        }
        let torn = try Set((0..<100).map { try outcome($0, .tearsPages) })
        #expect(torn == [[1, 1], [1, 2], [2, 1], [2, 2]])
        let whole = try Set((0..<100).map { try outcome($0, .keepsSomeWrites) })
        #expect(whole == [[1, 1], [2, 2]])
        #expect(try outcome(7, .tearsPages) == outcome(7, .tearsPages))
    }

    @Test("fails what belongs to a process that has ended, and changes nothing for it")
    func stale() throws {
        let disk = SimulatedDisk(seed: 1)
        let file = try disk.fileSystem.open("/a", writing: true, creating: true)
        #expect(try file.tryLock())
        let other = try disk.fileSystem.open("/a", writing: true, creating: true)
        #expect(try !other.tryLock())
        disk.endProcess()
        #expect(errorCode { try file.replaceContent(with: [1], isDurable: false) } == .storageFailed)
        #expect(disk.content(of: "/a") == [])
        let next = try disk.fileSystem.open("/a", writing: true, creating: true)
        #expect(try next.tryLock())
        file.unlock()
        #expect(try next.tryLock())
        #expect(try !disk.fileSystem.open("/a", writing: true, creating: true).tryLock())
    }

    @Test("stops after the planned number of changes, and starts again when the end is told")
    func stops() throws {
        let disk = SimulatedDisk(seed: 1)
        // Creating, writing and cutting to size are three changes.
        disk.stop(afterChanges: 4)
        try Self.write([1], to: "/a", on: disk, isDurable: false)
        #expect(disk.changeCount == 3)
        #expect(errorCode { try Self.write([2, 2, 2, 2], to: "/b", on: disk, isDurable: false) } == .storageFailed)
        #expect(disk.isStopped)
        #expect(errorCode { try Self.write([2], to: "/a", on: disk, isDurable: false) } == .storageFailed)
        disk.endProcess()
        #expect(disk.content(of: "/a") == [1])
        #expect([0, 1, 2, 3, 4].contains(disk.content(of: "/b")?.count))
        try Self.write([2], to: "/a", on: disk, isDurable: false)
        #expect(disk.content(of: "/a") == [2])
    }

    @Test("is full once its files hold as many bytes as it has, until some are removed")
    func fills() throws {
        let disk = SimulatedDisk(seed: 1)
        disk.byteLimit = 10
        try Self.write([UInt8](repeating: 1, count: 6), to: "/a", on: disk, isDurable: true)
        #expect(errorCode { try Self.write([1, 2, 3, 4, 5], to: "/b", on: disk, isDurable: true) } == .diskFull)
        #expect(disk.usedByteCount == 10)
        disk.fileSystem.remove("/a")
        #expect(disk.usedByteCount == 4)
        try Self.write([1, 2, 3, 4, 5], to: "/b", on: disk, isDurable: true)
        #expect(disk.usedByteCount == 5)
    }

    @Test("injects a fault into the operations it is meant for, as often as it says")
    func injects() throws {
        let disk = SimulatedDisk(seed: 1)
        disk.inject(DiskFault(.ioError, on: [.synchronize], path: "a", after: 1, count: 2))
        func attempt(_ path: String) -> DocDBError.Code? {
            errorCode { try Self.write([1], to: path, on: disk, isDurable: true) }
        }
        #expect(
            ["/a", "/b", "/a", "/b", "/a", "/a"].map(attempt) == [nil, nil, .storageFailed, nil, .storageFailed, nil])
        disk.inject(DiskFault(.ignored, on: [.write]))
        #expect(attempt("/c") == nil)
        #expect(disk.content(of: "/c") == [0])
        disk.isReadOnly = true
        #expect(attempt("/a") == .readOnly)
    }

    @Test("copies directories to other disks, where the files are others")
    func copies() throws {
        let disk = SimulatedDisk(seed: 1)
        try disk.fileSystem.makeDirectory("/x")
        try Self.write([1], to: "/x/a", on: disk, isDurable: false)
        let identity = try disk.fileSystem.open("/x/a", writing: false, creating: false).identity()
        let other = SimulatedDisk(seed: 1)
        other.restore(disk.snapshot(of: "/x"), to: "/y")
        #expect(other.files() == ["/y/a"])
        #expect(other.content(of: "/y/a") == [1])
        #expect(try other.fileSystem.open("/y/a", writing: false, creating: false).identity() != identity)
        disk.restore(disk.snapshot(), keepsIdentity: true)
        #expect(try disk.fileSystem.open("/x/a", writing: false, creating: false).identity() == identity)
        disk.restore(disk.snapshot())
        #expect(try disk.fileSystem.open("/x/a", writing: false, creating: false).identity() != identity)
    }
}
