package import DocDBCore

/// A URL of a WebSocket, taken apart.
package struct WebSocketURL: Sendable, Hashable {
    /// Whether TLS is used (`wss`).
    package var isTLS: Bool
    /// The name or numeric address, without the brackets of an IPv6 address, in lower case.
    package var host: String
    /// The port: 443 with TLS and 80 without, unless the URL has one.
    package var port: UInt16
    /// The path with its query; `WebSocketURL.syncPath` where the URL has none.
    package var path: String

    /// The path that peers synchronise at.
    package static let syncPath = "/v1/sync"
    /// The most bytes of a URL.
    static let byteLimit = 2048
    /// The most bytes of a host and its port, which is what the WebSocket library holds.
    static let hostByteLimit = 120

    /// Whether the host is an IPv6 address.
    var isIPv6: Bool { host.utf8.contains(UInt8(ascii: ":")) }

    /// The host as a `Host` header has it.
    var hostHeader: String {
        let name = isIPv6 ? "[\(host)]" : host
        return port == (isTLS ? 443 : 80) ? name : "\(name):\(port)"
    }

    /// Takes a `ws` or `wss` URL apart.
    ///
    /// - Throws: `.invalidAddress`, saying what is wrong with it.
    package init(_ text: String) throws(DocDBError) {
        func invalid(_ reason: String) -> DocDBError {
            DocDBError(
                .invalidAddress, "the URL \(reason); write it as wss://hub.example.com:4430\(Self.syncPath)")
        }
        let bytes = [UInt8](text.utf8)
        guard bytes.count <= Self.byteLimit else { throw invalid("is longer than \(Self.byteLimit) bytes") }
        guard bytes.allSatisfy({ $0 > 0x20 && $0 < 0x7F }) else {
            throw invalid("holds a space, a control character or a letter outside ASCII")
        }
        guard let colon = bytes.firstIndex(of: UInt8(ascii: ":")),
            bytes[colon...].starts(with: "://".utf8)
        else { throw invalid("has no scheme") }
        switch String(decoding: bytes[..<colon], as: UTF8.self).lowercased() {
        case "ws": isTLS = false
        case "wss": isTLS = true
        default: throw invalid("has a scheme other than ws and wss")
        }
        let rest = bytes[(colon + 3)...]
        guard !rest.contains(UInt8(ascii: "#")) else { throw invalid("has a fragment") }
        let end = rest.firstIndex { $0 == UInt8(ascii: "/") || $0 == UInt8(ascii: "?") } ?? rest.endIndex
        let authority = rest[rest.startIndex..<end]
        guard !authority.contains(UInt8(ascii: "@")) else { throw invalid("has a user name in it") }
        guard let (host, port) = Self.split(authority) else { throw invalid("has a host or a port that is none") }
        self.host = host
        self.port = port ?? (isTLS ? 443 : 80)
        let path = String(decoding: rest[end...], as: UTF8.self)
        self.path = path.isEmpty || path == "/" ? Self.syncPath : path.hasPrefix("?") ? Self.syncPath + path : path
        guard hostHeader.utf8.count <= Self.hostByteLimit else {
            throw invalid("has a host of more than \(Self.hostByteLimit) bytes")
        }
    }

    /// Parts an authority into host and port; nil where either is none.
    private static func split(_ authority: ArraySlice<UInt8>) -> (host: String, port: UInt16?)? {
        var host = authority
        var port: ArraySlice<UInt8>?
        if authority.first == UInt8(ascii: "[") {
            guard let close = authority.firstIndex(of: UInt8(ascii: "]")) else { return nil }
            host = authority[(authority.startIndex + 1)..<close]
            guard host.contains(UInt8(ascii: ":")), host.allSatisfy(isAddressByte) else { return nil }
            let after = authority[(close + 1)...]
            if !after.isEmpty {
                guard after.first == UInt8(ascii: ":") else { return nil }
                port = after.dropFirst()
            }
        } else {
            if let colon = authority.firstIndex(of: UInt8(ascii: ":")) {
                host = authority[..<colon]
                port = authority[(colon + 1)...]
            }
            guard host.allSatisfy(isNameByte) else { return nil }
        }
        guard !host.isEmpty else { return nil }
        let name = String(decoding: host, as: UTF8.self).lowercased()
        guard let port else { return (name, nil) }
        guard port.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }),
            let number = UInt16(String(decoding: port, as: UTF8.self)), number > 0
        else { return nil }
        return (name, number)
    }

    private static func isNameByte(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"):
            true
        default: false
        }
    }

    private static func isAddressByte(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "f"), UInt8(ascii: "A")...UInt8(ascii: "F"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: ":"), UInt8(ascii: "."):
            true
        default: false
        }
    }
}
