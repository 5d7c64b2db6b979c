import DocDBCore
import DocDBQuery
package import DocDBStorage
package import DocDBSync
import Synchronization

/// Finds the sessions that a commit concerns, on the writer's thread, and notes for them which documents it changed.
///
/// A session that no change concerns costs a commit nothing: the matcher looks at predicates by the values of the changed
/// documents. All that a batch of commits leaves is one scheduled pump.
package final class CommitRouter: CommitObserver {
    /// A standing predicate, by its collection and what it is for.
    struct Standing {
        enum Purpose {
            /// The scope of a session.
            case session(UInt64)
            /// A subscription; its documents may be evicted when they leave it.
            case subscription(evicts: Bool)
        }

        var collection: CollectionName
        var purpose: Purpose
    }

    /// What commits changed for one session since it was last told.
    struct Dirty {
        private(set) var items: [DirtyDocument] = []
        private var known: Set<DocumentReference> = []

        mutating func add(_ reference: DocumentReference, first: Int64, matchedBefore: Bool) {
            guard known.insert(reference).inserted else { return }
            items.append(DirtyDocument(reference: reference, first: first, matchedBefore: matchedBefore))
        }
    }

    /// What gathered beside the changes of sessions.
    package struct Gathered {
        /// Documents that left an evicting subscription, and those that came into any.
        package var leaving: [DocumentReference] = []
        package var entering: [DocumentReference] = []
        /// Documents that a local write brought back after they had been evicted, and the peers who had told them.
        package var returned: [(reference: DocumentReference, toldBy: [Int64])] = []

        package var isEmpty: Bool { leaving.isEmpty && entering.isEmpty && returned.isEmpty }
    }

    /// What is watched of a collection, which need not exist yet.
    struct Watched {
        /// The matcher's number of the collection.
        let number: Int64
        /// Sessions that want the whole collection, dead documents included; ascending.
        var whole: [UInt64] = []
        /// How many predicates and sessions watch it: with the last one it is forgotten.
        var useCount = 0
    }

    struct State: ~Copyable, @unchecked Sendable {
        // Unchecked: the matcher is only used under the lock.
        let matcher: QueryMatcher
        var standing: [MatcherID: Standing] = [:]
        var predicates: [UInt64: [MatcherID]] = [:]
        /// The collections that sessions want whole.
        var wholes: [UInt64: [CollectionName]] = [:]
        var subscriptionPredicates: [MatcherID] = []
        /// Peers name collections as they like, so what nobody watches any more is not kept.
        var watched: [CollectionName: Watched] = [:]
        /// The matcher's last number of a collection.
        var lastNumber: Int64 = 0
        /// The names of the store's collections met so far, by the store's numbers.
        var names: [Int64: CollectionName] = [:]
        /// Sessions that want everything; ascending.
        var everything: [UInt64] = []
        var dirty: [UInt64: Dirty] = [:]
        /// What was evicted from the scope of sessions.
        var evicted: [UInt64: [DocumentReference]] = [:]
        var gathered = Gathered()
        var newest: Int64 = 0
        var isScheduled = false
        var matches: [QueryMatcher.Match] = []
    }

    /// Guards all of the router; taken by the writer's thread for each commit, and held briefly.
    let state: Lock<State>
    private let replica: any Replica
    /// Schedules a pump on the engine's executor.
    private let schedule: @Sendable () -> Void

    package init(replica: any Replica, schedule: @escaping @Sendable () -> Void) {
        state = Lock(State(matcher: QueryMatcher(names: replica.names, stepCount: SyncLimits.predicateStepCount)))
        self.replica = replica
        self.schedule = schedule
    }

    // MARK: What the writer's thread calls

    package func didCommit(_ changes: CommittedChanges) -> ObservedCollections? {
        learnNames(of: changes)
        let mustSchedule = state.withLock { state -> Bool in
            state.newest = max(state.newest, changes.sequence)
            for document in changes.returned {
                let reference = DocumentReference(collection: document.storeCollection, key: document.key)
                if !document.toldBy.isEmpty { state.gathered.returned.append((reference, document.toldBy)) }
            }
            for change in changes.changes {
                changes.withBytes(of: change) { id, before, after in state.note(change, id, before, after) }
            }
            guard !state.isScheduled, !state.isEmpty else { return false }
            state.isScheduled = true
            return true
        }
        if mustSchedule { schedule() }
        return nil
    }

    /// Looks up the names of collections that are met for the first time.
    private func learnNames(of changes: CommittedChanges) {
        var last: Int64 = 0
        for change in changes.changes where change.storeCollection != last {
            last = change.storeCollection
            let number = last
            guard state.withLock({ $0.names[number] == nil }) else { continue }
            // Where this fails, the collection is asked for again with its next change, and sessions recount.
            guard let name = try? replica.read({ try $0.name(ofCollection: number) }) else { continue }
            state.withLock { $0.names[number] = CollectionName(name) }
        }
    }
}

extension CommitRouter.State {
    /// Whether nothing waits for a pump.
    var isEmpty: Bool {
        dirty.isEmpty && evicted.isEmpty && gathered.isEmpty
    }

    fileprivate mutating func note(
        _ change: CommittedChanges.Change, _ id: UnsafeRawBufferPointer, _ before: UnsafeRawBufferPointer?,
        _ after: UnsafeRawBufferPointer?
    ) {
        let reference = DocumentReference(collection: change.storeCollection, key: change.key)
        for session in everything { add(reference, session, change, matchedBefore: before != nil) }
        guard let watched = names[change.storeCollection].flatMap({ watched[$0] }) else { return }
        for session in watched.whole { add(reference, session, change, matchedBefore: before != nil) }
        matcher.match(collection: watched.number, before: before, after: after, id: id, into: &matches)
        for match in matches {
            switch standing[match.id]?.purpose {
            case .session(let session): add(reference, session, change, matchedBefore: match.matchedBefore)
            case .subscription(let evicts):
                if !match.matchedBefore { gathered.entering.append(reference) }
                // A document that was deleted is left to its deletion.
                if evicts, !match.matchesAfter, after != nil { gathered.leaving.append(reference) }
            case nil: break
            }
        }
    }

    private mutating func add(
        _ reference: DocumentReference, _ session: UInt64, _ change: CommittedChanges.Change, matchedBefore: Bool
    ) {
        if change.isEviction {
            evicted[session, default: []].append(reference)
        } else {
            dirty[session, default: CommitRouter.Dirty()].add(
                reference, first: change.firstSequence, matchedBefore: matchedBefore)
        }
    }
}
