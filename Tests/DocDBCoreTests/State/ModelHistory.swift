import DocDBCore

/// What a random history does wrong on purpose, so that it must diverge.
struct ModelFaults {
    var keepsActorAfterLoss = false
    var ignoresForgottenEntries = false
}

/// One store with one document: the model's copy, and the code's as stored bytes.
final class ModelReplica {
    let name: String
    let forgets: Bool
    private let faults: ModelFaults
    private let names = FieldNames()
    private let actors = ActorTable()
    private var incarnation = 0
    private(set) var clock = 0
    private var mustRotate = false
    private(set) var model = ModelDocument()
    private(set) var stored: StoredDocument?

    /// What went wrong, first thing first.
    private(set) var findings: [String] = []

    struct Sent {
        var model: ModelDocument.Delta
        var delta: DocumentDelta
        var names: FieldNames
    }

    init(_ name: String, forgets: Bool, faults: ModelFaults, internsReversed: Bool) {
        self.name = name
        self.forgets = forgets
        self.faults = faults
        // Stores intern in different orders; "q" stays text in one of them as long as nothing interns it.
        let fields = ["x", "y", "m", "p", "q", "c"]
        for field in internsReversed ? fields.reversed() : fields {
            _ = Array(field.utf8).withUnsafeBytes { names.intern($0) }
        }
    }

    private var actorName: String { "\(name)\(incarnation)" }

    func load() throws -> DocumentState { try stored?.load(actors) ?? DocumentState() }

    private func nextStamp() throws -> ModelDocument.Stamp {
        let document = try load()
        let needsRotation = document.needsActorRotation(actorID(actorName))
        let modelNeedsRotation =
            model.isAlive && model.deleted[actorName, default: 0] > model.seen[actorName, default: 0]
        if needsRotation != modelNeedsRotation { findings.append("rotation: code \(needsRotation)") }
        if modelNeedsRotation, !faults.ignoresForgottenEntries { mustRotate = true }
        if mustRotate {
            incarnation += 1
            mustRotate = false
        }
        clock += 1
        return ModelDocument.Stamp(time: clock, actor: actorName)
    }

    /// Runs one change on both, through stored bytes, and checks that they agree and that the change can be undone.
    private func change(
        _ onModel: (inout ModelDocument) -> Void, _ onCode: (inout DocumentState) throws -> Void
    ) throws {
        let before = try load()
        onModel(&model)
        var after = before
        try onCode(&after)
        let now = StoredDocument(after, actors)
        let reloaded = try now.load(actors)
        if StoredDocument(reloaded, actors) != now { findings.append("encoding is not stable") }
        if try ModelDocument(reloaded, names) != model { findings.append("entries differ from the model's") }
        let body = try now.body.map { try decoded($0, names) }
        if body != model.visible() { findings.append("body differs from what the model shows") }
        if let stored {
            let undo = reloaded.undo(from: before, at: hybridTime(clock), actors)
            let unwound = try reloaded.unwound(undo, at: hybridTime(clock), actors)
            if unwound.map({ StoredDocument($0, actors) }) != stored {
                findings.append("unwinding misses the old bytes")
            }
        }
        stored = reloaded.isUnwritten ? nil : now
    }

    func set(_ path: [UInt8], _ value: Int) throws {
        let stamp = try nextStamp()
        try change {
            $0.set(path, value, stamp, forgets: forgets)
        } _: {
            try $0.set(keys(path), .int(Int64(value)), Stamp(stamp), names)
        }
    }

    func setMap(_ path: [UInt8], _ members: [UInt8: Int]) throws {
        let stamp = try nextStamp()
        let value = Dictionary(
            uniqueKeysWithValues: members.map { (String(UnicodeScalar($0.key)), Value.int(Int64($0.value))) })
        try change {
            $0.setMap(path, members, stamp, forgets: forgets)
        } _: {
            try $0.set(keys(path), .object(value), Stamp(stamp), names)
        }
    }

    func unset(_ path: [UInt8]) throws {
        guard model.isAlive else { return }
        let stamp = try nextStamp()
        try change {
            $0.unset(path, stamp, forgets: forgets)
        } _: {
            try $0.unset(keys(path), Stamp(stamp), names)
        }
    }

    /// Increments where a number or nothing is shown; elsewhere the code refuses and the model is not asked.
    func increment(_ path: [UInt8], _ amount: Int) throws {
        let isRefused = model.isAlive && model.value(at: path)?.objectValue != nil
        if isRefused {
            var document = try load()
            let probe = Stamp(time: hybridTime(clock + 1), actor: actorID(actorName))
            do {
                try document.increment(keys(path), .int(Int64(amount)), probe, names)
                findings.append("an object was incremented")
            } catch let error as DocDBError where error.code == .typeMismatch {}
            return
        }
        let stamp = try nextStamp()
        try change {
            $0.increment(path, amount, stamp, forgets: forgets)
        } _: {
            try $0.increment(keys(path), .int(Int64(amount)), Stamp(stamp), names)
        }
    }

    func delete() throws {
        guard model.isAlive else { return }
        let stamp = try nextStamp()
        try change {
            $0.delete(stamp, forgets: forgets)
        } _: {
            $0.delete(stamp: Stamp(stamp), forgets: forgets)
        }
    }

    func evict() {
        mustRotate = mustRotate || model.seen[actorName] != nil || model.deleted[actorName] != nil
        model = ModelDocument()
        stored = nil
    }

    func restore(_ model: ModelDocument, _ stored: StoredDocument?, clock: Int) {
        self.model = model
        self.stored = stored
        self.clock = clock
        if !faults.keepsActorAfterLoss { mustRotate = true }
    }

    func delta(for other: ModelReplica) throws -> Sent {
        let theirs = try other.load()
        return Sent(
            model: model.delta(since: other.model.seen), delta: try load().delta(since: theirs.seen), names: names)
    }

    func receive(_ sent: Sent) throws {
        let delta = try sent.delta.transcoded(from: sent.names, to: names)
        let times = sent.model.document.seen.values.map(\.self) + sent.model.document.deleted.values.map(\.self)
        var isApplied = false
        var codeApplied = false
        var probe = model
        guard probe.apply(sent.model, forgets: forgets) else {
            var document = try load()
            if document.apply(delta, forgets: forgets, names: names) {
                findings.append("an uncovered delta was joined")
            }
            return
        }
        clock = max(clock, times.max() ?? 0)
        try change {
            isApplied = $0.apply(sent.model, forgets: forgets)
        } _: {
            codeApplied = $0.apply(delta, forgets: forgets, names: names)
        }
        if !isApplied || !codeApplied { findings.append("a covered delta was refused") }
    }

    func canonical() throws -> [UInt8] { try load().canonical(names) }

    private func keys(_ path: [UInt8]) -> [String] { path.map { String(UnicodeScalar($0)) } }
}

/// A random history of four replicas, as in the reference: what it found, and whether all ended equal.
struct ModelHistory {
    var findings: [String] = []
    var hasConverged = true

    init(seed: UInt64, steps: Int = 40, faults: ModelFaults = ModelFaults()) throws {
        var random = SeededGenerator(seed: seed)
        let replicas = "ABCD".map {
            ModelReplica(
                String($0), forgets: random.chance() < 0.5, faults: faults, internsReversed: seed % 4 == 0 && $0 == "B")
        }
        let paths = ["x", "y", "m", "mp", "mq", "c"].map { Array($0.utf8) }
        var late: [(to: ModelReplica, sent: ModelReplica.Sent)] = []
        var saved: [(ModelReplica, ModelDocument, StoredDocument?, Int)] = []
        for _ in 0..<5 + random.below(steps - 4) {
            let replica = replicas[random.below(4)]
            let others = replicas.filter { $0 !== replica }
            let other = others[random.below(3)]
            let path = paths[random.below(paths.count)]
            switch random.chance() {
            case ..<0.23: try replica.set(path, random.below(100))
            case ..<0.30: try replica.unset(path)
            case ..<0.36: try replica.setMap(Array("m".utf8), [UInt8(ascii: "p"): random.below(10)])
            case ..<0.47: try replica.increment(path, 1 + random.below(5))
            case ..<0.55: try replica.delete()
            case ..<0.58: replica.evict()
            case ..<0.62: saved.append((replica, replica.model, replica.stored, replica.clock))
            case ..<0.65:
                guard !saved.isEmpty else { continue }
                let (owner, model, stored, clock) = saved.remove(at: random.below(saved.count))
                owner.restore(model, stored, clock: clock)
            case ..<0.85: try replica.receive(other.delta(for: replica))
            case ..<0.92: late.append((other, try replica.delta(for: other)))
            default:
                guard !late.isEmpty else { continue }
                let message = late[random.below(late.count)]
                try message.to.receive(message.sent)
            }
        }
        for _ in replicas {
            for a in replicas {
                for b in replicas where a !== b && !(a.model.seen == b.model.seen && a.model.deleted == b.model.deleted)
                {
                    try a.receive(b.delta(for: a))
                }
            }
        }
        let first = try replicas[0].canonical()
        for replica in replicas {
            findings += replica.findings.prefix(1).map { "\(replica.name): \($0)" }
            if try replica.canonical() != first { hasConverged = false }
        }
    }
}
