import DocDBCore
import DocDBSync

/// What the codes by which sessions end mean as errors, and for trying again.
enum SessionErrors {
    /// The peer is connected by another link.
    static let duplicate = "duplicate"

    /// Whether the two peers do not fit together until somebody changes something.
    static func isRefusal(_ code: String) -> Bool {
        switch code {
        case CloseCode.versionMismatch, CloseCode.appMismatch, CloseCode.identityMismatch, CloseCode.proofFailed,
            CloseCode.sameStore, CloseCode.revoked, CloseCode.expired, CloseCode.protocolError:
            true
        default: false
        }
    }

    /// The error of a code; nil where the session ended as intended.
    static func error(code: String, message: String) -> DocDBError? {
        let kind: DocDBError.Code
        switch code {
        case CloseCode.closing, duplicate: return nil
        case CloseCode.proofFailed: kind = .proofFailed
        case CloseCode.expired: kind = .grantExpired
        case CloseCode.revoked: kind = .grantRevoked
        case CloseCode.timeout, CloseCode.keepaliveTimeout: kind = .timedOut
        case CloseCode.limitReached: kind = .limitReached
        case CloseCode.protocolError: kind = .protocolError
        case CloseCode.storageFailed: kind = .storageFailed
        default: kind = .connectionRejected
        }
        return DocDBError(kind, message, context: ["close": code])
    }
}
