package import DocDBStorage

/// A disk in memory that can lose power, fail and fill up, for databases under test.
///
/// Databases on it behave as on a real one, SQLite's part included. What was written stays when the process that wrote it
/// ends; only what was synchronised stays when the power goes. Paths are absolute; `cars.docdb` is `/cars.docdb`.
///
/// ```swift
/// let disk = SimulatedDisk(seed: 1)
/// var db: Database? = try Database(at: "cars.docdb", options: .simulated(on: disk))
/// try db?.collection("cars").insert(["make": "toyota"])
/// disk.cutPower(.tearsPages)
/// db = try Database(at: "cars.docdb", options: .simulated(on: disk))
/// ```
///
/// One disk belongs to one simulated process at a time: ``endProcess()`` and ``cutPower(_:seed:)`` turn every open
/// database on it into one whose calls fail. Chance is drawn from the seed alone, in the order of the operations; what
/// SQLite draws for itself (salts of write-ahead logs) is not, and changes bytes but no behaviour.
public final class SimulatedDisk: Sendable {
    let core: DiskCore
    /// The disk as stores see it.
    package let fileSystem: any StoreFileSystem

    /// Creates an empty disk.
    ///
    /// - Parameter seed: what replays everything that chance does on this disk.
    public init(seed: UInt64) {
        core = DiskCore(seed: seed)
        fileSystem = DiskFileSystem(core)
    }

    // MARK: Ends

    /// Ends the process that uses the disk, as a crash does: locks and shared memory are gone, what was written remains.
    public func endProcess() { core.locked { core.endProcess() } }

    /// Cuts the power: the process ends, and of what was not synchronised only what chance spares remains.
    ///
    /// - Parameters:
    ///   - loss: what may remain.
    ///   - seed: what replays the choice; nil draws it from the disk's own seed.
    public func cutPower(_ loss: PowerLoss = .tearsPages, seed: UInt64? = nil) {
        core.locked {
            var random = seed.map { SimulationRandom(seed: $0) } ?? core.random.split()
            core.losePower(loss, &random)
        }
    }

    /// Stops the disk after some more changes: the next one, and every operation after it, fails.
    ///
    /// Of a write that is cut short in this way some part may have been made. ``endProcess()`` or ``cutPower(_:seed:)`` says
    /// what happened, and starts the disk again. To crash a task at each of its operations, count them once with
    /// ``changeCount``, then repeat the task and stop after each number below that count.
    public func stop(afterChanges count: Int) { core.locked { core.remainingChangeCount = max(0, count) } }

    /// Whether the planned stop has come.
    public var isStopped: Bool { core.locked { core.isStopped } }

    // MARK: Faults

    /// Has a failure in store, besides those it has already.
    public func inject(_ fault: DiskFault) { core.locked { core.faults.append(fault) } }

    /// Lets everything succeed from now on: no faults, no stop.
    public func clearFaults() {
        core.locked {
            core.faults = []
            core.remainingChangeCount = nil
        }
    }

    /// The most bytes that the files may hold together, or nil for no such bound.
    ///
    /// A write past it makes what still fits and fails as on a full disk.
    public var byteLimit: Int? {
        get { core.locked { core.byteLimit } }
        set { core.locked { core.byteLimit = newValue } }
    }

    /// The bytes that all files hold together.
    public var usedByteCount: Int { core.locked { core.usedByteCount } }

    /// Whether every change fails.
    public var isReadOnly: Bool {
        get { core.locked { core.isReadOnly } }
        set { core.locked { core.isReadOnly = newValue } }
    }

    // MARK: Operations

    /// How many operations there were, failed ones included.
    public var operationCount: Int { core.locked { core.operationCount } }

    /// How many operations there were that change something.
    public var changeCount: Int { core.locked { core.changeCount } }

    /// Begins to record operations, and forgets those recorded before.
    public func startRecording() { core.locked { core.recorded = [] } }

    /// Ends recording and returns the operations since it began, in order.
    public func stopRecording() -> [DiskOperation] {
        core.locked {
            defer { core.recorded = nil }
            return core.recorded ?? []
        }
    }
}
