import DocDBCore
import DocDBSync
import Synchronization

// What the layer that grants and revokes rights tells the engine.
extension ReplicationEngine {
    /// This peer's own grant was renewed; the authenticator has the new one. Running sessions go on under it, and what
    /// failed or fails without it is tried at once.
    package func grantRenewed() {
        enqueue { engine in
            engine.grantNumber += 1
            for connection in engine.sortedConnections where connection.isEstablished {
                engine.tell(connection, .renewed)
            }
            engine.dialWaiting()
        }
    }

    // MARK: What hubs have certified and revoked

    /// Passes notices on to all peers, and ends the sessions under grants that are revoked by now.
    package func tellNotices(_ messages: [[UInt8]]) { enqueue { $0.pass(notices: messages, except: nil) } }

    func receiveNotices(_ bytes: [UInt8], _ connection: Connection) {
        do {
            let reply = try environment.authenticator.receive(notices: bytes, at: sessionTime)
            for answer in reply.answers { tell(connection, .extra(kind: ExtraKind.notices, answer)) }
            guard !reply.news.isEmpty else { return }
            pass(notices: reply.news, except: connection)
            noticeObservers.tell(())
        } catch {
            let message = (error as? DocDBError)?.message ?? "notices of the hub were not taken"
            tell(connection, .close(code: CloseCode.protocolError, message: message))
        }
    }

    private func pass(notices: [[UInt8]], except source: Connection?) {
        for connection in sortedConnections where connection.isEstablished {
            if connection !== source {
                for message in notices { tell(connection, .extra(kind: ExtraKind.notices, message)) }
            }
            tell(connection, .revocations)
            tell(connection, .voided)
        }
    }

    /// This hub has refused changes, or taken after all what it had refused: signed notices say so to all.
    func tellVoided(_ ranges: [VoidedRange]) {
        do {
            let messages = try environment.authenticator.void(ranges, at: sessionTime)
            guard !messages.isEmpty else { return }
            for connection in sortedConnections where connection.isEstablished {
                for message in messages { tell(connection, .extra(kind: ExtraKind.notices, message)) }
            }
            noticeObservers.tell(())
        } catch {
            // The refusal itself stands; only those who hold the changes do not hear of it by themselves.
            if let error = error as? DocDBError { warningObservers.tell(error) }
        }
    }

    /// Forgets how far all pulls have come and what peers have told, so that the next sessions bring anew what is wanted and
    /// was evicted; and what became of documents that are not here any more. Only while replication does not run.
    package func forgetPulls() throws {
        try replica.write { writer in
            for var peer in try writer.peers() {
                try writer.removeAllTold(peer: peer.number)
                for side in [ApartDocument.Side.here, .there] {
                    for document in try writer.apart(peer: peer.number, side: side)
                    where try !writer.withDocument(document.reference, { _ in }) {
                        try writer.removeApart(peer: peer.number, side: side, document.reference)
                    }
                }
                peer.cursor = nil
                (peer.toldCount, peer.toldSum) = (0, DigestSum())
                _ = try writer.setPeer(peer)
            }
        }
    }

    /// Whether replication has been started and not stopped.
    package var isReplicating: Bool { lifecycle.withLock { $0.phase == .running } }

    /// Does something on the executor after a time, in place of what was scheduled by this before.
    package func scheduleAuthentication(afterNanoseconds wait: UInt64, _ work: @escaping @Sendable () -> Void) {
        executor.schedule(
            key: TimerKey.authentication, atNanoseconds: executor.monotonicNanoseconds &+ wait, work)
    }
}
