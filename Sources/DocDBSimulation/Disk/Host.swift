import DocDBCore
import DocDBStorage

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// What the simulation takes from the system it runs on: the numbers of errors, and rest.
enum Host {
    /// The system's number for a failure.
    static func errorNumber(_ failure: DiskFailure) -> Int32 {
        switch failure {
        case .ioError: EIO
        case .noSpace: ENOSPC
        case .readOnly: EROFS
        case .missing: ENOENT
        case .exists: EEXIST
        case .notDirectory: ENOTDIR
        case .isDirectory: EISDIR
        case .notEmpty: ENOTEMPTY
        }
    }

    /// The error that a store gives for a failure, the same as for one of a real disk.
    static func error(_ failure: DiskFailure, while action: String) -> DocDBError {
        Platform.error(errorNumber(failure), while: action)
    }

    /// Lets other threads run for at most a millisecond, however long SQLite means to wait for them.
    static func rest(microseconds: Int32) {
        var time = timespec(tv_sec: 0, tv_nsec: Int(min(max(microseconds, 0), 1_000)) * 1_000)
        nanosleep(&time, nil)
    }
}
