import DocDBCore
import DocDBReplication
import DocDBSync

/// A document that one side has not taken from the other, and why: from ``DatabaseSync/refusals()``.
public struct SyncRefusal: Hashable, Sendable {
    /// Which side has not taken the document.
    public enum Side: Hashable, Sendable {
        /// The peer has not taken what was written here.
        case peer
        /// This database has not taken what the peer sent.
        case here
    }

    /// Why a document was not taken; new reasons may appear in any version.
    public struct Reason: Hashable, Sendable, CustomStringConvertible {
        /// The reason's stable name.
        public let description: String
        private init(_ name: String) { description = name }

        /// The write permission does not cover the document before or after the change.
        public static let denied = Reason("denied")
        /// A time in it lies too far ahead of the clock: it waits in quarantine.
        public static let clockAhead = Reason("clockAhead")
        /// It holds changes of others, which this peer may not bring.
        public static let notOwn = Reason("notOwn")
        /// The document is over a limit.
        public static let limit = Reason("limit")
        /// The bytes do not decode.
        public static let malformed = Reason("malformed")
        /// The document was evicted there.
        public static let evicted = Reason("evicted")
        /// The side has no use for it.
        public static let notHeld = Reason("notHeld")
        /// Another document of the same transaction was refused.
        public static let transaction = Reason("transaction")
        /// The user's devices have reached a limit of the peer together; the explanation says which. Nothing is lost: the
        /// document stays where it is, and is offered again with the next session, or by ``DatabaseSync/retry(_:_:)``.
        public static let userLimit = Reason("userLimit")
        /// A hub has refused a change of another that was taken here: this database has given it up, and has the document as
        /// it was before. Only ``DatabaseSync/refusalUpdates`` tells of it; there is nothing to settle.
        public static let voided = Reason("voided")
        /// A reason of a newer version.
        public static let unknown = Reason("unknown")

        init(_ code: RefusalCode) {
            self =
                switch code {
                case .denied: .denied
                case .clock: .clockAhead
                case .relay: .notOwn
                case .limit: .limit
                case .malformed: .malformed
                case .evicted: .evicted
                case .notHeld: .notHeld
                case .transaction: .transaction
                case .userLimit: .userLimit
                case .voided: .voided
                default: .unknown
                }
        }
    }

    /// The document.
    public let document: SyncDocument
    /// The peer that refused it, or that it came from.
    public let peer: PeerID
    /// Which side has not taken it.
    public let side: Side
    /// Why.
    public let reason: Reason
    /// More for people, where the side that refused says more; never contents.
    public let explanation: String

    init(_ refused: RefusedDocument) {
        document = SyncDocument(collection: refused.collection, id: DocumentID(canonicalBytes: refused.id))
        peer = PeerID(refused.peer)
        side = refused.document.side == .there ? .peer : .here
        reason = Reason(refused.document.code)
        explanation = refused.document.reason
    }
}
