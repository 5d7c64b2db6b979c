import DocDBCore

/// The document CRDT once more, over dictionaries and as slow as it likes: what `DocumentState` must agree with.
///
/// Times are small integers, actors are names, and each byte of a path is the name of one field.
struct ModelDocument: Equatable {
    struct Stamp: Hashable, Comparable {
        var time = 0
        var actor = ""
        static func < (left: Stamp, right: Stamp) -> Bool { (left.time, left.actor) < (right.time, right.actor) }
    }

    enum Payload: Hashable {
        case number(Int)
        case map
        case absent
    }

    struct Entry: Equatable {
        var stamp: Stamp
        var payload: Payload
    }

    struct TallyKey: Hashable {
        var path: [UInt8]
        var base: Stamp
        var actor: String
    }

    struct Total: Equatable {
        var sum: Int
        var time: Int
    }

    var assignments: [[UInt8]: Entry] = [:]
    var tallies: [TallyKey: Total] = [:]
    var seen: [String: Int] = [:]
    var deleted: [String: Int] = [:]

    var isAlive: Bool { seen.contains { $0.value > deleted[$0.key, default: 0] } }

    func base(of path: [UInt8]) -> Stamp {
        var newest = Stamp()
        for count in 0...path.count {
            if let entry = assignments[Array(path.prefix(count))] { newest = max(newest, entry.stamp) }
        }
        return newest
    }

    mutating func add(_ entries: [[UInt8]: Entry], _ totals: [TallyKey: Total]) {
        for (path, entry) in entries {
            if let mine = assignments[path], mine.stamp >= entry.stamp { continue }
            assignments[path] = entry
        }
        for (key, total) in totals {
            if let mine = tallies[key], mine.time >= total.time { continue }
            tallies[key] = total
        }
        let united = self
        assignments = assignments.filter { path, entry in
            path.isEmpty || united.base(of: Array(path.dropLast())) <= entry.stamp
        }
        tallies = tallies.filter { key, _ in united.base(of: key.path) <= key.base }
    }

    struct Delta {
        var base: [String: Int]
        var document: ModelDocument
    }

    func delta(since base: [String: Int]) -> Delta {
        var lacking = self
        lacking.assignments = assignments.filter { base[$0.value.stamp.actor, default: 0] < $0.value.stamp.time }
        lacking.tallies = tallies.filter { base[$0.key.actor, default: 0] < $0.value.time }
        return Delta(base: base, document: lacking)
    }

    mutating func apply(_ delta: Delta, forgets: Bool) -> Bool {
        guard delta.base.allSatisfy({ seen[$0.key, default: 0] >= $0.value }) else { return false }
        add(delta.document.assignments, delta.document.tallies)
        seen.merge(delta.document.seen, uniquingKeysWith: max)
        deleted.merge(delta.document.deleted, uniquingKeysWith: max)
        forget(forgets)
        return true
    }

    mutating func forget(_ forgets: Bool) {
        guard forgets, !deleted.isEmpty, !isAlive else { return }
        assignments = [:]
        tallies = [:]
        seen = [:]
    }

    // MARK: Writes

    mutating func write(
        _ stamp: Stamp, forgets: Bool, _ make: (ModelDocument) -> ([[UInt8]: Entry], [TallyKey: Total])
    ) {
        if !deleted.isEmpty, !isAlive {
            assignments = [[]: Entry(stamp: stamp, payload: .map)]
            tallies = [:]
            if forgets { seen = [:] }
        }
        let (entries, totals) = make(self)
        add(entries, totals)
        seen[stamp.actor] = max(seen[stamp.actor, default: 0], stamp.time)
    }

    mutating func set(_ path: [UInt8], _ value: Int, _ stamp: Stamp, forgets: Bool) {
        write(stamp, forgets: forgets) { document in
            var entries = [path: Entry(stamp: stamp, payload: .number(value))]
            for count in 1..<max(path.count, 1) {
                let ancestor = Array(path.prefix(count))
                if let entry = document.assignments[ancestor], entry.payload != .map {
                    if case .object? = document.value(at: ancestor) { continue }
                    entries[ancestor] = Entry(stamp: stamp, payload: .map)
                }
            }
            return (entries, [:])
        }
    }

    mutating func setMap(_ path: [UInt8], _ members: [UInt8: Int], _ stamp: Stamp, forgets: Bool) {
        write(stamp, forgets: forgets) { _ in
            var entries = [path: Entry(stamp: stamp, payload: .map)]
            for (key, value) in members { entries[path + [key]] = Entry(stamp: stamp, payload: .number(value)) }
            return (entries, [:])
        }
    }

    mutating func unset(_ path: [UInt8], _ stamp: Stamp, forgets: Bool) {
        guard isAlive else { return }
        write(stamp, forgets: forgets) { _ in ([path: Entry(stamp: stamp, payload: .absent)], [:]) }
    }

    mutating func increment(_ path: [UInt8], _ amount: Int, _ stamp: Stamp, forgets: Bool) {
        write(stamp, forgets: forgets) { document in
            let key = TallyKey(path: path, base: document.base(of: path), actor: stamp.actor)
            return ([:], [key: Total(sum: (document.tallies[key]?.sum ?? 0) + amount, time: stamp.time)])
        }
    }

    mutating func delete(_ stamp: Stamp, forgets: Bool) {
        guard isAlive else { return }
        seen[stamp.actor] = max(seen[stamp.actor, default: 0], stamp.time)
        deleted.merge(seen, uniquingKeysWith: max)
        forget(forgets)
    }

    // MARK: What it shows

    func visible() -> Value? {
        guard isAlive else { return nil }
        return value(at: []) ?? .object([:])
    }

    /// What a path shows; nil for nothing.
    func value(at path: [UInt8]) -> Value? {
        var keys: Set<UInt8> = []
        for candidate in Array(assignments.keys) + tallies.keys.map(\.path)
        where candidate.count > path.count && Array(candidate.prefix(path.count)) == path {
            keys.insert(candidate[path.count])
        }
        var members: [String: Value] = [:]
        for key in keys {
            if let member = value(at: path + [key]) { members[String(UnicodeScalar(key))] = member }
        }
        if !members.isEmpty { return .object(members) }
        let newest = base(of: path)
        let sums = tallies.filter { $0.key.path == path && $0.key.base == newest }.map(\.value.sum)
        switch assignments[path]?.payload ?? .absent {
        case .number(let number): return .int(Int64(number + sums.reduce(0, +)))
        case .map where sums.isEmpty: return .object([:])
        case .absent where sums.isEmpty: return nil
        default: return .int(Int64(sums.reduce(0, +)))
        }
    }
}
