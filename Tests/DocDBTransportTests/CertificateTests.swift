import DocDBCore
import DocDBTransport
import TestSupport
import Testing

@Suite("Certificates of links", .timeLimit(.minutes(10)))
struct CertificateTests {
    private func connectFailure(
        _ certificates: TestCertificates, trust: CertificateTrust, host: String = "127.0.0.1"
    ) async throws -> DocDBError? {
        let network = try TestNetwork(isTLS: true, certificates: certificates)
        var options = ConnectOptions()
        options.trust = trust
        return await failure { () throws(DocDBError) in
            _ = try await network.transport.connect(to: "wss://\(host):\(network.port)", options)
        }
    }

    @Test("An authority that is not trusted is refused, whether another is or those of the system")
    func wrongAuthority() async throws {
        let certificates = try TestCertificates()
        let other = try TestCertificates()
        for trust in [CertificateTrust.authorities(file: other.authorityFile), .system] {
            let error = try await connectFailure(certificates, trust: trust)
            #expect(error?.code == .certificateRejected)
            #expect(
                error?.context["reason"]?.contains("issuer") == true
                    || error?.context["reason"]?.contains("signature") == true)
        }
    }

    @Test("A certificate that has expired is refused, and one that is not yet valid")
    func dates() async throws {
        let expired = try TestCertificates(beginSeconds: -7200, endSeconds: -3600)
        let early = try TestCertificates(beginSeconds: 3600, endSeconds: 7200)
        let first = try await connectFailure(expired, trust: .authorities(file: expired.authorityFile))
        #expect(first?.code == .certificateRejected)
        #expect(first?.message.contains("expired") == true)
        let second = try await connectFailure(early, trust: .authorities(file: early.authorityFile))
        #expect(second?.code == .certificateRejected)
        #expect(second?.message.contains("not yet valid") == true)
    }

    @Test("A certificate for another host is refused, by name and by address", arguments: ["localhost", "127.0.0.1"])
    func wrongName(host: String) async throws {
        let certificates = try TestCertificates(names: "DNS:hub.example.com,IP:192.0.2.1")
        let error = try await connectFailure(
            certificates, trust: .authorities(file: certificates.authorityFile), host: host)
        #expect(error?.code == .certificateRejected)
        #expect(error?.message.contains("mismatch") == true)
    }

    @Test("A certificate for another host is refused by an IPv6 address too")
    func wrongInternetProtocol6Address() async throws {
        let certificates = try TestCertificates(names: "IP:127.0.0.1,IP:2001:db8::1")
        let network = try TestNetwork(isTLS: true, certificates: certificates) { $0.host = "::1" }
        let error = await failure { () throws(DocDBError) in
            _ = try await network.transport.connect(to: "wss://[::1]:\(network.port)", network.connectOptions)
        }
        #expect(error?.code == .certificateRejected)
        #expect(error?.message.contains("mismatch") == true)
    }

    @Test("A pinned key is accepted whatever else the certificate says, and no other key is")
    func pinned() async throws {
        let certificates = try TestCertificates(names: "DNS:elsewhere", beginSeconds: -7200, endSeconds: -3600)
        let network = try TestNetwork(isTLS: true, certificates: certificates)
        let hash = try certificates.publicKeyHash()
        let other = try TestCertificates().publicKeyHash()
        let error = try await connectFailure(certificates, trust: .pinned(publicKeyHashes: [other]))
        #expect(error?.code == .certificateRejected)
        #expect(error?.message.contains("pinned") == true)
        var options = ConnectOptions()
        options.trust = .pinned(publicKeyHashes: [other, hash])
        let link = try await network.transport.connect(to: network.url, options)
        #expect(link.info.peerCertificate?.publicKeyHash == hash)
    }

    @Test("No pins trust nobody")
    func noPins() async throws {
        let certificates = try TestCertificates()
        let error = try await connectFailure(certificates, trust: .pinned(publicKeyHashes: []))
        #expect(error?.code == .certificateRejected)
    }

    @Test("A file of authorities that cannot be read is reported with its name")
    func badAuthorityFile() async throws {
        let certificates = try TestCertificates()
        for file in ["/nowhere/authorities.pem", certificates.identity.keyFile] {
            let error = try await connectFailure(certificates, trust: .authorities(file: file))
            #expect(error?.code == .certificateInvalid)
            #expect(error?.message.contains(file) == true)
        }
    }

    @Test("A listener's certificate or key that cannot be read, or do not belong together, are reported by name")
    func badIdentity() throws {
        let one = try TestCertificates()
        let other = try TestCertificates()
        let transport = try WebSocketTransport()
        let samples: [(TLSIdentity, String)] = [
            (TLSIdentity(certificateFile: "/nowhere/a.pem", keyFile: one.identity.keyFile), "/nowhere/a.pem"),
            (TLSIdentity(certificateFile: one.identity.certificateFile, keyFile: "/nowhere/a.key"), "/nowhere/a.key"),
            (TLSIdentity(certificateFile: one.identity.keyFile, keyFile: one.identity.keyFile), one.identity.keyFile),
            (
                TLSIdentity(certificateFile: one.identity.certificateFile, keyFile: other.identity.keyFile),
                other.identity.keyFile
            ),
        ]
        for (identity, file) in samples {
            let listener = transport.listener(ListenOptions(identity: identity))
            let error = #expect(throws: DocDBError.self) { try listener.start { _ in } }
            #expect(error?.code == .certificateInvalid)
            #expect(error?.message.contains(file) == true)
        }
    }

    @Test("TLS to a plain port, and plain to one of TLS, are reported")
    func mixed() async throws {
        let plain = try TestNetwork()
        let secure = try TestNetwork(isTLS: true)
        let first = await failure { () throws(DocDBError) in
            _ = try await plain.transport.connect(to: "wss://127.0.0.1:\(plain.port)")
        }
        #expect(first?.code == .connectionFailed)
        let second = await failure { () throws(DocDBError) in
            _ = try await plain.transport.connect(to: "ws://127.0.0.1:\(secure.port)")
        }
        #expect(second?.code == .connectionFailed)
    }

    @Test("Listeners with different certificates in one process show each its own")
    func severalIdentities() async throws {
        let networks = try (0..<3).map { _ in try TestNetwork(isTLS: true) }
        var hashes: Set<[UInt8]> = []
        for network in networks { hashes.insert(try await publicKeyHash(of: network)) }
        #expect(hashes.count == 3)
    }

    private func publicKeyHash(of network: TestNetwork) async throws -> [UInt8] {
        let link = try await network.transport.connect(
            to: "wss://localhost:\(network.port)", network.connectOptions)
        return try #require(link.info.peerCertificate).publicKeyHash
    }
}
