import CWebSockets
import DocDBCore

/// A certificate with its key, as files in PEM.
package struct TLSIdentity: Sendable, Hashable {
    /// The file of the certificate, followed by those of its issuers.
    package var certificateFile: String
    /// The file of the private key, without a pass phrase.
    package var keyFile: String

    package init(certificateFile: String, keyFile: String) {
        self.certificateFile = certificateFile
        self.keyFile = keyFile
    }

    /// Loads both into a context of OpenSSL, which is checked for their belonging together.
    ///
    /// - Throws: `.certificateInvalid`, naming the file.
    func load(into context: OpaquePointer) throws(DocDBError) {
        ERR_clear_error()
        guard SSL_CTX_use_certificate_chain_file(context, certificateFile) == 1 else {
            throw DocDBError(
                .certificateInvalid,
                "cannot read a certificate from \(certificateFile): \(SystemErrors.takeTLSText()); give a file in PEM")
        }
        guard SSL_CTX_use_PrivateKey_file(context, keyFile, SSL_FILETYPE_PEM) == 1 else {
            throw DocDBError(
                .certificateInvalid,
                "cannot use \(keyFile) as the key of \(certificateFile): \(SystemErrors.takeTLSText()); "
                    + "give the private key of that certificate in PEM, without a pass phrase")
        }
        guard SSL_CTX_check_private_key(context) == 1 else {
            ERR_clear_error()
            throw DocDBError(
                .certificateInvalid, "the key in \(keyFile) is not that of the certificate in \(certificateFile)")
        }
    }

    /// Checks that both files can be read and belong together, without keeping them.
    func check() throws(DocDBError) {
        guard let context = SSL_CTX_new(TLS_server_method()) else {
            throw DocDBError(.certificateInvalid, "OpenSSL refuses to work: \(SystemErrors.takeTLSText())")
        }
        defer { SSL_CTX_free(context) }
        try load(into: context)
    }
}

/// A context of OpenSSL for connections to servers that are verified in one way.
final class TLSClientContext {
    let pointer: OpaquePointer

    /// - Throws: `.certificateInvalid` where the file of authorities cannot be read.
    init(_ trust: CertificateTrust) throws(DocDBError) {
        ERR_clear_error()
        guard let context = SSL_CTX_new(TLS_client_method()) else {
            throw DocDBError(.connectionFailed, "OpenSSL refuses to work: \(SystemErrors.takeTLSText())")
        }
        pointer = context
        docdb_ssl_configure(context)
        switch trust {
        case .system:
            SSL_CTX_set_default_verify_paths(context)
        case .authorities(let file):
            guard SSL_CTX_load_verify_locations(context, file, nil) == 1 else {
                throw DocDBError(
                    .certificateInvalid,
                    "cannot read certificate authorities from \(file): \(SystemErrors.takeTLSText()); give a file in PEM"
                )
            }
        case .pinned:
            break
        }
    }

    deinit { SSL_CTX_free(pointer) }
}

/// What is asked of one TLS session.
enum TLSSession {
    /// The label of `tls-exporter` and the length of its value (RFC 9266).
    private static let exporterLabel = "EXPORTER-Channel-Binding"
    private static let exporterByteCount = 32

    /// The session's channel binding.
    static func channelBinding(_ session: OpaquePointer) -> [UInt8]? {
        var value = [UInt8](repeating: 0, count: exporterByteCount)
        let status = SSL_export_keying_material(
            session, &value, value.count, exporterLabel, exporterLabel.utf8.count, nil, 0, 0)
        return status == 1 ? value : nil
    }

    /// The facts of the other side's certificate.
    static func peerCertificate(_ session: OpaquePointer) -> PeerCertificate? {
        guard let certificate = SSL_get1_peer_certificate(session) else { return nil }
        defer { X509_free(certificate) }
        guard let hash = publicKeyHash(certificate) else { return nil }
        return PeerCertificate(
            subject: subject(certificate), publicKeyHash: hash, expirySeconds: expirySeconds(certificate))
    }

    /// SHA-256 of the SubjectPublicKeyInfo of a certificate.
    static func publicKeyHash(_ certificate: OpaquePointer) -> [UInt8]? {
        guard let key = X509_get_X509_PUBKEY(certificate) else { return nil }
        var encoded: UnsafeMutablePointer<UInt8>?
        let count = i2d_X509_PUBKEY(key, &encoded)
        guard count > 0, let encoded else { return nil }
        defer { CRYPTO_free(encoded, #file, #line) }
        var hash = [UInt8](repeating: 0, count: Int(SHA256_DIGEST_LENGTH))
        SHA256(encoded, Int(count), &hash)
        return hash
    }

    private static func subject(_ certificate: OpaquePointer) -> String {
        guard let output = BIO_new(BIO_s_mem()) else { return "" }
        defer { BIO_free(output) }
        X509_NAME_print_ex(output, X509_get_subject_name(certificate), 0, docdb_x509_name_flags)
        var bytes = [UInt8](repeating: 0, count: 1024)
        let count = BIO_read(output, &bytes, Int32(bytes.count))
        return String(decoding: bytes.prefix(max(0, Int(count))), as: UTF8.self)
    }

    private static func expirySeconds(_ certificate: OpaquePointer) -> Int64 {
        var days: Int32 = 0
        var seconds: Int32 = 0
        guard let epoch = ASN1_TIME_set(nil, 0) else { return 0 }
        defer { ASN1_STRING_free(epoch) }
        guard ASN1_TIME_diff(&days, &seconds, epoch, X509_get0_notAfter(certificate)) == 1 else { return 0 }
        return Int64(days) * 86_400 + Int64(seconds)
    }
}

/// Verifies one certificate of a chain, as OpenSSL walks it.
struct CertificateVerifier: Sendable {
    var trust: CertificateTrust
    /// The IPv6 address the certificate must be for, which the WebSocket library cannot check; nil for names and IPv4.
    var address: String?

    enum Verdict: Equatable {
        case accepted
        /// OpenSSL's own verdict stands.
        case refused(String)
    }

    /// Judges the certificate that `store` is at.
    func verdict(_ store: OpaquePointer, isVerified: Bool) -> Verdict {
        let isLeaf = X509_STORE_CTX_get_error_depth(store) == 0
        if case .pinned(let hashes) = trust {
            // What OpenSSL thinks of names, issuers and dates does not count; the key of the leaf does.
            guard isLeaf else { return .accepted }
            guard let certificate = X509_STORE_CTX_get_current_cert(store),
                let hash = TLSSession.publicKeyHash(certificate), hashes.contains(hash)
            else { return .refused("its public key is none of the pinned ones") }
            return .accepted
        }
        guard isVerified else {
            let reason = X509_verify_cert_error_string(Int(X509_STORE_CTX_get_error(store)))
            return .refused(reason.map { String(cString: $0) } ?? "unknown error")
        }
        if isLeaf, let address, let certificate = X509_STORE_CTX_get_current_cert(store) {
            guard X509_check_ip_asc(certificate, address, 0) == 1 else { return .refused("IP address mismatch") }
        }
        return .accepted
    }
}
