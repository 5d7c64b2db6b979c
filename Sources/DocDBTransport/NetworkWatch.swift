import Dispatch
import DocDBCore
import Synchronization

#if canImport(Network)
    import Network
#else
    import Glibc
#endif

/// Tells that the machine's network may have changed: an interface, address or route came or went.
///
/// By the path monitor on Apple's systems, by a routing socket (rtnetlink(7)) on Linux. Ends when it is released.
package final class NetworkWatch: Sendable {
    private let news: News
    #if canImport(Network)
        private let monitor = NWPathMonitor()
    #else
        // Unsafe: set up before anybody else knows it; `cancel` may be called from any thread.
        private nonisolated(unsafe) let source: any DispatchSourceRead
    #endif

    /// At most one call in this time: changes come in bursts.
    package static let quietSeconds = 1.0

    /// Begins to watch; nil where the system does not let this process.
    ///
    /// - Parameter onChange: is called on a queue of the watch, at once and then at most once a second.
    package init?(onChange: @escaping @Sendable () -> Void) {
        let queue = DispatchQueue(label: "docdb.network-watch")
        news = News(queue: queue, onChange: onChange)
        #if canImport(Network)
            monitor.pathUpdateHandler = { [news] path in if path.status == .satisfied { news.add() } }
            monitor.start(queue: queue)
        #else
            guard let descriptor = Self.openRoutingSocket() else { return nil }
            source = DispatchSource.makeReadSource(fileDescriptor: descriptor, queue: queue)
            source.setEventHandler { [news] in
                Self.drain(descriptor)
                news.add()
            }
            source.setCancelHandler { close(descriptor) }
            source.resume()
        #endif
    }

    deinit {
        #if canImport(Network)
            monitor.cancel()
        #else
            source.cancel()
        #endif
    }

    #if !canImport(Network)
        /// Opens a socket that the kernel tells of changes to links, addresses and routes.
        private static func openRoutingSocket() -> Int32? {
            // Of linux/netlink.h and linux/rtnetlink.h, which Glibc's module leaves out.
            let family: UInt16 = 16
            let groups: UInt32 = 0x1 | 0x10 | 0x40 | 0x100 | 0x400
            let kind = Int32(SOCK_RAW.rawValue) | Int32(SOCK_CLOEXEC.rawValue) | Int32(SOCK_NONBLOCK.rawValue)
            let descriptor = socket(Int32(family), kind, 0)
            guard descriptor >= 0 else { return nil }
            // sockaddr_nl: family, padding, port id (the kernel's choice), groups.
            var address: (UInt16, UInt16, UInt32, UInt32) = (family, 0, 0, groups)
            let size = socklen_t(MemoryLayout.size(ofValue: address))
            let isBound = withUnsafePointer(to: &address) { pointer in
                pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { bind(descriptor, $0, size) == 0 }
            }
            guard isBound else {
                close(descriptor)
                return nil
            }
            return descriptor
        }

        /// Reads all that waits; only that something came matters.
        private static func drain(_ descriptor: Int32) {
            withUnsafeTemporaryAllocation(byteCount: 8192, alignment: 8) { buffer in
                while recv(descriptor, buffer.baseAddress, buffer.count, 0) > 0 {}
            }
        }
    #endif

    /// Passes news on, at most once in `quietSeconds`.
    private final class News: Sendable {
        private let queue: DispatchQueue
        private let onChange: @Sendable () -> Void
        private let state = Lock((isQuiet: false, isPending: false))

        init(queue: DispatchQueue, onChange: @escaping @Sendable () -> Void) {
            self.queue = queue
            self.onChange = onChange
        }

        func add() {
            let mustTell = state.withLock { state in
                if state.isQuiet { state.isPending = true }
                defer { state.isQuiet = true }
                return !state.isQuiet
            }
            guard mustTell else { return }
            onChange()
            queue.asyncAfter(deadline: .now() + NetworkWatch.quietSeconds) { [weak self] in self?.endQuiet() }
        }

        private func endQuiet() {
            let isPending = state.withLock { state in
                defer { state = (false, false) }
                return state.isPending
            }
            if isPending { add() }
        }
    }
}
