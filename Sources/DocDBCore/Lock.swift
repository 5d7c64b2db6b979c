#if !DOCDB_THREAD_SANITIZER
    package import Synchronization

    /// A value under a lock: the `Mutex` of the standard library.
    ///
    /// Swift's `Mutex` hands a contended lock over in code that the thread sanitizer does not see on Linux, so that it
    /// reports races where there are none. Builds for the sanitizer (`make sanitize`) put a lock in its place that it does.
    package typealias Lock = Mutex
#else
    #if canImport(Glibc)
        import Glibc
    #elseif canImport(Musl)
        import Musl
    #else
        import Darwin
    #endif

    /// A value under a POSIX mutex, in builds for the thread sanitizer, which knows those: it sees every handing over, and
    /// reports locks that are taken in different orders.
    package struct Lock<Value: ~Copyable>: ~Copyable, @unchecked Sendable {
        // Unchecked: the value is touched under the mutex only.
        private let mutex: UnsafeMutablePointer<pthread_mutex_t>
        private let value: UnsafeMutablePointer<Value>

        package init(_ initialValue: consuming sending Value) {
            mutex = .allocate(capacity: 1)
            mutex.initialize(to: pthread_mutex_t())
            precondition(pthread_mutex_init(mutex, nil) == 0, "a mutex can be made")
            value = .allocate(capacity: 1)
            value.initialize(to: initialValue)
        }

        deinit {
            value.deinitialize(count: 1)
            value.deallocate()
            pthread_mutex_destroy(mutex)
            mutex.deallocate()
        }

        /// Calls `body` with the value while no other thread has it.
        package borrowing func withLock<Result: ~Copyable, E: Error>(
            _ body: (inout sending Value) throws(E) -> sending Result
        ) throws(E) -> sending Result {
            pthread_mutex_lock(mutex)
            defer { pthread_mutex_unlock(mutex) }
            return try body(&value.pointee)
        }
    }
#endif
