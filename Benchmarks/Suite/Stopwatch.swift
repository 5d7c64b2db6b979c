#if canImport(Darwin)
    import Darwin
#else
    import Glibc
#endif

/// A moment on the monotonic clock and the processor time that this process had used by then, all threads together.
struct Stopwatch {
    private let wall: UInt64
    private let processor: UInt64

    init() {
        processor = Self.nanoseconds(CLOCK_PROCESS_CPUTIME_ID)
        wall = Self.nanoseconds(CLOCK_MONOTONIC)
    }

    /// Milliseconds since this moment.
    func elapsed() -> (wall: Double, processor: Double) {
        let now = Stopwatch(wallFirst: ())
        return (Double(now.wall - wall) / 1e6, Double(now.processor - processor) / 1e6)
    }

    /// The processor time that the calling thread has used.
    static func threadMilliseconds() -> Double { Double(nanoseconds(CLOCK_THREAD_CPUTIME_ID)) / 1e6 }

    private init(wallFirst: Void) {
        wall = Self.nanoseconds(CLOCK_MONOTONIC)
        processor = Self.nanoseconds(CLOCK_PROCESS_CPUTIME_ID)
    }

    private static func nanoseconds(_ clock: clockid_t) -> UInt64 {
        var time = timespec()
        clock_gettime(clock, &time)
        return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
    }
}

/// The memory of this process that is in physical memory, and its peak; Linux only.
enum ResidentMemory {
    /// Begins a new peak; returns the bytes resident now, nil where unknown.
    static func resetPeak() -> Int? {
        #if canImport(Glibc)
            guard let file = fopen("/proc/self/clear_refs", "w") else { return nil }
            defer { fclose(file) }
            guard fputs("5", file) >= 0, fflush(file) == 0 else { return nil }
            return bytes(of: "VmRSS:")
        #else
            return nil
        #endif
    }

    /// The bytes resident now; nil where unknown.
    static func current() -> Int? { bytes(of: "VmRSS:") }

    /// The highest number of bytes resident since `resetPeak`.
    static func peak() -> Int? { bytes(of: "VmHWM:") }

    private static func bytes(of field: String) -> Int? {
        guard let file = fopen("/proc/self/status", "r") else { return nil }
        defer { fclose(file) }
        var line = [CChar](repeating: 0, count: 256)
        while fgets(&line, Int32(line.count), file) != nil {
            let text = line.withUnsafeBufferPointer { String(cString: $0.baseAddress!) }
            guard text.hasPrefix(field) else { continue }
            return text.split(whereSeparator: { " \t\n".contains($0) }).dropFirst().first.flatMap { Int($0) }.map {
                $0 * 1024
            }
        }
        return nil
    }
}
