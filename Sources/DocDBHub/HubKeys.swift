package import DocDBAuth
package import DocDBCore

/// A hub's keys with their certificates, and the app's root keys that certify them.
package struct HubKeys: Sendable {
    package let appID: String
    package private(set) var keys: [GrantIssuer.Key]
    package let roots: [PeerPublicKey]

    /// How long a certificate is valid, in seconds: a year.
    package static let certificateSeconds: Int64 = 365 * 86_400

    init(appID: String, keys: [GrantIssuer.Key], roots: [PeerPublicKey]) {
        self.appID = appID
        self.keys = keys
        self.roots = roots
    }

    /// Makes the keys of a new hub: one that it is known by in sessions, and a first one that signs.
    package static func new(appID: String, root: PeerKeyPair, now: UnixTime) throws(DocDBError) -> HubKeys {
        var keys = HubKeys(appID: appID, keys: [], roots: [root.publicKey])
        let end = now.adding(certificateSeconds)
        keys.keys = [try keys.certified(try PeerKeyPair.generate(), for: .peer, until: end, root, now)]
        try keys.rotate(root: root, now: now)
        return keys
    }

    /// Adds a new key, which signs from now on; the former ones stay until their certificates end, as their grants do.
    ///
    /// The key that the hub is known by stays, with a new certificate.
    ///
    /// - Throws: `invalidKey` where the root is another than the app's.
    package mutating func rotate(root: PeerKeyPair, now: UnixTime) throws(DocDBError) {
        guard roots.contains(root.publicKey) else {
            throw DocDBError(.invalidKey, "the root key is none of this hub's app; name the file of the right one")
        }
        // The newest certificate signs, so it ends last.
        let newest = keys.map(\.certificate.expiresAt).max() ?? now
        let end = max(now.adding(Self.certificateSeconds), newest.adding(1))
        var rotated: [GrantIssuer.Key] = []
        for key in keys {
            if key.certificate.uses == [.peer] {
                rotated.append(try certified(key.pair, for: .peer, until: end, root, now))
            } else if now < key.certificate.expiresAt {
                rotated.append(key)
            }
        }
        rotated.append(try certified(try PeerKeyPair.generate(), for: .sign, until: end, root, now))
        keys = rotated
    }

    private func certified(
        _ pair: PeerKeyPair, for use: HubCertificate.Use, until end: UnixTime, _ root: PeerKeyPair, _ now: UnixTime
    ) throws(DocDBError) -> GrantIssuer.Key {
        let certificate = try HubCertificate.issue(
            for: pair.publicKey, appID: appID, uses: [use], validFrom: now.adding(-86_400), expiresAt: end, root: root)
        return try GrantIssuer.Key(pair: pair, certificate: certificate)
    }

    /// The key that the hub is known by in sessions.
    package func current(now: UnixTime) throws(DocDBError) -> GrantIssuer.Key {
        let valid = keys.filter { $0.certificate.permits(.peer, at: now) }
        guard let key = valid.max(by: { $0.certificate.expiresAt < $1.certificate.expiresAt }) else {
            throw DocDBError(
                .invalidConfiguration, "no key of the hub is valid now; make one with 'docdb-hub keys rotate'")
        }
        return key
    }

    /// A verifier that knows the root keys and the hub's own certificates.
    package func verifier(now: UnixTime) throws(DocDBError) -> GrantVerifier {
        var verifier = GrantVerifier(appID: appID, roots: roots)
        for key in keys { try verifier.learn(certificate: key.certificate.text, now: now) }
        return verifier
    }

    // MARK: At rest

    /// The keys as JSON: secret.
    package func storedForm() throws(DocDBError) -> [UInt8] {
        var stored: [Value] = []
        for key in keys {
            stored.append([
                "key": .object(try StrictJSON.object(key.pair.storedForm())),
                "certificate": .string(key.certificate.text),
            ])
        }
        return try StrictJSON.text([
            "appID": .string(appID), "roots": .array(roots.map(\.jsonWebKey)), "keys": .array(stored),
        ])
    }

    /// Reads what `storedForm` gave; every certificate is verified anew.
    package init(storedForm bytes: [UInt8]) throws(DocDBError) {
        guard let members = try? StrictJSON.object(bytes), let appID = members["appID"]?.stringValue,
            case .array(let roots) = members["roots"], case .array(let keys) = members["keys"]
        else { throw DocDBError(.invalidKey, "the file of the hub's keys is damaged; restore it from a backup") }
        var read: [PeerPublicKey] = []
        for root in roots { read.append(try PeerPublicKey(jsonWebKey: root)) }
        var pairs: [GrantIssuer.Key] = []
        for key in keys {
            guard let stored = key["key"], let text = key["certificate"]?.stringValue else {
                throw DocDBError(.invalidKey, "a key of the hub lacks its certificate; restore the file from a backup")
            }
            pairs.append(
                try GrantIssuer.Key(
                    pair: try PeerKeyPair(storedForm: try StrictJSON.text(stored)),
                    certificate: try HubCertificate.verify(text, appID: appID, roots: read)))
        }
        self.init(appID: appID, keys: pairs, roots: read)
    }

    /// Reads the keys of a hub's directory.
    package static func load(_ files: HubFiles) throws(DocDBError) -> HubKeys {
        guard let bytes = try HubFiles.read(files.keys) else {
            throw DocDBError(
                .invalidConfiguration, "the hub has no keys yet; make them with 'docdb-hub keys new'")
        }
        return try HubKeys(storedForm: bytes)
    }
}
