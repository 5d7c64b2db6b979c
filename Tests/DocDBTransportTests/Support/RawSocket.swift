import DocDBCore
import CWebSockets

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// A plain TCP connection to this machine, to send what no well-behaved client sends.
final class RawSocket: @unchecked Sendable {
    private let descriptor: Int32

    init(port: UInt16, receiveByteCount: Int32? = nil) throws {
        descriptor = socket(AF_INET, docdb_socket_stream, 0)
        if var receiveByteCount {
            setsockopt(descriptor, SOL_SOCKET, SO_RCVBUF, &receiveByteCount, socklen_t(MemoryLayout<Int32>.size))
        }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        let status = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                connect(descriptor, address, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        guard status == 0 else { throw DocDBError(.connectionFailed, "errno \(errno)") }
    }

    deinit { close(descriptor) }

    /// Sends all bytes, or as many as the other side takes before it closes.
    @discardableResult
    func send(_ bytes: [UInt8]) -> Bool {
        var sent = 0
        while sent < bytes.count {
            let count = bytes.withUnsafeBytes { all in
                all.baseAddress.map { systemSend(descriptor, $0 + sent, bytes.count - sent) } ?? -1
            }
            guard count > 0 else { return false }
            sent += count
        }
        return true
    }

    @discardableResult
    func send(_ text: String) -> Bool { send([UInt8](text.utf8)) }

    /// Says that no more is sent.
    func finish() { shutdown(descriptor, Int32(SHUT_WR)) }

    /// Closes with a reset instead of a farewell.
    func reset() {
        var option = linger(l_onoff: 1, l_linger: 0)
        setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &option, socklen_t(MemoryLayout<linger>.size))
        let null = open("/dev/null", O_RDONLY)
        dup2(null, descriptor)
        close(null)
    }

    /// Reads until the other side closes, as text.
    func readAll() -> String { String(decoding: readBytes(), as: UTF8.self) }

    /// Reads so many bytes, or fewer where the other side closes.
    func read(count: Int) -> [UInt8] {
        var all = [UInt8](repeating: 0, count: count)
        let received = recv(descriptor, &all, count, Int32(MSG_WAITALL))
        return Array(all.prefix(max(0, received)))
    }

    /// Sends a byte every tenth of a second, as `poll` times it, until the other side closes; false if it never does.
    func dripUntilClosed() -> Bool {
        for _ in 0..<300 {
            var entry = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
            if poll(&entry, 1, 100) > 0 { return recv(descriptor, &entry, 1, 0) <= 0 }
            guard send([UInt8(ascii: "x")]) else { return true }
        }
        return false
    }

    /// Reads until the other side closes.
    func readBytes() -> [UInt8] {
        var all: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 4096)
        while true {
            let count = recv(descriptor, &buffer, buffer.count, 0)
            guard count > 0 else { return all }
            all += buffer[..<count]
        }
    }

    /// Reads until the head of an answer has come.
    func readHead() -> String {
        var all: [UInt8] = []
        var byte: UInt8 = 0
        while recv(descriptor, &byte, 1, 0) == 1 {
            all.append(byte)
            if all.suffix(4) == [13, 10, 13, 10] { break }
        }
        return String(decoding: all, as: UTF8.self)
    }
}

/// Sends without the signal that a connection which has gone would raise.
private func systemSend(_ descriptor: Int32, _ bytes: UnsafeRawPointer, _ count: Int) -> Int {
    #if canImport(Darwin)
        send(descriptor, bytes, count, 0)
    #else
        send(descriptor, bytes, count, Int32(MSG_NOSIGNAL))
    #endif
}
