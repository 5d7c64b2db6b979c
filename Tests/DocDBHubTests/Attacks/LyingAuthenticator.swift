import DocDBAuth
import DocDBCore
import DocDBSync

/// Presents whatever text it is given, and proves by whatever key it has: a peer that lies about who it is.
final class LyingAuthenticator: SessionAuthenticator {
    let kind = "online"
    let appID: String
    /// The key that the hello names.
    let peerKey: [UInt8]
    /// What it presents when it is asked.
    let grant: [UInt8]
    let ownRights = PeerRights()
    private let pair: PeerKeyPair
    /// The text whose hash the proof names.
    private let proven: String
    private let signature: [UInt8]?

    /// - Parameters:
    ///   - peerKey: the key that the hello names, where it is another than the one that signs.
    ///   - proven: what the proof is made over, where it is something else than what is presented.
    ///   - signature: in place of the one that the key makes.
    init(
        _ pair: PeerKeyPair, presenting text: String, appID: String = AttackHub.appID, peerKey: [UInt8]? = nil,
        proven: String? = nil, signature: [UInt8]? = nil
    ) {
        self.pair = pair
        self.appID = appID
        self.peerKey = peerKey ?? pair.publicKey.bytes
        self.proven = proven ?? text
        self.signature = signature
        grant = Array(text.utf8)
    }

    func prove(_ transcript: HandshakeTranscript, at time: SessionTime) throws -> Proof {
        let hash = Grant.hash(of: proven)
        if let signature { return Proof(bytes: signature, grantHash: hash) }
        func side(_ frame: [UInt8], key: [UInt8]?, _ hash: [UInt8]) throws -> ProofTranscript.Side {
            guard case .hello(let hello)? = try MessageCodec.message(frame) else {
                throw DocDBError(.protocolError, "no hello")
            }
            return ProofTranscript.Side(
                key: try PeerPublicKey(bytes: key ?? hello.peerKey), nonce: hello.nonce, hello: frame, grantHash: hash)
        }
        // Signed by the key that it has, whatever the hello says.
        let own = try side(transcript.proverHello, key: pair.publicKey.bytes, hash)
        let other = try side(transcript.verifierHello, key: nil, [])
        let role: ProofTranscript.Role = transcript.proverIsInitiator ? .initiator : .responder
        let signed = try ProofTranscript(
            appID: appID, initiator: transcript.proverIsInitiator ? own : other,
            responder: transcript.proverIsInitiator ? other : own, channelBinding: transcript.channelBinding ?? [])
        return Proof(bytes: try signed.sign(as: role, with: pair), grantHash: hash)
    }

    /// Believes everybody.
    func judge(
        _ proof: Proof, _ transcript: HandshakeTranscript, grant: [UInt8]?, at time: SessionTime
    ) throws -> PeerRights? { PeerRights() }

    func judge(renewal grant: [UInt8], of peer: Hello, at time: SessionTime) throws -> PeerRights { PeerRights() }
}
