import CWebSockets
import DocDBCore

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// Names to numeric addresses, and addresses of sockets to text.
enum Resolver {
    /// Calls `body` with each address of `host`, in the system's order, until it returns a value.
    ///
    /// - Parameters:
    ///   - isNumeric: whether `host` must be numeric, so that nothing is looked up and the call cannot block.
    ///   - isPassive: whether an empty host means every address of this machine.
    static func first<T>(
        host: String, port: UInt16, isNumeric: Bool, isPassive: Bool = false,
        _ body: (UnsafePointer<addrinfo>) throws(DocDBError) -> T?
    ) throws(DocDBError) -> T? {
        var hints = addrinfo()
        hints.ai_socktype = docdb_socket_stream
        hints.ai_flags = AI_NUMERICSERV | (isNumeric ? AI_NUMERICHOST : AI_ADDRCONFIG) | (isPassive ? AI_PASSIVE : 0)
        var list: UnsafeMutablePointer<addrinfo>?
        let status = getaddrinfo(host.isEmpty ? nil : host, "\(port)", &hints, &list)
        guard status == 0, let list else {
            if isNumeric {
                throw DocDBError(
                    .invalidAddress, "'\(host)' is no numeric address; write one such as 127.0.0.1, 0.0.0.0 or ::1")
            }
            let reason = gai_strerror(status).map { String(cString: $0) } ?? "error \(status)"
            throw DocDBError(
                .connectionFailed, "cannot find the address of '\(host)': \(reason); check the name and the network")
        }
        defer { freeaddrinfo(list) }
        var next: UnsafeMutablePointer<addrinfo>? = list
        while let info = next {
            if let value = try body(UnsafePointer(info)) { return value }
            next = info.pointee.ai_next
        }
        return nil
    }

    /// The numeric addresses of `host`, in the system's order; blocks while a name is looked up.
    static func addresses(of host: String, port: UInt16, isNumeric: Bool) throws(DocDBError) -> [String] {
        var found: [String] = []
        let _: Bool? = try first(host: host, port: port, isNumeric: isNumeric) { (info) throws(DocDBError) -> Bool? in
            if let address = text(of: info.pointee.ai_addr, length: info.pointee.ai_addrlen),
                !found.contains(address.host)
            {
                found.append(address.host)
            }
            return nil
        }
        return found
    }

    /// The address of the other end of a socket.
    static func remoteAddress(of descriptor: Int32) -> SocketAddress? {
        address(of: descriptor, getpeername)
    }

    /// The address of this end of a socket.
    static func localAddress(of descriptor: Int32) -> SocketAddress? {
        address(of: descriptor, getsockname)
    }

    /// Whether a numeric address is this machine's own loopback.
    static func isLoopback(_ host: String) -> Bool {
        host == "::1" || host.utf8.starts(with: "127.".utf8)
    }

    private static func address(
        of descriptor: Int32,
        _ query: (Int32, UnsafeMutablePointer<sockaddr>?, UnsafeMutablePointer<socklen_t>?) -> Int32
    ) -> SocketAddress? {
        var storage = sockaddr_storage()
        var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
        return withUnsafeMutablePointer(to: &storage) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                query(descriptor, address, &length) == 0 ? text(of: address, length: length) : nil
            }
        }
    }

    private static func text(of address: UnsafePointer<sockaddr>?, length: socklen_t) -> SocketAddress? {
        var host = [CChar](repeating: 0, count: Int(NI_MAXHOST))
        var port = [CChar](repeating: 0, count: Int(NI_MAXSERV))
        let status = getnameinfo(
            address, length, &host, socklen_t(host.count), &port, socklen_t(port.count),
            NI_NUMERICHOST | NI_NUMERICSERV)
        guard status == 0, let number = UInt16(string(port)) else { return nil }
        let numeric = string(host)
        // An IPv4 client of a socket that takes both kinds shows as ::ffff:192.0.2.7.
        let mapped = "::ffff:"
        let isMapped = numeric.utf8.starts(with: mapped.utf8) && numeric.utf8.contains(UInt8(ascii: "."))
        return SocketAddress(host: isMapped ? String(numeric.dropFirst(mapped.count)) : numeric, port: number)
    }

    private static func string(_ characters: [CChar]) -> String {
        String(decoding: characters.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }
}
