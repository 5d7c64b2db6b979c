import DocDBCore
import DocDBSync

/// A predicate of histories: a union of boxes over the fields `x` and `y`. Evaluated here by itself, apart from the
/// predicate language.
struct HistoryPredicate: Hashable {
    struct Box: Hashable {
        var xs: [Int64]?
        var ys: [Int64]?
    }

    var boxes: [Box]

    static let everything = HistoryPredicate(boxes: [Box(xs: nil, ys: nil)])
    var isEverything: Bool { self == .everything }

    func matches(_ fields: [String: Int64]?) -> Bool {
        guard let fields else { return false }
        return boxes.contains { box in
            (box.xs == nil || fields["x"].map { box.xs?.contains($0) ?? true } ?? false)
                && (box.ys == nil || fields["y"].map { box.ys?.contains($0) ?? true } ?? false)
        }
    }

    /// The same in the predicate language.
    var interest: Interest {
        if isEverything { return .everything }
        let texts = boxes.map { box -> String in
            let x = "x in [\((box.xs ?? []).map(String.init).joined(separator: ", "))]"
            guard let ys = box.ys else { return x }
            return "\(x) && y in [\(ys.map(String.init).joined(separator: ", "))]"
        }
        return .collections([
            Interest.Element(
                collection: "documents", predicate: texts.map { "(\($0))" }.joined(separator: " || "))
        ])
    }

    static func random(_ random: inout SeededGenerator, everythingIn hundred: Int = 20) -> HistoryPredicate {
        if random.below(100) < hundred { return .everything }
        var boxes: Set<Box> = []
        for _ in 0...random.below(2) {
            let first = Int64(random.below(3))
            let xs = random.below(2) == 0 ? [first] : [first, (first + 1) % 3].sorted()
            boxes.insert(Box(xs: xs, ys: random.below(10) < 6 ? nil : [Int64(random.below(2))]))
        }
        return HistoryPredicate(
            boxes: boxes.sorted {
                ($0.xs ?? []).map(\.description).joined() + "\($0.ys ?? [])" < ($1.xs ?? []).map(\.description).joined()
                    + "\($1.ys ?? [])"
            })
    }
}

/// What a peer of a history may do.
struct HistoryGrant: Hashable {
    var read = HistoryPredicate.everything
    var write = HistoryPredicate.everything
    var epoch: UInt64 = 0
    var isHub = false

    var rights: PeerRights {
        PeerRights(read: read.interest, write: write.interest, mayRelay: true, isHub: isHub, epoch: epoch)
    }
}

/// Grants by number: the number is all that travels.
final class HistoryGrants: @unchecked Sendable {
    // Unchecked: one thread at a time.
    var grants: [HistoryGrant] = []

    func grant(_ bytes: [UInt8]) throws -> HistoryGrant {
        guard bytes.count == 2, Int(bytes[0]) << 8 | Int(bytes[1]) < grants.count else {
            throw DocDBError(.protocolError, "no such grant")
        }
        return grants[Int(bytes[0]) << 8 | Int(bytes[1])]
    }
}

final class HistoryAuthenticator: SessionAuthenticator, @unchecked Sendable {
    // Unchecked: one thread at a time.
    let kind = "history"
    let appID = "app"
    let peerKey: [UInt8] = []
    let table: HistoryGrants
    var number: Int

    init(_ table: HistoryGrants, _ grant: HistoryGrant) {
        self.table = table
        number = table.grants.count
        table.grants.append(grant)
    }

    func change(_ grant: HistoryGrant) {
        number = table.grants.count
        table.grants.append(grant)
    }

    var own: HistoryGrant { table.grants[number] }
    var ownRights: PeerRights { own.rights }
    var grant: [UInt8] { [UInt8(number >> 8), UInt8(number & 255)] }

    func prove(_ transcript: HandshakeTranscript, at time: SessionTime) throws -> Proof {
        Proof(bytes: grant, grantHash: [])
    }

    func judge(
        _ proof: Proof, _ transcript: HandshakeTranscript, grant: [UInt8]?, at time: SessionTime
    ) throws -> PeerRights? { try table.grant(proof.bytes).rights }

    func judge(renewal grant: [UInt8], of peer: Hello, at time: SessionTime) throws -> PeerRights {
        try table.grant(grant).rights
    }
}
