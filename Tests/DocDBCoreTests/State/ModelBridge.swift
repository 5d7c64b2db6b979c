import DocDBCore

// The model's small times and named actors, and the code's, told as each other.

/// Spreads the model's times over ticks and counters, so that both parts of their encodings are met.
func hybridTime(_ time: Int) -> HybridTime { HybridTime(rawValue: UInt64(time) * 21_845 + (time == 0 ? 0 : 3)) }

extension DocDBCore.Stamp {
    init(_ stamp: ModelDocument.Stamp) {
        self.init(time: hybridTime(stamp.time), actor: actorID(stamp.actor))
    }
}

extension ModelDocument.Stamp {
    init(_ stamp: DocDBCore.Stamp) {
        if stamp == .none {
            self.init()
        } else {
            self.init(time: Int(stamp.time.rawValue / 21_845), actor: name(of: stamp.actor))
        }
    }
}

private func name(of actor: ActorID) -> String {
    String(decoding: actor.bytes.prefix { $0 != 0 }, as: UTF8.self)
}

extension ModelDocument {
    /// What a state of the code under test holds.
    init(_ state: DocumentState, _ names: FieldNames) throws {
        for entry in state.assignments {
            let payload: Payload
            switch entry.kind {
            case .map: payload = .map
            case .absent: payload = .absent
            case .value: payload = .number(Int(try decoded(state.bytes(of: entry.payload)).intValue ?? -1))
            }
            assignments[try Self.path(state.bytes(of: entry.path), names)] = Entry(
                stamp: Stamp(entry.stamp), payload: payload)
        }
        for tally in state.tallies {
            guard case .int(let sum) = tally.sum else { throw CBORError.malformed }
            let key = TallyKey(
                path: try Self.path(state.bytes(of: tally.path), names), base: Stamp(tally.base),
                actor: name(of: tally.actor))
            tallies[key] = Total(sum: Int(sum), time: Int(tally.time.rawValue / 21_845))
        }
        seen = Self.vector(state.seen)
        deleted = Self.vector(state.deleted)
    }

    private static func vector(_ vector: VersionVector) -> [String: Int] {
        Dictionary(
            uniqueKeysWithValues: vector.elements.map { (name(of: $0.actor), Int($0.time.rawValue / 21_845)) })
    }

    private static func path(_ bytes: [UInt8], _ names: FieldNames) throws -> [UInt8] {
        var keys: [UInt8] = []
        var rest = bytes[...]
        while let first = rest.first {
            // One-byte numbers and one-letter texts are all that the histories have.
            if first < 24 {
                keys += names.string(Int(first)).map { Array($0.utf8) } ?? [0]
                rest = rest.dropFirst()
            } else {
                keys.append(rest[rest.startIndex + 1])
                rest = rest.dropFirst(2)
            }
        }
        return keys
    }
}
