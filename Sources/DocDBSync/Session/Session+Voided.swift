import DocDBCore
import DocDBStorage

// Changes that a hub has refused are not taken from others either, whatever these may write.
extension Session {
    /// Notes the changes of the peer's own that a refused document brings, and has all others told. Only a hub's verdict
    /// counts: on devices it is provisional, as what it rests on may be out of date.
    func void(
        _ document: IncomingDocument, _ code: RefusalCode, _ old: DocumentState, _ result: inout SnapshotApplication,
        _ writer: any ReplicaWriter
    ) throws {
        guard code == .denied, configuration.voidsRefused else { return }
        let name = Self.voidedName(document.name)
        var ranges: [VoidedRange] = []
        for element in document.seen.elements + document.deleted.elements where isOwn(element.actor) {
            let held = old.newest(of: element.actor)
            guard element.time > held, !ranges.contains(where: { $0.actor == element.actor }) else { continue }
            let through = document.newest(of: element.actor)
            try writer.setVoided(VoidedChange(document: name, actor: element.actor, time: through))
            ranges.append(VoidedRange(document: name, actor: element.actor, after: held, through: through))
        }
        if !ranges.isEmpty { result.effects.append(.voided(ranges)) }
    }

    /// Tells whether a document brings changes that their author was refused.
    ///
    /// At a hub an author itself is judged anew each time, on the net result (R19). Others' changes come only from hubs,
    /// which judge themselves, and from who may relay. Everybody else goes by what hubs have told.
    func isVoided(_ document: IncomingDocument, _ old: DocumentState, _ writer: any ReplicaWriter) throws -> Bool {
        guard configuration.voidsRefused else { return try isToldVoided(document, old, writer) }
        guard gate.rights.mayRelay, !gate.rights.isHub, try writer.hasVoided else { return false }
        return try writer.voided(Self.voidedName(document.name)).contains { voided in
            let held = old.newest(of: voided.actor)
            return !isOwn(voided.actor) && document.newest(of: voided.actor) > held && voided.time > held
        }
    }

    /// The author's change was taken after all: it may come from anybody, and those who gave it up are to hear of it.
    func settleVoided(
        _ document: IncomingDocument, _ result: inout SnapshotApplication, _ writer: any ReplicaWriter
    ) throws {
        guard configuration.voidsRefused, try writer.hasVoided else { return }
        let name = Self.voidedName(document.name)
        var ranges: [VoidedRange] = []
        for voided in try writer.voided(name) where isOwn(voided.actor) {
            try writer.removeVoided(document: name, actor: voided.actor)
            ranges.append(
                VoidedRange(document: name, actor: voided.actor, after: voided.time, through: voided.time))
        }
        if !ranges.isEmpty { result.effects.append(.voided(ranges)) }
    }

    private func isOwn(_ actor: ActorID) -> Bool { actors.proven.contains(actor) }

    /// The hash that stands for a document: in full it need not be kept, nor told to whom may not know it.
    static func voidedName(_ name: DocumentName) -> StateDigest {
        let bytes = Array(name.collection.utf8) + [0] + name.id
        return bytes.withUnsafeBytes { ContentHash.digest($0) }
    }
}

extension DocumentState {
    /// The newest change of an actor that the state holds, or has deleted.
    func newest(of actor: ActorID) -> HybridTime { max(seen[actor], deleted[actor]) }
}

extension IncomingDocument {
    /// The newest change of an actor that the document brings.
    func newest(of actor: ActorID) -> HybridTime { max(seen[actor], deleted[actor]) }
}
