import DocDBAuth
import DocDBSync

/// The time that grants are judged by: the wall clock's, but never earlier than what is known to have passed.
///
/// A wall clock that is set back changes nothing while the process runs, as the monotonic clock, which counts suspension,
/// carries the latest time on. Over restarts what was written down of it counts.
struct JudgedClock {
    private var latestNanoseconds: UInt64
    /// The monotonic time at which it was that late; nil where no clock has been read since.
    private var monotonicNanoseconds: UInt64?

    init(_ floor: TimeFloor) { latestNanoseconds = floor.latest.nanoseconds }

    /// The latest time known, to be written down.
    var latest: UnixTime { UnixTime(nanoseconds: latestNanoseconds) }

    /// The time to judge by, in nanoseconds since 1970.
    mutating func advance(to time: SessionTime) -> UInt64 {
        if let last = monotonicNanoseconds, time.monotonicNanoseconds > last {
            let (carried, isOver) = latestNanoseconds.addingReportingOverflow(time.monotonicNanoseconds - last)
            latestNanoseconds = isOver ? .max : carried
        }
        latestNanoseconds = max(latestNanoseconds, time.wallNanoseconds)
        monotonicNanoseconds = max(monotonicNanoseconds ?? 0, time.monotonicNanoseconds)
        return latestNanoseconds
    }

    /// Takes the time of a hub whose login answer has been verified: a clock that was once far ahead is forgotten.
    mutating func reset(to hubTime: UnixTime) {
        latestNanoseconds = hubTime.nanoseconds
        monotonicNanoseconds = nil
    }
}
