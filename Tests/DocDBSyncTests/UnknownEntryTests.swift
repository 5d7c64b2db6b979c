import DocDBCore
import DocDBSync
import SyncModel
import Testing

@Suite("Entries of unknown kinds and permissions")
struct UnknownEntryTests {
    private let plain = encoded(DocumentID("plain"))
    private let obscure = encoded(DocumentID("obscure"))

    /// A document that shows `{"a": 1}` and has an entry of kind 5 at a field.
    private func state(hiding field: String, _ replica: ModelReplica) throws -> DocumentState {
        // Two stamps, runs, one extra: kind 5 at the field, base stamp 1, dot 2, key 6b, payload 706c.
        func key(_ name: String) -> [UInt8] {
            var buffer = ByteBuffer()
            Array(name.utf8).withUnsafeBytes { buffer.appendCBORKey($0, names: replica.names, interning: true) }
            return buffer.array
        }
        let path = key(field)
        let state: [UInt8] =
            [0x11, 0x08, 2, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 4, 1, 5, UInt8(path.count)] + path
            + [1, 2, 1, 0x6B, 2, 0x70, 0x6C]
        #expect(replica.actors.intern(replica.storage.actor) == 0)
        return try ([0xA1] + key("a") + [0x01]).withUnsafeBytes { body in
            try state.withUnsafeBytes { try DocumentState(body: body, state: $0, actors: replica.actors) }
        }
    }

    private func put(_ state: DocumentState, _ id: [UInt8], in replica: ModelReplica) throws {
        let writer = ModelWriter(replica)
        let collection = try writer.makeCollection(named: "documents")
        let reference = try id.withUnsafeBytes { try writer.makeReference(collection: collection, id: $0) }
        writer.put(state, reference, id, isPending: true)
        replica.finish(writer)
    }

    private func permission(_ predicate: String) -> Interest {
        .collections([Interest.Element(collection: "documents", predicate: predicate)])
    }

    /// Permits a peer no more than some rights.
    private final class Judge: SessionAuthenticator {
        let kind = "playground"
        let appID = "cars"
        let peerKey: [UInt8] = []
        let grant: [UInt8] = []
        let ownRights = PeerRights()
        let rights: PeerRights
        init(_ rights: PeerRights) { self.rights = rights }
        func prove(_ transcript: HandshakeTranscript, at time: SessionTime) -> Proof { Proof(bytes: [], grantHash: []) }
        func judge(
            _ proof: Proof, _ transcript: HandshakeTranscript, grant: [UInt8]?, at time: SessionTime
        ) -> PeerRights? { rights }
        func judge(renewal grant: [UInt8], of peer: Hello, at time: SessionTime) -> PeerRights { rights }
    }

    private func pair(_ rights: PeerRights) -> SessionPair {
        SessionPair(authenticators: [Judge(rights), PlaygroundAuthenticator(appID: "cars")])
    }

    @Test(
        "A document with one where a permission tests matches no permission to read, whatever it seems to be",
        arguments: [
            ("!(l == 1)", false), ("l == missing", false), ("l.deep == missing || a == 1", false), ("a == 1", true),
            ("a == 1 && !(other == 2)", true),
        ])
    func reading(predicate: String, isSent: Bool) throws {
        let pair = pair(PeerRights(read: permission(predicate)))
        try put(try state(hiding: "l", pair.left.replica), obscure, in: pair.left.replica)
        try pair.write(0, plain, [.set("a", 1)])
        pair.connect()
        pair.settle()
        #expect(pair.fields(1, plain) == ["a": 1])
        #expect((pair.fields(1, obscure) != nil) == isSent)
    }

    @Test("Such a document is not written by who may only write what matches", arguments: [false, true])
    func writing(isTested: Bool) throws {
        let pair = pair(PeerRights(write: permission(isTested ? "!(l == 1)" : "a != 7")))
        try put(try state(hiding: "l", pair.left.replica), obscure, in: pair.left.replica)
        pair.connect()
        pair.settle()
        #expect(pair.fields(1, obscure) == ["a": 1])
        try pair.write(1, obscure, [.set("a", 2)])
        pair.settle()
        #expect(pair.fields(0, obscure) == ["a": isTested ? 1 : 2])
    }
}
