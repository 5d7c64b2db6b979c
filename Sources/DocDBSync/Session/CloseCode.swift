import DocDBCore

/// The stable names by which sessions say why they end.
package enum CloseCode {
    package static let versionMismatch = "versionMismatch"
    package static let appMismatch = "appMismatch"
    package static let identityMismatch = "identityMismatch"
    package static let proofFailed = "proofFailed"
    package static let sameStore = "sameStore"
    package static let protocolError = "protocolError"
    package static let limitReached = "limitReached"
    package static let timeout = "timeout"
    package static let keepaliveTimeout = "keepaliveTimeout"
    package static let closing = "closing"
    package static let revoked = "revoked"
    package static let expired = "expired"
    package static let storageFailed = "storageFailed"
}

/// Why a session ends.
struct SessionFailure: Error {
    var code: String
    var message: String

    init(_ code: String, _ message: String) {
        self.code = code
        self.message = message
    }

    static func protocolError(_ what: String) -> SessionFailure {
        SessionFailure(CloseCode.protocolError, "\(what); update both peers to the same version")
    }

    /// What a failure of a codec or of the replica means for the session; messages about the store stay here.
    init(_ error: any Error) {
        switch error {
        case let failure as SessionFailure: self = failure
        case let error as DocDBError where error.code == .protocolError:
            self.init(CloseCode.protocolError, error.message)
        case let error as DocDBError where error.code == .limitReached:
            self.init(CloseCode.limitReached, error.message)
        case let error as DocDBError where error.code == .invalidPredicate:
            self.init(CloseCode.protocolError, "a predicate of an interest does not parse; update this peer")
        default:
            self.init(CloseCode.storageFailed, "this peer's store failed; its own log says how")
        }
    }
}
