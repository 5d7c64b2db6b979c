import CWebSockets
import DocDBCore

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// A TCP server that accepts and then says nothing, or one thing to each client before it closes.
final class SilentServer: @unchecked Sendable {
    let port: UInt16
    private let descriptor: Int32

    init(answering answer: String? = nil) throws {
        descriptor = socket(AF_INET, docdb_socket_stream, 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let descriptor = descriptor
        let status = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                bind(descriptor, address, length) == 0 && listen(descriptor, 8) == 0
                    && getsockname(descriptor, address, &length) == 0
            }
        }
        guard status else { throw DocDBError(.connectionFailed, "errno \(errno)") }
        port = UInt16(bigEndian: address.sin_port)
        guard let answer else { return }
        Self.serve(descriptor, [UInt8](answer.utf8))
    }

    deinit {
        // Wakes the thread that accepts, which ends with that.
        shutdown(descriptor, Int32(SHUT_RDWR))
        close(descriptor)
    }

    private static func serve(_ descriptor: Int32, _ answer: [UInt8]) {
        startThread { run(descriptor, answer) }
    }

    /// Accepts, reads once, answers and closes, until the socket that listens is gone.
    private static func run(_ descriptor: Int32, _ answer: [UInt8]) {
        while true {
            let client = accept(descriptor, nil, nil)
            guard client >= 0 else { return }
            var buffer = [UInt8](repeating: 0, count: 4096)
            _ = recv(client, &buffer, buffer.count, 0)
            _ = send(client, answer, answer.count, 0)
            shutdown(client, Int32(SHUT_WR))
            _ = recv(client, &buffer, buffer.count, 0)
            close(client)
        }
    }
}
