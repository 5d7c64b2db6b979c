import DocDB

/// What clients have said they have written.
struct SoakLedger {
    struct Field: Hashable, Comparable {
        var collection: String
        var id: String
        var client: Int

        static func < (left: Field, right: Field) -> Bool {
            (left.collection, left.id, left.client) < (right.collection, right.id, right.client)
        }
    }

    enum Temporary {
        case written(Int64)
        case removed
        /// A write was begun, and nothing was heard of it: the process was killed.
        case unknown
    }

    /// The newest number of each client in each document.
    private(set) var numbers: [Field: Int64] = [:]
    private(set) var temporaries: [Field: Temporary] = [:]
    private(set) var incrementCounts: [String: Int64] = [:]
    private(set) var writeCount = 0
    private(set) var notes: [String: Int] = [:]

    mutating func note(_ line: ClientLine, client: Int) throws {
        switch line {
        case .began(let collection, let id):
            temporaries[Field(collection: collection, id: id, client: client)] = .unknown
        case .wrote(let collection, let id, let number):
            writeCount += 1
            let field = Field(collection: collection, id: id, client: client)
            if collection == SoakWorld.temporary {
                temporaries[field] = .written(number)
            } else {
                numbers[field] = number
            }
        case .removed(let id, _):
            writeCount += 1
            temporaries[Field(collection: SoakWorld.temporary, id: id, client: client)] = .removed
        case .incremented(let id): incrementCounts[id, default: 0] += 1
        case .noted(let what): notes[what, default: 0] += 1
        case .failed(let why): throw SoakFailure("client \(client): \(why)")
        case .settled, .unsettled: break
        }
    }

    /// Checks that a database has all that was acknowledged.
    ///
    /// - Parameter killCount: how many processes were killed, each of which may have made one write without saying so.
    func check(_ hub: Database, killCount: Int) throws {
        for (field, number) in numbers.sorted(by: { $0.key < $1.key }) {
            let document = try hub.collection(field.collection).find(id: SoakWorld.id(field.id))
            guard let document else { throw SoakFailure("\(field.collection) \(field.id) was written, and is gone") }
            guard case .int(let found) = document[SoakWorld.field(of: field.client)], found >= number else {
                throw SoakFailure(
                    "of client \(field.client)'s writes to \(field.collection) \(field.id) the last is lost")
            }
        }
        for (field, last) in temporaries.sorted(by: { $0.key < $1.key }) {
            let document = try hub.collection(field.collection).find(id: SoakWorld.id(field.id))
            switch last {
            case .unknown: continue
            case .removed:
                guard document == nil else { throw SoakFailure("\(field.id) was removed, and is there") }
            case .written(let number):
                guard document?["n"] == .int(number) else { throw SoakFailure("the last write to \(field.id) is lost") }
            }
        }
        var surplus: Int64 = 0
        for (id, count) in incrementCounts.sorted(by: { $0.key < $1.key }) {
            guard case .int(let found) = try hub.collection(SoakWorld.shared).find(id: SoakWorld.id(id))?["hits"] else {
                throw SoakFailure("the hits of \(id) are gone")
            }
            guard found >= count else { throw SoakFailure("of \(count) hits of \(id) \(found) are there") }
            surplus += found - count
        }
        guard surplus <= Int64(killCount) else { throw SoakFailure("\(surplus) hits were counted twice") }
    }
}
