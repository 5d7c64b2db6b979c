import CWebSockets
import DocDB
import DocDBAuth

#if canImport(Darwin)
    import Darwin
#else
    import Glibc
#endif

/// Logs users in at a hub over HTTP, on the calling thread alone, so that its share of the processor time is known.
struct LoginClient {
    let port: UInt16
    let provider: String

    /// Logs one user in: asks for a nonce, then sends the token with a proof over it.
    func logIn(token: String, pair: PeerKeyPair) throws {
        guard case .nonce(let nonce) = try post(try LoginRequest.nonceRequest(appID: DocDBCars.appID)) else {
            throw BenchmarkError("the hub gave no nonce")
        }
        let request = try LoginRequest.loginRequest(
            appID: DocDBCars.appID, provider: provider, token: token, nonce: nonce, pair: pair)
        switch try post(request) {
        case .accepted: break
        case .refused(let refused): throw refused.error
        case .nonce: throw BenchmarkError("the hub gave no grant")
        }
    }

    private func post(_ body: [UInt8]) throws -> LoginAnswer {
        let head =
            "POST /v1/login HTTP/1.1\r\nHost: 127.0.0.1:\(port)\r\nContent-Type: application/json\r\n"
            + "Content-Length: \(body.count)\r\nConnection: close\r\n\r\n"
        let answer = try exchange(Array(head.utf8) + body)
        guard let end = answer.indices.first(where: { answer[$0...].starts(with: Array("\r\n\r\n".utf8)) }),
            let status = Int(String(decoding: answer.dropFirst(9).prefix(3), as: UTF8.self))
        else { throw BenchmarkError("the hub gave no answer of HTTP") }
        return try LoginAnswer(status: status, body: Array(answer[(end + 4)...]))
    }

    /// Sends a request over a connection of its own, and returns all that comes back.
    private func exchange(_ request: [UInt8]) throws -> [UInt8] {
        let descriptor = socket(AF_INET, docdb_socket_stream, 0)
        defer { close(descriptor) }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        let status = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                connect(descriptor, address, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        guard status == 0, send(descriptor, request, request.count, 0) == request.count else {
            throw BenchmarkError("the hub takes no connection")
        }
        var answer: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 16 * 1024)
        while true {
            let count = recv(descriptor, &chunk, chunk.count, 0)
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { return answer }
            answer += chunk[..<count]
        }
    }
}
