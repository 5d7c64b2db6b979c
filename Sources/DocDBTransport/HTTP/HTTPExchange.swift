import CWebSockets
import Synchronization

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// One request of a listener and its answer; of the service thread, but for `respond`.
final class HTTPExchange: @unchecked Sendable {
    private let acceptor: Acceptor
    private let remoteAddress: String
    private var handle: OpaquePointer?
    private var request: HTTPRequest?
    private var bodyByteCount = 0
    /// The whole answer, head and body, and how much of it has gone out.
    private var output: [UInt8] = []
    private var sentByteCount = 0
    private let hasAnswered = Atomic(false)
    /// Whether the request is there and has been handed over.
    private(set) var isComplete = false

    init(acceptor: Acceptor, remoteAddress: String) {
        self.acceptor = acceptor
        self.remoteAddress = remoteAddress
    }

    /// Takes the head of a request.
    func begin(_ head: HTTPHead, _ handle: OpaquePointer) -> Int32 {
        self.handle = handle
        guard !head.method.isEmpty, acceptor.options.requestHandler != nil else {
            return Self.answer(.text(404, "there is nothing here"), handle)
        }
        let length = head.contentLength
        let hasBody = ["POST", "PUT", "PATCH"].contains(head.method)
        guard length != nil || !hasBody else {
            return Self.answer(.text(411, "the length of the body must be given"), handle)
        }
        let limit = acceptor.options.requestBodyByteCount
        guard (length ?? 0) <= limit else {
            return Self.answer(.text(413, "the body is larger than the limit of \(limit) bytes"), handle)
        }
        bodyByteCount = length ?? 0
        request = HTTPRequest(
            method: head.method, path: head.path, query: head.query,
            headers: head.headers, remoteAddress: remoteAddress)
        // The library reports the end of a body, an empty one of POST included.
        if bodyByteCount == 0, head.method != "POST" || length == nil { complete() }
        return 0
    }

    func handle(_ event: ServiceEvent) -> Int32 {
        switch event.reason {
        case LWS_CALLBACK_HTTP_BODY:
            guard !isComplete else { return 0 }
            guard let body = request?.body.count, event.count <= bodyByteCount - body else { return -1 }
            request?.body.append(
                contentsOf: UnsafeRawBufferPointer(start: event.input, count: event.input == nil ? 0 : event.count))
            return 0
        case LWS_CALLBACK_HTTP_BODY_COMPLETION:
            guard !isComplete else { return 0 }
            guard request?.body.count == bodyByteCount else { return -1 }
            complete()
            return 0
        case LWS_CALLBACK_HTTP_WRITEABLE:
            return write(event.handle)
        default:
            return 0
        }
    }

    func didEnd() { handle = nil }

    /// Hands the request over.
    ///
    /// Receiving goes on: the library calls no writer of HTTP while it is stopped.
    private func complete() {
        guard !isComplete, let request, let handler = acceptor.options.requestHandler else { return }
        isComplete = true
        handler(request) { [weak self] response in self?.respond(response) }
    }

    private func respond(_ response: HTTPResponse) {
        guard !hasAnswered.exchange(true, ordering: .relaxed) else { return }
        acceptor.loop.perform { _ in
            guard let handle = self.handle else { return }
            self.output = Self.encode(response, isHead: self.request?.method == "HEAD")
            lws_callback_on_writable(handle)
        }
    }

    private func write(_ handle: OpaquePointer) -> Int32 {
        guard !output.isEmpty else { return 0 }
        let scratch = acceptor.loop.scratch + Int(docdb_lws_pre)
        let count = min(output.count - sentByteCount, TransportLimits.chunkByteCount)
        output.withUnsafeBytes { bytes in
            if let base = bytes.baseAddress { memcpy(scratch, base + sentByteCount, count) }
        }
        let status = lws_write(
            handle, scratch, count, lws_write_protocol(UInt32(bitPattern: docdb_lws_write_http_headers)))
        guard Int(status) >= count else { return -1 }
        sentByteCount += count
        guard sentByteCount < output.count else { return -1 }
        lws_callback_on_writable(handle)
        return 0
    }

    /// Answers at once and closes; for short answers only.
    static func answer(_ response: HTTPResponse, _ handle: OpaquePointer) -> Int32 {
        var output = [UInt8](repeating: 0, count: Int(docdb_lws_pre))
        output += encode(response, isHead: false)
        let count = output.count - Int(docdb_lws_pre)
        output.withUnsafeMutableBufferPointer { bytes in
            guard let base = bytes.baseAddress else { return }
            _ = lws_write(
                handle, base + Int(docdb_lws_pre), count,
                lws_write_protocol(UInt32(bitPattern: docdb_lws_write_http_headers)))
        }
        return -1
    }

    /// The bytes of an answer; a short text is also the status line's reason, which clients of WebSockets can show.
    private static func encode(_ response: HTTPResponse, isHead: Bool) -> [UInt8] {
        let isText = response.headers["content-type"]?.hasPrefix("text/plain") ?? false
        let text = isText && response.status >= 400 && response.body.count <= reasonByteLimit ? response.body : []
        var head = "HTTP/1.1 \(response.status) "
        head += printable(text.isEmpty ? [UInt8](reason(response.status).utf8) : text)
        head += "\r\ncontent-length: \(response.body.count)\r\nconnection: close\r\n"
        for (name, value) in response.headers.sorted(by: { $0.key < $1.key }) where name != "content-length" {
            head += "\(printable([UInt8](name.utf8))): \(printable([UInt8](value.utf8)))\r\n"
        }
        head += "\r\n"
        return [UInt8](head.utf8) + (isHead ? [] : response.body)
    }

    private static let reasonByteLimit = 120

    /// A header's text without what would end it.
    private static func printable(_ bytes: [UInt8]) -> String {
        String(decoding: bytes.map { $0 >= 0x20 && $0 < 0x7F ? $0 : UInt8(ascii: " ") }, as: UTF8.self)
    }

    private static func reason(_ status: Int) -> String {
        switch status {
        case 200: "OK"
        case 204: "No Content"
        case 400: "Bad Request"
        case 401: "Unauthorized"
        case 403: "Forbidden"
        case 404: "Not Found"
        case 405: "Method Not Allowed"
        case 429: "Too Many Requests"
        case 500: "Internal Server Error"
        case 503: "Service Unavailable"
        default: "Status"
        }
    }
}
