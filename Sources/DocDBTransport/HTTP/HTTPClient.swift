import CCurl
package import DocDBCore

/// Sends HTTP requests by libcurl; one thread serves all requests of the process.
///
/// Connections are kept and used again. TLS is at least 1.2, as the servers asked are other people's.
package struct HTTPClient: HTTPFetching {
    /// The most bytes of a URL.
    static let urlByteLimit = 2048

    package init() {}

    package func send(
        _ request: HTTPClientRequest, limits: HTTPClientLimits
    ) async throws(DocDBError) -> HTTPResponse {
        try Self.check(request)
        let loop = try HTTPClientLoop.shared()
        let transfer = HTTPTransfer(request, limits)
        let result = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                loop.begin(transfer) { continuation.resume(returning: $0) }
            }
        } onCancel: {
            loop.cancel(transfer)
        }
        return try result.get()
    }

    /// Refuses what libcurl would take and nobody means.
    private static func check(_ request: HTTPClientRequest) throws(DocDBError) {
        func invalid(_ reason: String) -> DocDBError {
            DocDBError(.invalidAddress, "the URL \(reason); write it as https://example.com/path")
        }
        let bytes = [UInt8](request.url.utf8)
        guard bytes.count <= urlByteLimit else { throw invalid("is longer than \(urlByteLimit) bytes") }
        guard bytes.allSatisfy({ $0 > 0x20 && $0 < 0x7F }) else {
            throw invalid("holds a space, a control character or a letter outside ASCII")
        }
        let lowercased = request.url.lowercased()
        guard lowercased.hasPrefix("https://") || lowercased.hasPrefix("http://") else {
            throw invalid("has a scheme other than https and http")
        }
        let host = request.host
        guard !host.isEmpty else { throw invalid("has no host") }
        guard !host.utf8.contains(UInt8(ascii: "@")) else { throw invalid("has a user name in it") }
        let texts = [request.method] + request.headers.flatMap { [$0.key, $0.value] }
        guard texts.allSatisfy({ $0.utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7F } }), !request.method.isEmpty else {
            throw DocDBError(.misuse, "a method or header of an HTTP request holds a control character; take it out")
        }
    }
}

extension HTTPClientRequest {
    /// The host of the URL, with its port, for messages.
    var host: String {
        guard let start = url.range(of: "://") else { return "" }
        return String(url[start...].prefix { $0 != "/" && $0 != "?" && $0 != "#" })
    }
}

extension String {
    /// The index behind the first occurrence of `text`.
    fileprivate func range(of text: String) -> Index? {
        var index = startIndex
        while index < endIndex {
            if self[index...].hasPrefix(text) { return self.index(index, offsetBy: text.count) }
            index = self.index(after: index)
        }
        return nil
    }
}
