import DocDBCore
import DocDBTransport

/// Where a hub is: one URL for its login and one for replication.
struct HubAddress: Sendable {
    let loginURL: String
    let syncURL: String

    /// Takes `https://hub.example.com:4430` apart; `wss`, and on loopback `http` and `ws`, are understood too.
    ///
    /// - Throws: `invalidAddress`.
    init(_ text: String) throws(DocDBError) {
        let schemes = ["https://": true, "wss://": true, "http://": false, "ws://": false]
        guard let (scheme, isTLS) = schemes.first(where: { text.hasPrefix($0.key) }) else {
            throw DocDBError(.invalidAddress, "the hub's URL has no scheme; write it as https://hub.example.com")
        }
        var place = text.dropFirst(scheme.count)
        while place.last == "/" { place.removeLast() }
        guard !place.contains(where: { $0 == "/" || $0 == "?" || $0 == "#" }) else {
            throw DocDBError(.invalidAddress, "the hub's URL has a path; write it as https://hub.example.com")
        }
        syncURL = (isTLS ? "wss://" : "ws://") + place + WebSocketURL.syncPath
        loginURL = (isTLS ? "https://" : "http://") + place + "/v1/login"
        let host = try WebSocketURL(syncURL).host
        // A name such as 127.example.com is another machine's.
        let isNumeric = host.utf8.allSatisfy { $0 == UInt8(ascii: ".") || UInt8(ascii: "0")...UInt8(ascii: "9") ~= $0 }
        guard isTLS || host == "localhost" || host == "::1" || isNumeric && host.hasPrefix("127.") else {
            throw DocDBError(
                .invalidAddress, "a login sends a token, so a hub on another machine needs https; change the URL")
        }
    }
}
