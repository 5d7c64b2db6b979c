import DocDBCore
import Foundation
import Synchronization

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// Ports that tests listen on more than once.
///
/// A port that the system chose and that was given back may be another's a moment later; these lie below the range the
/// system chooses from, and each is handed out once.
enum TestPort {
    private static let range: Range<UInt16> = 20_000..<32_000
    private static let next = Lock<UInt16>(
        range.lowerBound + UInt16(ProcessInfo.processInfo.processIdentifier % Int32(range.count)))

    /// A port of the loopback interface that nobody listens on.
    static func make() -> UInt16 {
        next.withLock { next in
            for _ in range {
                let port = next
                next = next + 1 < range.upperBound ? next + 1 : range.lowerBound
                if isFree(port) { return port }
            }
            preconditionFailure("no port of \(range) is free")
        }
    }

    private static func isFree(_ port: UInt16) -> Bool {
        #if canImport(Glibc)
            let stream = Int32(SOCK_STREAM.rawValue)
        #else
            let stream = SOCK_STREAM
        #endif
        let descriptor = socket(AF_INET, stream, 0)
        guard descriptor >= 0 else { return false }
        defer { close(descriptor) }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        return withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
            }
        }
    }
}
