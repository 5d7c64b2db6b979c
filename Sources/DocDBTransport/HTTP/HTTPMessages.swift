/// A request that has arrived whole.
package struct HTTPRequest: Sendable, Hashable {
    /// The method, such as `GET`.
    package var method: String
    /// The path, percent-decoded, without the query.
    package var path: String
    /// What follows the `?`, percent-decoded; empty where there is none.
    package var query: String
    /// Values by header name, in lower case: those of `accept`, `authorization`, `content-type`, `host`, `origin`,
    /// `user-agent` and `x-forwarded-for` alone.
    package var headers: [String: String]
    /// The body.
    package var body: [UInt8]
    /// The client's address, without its port.
    package var remoteAddress: String

    package init(
        method: String, path: String, query: String = "", headers: [String: String] = [:], body: [UInt8] = [],
        remoteAddress: String
    ) {
        self.method = method
        self.path = path
        self.query = query
        self.headers = headers
        self.body = body
        self.remoteAddress = remoteAddress
    }
}

/// An answer, of a listener or to one.
package struct HTTPResponse: Sendable, Hashable {
    /// The status, such as 200.
    package var status: Int
    /// Values by header name, in lower case.
    package var headers: [String: String]
    /// The body.
    package var body: [UInt8]

    package init(status: Int, headers: [String: String] = [:], body: [UInt8] = []) {
        self.status = status
        self.headers = headers
        self.body = body
    }

    /// An answer in plain text.
    package static func text(_ status: Int, _ text: String) -> Self {
        Self(status: status, headers: ["content-type": "text/plain; charset=utf-8"], body: [UInt8](text.utf8))
    }

    /// An answer that is JSON already.
    package static func json(_ status: Int, _ body: [UInt8]) -> Self {
        Self(status: status, headers: ["content-type": "application/json"], body: body)
    }
}

/// Answers requests that are no WebSocket's; `respond` may be called at any time, from any thread, once.
package typealias HTTPRequestHandler =
    @Sendable (_ request: HTTPRequest, _ respond: @escaping @Sendable (HTTPResponse) -> Void) -> Void
