import DocDBCore
import DocDBTransport
import Testing

@Suite("WebSocketURL")
struct WebSocketURLTests {
    struct Case: Sendable, CustomTestStringConvertible {
        var text: String
        var isTLS: Bool
        var host: String
        var port: UInt16
        var path: String
        var testDescription: String { text }
    }

    @Test(
        "URLs are taken apart",
        arguments: [
            Case(text: "ws://localhost", isTLS: false, host: "localhost", port: 80, path: "/v1/sync"),
            Case(text: "wss://Hub.Example.com/", isTLS: true, host: "hub.example.com", port: 443, path: "/v1/sync"),
            Case(
                text: "WSS://hub.example.com:4430/v1/sync", isTLS: true, host: "hub.example.com", port: 4430,
                path: "/v1/sync"),
            Case(text: "ws://192.0.2.7:1/a/b?c=d", isTLS: false, host: "192.0.2.7", port: 1, path: "/a/b?c=d"),
            Case(text: "ws://host?c=d", isTLS: false, host: "host", port: 80, path: "/v1/sync?c=d"),
            Case(text: "ws://[::1]:8080/x", isTLS: false, host: "::1", port: 8080, path: "/x"),
            Case(text: "wss://[2001:DB8::7]", isTLS: true, host: "2001:db8::7", port: 443, path: "/v1/sync"),
        ])
    func parses(_ sample: Case) throws {
        let url = try WebSocketURL(sample.text)
        #expect(url.isTLS == sample.isTLS)
        #expect(url.host == sample.host)
        #expect(url.port == sample.port)
        #expect(url.path == sample.path)
    }

    @Test(
        "What is no URL of a WebSocket is refused",
        arguments: [
            "", "hub", "hub.example.com:4430", "http://hub", "https://hub", "ws:/hub", "ws://", "ws:///path",
            "ws://:80", "ws://host:0", "ws://host:65536", "ws://host:8x", "ws://host:", "ws://user@host",
            "ws://user:secret@host", "ws://ho st", "ws://host/\n", "ws://höst", "ws://host#x", "ws://[::1", "ws://[]",
            "ws://[nothing]", "ws://[::1]x", "ws://::1", "ws://a/b\u{7f}", "ws://ho%41st", "ws://host\\path",
            "ws://" + String(repeating: "h", count: 121), "ws://h/" + String(repeating: "p", count: 2048),
        ])
    func refuses(_ text: String) {
        let error = #expect(throws: DocDBError.self) { try WebSocketURL(text) }
        #expect(error?.code == .invalidAddress)
        // A URL may hold what is secret, so it is not repeated.
        #expect(error?.message.contains("secret") == false)
    }
}
