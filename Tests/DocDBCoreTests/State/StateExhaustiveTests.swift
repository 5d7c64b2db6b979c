import DocDBCore
import Testing

/// Every short history of three replicas, every order of delivery.
@Suite("The document CRDT, exhaustively")
struct StateExhaustiveTests {
    enum Operation: CaseIterable {
        case setScalar, setBeneath, unset, setMap, increment, incrementBeneath, delete
    }

    @Test(
        "Every sequence of up to four operations converges in every delivery order",
        arguments: [
            [Operation.setScalar, .setBeneath, .unset, .delete],
            [.setMap, .incrementBeneath, .delete],
            [.setScalar, .increment, .delete],
        ])
    func converge(alphabet: [Operation]) throws {
        var world = World(alphabet: alphabet)
        try world.explore(remaining: 4)
        #expect(world.historyCount > 4_000)
        #expect(world.failures.isEmpty, "\(world.failures.first ?? "") among \(world.historyCount)")
    }

    struct Replica {
        var document = DocumentState()
        var clock: UInt64 = 0
        var incarnation = 0
        var isUsed = false
    }

    struct World {
        let alphabet: [Operation]
        /// One replica keeps the entries of dead documents, two forget them.
        let forgets = [true, false, true]
        let actors = ActorTable()
        var replicas = [Replica(), Replica(), Replica()]
        var log: [String] = []
        /// What each operation would be sent as, with the replica that made it.
        var deltas: [DocumentDelta] = []
        /// Worlds that another history led to before: operations at different replicas commute.
        var visited: Set<[UInt8]> = []
        var historyCount = 0
        var failures: [String] = []

        init(alphabet: [Operation]) { self.alphabet = alphabet }

        /// Tries every next operation by every replica, just as it stands or after a pull from one that has written.
        ///
        /// Replicas are alike but for forgetting, so that only the first unused forgetting and keeping one are tried.
        mutating func explore(remaining: Int) throws {
            guard visited.insert(fingerprint(remaining)).inserted else { return }
            try check()
            guard remaining > 0, failures.isEmpty else { return }
            for index in replicas.indices {
                if index == 2, !replicas[0].isUsed { continue }
                for source in replicas.indices where source == index || replicas[source].isUsed {
                    for operation in alphabet {
                        let saved = (replicas, log.count, deltas.count)
                        if source != index { pull(index, from: source) }
                        if try perform(operation, by: index) {
                            log.append("\(index) after \(source): \(operation)")
                            try explore(remaining: remaining - 1)
                            log.removeLast(log.count - saved.1)
                        }
                        deltas.removeLast(deltas.count - saved.2)
                        replicas = saved.0
                    }
                }
            }
        }

        private func fingerprint(_ remaining: Int) -> [UInt8] {
            var bytes = [UInt8(remaining)]
            for replica in replicas {
                let stored = StoredDocument(replica.document, actors)
                bytes += [UInt8(replica.clock), UInt8(replica.incarnation), replica.isUsed ? 1 : 0]
                bytes += [UInt8(stored.body?.count ?? 255), UInt8(stored.state.count)]
                bytes += (stored.body ?? []) + stored.state
            }
            return bytes
        }

        mutating func pull(_ index: Int, from source: Int) {
            let delta = replicas[source].document.delta(since: replicas[index].document.seen)
            if replicas[index].document.apply(delta, forgets: forgets[index], names: noNames) {
                replicas[index].clock = max(replicas[index].clock, replicas[source].clock)
            }
        }

        /// Returns false where the operation does nothing here.
        mutating func perform(_ operation: Operation, by index: Int) throws -> Bool {
            var replica = replicas[index]
            if [.delete, .unset].contains(operation), !replica.document.isAlive { return false }
            if replica.document.needsActorRotation(actorID("\(index)\(replica.incarnation)")) {
                replica.incarnation += 1
            }
            replica.clock += 1
            replica.isUsed = true
            let stamp = stamp(replica.clock, "\(index)\(replica.incarnation)")
            let base = replica.document.seen
            switch operation {
            case .setScalar: try replica.document.set(["m"], .int(1), stamp)
            case .setBeneath: try replica.document.set(["m", "p"], .int(2), stamp)
            case .unset: try replica.document.unset(["m"], stamp)
            case .setMap: try replica.document.set(["m"], ["q": 3], stamp)
            case .increment: if try !increment(["m"], &replica.document, stamp) { return false }
            case .incrementBeneath: if try !increment(["m", "p"], &replica.document, stamp) { return false }
            case .delete: replica.document.delete(stamp: stamp, forgets: forgets[index])
            }
            replicas[index] = replica
            deltas.append(replica.document.delta(since: base.isCovered(by: replica.document.seen) ? base : .init()))
            return true
        }

        private func increment(_ path: [String], _ document: inout DocumentState, _ stamp: Stamp) throws -> Bool {
            do {
                try document.increment(path, .int(5), stamp)
            } catch let error as DocDBError where error.code == .typeMismatch {
                return false
            }
            return true
        }

        static let orders = [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]]

        /// Delivers everything in every order, then exchanges once more what came of it: all must be equal.
        ///
        /// The exchange is needed because a replica that forgot a dead document lacks what another kept.
        mutating func check() throws {
            historyCount += 1
            var outcomes = Self.orders.map { order in
                replicas[order[0]].document
                    .joined(replicas[order[1]].document, forgets: forgets[order[0]])
                    .joined(replicas[order[2]].document, forgets: forgets[order[0]])
            }
            // Operation by operation, refused ones again later; what still does not fit is asked for whole.
            if deltas.count == 3 { outcomes += Self.orders.flatMap { deliver($0) } }
            if deltas.count == 2 { outcomes += [[0, 1], [1, 0]].flatMap { deliver($0) } }
            let all = outcomes.dropFirst().reduce(outcomes[0]) { $0.joined($1) }
            let expected = Outcome(all, actors)
            for (index, outcome) in outcomes.enumerated() {
                if Outcome(outcome.joined(all), actors) != expected { failures.append("\(log): \(index) differs") }
            }
        }

        private func deliver(_ order: [Int]) -> [DocumentState] {
            [false, true].map { forgets in
                var observer = DocumentState()
                var pending = order
                var hasProgress = true
                while hasProgress, !pending.isEmpty {
                    let count = pending.count
                    pending.removeAll { observer.apply(deltas[$0], forgets: forgets, names: noNames) }
                    hasProgress = pending.count < count
                }
                for replica in replicas { observer.join(replica.document, forgets: forgets) }
                return observer
            }
        }

        struct Outcome: Equatable {
            var stored: StoredDocument?
            var deleted: VersionVector

            init(_ document: DocumentState, _ actors: ActorTable) {
                stored = document.isAlive ? StoredDocument(document, actors) : nil
                deleted = document.deleted
            }
        }
    }
}
