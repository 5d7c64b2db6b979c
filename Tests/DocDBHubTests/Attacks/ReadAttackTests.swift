import DocDB
import DocDBAuth
import DocDBCore
import DocDBHub
import DocDBReplication
import DocDBSync
import Foundation
import Testing

@Suite("Attacks on a hub: what a peer reads", .timeLimit(.minutes(10)))
struct ReadAttackTests {
    /// A text that stands in documents that the attacker may not read, and nowhere else.
    static let secret = "secret-content-0d1e"
    static let readable: AttackHub.Queries = ["cars": "state == 'for sale'"]

    private func put(_ hub: AttackHub, _ id: String, _ more: [String: Value], in collection: String = "cars") throws {
        var value = more
        value["_id"] = .string(id)
        try hub.hub.db.collection(collection).upsert(.object(value))
    }

    /// The documents in all contents of one pull, in order.
    private func documents(_ peer: WirePeer) throws -> [IncomingDocument] {
        let (dictionary, names) = (ReceivingDictionary(), FieldNames())
        return try peer.heard.contents.flatMap {
            try DocumentsReader.documents($0, dictionary: dictionary, names: names)
        }
    }

    /// What a peer may ask for by force: everything, whole collections, and predicates on what is hidden.
    static let interests: [Interest] = [
        .everything,
        .collections([Interest.Element(collection: "cars", predicate: "true")]),
        .collections([Interest.Element(collection: "cars", predicate: "state == 'for sale' || exists(note)")]),
        .collections([Interest.Element(collection: "cars", predicate: "note == '\(secret)'")]),
        .collections([Interest.Element(collection: "cars", predicate: "!(state == 'for sale')")]),
        .collections([Interest.Element(collection: "secrets", predicate: "true")]),
    ]

    @Test("Whatever a peer asks for, nothing that it may not read is in any frame", arguments: interests.indices)
    func asking(_ index: Int) async throws {
        let hub = try AttackHub()
        for number in 0..<40 {
            try put(hub, "hidden-\(number)", ["state": "sold", "note": .string(Self.secret)])
            try put(hub, "shown-\(number)", ["state": "for sale", "note": "shown-content"])
        }
        try put(hub, "s", ["state": "for sale", "note": .string(Self.secret)], in: "secrets")
        let mallory = try WirePeer(
            try hub.authenticator("mallory", read: Self.readable, write: [:]), interest: Self.interests[index])
        try await mallory.establish(hub.syncURL)
        try await eventually { mallory.heard.isCurrent }
        let heard = mallory.heard
        #expect(!heard.contains(Self.secret))
        #expect(!heard.contains("hidden-"))
        #expect(!heard.contains("secrets"))
        #expect(heard.contains("shown-content") == (index < 3))
    }

    @Test("Of a document that leaves the permitted set the id alone goes out, and its new content is in no frame")
    func leaving() async throws {
        let hub = try AttackHub()
        for number in 0..<5 { try put(hub, "car-\(number)", ["state": "for sale", "note": "shown-content"]) }
        let mallory = try WirePeer(
            try hub.authenticator("mallory", read: Self.readable, write: [:]), interest: .everything)
        try await mallory.establish(hub.syncURL)
        try await eventually { mallory.heard.contains("shown-content") && mallory.heard.isCurrent }
        // With the change itself; before it; and in one commit out and in again.
        try put(hub, "car-0", ["state": "sold", "note": .string(Self.secret)])
        try put(hub, "car-1", ["state": "sold"])
        try put(hub, "car-1", ["note": .string(Self.secret)])
        try await hub.hub.db.write { transaction in
            let cars = transaction.collection("cars")
            try cars.upsert(["_id": "car-2", "state": "sold", "note": .string(Self.secret)])
            try cars.upsert(["_id": "car-2", "state": "for sale", "note": "shown-again"])
        }
        try put(hub, "car-3", ["state": "sold", "note": .string(Self.secret)])
        _ = try hub.hub.db.collection("cars").remove("car-3")
        try put(hub, "car-4", ["note": "the-last"])
        try await eventually { mallory.heard.contains("the-last") }
        #expect(mallory.heard.contains("shown-again"))
        #expect(!mallory.heard.contains(Self.secret))
        var last: [[UInt8]: IncomingDocument] = [:]
        for document in try documents(mallory) { last[document.name.id] = document }
        for id in ["car-0", "car-1"] as [DocumentID] {
            let document = try #require(last[id.wireBytes])
            #expect(document.kind == .leftAccess, "\(id)")
            if case .none = document.content {} else { Issue.record("content goes with \(id)") }
        }
        #expect(last[("car-3" as DocumentID).wireBytes]?.kind != .inScope)
    }

    @Test("Narrower permissions in the midst of a session end what is sent at once")
    func narrowing() async throws {
        let hub = try AttackHub()
        try put(hub, "car-0", ["state": "for sale", "note": "shown-content"])
        let authenticator = try hub.authenticator("mallory", read: Self.readable, write: [:])
        let mallory = try WirePeer(authenticator, interest: .everything)
        try await mallory.establish(hub.syncURL)
        try await eventually { mallory.heard.contains("shown-content") && mallory.heard.isCurrent }
        let narrow = try hub.grant(
            "mallory", authenticator.pair.publicKey, read: ["cars": "state == 'scrapped'"], write: [:], epoch: 2)
        mallory.say(.grant(Array(narrow.grant.utf8)))
        try await eventually {
            mallory.heard.messages.contains {
                if case .reconcile(let message) = $0 { message.bytes.isEmpty } else { false }
            }
        }
        try put(hub, "car-1", ["state": "for sale", "note": .string(Self.secret)])
        try put(hub, "car-2", ["state": "scrapped", "note": "scrapped-content"])
        try await eventually { mallory.heard.contains("scrapped-content") }
        #expect(!mallory.heard.contains(Self.secret))
        // The wider one, whose epoch is lower now, is worth nothing any more.
        mallory.say(.grant(authenticator.grant))
        try await eventually { mallory.heard.close != nil }
        #expect(mallory.heard.close?.code == CloseCode.proofFailed)
        #expect(!mallory.heard.contains(Self.secret))
    }

    @Test("Whoever guesses ids does not learn which documents there are")
    func guessing() async throws {
        let hub = try AttackHub()
        try put(hub, "hidden", ["state": "sold", "note": .string(Self.secret)])
        try put(hub, "dead", ["state": "sold"])
        _ = try hub.hub.db.collection("cars").remove("dead")
        let mallory = try WirePeer(
            try hub.authenticator("mallory", read: Self.readable, write: [:]), interest: .everything)
        try await mallory.establish(hub.syncURL)
        try await eventually { mallory.heard.isCurrent }
        try mallory.ask(for: ["hidden", "dead", "nowhere"], in: "cars")
        try await eventually { mallory.heard.contents.count >= 1 }
        let answers = try documents(mallory)
        #expect(Set(answers.map(\.name.id)) == Set((["hidden", "dead", "nowhere"] as [DocumentID]).map(\.wireBytes)))
        for answer in answers {
            #expect(answer.kind == .notHeld)
            if case .none = answer.content {} else { Issue.record("content goes with a guess") }
        }
    }
}
