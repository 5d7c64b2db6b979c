package import DocDBCore

/// The provider's side of a reconciliation, which begins it: what it has in scope, against what the subscriber holds.
package struct ProviderReconciliation: Sendable {
    /// What one message of the subscriber has told, and the answer to it.
    package struct Step: Sendable {
        /// The next message to send; nil where the reconciliation has ended.
        package var reply: [UInt8]?
        /// Documents in scope whose state the subscriber does not hold, none of them twice: to be sent.
        package var missingAtSubscriber: [DocumentReference] = []
        /// What the subscriber holds in another state, or holds that is not in scope: vectors to serve as bases.
        package var heldBySubscriber: [HeldDocument] = []

        package var isFinished: Bool { reply == nil }
    }

    package init(_ items: consuming ReconciliationSet) {
    }

    /// The first message.
    package mutating func begin() -> [UInt8] { [] }

    /// Takes a message of the subscriber.
    ///
    /// - Throws: `DocDBError.protocolError` where the bytes are no such message, `.limitReached` after too many.
    package mutating func receive(_ bytes: [UInt8]) throws(DocDBError) -> Step { Step() }
}

/// The subscriber's side of a reconciliation: it answers each message of the provider with just one.
package struct SubscriberReconciliation: Sendable {
    package init(_ items: consuming ReconciliationSet) {
    }

    /// Takes a message of the provider and returns the answer.
    ///
    /// - Parameter describe: names a document and what its state (or the state told, of one not held) has seen; nil of one
    ///   that is gone.
    /// - Throws: `DocDBError.protocolError` where the bytes are no such message, `.limitReached` after too many.
    package mutating func receive(
        _ bytes: [UInt8], describe: (DocumentReference) throws -> HeldDocument?
    ) throws -> [UInt8] { [] }
}
