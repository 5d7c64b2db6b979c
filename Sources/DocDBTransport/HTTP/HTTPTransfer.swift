import CCurl
import CWebSockets
import DocDBCore

/// One request under way; of the loop's thread.
final class HTTPTransfer: @unchecked Sendable {
    private let request: HTTPClientRequest
    private let limits: HTTPClientLimits
    private(set) var easy: UnsafeMutableRawPointer?
    /// Whether it was cancelled before it began.
    var isCancelled = false
    private var headerList: UnsafeMutablePointer<curl_slist>?
    private var errorBuffer: UnsafeMutablePointer<CChar>?
    private var response = HTTPResponse(status: 0)
    private var headerByteCount = 0
    private var isTooLarge = false

    /// The most bytes of an answer's headers.
    private static let headerByteLimit = 32 * 1024

    init(_ request: HTTPClientRequest, _ limits: HTTPClientLimits) {
        self.request = request
        self.limits = limits
    }

    /// Sets a handle of libcurl up; nil where memory is short.
    func open() -> UnsafeMutableRawPointer? {
        guard let easy = curl_easy_init() else { return nil }
        self.easy = easy
        errorBuffer = .allocate(capacity: Int(CURL_ERROR_SIZE))
        errorBuffer?.initialize(repeating: 0, count: Int(CURL_ERROR_SIZE))
        docdb_curl_set_pointer(easy, CURLOPT_ERRORBUFFER, errorBuffer)
        docdb_curl_set_text(easy, CURLOPT_URL, request.url)
        docdb_curl_set_text(easy, CURLOPT_PROTOCOLS_STR, "http,https")
        docdb_curl_set_long(easy, CURLOPT_FOLLOWLOCATION, 0)
        docdb_curl_set_long(easy, CURLOPT_NOSIGNAL, 1)
        docdb_curl_set_long(easy, CURLOPT_TIMEOUT_MS, Int(max(1, min(limits.timeoutSeconds, 3600) * 1000)))
        docdb_curl_set_text(easy, CURLOPT_USERAGENT, "docdb")
        docdb_curl_set_receiver(easy, CURLOPT_WRITEFUNCTION, receiveBody)
        docdb_curl_set_receiver(easy, CURLOPT_HEADERFUNCTION, receiveHeader)
        // The loop keeps the transfer for as long as the handle lives.
        let owner = Unmanaged.passUnretained(self).toOpaque()
        docdb_curl_set_pointer(easy, CURLOPT_WRITEDATA, owner)
        docdb_curl_set_pointer(easy, CURLOPT_HEADERDATA, owner)
        setTrust(easy)
        setRequest(easy)
        return easy
    }

    func close() {
        if let easy { curl_easy_cleanup(easy) }
        easy = nil
        curl_slist_free_all(headerList)
        headerList = nil
        errorBuffer?.deallocate()
        errorBuffer = nil
    }

    private func setTrust(_ easy: UnsafeMutableRawPointer) {
        docdb_curl_set_long(easy, CURLOPT_SSLVERSION, Int(CURL_SSLVERSION_TLSv1_2))
        switch request.trust {
        case .system:
            break
        case .authorities(let file):
            docdb_curl_set_text(easy, CURLOPT_CAINFO, file)
            docdb_curl_set_text(easy, CURLOPT_CAPATH, nil)
        case .pinned(let hashes):
            docdb_curl_set_long(easy, CURLOPT_SSL_VERIFYPEER, 0)
            docdb_curl_set_long(easy, CURLOPT_SSL_VERIFYHOST, 0)
            let pins = hashes.map { "sha256//" + Self.base64($0) }.joined(separator: ";")
            // No pins trust nobody; an empty option would be none.
            docdb_curl_set_text(easy, CURLOPT_PINNEDPUBLICKEY, pins.isEmpty ? "sha256//" : pins)
        }
    }

    private func setRequest(_ easy: UnsafeMutableRawPointer) {
        for (name, value) in request.headers.sorted(by: { $0.key < $1.key }) {
            headerList = curl_slist_append(headerList, "\(name): \(value)")
        }
        if request.method == "HEAD" {
            docdb_curl_set_long(easy, CURLOPT_NOBODY, 1)
        } else if request.method != "GET" || !request.body.isEmpty {
            // Neither waits for permission to send the body, nor calls it a form.
            headerList = curl_slist_append(headerList, "Expect:")
            if !request.headers.keys.contains(where: { $0.lowercased() == "content-type" }) {
                headerList = curl_slist_append(headerList, "Content-Type:")
            }
            docdb_curl_set_long(easy, CURLOPT_POSTFIELDSIZE, request.body.count)
            _ = request.body.withUnsafeBytes { docdb_curl_set_pointer(easy, CURLOPT_COPYPOSTFIELDS, $0.baseAddress) }
            if request.body.isEmpty { docdb_curl_set_text(easy, CURLOPT_COPYPOSTFIELDS, "") }
            docdb_curl_set_text(easy, CURLOPT_CUSTOMREQUEST, request.method)
        }
        docdb_curl_set_pointer(easy, CURLOPT_HTTPHEADER, headerList)
    }

    private static func base64(_ bytes: [UInt8]) -> String {
        var text = [UInt8](repeating: 0, count: bytes.count / 3 * 4 + 5)
        let count = EVP_EncodeBlock(&text, bytes, Int32(bytes.count))
        return String(decoding: text.prefix(max(0, Int(count))), as: UTF8.self)
    }
}

// What libcurl hands over.
extension HTTPTransfer {
    fileprivate func receive(body bytes: UnsafeRawBufferPointer) -> Bool {
        guard response.body.count + bytes.count <= limits.responseByteCount else {
            isTooLarge = true
            return false
        }
        response.body.append(contentsOf: bytes)
        return true
    }

    fileprivate func receive(header bytes: UnsafeRawBufferPointer) -> Bool {
        headerByteCount += bytes.count
        guard headerByteCount <= Self.headerByteLimit else {
            isTooLarge = true
            return false
        }
        // A further status line begins the headers anew, as after an answer that only asks for patience.
        if bytes.starts(with: "HTTP/".utf8) { response.headers = [:] }
        guard let colon = bytes.firstIndex(of: UInt8(ascii: ":")) else { return true }
        let name = String(decoding: bytes[..<colon], as: UTF8.self).lowercased()
        var value = bytes[(colon + 1)...]
        while let first = value.first, first == 0x20 || first == 0x09 { value = value.dropFirst() }
        while let last = value.last, last <= 0x20 { value = value.dropLast() }
        response.headers[name] = String(decoding: value, as: UTF8.self)
        return true
    }

    /// The outcome, as libcurl reports it.
    func result(_ code: CURLcode) -> Result<HTTPResponse, DocDBError> {
        guard code == CURLE_OK, let easy else { return .failure(failure(code)) }
        response.status = docdb_curl_get_long(easy, CURLINFO_RESPONSE_CODE)
        return .success(response)
    }

    private func failure(_ code: CURLcode) -> DocDBError {
        let host = request.host
        let detail = errorBuffer.map { String(cString: $0) } ?? ""
        let reason = detail.isEmpty ? String(cString: curl_easy_strerror(code)) : detail
        if isTooLarge {
            return DocDBError(
                .limitReached,
                "the answer of \(host) is larger than the limit of \(limits.responseByteCount) bytes")
        }
        switch code {
        case CURLE_URL_MALFORMAT, CURLE_UNSUPPORTED_PROTOCOL:
            return DocDBError(.invalidAddress, "the URL does not parse; write it as https://example.com/path")
        case CURLE_OPERATION_TIMEDOUT:
            return DocDBError(
                .timedOut, "\(host) did not answer within \(limits.timeoutSeconds) seconds; check address and network")
        case CURLE_PEER_FAILED_VERIFICATION, CURLE_SSL_PINNEDPUBKEYNOTMATCH, CURLE_SSL_ISSUER_ERROR:
            return DocDBError(
                .certificateRejected, "the certificate of \(host) does not verify: \(reason)",
                context: ["reason": reason])
        case CURLE_SSL_CACERT_BADFILE:
            return DocDBError(.certificateInvalid, "cannot read the certificate authorities: \(reason)")
        default:
            return DocDBError(.connectionFailed, "cannot get an answer from \(host): \(reason)")
        }
    }
}

private func receiveBody(
    _ bytes: UnsafeMutablePointer<CChar>?, _ size: Int, _ count: Int, _ owner: UnsafeMutableRawPointer?
) -> Int {
    guard let owner else { return 0 }
    let transfer = Unmanaged<HTTPTransfer>.fromOpaque(owner).takeUnretainedValue()
    let length = size * count
    return transfer.receive(body: UnsafeRawBufferPointer(start: bytes, count: length)) ? length : 0
}

private func receiveHeader(
    _ bytes: UnsafeMutablePointer<CChar>?, _ size: Int, _ count: Int, _ owner: UnsafeMutableRawPointer?
) -> Int {
    guard let owner else { return 0 }
    let transfer = Unmanaged<HTTPTransfer>.fromOpaque(owner).takeUnretainedValue()
    let length = size * count
    return transfer.receive(header: UnsafeRawBufferPointer(start: bytes, count: length)) ? length : 0
}
