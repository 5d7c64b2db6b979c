package import DocDBCore

/// What a hub answers to `POST /v1/login`: format in `Schemas/grant.md`.
package enum LoginAnswer: Sendable {
    case nonce([UInt8])
    case accepted(Accepted)
    case refused(Refused)

    /// What a login gives.
    package struct Accepted: Equatable, Sendable {
        package let grant: String
        package let certificates: [String]
        /// The app's root keys, for apps that pin none.
        package let roots: [PeerPublicKey]
        /// The hub's clock.
        package let time: UnixTime

        package init(grant: String, certificates: [String], roots: [PeerPublicKey], time: UnixTime) {
            self.grant = grant
            self.certificates = certificates
            self.roots = roots
            self.time = time
        }
    }

    /// Why there is none.
    package struct Refused: Equatable, Sendable {
        /// The name of a `DocDBError.Code`.
        package let code: String
        package let message: String
        /// The reason of the error, or the provider's own.
        package let reason: String?
        /// What the provider lets the client know.
        package let userInfo: Value

        package init(_ error: DocDBError) {
            code = error.code.description
            message = error.message
            reason = error.context["reason"]
            userInfo = .null
        }

        package init(_ refusal: ProviderRefusal) {
            code = refusal.error.code.description
            message = refusal.reason.map { "the provider refused the login: \($0)" } ?? refusal.error.message
            reason = refusal.reason ?? refusal.error.context["reason"]
            userInfo = refusal.userInfo
        }

        init(code: String, message: String, reason: String?, userInfo: Value) {
            self.code = code
            self.message = message
            self.reason = reason
            self.userInfo = userInfo
        }

        /// The refusal as an error of the client's; codes of newer hubs become `authenticationFailed`.
        package var error: DocDBError {
            let known: [DocDBError.Code] = [
                .invalidToken, .tokenExpired, .invalidPermissions, .providerUnavailable, .invalidKey, .proofFailed,
                .limitReached, .grantRevoked,
            ]
            var context: [String: String] = [:]
            context["reason"] = reason
            if userInfo != .null, let text = try? StrictJSON.text(userInfo) {
                context["userInfo"] = String(decoding: text, as: UTF8.self)
            }
            return DocDBError(
                known.first { $0.description == code } ?? .authenticationFailed, message, context: context)
        }
    }

    /// The most bytes of an answer that a client takes.
    package static let byteLimit = 256 * 1024

    /// The HTTP status and the body.
    package func encoded() throws(DocDBError) -> (status: Int, body: [UInt8]) {
        switch self {
        case .nonce(let nonce): return (200, try StrictJSON.text(["nonce": .string(Base64URL.encode(nonce))]))
        case .accepted(let accepted):
            return (
                200,
                try StrictJSON.text([
                    "grant": .string(accepted.grant), "certificates": .array(accepted.certificates.map { .string($0) }),
                    "roots": .array(accepted.roots.map(\.jsonWebKey)), "time": .int(accepted.time.seconds),
                ])
            )
        case .refused(let refused):
            var members: [String: Value] = ["code": .string(refused.code), "message": .string(refused.message)]
            if let reason = refused.reason { members["reason"] = .string(reason) }
            if refused.userInfo != .null { members["userInfo"] = refused.userInfo }
            return (Self.status(of: refused.code), try StrictJSON.text(members))
        }
    }

    /// 401 where another token may help, 503 where waiting may, 429 for too many.
    private static func status(of code: String) -> Int {
        switch code {
        case DocDBError.Code.providerUnavailable.description: 503
        case DocDBError.Code.limitReached.description: 429
        default: 401
        }
    }

    /// Reads an answer.
    ///
    /// - Throws: `providerUnavailable` where it is none, as of a proxy between.
    package init(status: Int, body: [UInt8]) throws(DocDBError) {
        guard body.count <= Self.byteLimit, let members = try? StrictJSON.object(body) else { throw Self.failure }
        guard status == 200 else {
            guard let code = members["code"]?.stringValue, let message = members["message"]?.stringValue else {
                throw Self.failure
            }
            self = .refused(
                Refused(
                    code: code, message: message, reason: members["reason"]?.stringValue,
                    userInfo: members["userInfo"] ?? .null))
            return
        }
        if let nonce = members["nonce"] {
            guard let bytes = nonce.stringValue.flatMap(Base64URL.decode),
                AuthenticationLimits.nonceByteCount.contains(bytes.count)
            else { throw Self.failure }
            self = .nonce(bytes)
            return
        }
        guard let grant = members["grant"]?.stringValue, case .array(let certificates) = members["certificates"],
            case .array(let roots) = members["roots"], let time = members["time"].flatMap(UnixTime.init(numericDate:)),
            roots.count <= AuthenticationLimits.certificateCount
        else { throw Self.failure }
        let texts = certificates.compactMap(\.stringValue)
        guard texts.count == certificates.count, texts.count <= AuthenticationLimits.certificateCount else {
            throw Self.failure
        }
        var keys: [PeerPublicKey] = []
        for root in roots { keys.append(try PeerPublicKey(jsonWebKey: root)) }
        self = .accepted(Accepted(grant: grant, certificates: texts, roots: keys, time: time))
    }

    private static var failure: DocDBError {
        DocDBError(
            .providerUnavailable, "the hub's answer to the login makes no sense; check the hub's URL",
            context: ["reason": "malformedAnswer"])
    }
}
