package import DocDBCore

/// A provider that is asked about each token by an HTTPS request.
package struct WebhookProvider: Sendable {
    /// What is sent.
    package struct Request: Equatable, Sendable {
        package let url: String
        package let headers: [String: String]
        package let body: [UInt8]
        /// In seconds, from the connection to the last byte of the answer.
        package let timeout: Int64
        /// The most bytes of the answer to take.
        package let byteLimit: Int
        /// The file of the certificate authorities that verify the server; nil for the system's.
        package let authorities: String?
    }

    /// Sends a request by POST and returns status and body; follows no redirects.
    ///
    /// Throws where there was no answer, with the code `timedOut` where it took too long; a body beyond the limit is cut after one byte more.
    package typealias Send = @Sendable (Request) async throws -> (status: Int, body: [UInt8])

    package let name: String
    package let url: String
    package let timeout: Int64
    package let byteLimit: Int
    private let secret: [UInt8]?
    private let authorities: String?

    /// - Parameter secret: what requests are signed with, at least 32 bytes; nil sends them unsigned.
    /// - Throws: `invalidConfiguration` where the URL is neither HTTPS nor on this machine, or the secret too short.
    package init(
        name: String, url: String, timeout: Int64 = 10,
        byteLimit: Int = AuthenticationLimits.webhookAnswerByteCount, secret: [UInt8]? = nil,
        authorities: String? = nil
    ) throws(DocDBError) {
        let lower = url.asciiLowercased
        let isLocal = ["http://127.0.0.1", "http://[::1]", "http://localhost"].contains { prefix in
            lower.hasPrefix(prefix) && [nil, ":", "/"].contains(lower.dropFirst(prefix.count).first)
        }
        guard lower.hasPrefix("https://") || isLocal, !url.utf8.contains(UInt8(ascii: "@")) else {
            throw DocDBError(
                .invalidConfiguration,
                "a webhook's URL begins with https:// and has no '@', as it receives the users' tokens")
        }
        guard secret.map({ $0.count >= AuthenticationLimits.secretByteCount }) ?? true else {
            throw DocDBError(
                .invalidConfiguration,
                "a webhook's secret has at least \(AuthenticationLimits.secretByteCount) bytes")
        }
        self.name = name
        self.url = url
        self.timeout = min(max(timeout, 1), 60)
        self.byteLimit = min(max(byteLimit, 1024), AuthenticationLimits.greatestWebhookAnswerByteCount)
        self.secret = secret
        self.authorities = authorities
    }

    /// The request about one token.
    ///
    /// With a secret it carries `DocDB-Signature: t=<seconds>,v1=<hex>`: the HMAC-SHA256 over the seconds, a point and
    /// the body, so that the receiver can tell it from forged and from old ones.
    package func request(token: String, appID: String, now: UnixTime) throws(DocDBError) -> Request {
        guard token.utf8.count <= AuthenticationLimits.tokenByteCount else { throw TokenFailure.tooLarge.error }
        let body = try StrictJSON.text([
            "appID": .string(appID), "provider": .string(name), "token": .string(token),
        ])
        var headers = ["Content-Type": "application/json", "Accept": "application/json"]
        if let secret {
            let mac = Digest.hmac([UInt8]("\(now.seconds).".utf8) + body, key: secret)
            headers["DocDB-Signature"] = "t=\(now.seconds),v1=\(Digest.hexadecimal(mac))"
        }
        return Request(
            url: url, headers: headers, body: body, timeout: timeout, byteLimit: byteLimit, authorities: authorities)
    }

    /// Asks about a token; again where the connection fails, but not after a time-out.
    ///
    /// - Throws: `providerUnavailable` where there is no answer, or none that makes sense; `invalidPermissions`.
    package func answer(
        token: String, appID: String, now: UnixTime, send: Send
    ) async throws(DocDBError) -> ProviderAnswer {
        let request = try request(token: token, appID: appID, now: now)
        var cause = ""
        for _ in 0..<AuthenticationLimits.webhookAttemptCount {
            let answer: (status: Int, body: [UInt8])
            do { answer = try await send(request) } catch {
                cause = (error as? DocDBError)?.message ?? ""
                // The user has waited long enough, and the webhook has the request.
                if Task.isCancelled || (error as? DocDBError)?.code == .timedOut { break }
                continue
            }
            return try self.answer(status: answer.status, body: answer.body, now: now)
        }
        throw DocDBError(
            .providerUnavailable, "the provider's webhook does not answer; check its URL and the network",
            context: ["reason": "noAnswer", "cause": cause])
    }
}

// The answer.
extension WebhookProvider {
    /// Reads an answer: 200 with a JSON object, or 401 or 403 for a refusal.
    ///
    /// - Throws: as `answer(token:appID:now:send:)`.
    package func answer(status: Int, body: [UInt8], now: UnixTime) throws(DocDBError) -> ProviderAnswer {
        guard body.count <= byteLimit else { throw Self.failure("tooLarge", "is larger than \(byteLimit) bytes") }
        switch status {
        case 200: break
        case 401, 403: return .refused(refusal((try? StrictJSON.object(body)) ?? [:]))
        case 300..<400: throw Self.failure("redirect", "is a redirect, which is not followed; configure its target")
        default: throw Self.failure("status", "has the HTTP status \(status)")
        }
        let members: [String: Value]
        do { members = try StrictJSON.object(body) } catch {
            throw Self.failure("malformed", "is no JSON object with each name once")
        }
        guard try isAuthenticated(members) else { return .refused(refusal(members)) }
        guard let subject = members["userID"] else { throw Self.failure("userID", "has no 'userID'") }
        guard case .string(let subject) = subject else {
            throw Self.failure("userID", "has a 'userID' that is no text")
        }
        return .accepted(
            try ProviderIdentity(
                userID: try UserID.make(provider: name, subject: subject),
                expiresAt: now.adding(try expirationSeconds(members)), clientInfo: members["clientInfo"] ?? .null,
                permissions: try members["permissions"].map { value throws(DocDBError) in try Permissions(value) }
                    ?? .nothing))
    }

    private func isAuthenticated(_ members: [String: Value]) throws(DocDBError) -> Bool {
        let values = ["authenticated", "authenticate"].compactMap { members[$0] }
        let flags = values.compactMap(\.boolValue)
        guard let flag = flags.first, flags.count == values.count else {
            throw Self.failure("authenticated", "has no 'authenticated' that is true or false")
        }
        guard flags.allSatisfy({ $0 == flag }) else {
            throw Self.failure("contradictory", "says both 'authenticated' and 'authenticate', and not the same")
        }
        return flag
    }

    private func expirationSeconds(_ members: [String: Value]) throws(DocDBError) -> Int64 {
        guard let value = members["expirationSeconds"] else {
            throw Self.failure("expirationSeconds", "has no 'expirationSeconds'")
        }
        guard let seconds = value.intValue, (1...AuthenticationLimits.greatestExpirationSeconds).contains(seconds)
        else {
            throw Self.failure(
                "expirationSeconds",
                "has an 'expirationSeconds' that is no whole number from 1 to \(AuthenticationLimits.greatestExpirationSeconds)"
            )
        }
        return seconds
    }

    /// What the client is told: the provider's words as far as they are short.
    private func refusal(_ members: [String: Value]) -> ProviderRefusal {
        let info = members["userInfo"] ?? .null
        let isShort = (try? StrictJSON.text(info)).map { $0.count <= AuthenticationLimits.clientInfoByteCount } ?? false
        let reason = members["reason"]?.stringValue.flatMap { $0.utf8.count <= 1024 ? $0 : nil }
        return ProviderRefusal(reason: reason, userInfo: isShort ? info : .null)
    }

    private static func failure(_ reason: String, _ problem: String) -> DocDBError {
        DocDBError(
            .providerUnavailable, "the answer of the provider's webhook \(problem)", context: ["reason": reason])
    }
}
