import DocDBCore
import DocDBStorage

// Changes that a hub has refused are not taken from others either, whatever these may write.
extension Session {
    /// Notes the changes of the peer's own that a refused document brings. Only a hub's verdict counts: on devices it is
    /// provisional, as what it rests on may be out of date.
    func void(_ document: IncomingDocument, _ code: RefusalCode, _ writer: any ReplicaWriter) throws {
        guard code == .denied, configuration.voidsRefused else { return }
        let name = Self.voidedName(document.name)
        for element in document.seen.elements + document.deleted.elements where isOwn(element.actor) {
            try writer.setVoided(VoidedChange(document: name, actor: element.actor, time: element.time))
        }
    }

    /// Tells whether a document brings changes that their author was refused.
    ///
    /// An author itself is judged anew each time, on the net result (R19). Others' changes come only from hubs, which judge
    /// themselves, and from who may relay.
    func isVoided(_ document: IncomingDocument, _ old: DocumentState, _ writer: any ReplicaWriter) throws -> Bool {
        guard configuration.voidsRefused, gate.rights.mayRelay, !gate.rights.isHub, try writer.hasVoided else {
            return false
        }
        return try writer.voided(Self.voidedName(document.name)).contains { voided in
            let held = max(old.seen[voided.actor], old.deleted[voided.actor])
            let brought = max(document.seen[voided.actor], document.deleted[voided.actor])
            return !isOwn(voided.actor) && brought > held && voided.time > held
        }
    }

    /// The author's change was taken after all: it may come from anybody.
    func settleVoided(_ document: IncomingDocument, _ writer: any ReplicaWriter) throws {
        guard configuration.voidsRefused, try writer.hasVoided else { return }
        let name = Self.voidedName(document.name)
        for voided in try writer.voided(name) where isOwn(voided.actor) {
            try writer.removeVoided(document: name, actor: voided.actor)
        }
    }

    private func isOwn(_ actor: ActorID) -> Bool { actors.proven.contains(actor) }

    /// The hash that stands for a document: in full it need not be kept.
    private static func voidedName(_ name: DocumentName) -> StateDigest {
        let bytes = Array(name.collection.utf8) + [0] + name.id
        return bytes.withUnsafeBytes { ContentHash.digest($0) }
    }
}
