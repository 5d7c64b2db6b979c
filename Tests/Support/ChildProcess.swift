import Dispatch
import DocDBCore
import Synchronization

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// Another program that runs, started by `posix_spawn`.
///
/// Foundation's `Process` is not used in the tests: on Linux, up to Swift 6.3, its `run()` lists the open files of the
/// calling process and copies 256 bytes of each entry, however short, so that a process with more than some thousand
/// open files, as these tests have for moments, crashes now and then (swift-corelibs-foundation, pull request 5472).
package final class ChildProcess: Sendable {
    private struct State {
        var status: Int32?
        var waiting: [CheckedContinuation<Int32, Never>] = []
    }

    private let identifier: pid_t
    private let ended = DispatchSemaphore(value: 0)
    private let state = Lock(State())

    /// - Parameters:
    ///   - path: the program's path, or its name to be found as a shell does.
    ///   - arguments: without the program itself.
    ///   - outputPath: the file to which what it prints is appended, with its errors; none discards both.
    package init(_ path: String, _ arguments: [String], outputPath: String? = nil) throws {
        identifier = try Self.spawn(path, arguments, outputPath ?? "/dev/null")
        let waiter = Unmanaged.passRetained(self)
        #if canImport(Darwin)
            var thread: pthread_t?
        #else
            var thread = pthread_t()
        #endif
        let code = pthread_create(
            &thread, nil,
            { argument in
                #if canImport(Darwin)
                    Unmanaged<ChildProcess>.fromOpaque(argument).takeRetainedValue().wait()
                #else
                    if let argument { Unmanaged<ChildProcess>.fromOpaque(argument).takeRetainedValue().wait() }
                #endif
                return nil
            }, waiter.toOpaque())
        guard code == 0 else {
            waiter.release()
            kill(identifier, SIGKILL)
            waitpid(identifier, nil, 0)
            throw DocDBError(.storageFailed, "no thread to wait for \(path): error \(code)")
        }
        #if canImport(Darwin)
            if let thread { pthread_detach(thread) }
        #else
            pthread_detach(thread)
        #endif
    }

    package var isRunning: Bool { state.withLock { $0.status == nil } }

    /// Waits for the end, and returns the exit status; of a process that a signal ended, the signal's negative.
    package func end() async -> Int32 {
        await withCheckedContinuation { continuation in
            let status = state.withLock { state -> Int32? in
                if state.status == nil { state.waiting.append(continuation) }
                return state.status
            }
            if let status { continuation.resume(returning: status) }
        }
    }

    /// Ends the process by SIGTERM, and waits until it has ended.
    package func stop() {
        signal(SIGTERM)
        ended.wait()
        ended.signal()
    }

    /// Sends a signal, unless the process has ended.
    package func signal(_ number: Int32) {
        // The process is reaped under the same lock, so that its number is of no other process.
        state.withLock { if $0.status == nil { kill(identifier, number) } }
    }

    private func wait() {
        var information = siginfo_t()
        while waitid(P_PID, id_t(identifier), &information, WEXITED | WNOWAIT) != 0, errno == EINTR {}
        let (status, waiting) = state.withLock { state in
            var raw: Int32 = 0
            while waitpid(identifier, &raw, 0) < 0, errno == EINTR {}
            let status = raw & 0x7F == 0 ? (raw >> 8) & 0xFF : -(raw & 0x7F)
            state.status = status
            defer { state.waiting = [] }
            return (status, state.waiting)
        }
        ended.signal()
        for continuation in waiting { continuation.resume(returning: status) }
    }

    private static func spawn(_ path: String, _ arguments: [String], _ output: String) throws -> pid_t {
        #if canImport(Darwin)
            var actions: posix_spawn_file_actions_t?
            var attributes: posix_spawnattr_t?
        #else
            var actions = posix_spawn_file_actions_t()
            var attributes = posix_spawnattr_t()
        #endif
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0)
        posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, output, O_WRONLY | O_CREAT | O_APPEND, 0o600)
        posix_spawn_file_actions_adddup2(&actions, STDOUT_FILENO, STDERR_FILENO)
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        var flags = POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF
        #if canImport(Darwin)
            flags |= POSIX_SPAWN_CLOEXEC_DEFAULT
        #else
            try closeOthers(&actions)
        #endif
        posix_spawnattr_setflags(&attributes, Int16(flags))
        // Threads of the pools block signals, which a program would inherit.
        var signals = sigset_t()
        sigemptyset(&signals)
        posix_spawnattr_setsigmask(&attributes, &signals)
        sigfillset(&signals)
        posix_spawnattr_setsigdefault(&attributes, &signals)

        var words: [UnsafeMutablePointer<CChar>?] = ([path] + arguments).map { strdup($0) } + [nil]
        defer { for word in words { free(word) } }
        var identifier = pid_t()
        let code = posix_spawnp(&identifier, path, &actions, &attributes, &words, environ)
        guard code == 0 else {
            throw DocDBError(.storageFailed, "\(path) does not start: \(String(cString: strerror(code)))")
        }
        return identifier
    }

    #if !canImport(Darwin)
        /// Keeps the caller's other files from the program, which would hold ports and locks.
        private static func closeOthers(_ actions: inout posix_spawn_file_actions_t) throws {
            // Declared with `_GNU_SOURCE` alone, which the module of the C library has not.
            typealias CloseFrom = @convention(c) (UnsafeMutablePointer<posix_spawn_file_actions_t>, Int32) -> Int32
            guard let symbol = dlsym(nil, "posix_spawn_file_actions_addclosefrom_np") else {
                throw DocDBError(.storageFailed, "the C library has no posix_spawn_file_actions_addclosefrom_np")
            }
            _ = unsafeBitCast(symbol, to: CloseFrom.self)(&actions, STDERR_FILENO + 1)
        }
    #endif
}
