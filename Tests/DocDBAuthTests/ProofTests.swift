import DocDBAuth
import DocDBCore
import Testing

@Suite("Proofs and peer keys")
struct ProofTests {
    private let world: GrantWorld

    init() throws {
        world = try GrantWorld()
    }

    private struct Parts {
        var appID = "cars-app"
        var initiator: ProofTranscript.Side
        var responder: ProofTranscript.Side
        var channelBinding = [UInt8](repeating: 7, count: 32)

        func transcript() throws -> ProofTranscript {
            try ProofTranscript(
                appID: appID, initiator: initiator, responder: responder, channelBinding: channelBinding)
        }
    }

    private func parts() -> Parts {
        Parts(
            initiator: .init(
                key: world.peer.publicKey, nonce: [UInt8](repeating: 5, count: 32),
                hello: "hello of the initiator".bytes, grantHash: Grant.hash(of: TokenVectors.grant)),
            responder: .init(
                key: world.hub.publicKey, nonce: [UInt8](repeating: 6, count: 32),
                hello: "hello of the responder".bytes))
    }

    @Test("proofs are the same bytes as another implementation's")
    func vectors() throws {
        let transcript = try parts().transcript()
        #expect(try transcript.sign(as: .initiator, with: world.peer) == TokenVectors.initiatorProof.hexadecimalBytes)
        #expect(try transcript.sign(as: .responder, with: world.hub) == TokenVectors.responderProof.hexadecimalBytes)
        try transcript.verify(TokenVectors.initiatorProof.hexadecimalBytes, from: .initiator)
        try transcript.verify(TokenVectors.responderProof.hexadecimalBytes, from: .responder)
    }

    @Test("a proof is worth nothing where any part of the session differs")
    func differences() throws {
        let signature = TokenVectors.initiatorProof.hexadecimalBytes
        let changes: [(inout Parts) -> Void] = [
            { $0.appID = "cars-apq" }, { $0.initiator.nonce[31] ^= 1 }, { $0.responder.nonce[0] ^= 1 },
            { $0.initiator.hello[3] ^= 1 }, { $0.responder.hello.removeLast() }, { $0.responder.hello.append(0) },
            { $0.initiator.grantHash[5] ^= 1 }, { $0.initiator.grantHash = [] },
            { $0.responder.grantHash = [UInt8](repeating: 0, count: 32) }, { $0.channelBinding[9] ^= 1 },
            { $0.channelBinding = [] }, { $0.responder.key = world.other.publicKey },
            { $0.initiator.key = world.other.publicKey },
            {
                // Bytes that move from one part to the next.
                $0.initiator.hello.append($0.initiator.grantHash.removeFirst())
                $0.initiator.grantHash.append(0)
            },
        ]
        for (index, change) in changes.enumerated() {
            var parts = parts()
            change(&parts)
            let transcript = try parts.transcript()
            #expect(outcome { try transcript.verify(signature, from: .initiator) } == Outcome(.proofFailed), "\(index)")
        }
    }

    @Test("a proof of one side is none of the other, also where sides are swapped")
    func roles() throws {
        let transcript = try parts().transcript()
        let signature = TokenVectors.initiatorProof.hexadecimalBytes
        #expect(outcome { try transcript.verify(signature, from: .responder) } == Outcome(.proofFailed))
        var swapped = parts()
        (swapped.initiator, swapped.responder) = (swapped.responder, swapped.initiator)
        #expect(outcome { try swapped.transcript().verify(signature, from: .responder) } == Outcome(.proofFailed))
        #expect(outcome { try transcript.sign(as: .responder, with: world.peer) } == Outcome(.misuse))
    }

    @Test("damaged proofs, and none at all, fail")
    func damaged() throws {
        let transcript = try parts().transcript()
        let signature = TokenVectors.initiatorProof.hexadecimalBytes
        for bad in [[], [0], Array(signature.dropLast()), signature + [0], [UInt8](repeating: 0, count: 64)] {
            #expect(outcome { try transcript.verify(bad, from: .initiator) } == Outcome(.proofFailed))
        }
        for place in signature.indices {
            var changed = signature
            changed[place] ^= 1 << UInt8(place % 8)
            #expect(outcome { try transcript.verify(changed, from: .initiator) } == Outcome(.proofFailed))
        }
    }

    @Test("reflections and impossible sizes are refused")
    func reflections() {
        let changes: [(inout Parts) -> Void] = [
            { $0.responder.key = $0.initiator.key }, { $0.responder.nonce = $0.initiator.nonce },
            { $0.initiator.nonce = [] }, { $0.initiator.nonce = [UInt8](repeating: 1, count: 15) },
            { $0.responder.nonce = [UInt8](repeating: 1, count: 65) }, { $0.initiator.grantHash = [1] },
            { $0.initiator.hello = [UInt8](repeating: 0, count: AuthenticationLimits.helloByteCount + 1) },
        ]
        for change in changes {
            var parts = parts()
            change(&parts)
            #expect(outcome { try parts.transcript() } == Outcome(.proofFailed))
        }
    }

    @Test("a login proof is bound to app, hub's nonce, peer, provider, token and channel")
    func loginProof() throws {
        func proof(
            appID: String = "cars-app", nonce: UInt8 = 6, peer: PeerKeyPair? = nil, provider: String = "auth",
            token: String = "token", binding: UInt8 = 7
        ) throws -> LoginProof {
            try LoginProof(
                appID: appID, hubNonce: [UInt8](repeating: nonce, count: 32), peer: (peer ?? world.peer).publicKey,
                provider: provider, token: token, channelBinding: [UInt8](repeating: binding, count: 32))
        }
        let signature = TokenVectors.loginProof.hexadecimalBytes
        #expect(try proof().sign(with: world.peer) == signature)
        try proof().verify(signature)
        let others = [
            try proof(appID: "x"), try proof(nonce: 5), try proof(peer: world.other), try proof(provider: "auti"),
            try proof(token: "tokem"), try proof(binding: 8),
        ]
        for other in others { #expect(outcome { try other.verify(signature) } == Outcome(.proofFailed)) }
        #expect(
            outcome {
                try LoginProof(
                    appID: "a", hubNonce: [], peer: world.peer.publicKey, provider: "p", token: "t", channelBinding: [])
            } == Outcome(.proofFailed))
    }

    @Test("actor ids are another implementation's, and differ by key and by nonce")
    func actors() {
        let nonce = [UInt8](repeating: 5, count: 32)
        let actor = ActorID(peer: world.peer.publicKey, incarnationNonce: nonce)
        #expect(actor.description == TokenVectors.actor)
        #expect(actor != ActorID(peer: world.peer.publicKey, incarnationNonce: nonce.dropLast()))
        #expect(actor != ActorID(peer: world.other.publicKey, incarnationNonce: nonce))
    }

    @Test("keys are another implementation's, and survive being stored")
    func storedKeys() throws {
        #expect(world.peer.publicKey.bytes == TokenVectors.peerKey.hexadecimalBytes)
        #expect(world.hub.publicKey.thumbprint == TokenVectors.hubThumbprint)
        let stored = try world.peer.storedForm()
        #expect(try PeerKeyPair(storedForm: stored).publicKey == world.peer.publicKey)
        let other = TestToken.base64URL(world.other.publicKey.bytes)
        let mine = TestToken.base64URL(world.peer.publicKey.bytes)
        let mixed = String(decoding: stored, as: UTF8.self).replacing(mine, with: other)
        for bad in ["", "{}", "[]", mixed, String(decoding: stored.dropLast(), as: UTF8.self)] {
            #expect(outcome { try PeerKeyPair(storedForm: bad.bytes) } == Outcome(.invalidKey))
        }
        #expect(!"\(world.peer)".contains("AwMD"), "the secret stays out of descriptions")
    }

    @Test("a key is generated once, stored before it is used, and loaded from then on")
    func loadOrGenerate() throws {
        final class Memory: KeyStorage {
            struct Full: Error {}
            nonisolated(unsafe) var bytes: [UInt8]?
            nonisolated(unsafe) var isFull = false
            func load() throws -> [UInt8]? { bytes }
            func save(_ bytes: [UInt8]) throws {
                if isFull { throw Full() }
                self.bytes = bytes
            }
        }
        let storage = Memory()
        storage.isFull = true
        #expect(throws: Memory.Full.self) { try PeerKeyPair.loadOrGenerate(in: storage) }
        storage.isFull = false
        let first = try PeerKeyPair.loadOrGenerate(in: storage)
        #expect(try PeerKeyPair.loadOrGenerate(in: storage).publicKey == first.publicKey)
        #expect(try PeerKeyPair.generate().publicKey != first.publicKey)
        storage.bytes = [0]
        #expect(outcome { try PeerKeyPair.loadOrGenerate(in: storage) } == Outcome(.invalidKey))
    }
}
