import DocDB

/// The results of a query that a simulated peer observes, kept up to date by the events alone.
public final class ObservedResults: @unchecked Sendable {
    // Unchecked: a simulation runs on one thread.

    /// The documents as JSON, in their order, as the events have left them.
    public private(set) var documents: [String] = []
    /// How many events there were since the last start.
    public private(set) var eventCount = 0
    /// What was wrong with an event; nil where all was well.
    private(set) var problem: String?

    private unowned let peer: SimulatedPeer
    private let collection: String
    private let query: @Sendable (Collection) throws -> Query
    private var taken: TakenResults?
    private var isScheduled = false

    init(_ peer: SimulatedPeer, _ collection: String, _ query: @escaping @Sendable (Collection) throws -> Query) {
        self.peer = peer
        self.collection = collection
        self.query = query
    }

    func begin(_ db: Database) throws {
        documents = []
        eventCount = 0
        taken = try query(db.collection(collection)).taken { [weak self] in self?.schedule() }
        schedule()
    }

    func end() {
        taken = nil
        documents = []
    }

    /// What the query finds now.
    func fresh() throws -> [String] { try query(peer.db.collection(collection)).documents().map { try $0.json() } }

    private func schedule() {
        guard !isScheduled else { return }
        isScheduled = true
        peer.simulation.time.schedule(after: .microseconds(200)) { [self] in
            isScheduled = false
            take()
        }
    }

    /// Takes what there is, and replays it.
    func take() {
        guard let taken else { return }
        do {
            guard let update = try taken.take() else { return }
            let new = try update.documents.map { try $0.json() }
            if case .initial = update.event {
                if eventCount > 0 { problem = "a second initial event" }
                documents = new
            } else {
                documents = update.event.applied(to: documents) { new[$0] }
            }
            eventCount += 1
            if documents != new { problem = "an event does not lead from the old results to the new ones" }
        } catch {
            problem = "the query cannot be read any more: \(error)"
        }
    }
}
