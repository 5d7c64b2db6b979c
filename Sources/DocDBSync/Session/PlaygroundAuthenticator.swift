import DocDBCore

/// The identity without secrecy: peers of one app id trust each other. For loopback and tests.
package final class PlaygroundAuthenticator: SessionAuthenticator {
    package let kind = "playground"
    package let appID: String
    package let peerKey: [UInt8] = []
    package let grant: [UInt8] = []
    package let ownRights = PeerRights()

    package init(appID: String) { self.appID = appID }

    package func prove(_ transcript: HandshakeTranscript, at time: SessionTime) throws -> Proof {
        Proof(bytes: [], grantHash: [])
    }

    package func judge(
        _ proof: Proof, _ transcript: HandshakeTranscript, grant: [UInt8]?, at time: SessionTime
    ) throws -> PeerRights? {
        guard proof.bytes.isEmpty, proof.grantHash.isEmpty, grant == nil else {
            throw DocDBError(.protocolError, "a peer without identity sent a proof; give both stores the same identity")
        }
        return PeerRights()
    }

    package func judge(renewal grant: [UInt8], of peer: Hello, at time: SessionTime) throws -> PeerRights {
        throw DocDBError(.protocolError, "a peer without identity sent a grant; give both stores the same identity")
    }
}
