package import DocDBCore

/// Sends HTTP requests; a protocol so that tests answer them without a network.
package protocol HTTPFetching: Sendable {
    /// Sends a request and returns the answer, whatever its status; redirects are never followed.
    ///
    /// - Throws: `.invalidAddress`, `.connectionFailed`, `.timedOut`, `.certificateRejected`, `.limitReached` (an answer
    ///   larger than `limits.responseByteCount`), `.cancelled`.
    func send(_ request: HTTPClientRequest, limits: HTTPClientLimits) async throws(DocDBError) -> HTTPResponse
}

/// A request to another server.
package struct HTTPClientRequest: Sendable, Hashable {
    /// The whole URL, `https` or `http`.
    package var url: String
    /// The method.
    package var method: String
    /// Values by header name.
    package var headers: [String: String]
    /// The body.
    package var body: [UInt8]
    /// How the server's certificate is verified.
    package var trust: CertificateTrust

    package init(
        url: String, method: String = "GET", headers: [String: String] = [:], body: [UInt8] = [],
        trust: CertificateTrust = .system
    ) {
        self.url = url
        self.method = method
        self.headers = headers
        self.body = body
        self.trust = trust
    }
}

/// What an answer may cost.
package struct HTTPClientLimits: Sendable, Hashable {
    /// The most bytes of the answer's body.
    package var responseByteCount: Int
    /// The seconds within which the whole answer must be there.
    package var timeoutSeconds: Double

    package init(responseByteCount: Int = 64 * 1024, timeoutSeconds: Double = 5) {
        self.responseByteCount = responseByteCount
        self.timeoutSeconds = timeoutSeconds
    }
}
