import CWebSockets

/// The head of a request, as the WebSocket library holds it while the request is being begun.
struct HTTPHead {
    private let handle: OpaquePointer
    let method: String
    let path: String

    init(_ handle: OpaquePointer) {
        self.handle = handle
        let methods: [(lws_token_indexes, String)] = [
            (WSI_TOKEN_GET_URI, "GET"), (WSI_TOKEN_POST_URI, "POST"), (WSI_TOKEN_PUT_URI, "PUT"),
            (WSI_TOKEN_DELETE_URI, "DELETE"), (WSI_TOKEN_PATCH_URI, "PATCH"), (WSI_TOKEN_HEAD_URI, "HEAD"),
            (WSI_TOKEN_OPTIONS_URI, "OPTIONS"),
        ]
        let found = methods.first { lws_hdr_total_length(handle, $0.0) > 0 }
        method = found?.1 ?? ""
        path = found.flatMap { Self.value($0.0, handle) } ?? ""
    }

    /// The value of a header, or of another part of the head; nil where it is absent.
    func value(_ token: lws_token_indexes) -> String? { Self.value(token, handle) }

    private static func value(_ token: lws_token_indexes, _ handle: OpaquePointer) -> String? {
        let count = Int(lws_hdr_total_length(handle, token))
        guard count > 0, count <= TransportLimits.requestHeadByteCount else { return nil }
        // Parts of a header are joined with a character each, which the total does not count.
        var bytes = [CChar](repeating: 0, count: count + 256)
        let copied = lws_hdr_copy(handle, &bytes, Int32(bytes.count), token)
        guard copied > 0, Int(copied) <= bytes.count else { return nil }
        return String(decoding: bytes[..<Int(copied)].map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    /// What follows the `?`, percent-decoded; empty where there is nothing.
    var query: String {
        var parts: [String] = []
        var bytes = [CChar](repeating: 0, count: TransportLimits.requestHeadByteCount)
        while true {
            let count = lws_hdr_copy_fragment(
                handle, &bytes, Int32(bytes.count), WSI_TOKEN_HTTP_URI_ARGS, Int32(parts.count))
            guard count > 0, Int(count) < bytes.count else { break }
            parts.append(String(decoding: bytes[..<Int(count)].map { UInt8(bitPattern: $0) }, as: UTF8.self))
        }
        return parts.joined(separator: "&")
    }

    /// The length that the head states for the body; nil where it states none, or one that is no number.
    var contentLength: Int? {
        value(WSI_TOKEN_HTTP_CONTENT_LENGTH).flatMap { text in
            text.utf8.allSatisfy { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) } ? Int(text) : nil
        }
    }

    /// The headers that are handed on, by name.
    var headers: [String: String] {
        let tokens: [(String, lws_token_indexes)] = [
            ("accept", WSI_TOKEN_HTTP_ACCEPT), ("authorization", WSI_TOKEN_HTTP_AUTHORIZATION),
            ("content-type", WSI_TOKEN_HTTP_CONTENT_TYPE), ("host", WSI_TOKEN_HOST), ("origin", WSI_TOKEN_ORIGIN),
            ("user-agent", WSI_TOKEN_HTTP_USER_AGENT), ("x-forwarded-for", WSI_TOKEN_X_FORWARDED_FOR),
        ]
        var headers: [String: String] = [:]
        for (name, token) in tokens { headers[name] = value(token) }
        return headers
    }

    /// The name in a `Host` header, without its port.
    static func hostName(_ header: String) -> String {
        if header.hasPrefix("["), let end = header.firstIndex(of: "]") {
            return String(header[header.index(after: header.startIndex)..<end])
        }
        guard let colon = header.lastIndex(of: ":") else { return header }
        return String(header[..<colon])
    }
}
