import BenchmarkSuite
import CAllocationCounter

#if canImport(Darwin)
    import Darwin
#else
    import Glibc
#endif

#if DEBUG
    let isDebugBuild = true
#else
    let isDebugBuild = false
#endif

let counter = AllocationCounter(
    start: { docdb_allocation_counter_start() }, stop: { Int(docdb_allocation_counter_stop()) },
    trim: { docdb_allocation_counter_trim() })

exit(
    await BenchmarkCommand.run(
        Array(CommandLine.arguments.dropFirst()), isDebugBuild: isDebugBuild,
        counter: docdb_allocation_counter_works() ? counter : nil))
