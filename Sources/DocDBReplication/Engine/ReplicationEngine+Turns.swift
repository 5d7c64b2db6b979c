import DocDBCore
package import DocDBSync
import Synchronization

// The rate of users: whose devices are faster than one user may be, takes turns.
extension ReplicationEngine {
    /// How much of what has come is taken in now; nil where the connection has to wait for its turn.
    ///
    /// What waits stays in the inbox, which stops the link where it is full: the network holds the peer back.
    func turn(of connection: Connection) -> Int? {
        guard let account = connection.account, connection.state != .ending else { return .max }
        let now = executor.monotonicNanoseconds
        if let turn = connection.turnNanoseconds {
            guard now >= turn else { return nil }
            connection.turnNanoseconds = nil
            return account.turnByteCount
        }
        let wait = account.receivingWait(at: now)
        guard wait > 0 else { return .max }
        wake(connection, at: now &+ wait)
        return nil
    }

    /// Goes on with what is left in an inbox: at the end of what the user's devices have sent so far.
    func waitForTurn(_ connection: Connection) {
        guard connection.state != .ending, let account = connection.account else {
            let number = connection.number
            return enqueue { $0.takeInbox(number) }
        }
        let now = executor.monotonicNanoseconds
        wake(connection, at: now &+ account.receivingWait(at: now))
    }

    private func wake(_ connection: Connection, at time: UInt64) {
        connection.turnNanoseconds = time
        let number = connection.number
        schedule(key: turnKeys(connection).receiving, atNanoseconds: time) { $0.takeInbox(number) }
    }

    /// Tells a session that the link has handed on what it sent, when its user's turn has come.
    func confirm(_ connection: Connection) {
        guard !connection.isSendingHeld else { return }
        let now = executor.monotonicNanoseconds
        guard let wait = connection.account?.sendingWait(at: now), wait > 0 else { return tell(connection, .drained) }
        connection.isSendingHeld = true
        let number = connection.number
        schedule(key: turnKeys(connection).sending, atNanoseconds: now &+ wait) { engine in
            guard let connection = engine.connections[number] else { return }
            connection.isSendingHeld = false
            engine.tell(connection, .drained)
        }
    }

    private func turnKeys(_ connection: Connection) -> (receiving: UInt64, sending: UInt64) {
        if let keys = connection.turnKeys { return keys }
        let keys = (newNumber(), newNumber())
        connection.turnKeys = keys
        return keys
    }

    /// The session has ended: what still comes is taken at once, so that the end of the link is noticed.
    func endTurns(_ connection: Connection) {
        guard connection.turnNanoseconds != nil else { return }
        forgetTurns(connection)
        let number = connection.number
        enqueue { $0.takeInbox(number) }
    }

    func forgetTurns(_ connection: Connection) {
        connection.turnNanoseconds = nil
        guard let keys = connection.turnKeys else { return }
        executor.cancel(key: keys.receiving)
        executor.cancel(key: keys.sending)
    }

    // MARK: What was reached

    /// How often each limit of users was reached since the engine was started last.
    package var userLimitHits: UserLimitHits { accounts.withLock { $0.hits } }
}
