/// Hears of every commit that changed an observed collection, on the writer's thread and in commit order.
package protocol CommitObserver: AnyObject, Sendable {
    /// Tells of a commit; the write that made it returns only after this has. Must be brief, and must not write.
    ///
    /// - Returns: the collections to observe from now on, fewer than before; nil for the same.
    func didCommit(_ changes: CommittedChanges) -> ObservedCollections?
    /// Tells that a commit added a collection or changed the indexes of one; under the same rules.
    func didChangeCatalog()
    /// Tells that the store has closed, on the thread that closed it; nothing is told after that.
    func didClose()
}

extension CommitObserver {
    package func didChangeCatalog() {}
    package func didClose() {}
}

/// What an observer of commits hears of.
package enum ObservedCollections: Sendable {
    /// These collections, which need not exist yet, under the observer's own numbers. Documents that were not visible before
    /// a commit and are not after it are left out.
    case numbered([CollectionName: Int64])
    /// These collections under the store's numbers, with changes that nothing visible shows.
    case named(Set<CollectionName>)
    /// Every collection, likewise.
    case everything

    /// Whether changes are told that nothing visible shows.
    var tellsInvisible: Bool {
        if case .numbered = self { return false }
        return true
    }

    /// The number under which a collection is told of, or nil where it is not observed.
    func number(of collection: CollectionInfo) -> Int64? {
        switch self {
        case .numbered(let numbers): numbers[CollectionName(collection.name)]
        case .named(let names): names.contains(CollectionName(collection.name)) ? collection.number : nil
        case .everything: collection.number
        }
    }
}

/// One observer of a store, and what it hears of.
struct CommitObservation {
    private(set) weak var observer: (any CommitObserver)?
    var collections: ObservedCollections
    /// Its numbers by those of the store, of collections met so far: none of these is asked for by name again.
    private var numbers: [Int64: Int64?] = [:]

    init(_ observer: any CommitObserver, _ collections: ObservedCollections) {
        self.observer = observer
        self.collections = collections
    }

    /// The observer's number of the collection with the store's number, or nil where it is not observed.
    mutating func number(of collection: Int64, in catalog: Catalog) -> Int64? {
        if let known = numbers[collection] { return known }
        let number = catalog.collection(number: collection).flatMap { collections.number(of: $0) }
        numbers[collection] = .some(number)
        return number
    }

    /// Makes numbers be asked for anew, after a rollback took back a collection's.
    mutating func forgetNumbers() { numbers.removeAll() }
}

extension StoreWriter {
    /// Sets what an observer hears of, from now on.
    func observe(_ collections: ObservedCollections, by observer: any CommitObserver) {
        if let place = observations.firstIndex(where: { $0.observer === observer }) {
            observations[place] = CommitObservation(observer, collections)
        } else {
            observations.append(CommitObservation(observer, collections))
        }
        updateObservedCollections()
    }

    /// Ends telling an observer, and forgets those that are gone.
    func endObserving(by observer: (any CommitObserver)?) {
        observations.removeAll { $0.observer == nil || $0.observer === observer }
        updateObservedCollections()
    }

    private func updateObservedCollections() {
        for collection in collections.values { collection.isObserved = isObserved(collection.info) }
    }

    /// Whether anybody hears of changes in a collection.
    func isObserved(_ collection: CollectionInfo) -> Bool {
        observations.contains { $0.observer != nil && $0.collections.number(of: collection) != nil }
    }

    /// Tells the observers of the commit that has just ended.
    func tellObservers(isCatalogChanged: Bool, sequence: Int64) {
        if isCatalogChanged {
            for observation in observations { observation.observer?.didChangeCatalog() }
        }
        guard !scratch.pointee.capture.isEmpty else { return }
        let changes = scratch.pointee.capture.take(sequence: sequence)
        var isGone = false
        for index in observations.indices {
            guard let observer = observations[index].observer else {
                isGone = true
                continue
            }
            let told: CommittedChanges?
            if case .everything = observations[index].collections {
                told = changes
            } else {
                told = changes.visible(isInvisibleTold: observations[index].collections.tellsInvisible) {
                    observations[index].number(of: $0, in: state.catalog)
                }
            }
            if let told, let collections = observer.didCommit(told) { observe(collections, by: observer) }
        }
        if isGone { endObserving(by: nil) }
    }
}
