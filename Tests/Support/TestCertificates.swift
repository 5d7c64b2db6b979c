import CWebSockets
import DocDBCore
package import DocDBTransport

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// An authority made for one test, and a certificate it has signed.
package final class TestCertificates: Sendable {
    /// The file of the authority's certificate.
    package let authorityFile: String
    package let identity: TLSIdentity
    private let directory: String

    /// - Parameters:
    ///   - names: the certificate's names, as in OpenSSL's `subjectAltName`.
    ///   - beginSeconds: when it begins to be valid, from now.
    ///   - endSeconds: when it ends to be valid, from now.
    package init(
        names: String = "DNS:localhost,IP:127.0.0.1,IP:::1", beginSeconds: Int = -60, endSeconds: Int = 3600
    ) throws {
        var template = Array("/tmp/docdb-transport-XXXXXX".utf8CString)
        guard mkdtemp(&template) != nil else { throw DocDBError(.storageFailed, "no directory for certificates") }
        directory = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
        authorityFile = directory + "/authority.pem"
        identity = TLSIdentity(certificateFile: directory + "/server.pem", keyFile: directory + "/server.key")

        let authorityKey = try Self.makeKey()
        let serverKey = try Self.makeKey()
        defer {
            EVP_PKEY_free(authorityKey)
            EVP_PKEY_free(serverKey)
        }
        let authority = try Self.makeCertificate(
            name: "Test Authority \(UInt32.random(in: .min ... .max))", key: authorityKey, issuer: nil,
            issuerKey: authorityKey, begin: -60, end: 3600,
            extensions: [(NID_basic_constraints, "critical,CA:TRUE"), (NID_key_usage, "critical,keyCertSign")])
        let server = try Self.makeCertificate(
            name: "Test Server", key: serverKey, issuer: authority, issuerKey: authorityKey, begin: beginSeconds,
            end: endSeconds, extensions: [(NID_subject_alt_name, names)])
        defer {
            X509_free(authority)
            X509_free(server)
        }
        try Self.write(authorityFile) { PEM_write_bio_X509($0, authority) }
        try Self.write(identity.certificateFile) { PEM_write_bio_X509($0, server) }
        try Self.write(identity.keyFile) { PEM_write_bio_PrivateKey($0, serverKey, nil, nil, 0, nil, nil) }
    }

    deinit {
        for file in [authorityFile, identity.certificateFile, identity.keyFile] { unlink(file) }
        rmdir(directory)
    }

    /// SHA-256 of the public key of the certificate, worked out from the file of the private key.
    package func publicKeyHash() throws -> [UInt8] {
        guard let input = BIO_new_file(identity.keyFile, "r"),
            let key = PEM_read_bio_PrivateKey(input, nil, nil, nil)
        else { throw Self.failed }
        defer {
            BIO_free(input)
            EVP_PKEY_free(key)
        }
        var encoded = [UInt8](repeating: 0, count: 256)
        let count = encoded.withUnsafeMutableBufferPointer { bytes in
            var end = bytes.baseAddress
            return i2d_PUBKEY(key, &end)
        }
        var hash = [UInt8](repeating: 0, count: Int(SHA256_DIGEST_LENGTH))
        SHA256(encoded, Int(count), &hash)
        return hash
    }

    private static func makeKey() throws -> OpaquePointer {
        let context = EVP_PKEY_CTX_new_id(EVP_PKEY_ED25519, nil)
        defer { EVP_PKEY_CTX_free(context) }
        var key: OpaquePointer?
        guard EVP_PKEY_keygen_init(context) == 1, EVP_PKEY_keygen(context, &key) == 1, let key else { throw failed }
        return key
    }

    private static func makeCertificate(
        name: String, key: OpaquePointer, issuer: OpaquePointer?, issuerKey: OpaquePointer, begin: Int, end: Int,
        extensions: [(Int32, String)]
    ) throws -> OpaquePointer {
        guard let certificate = X509_new() else { throw failed }
        X509_set_version(certificate, 2)
        ASN1_INTEGER_set(X509_get_serialNumber(certificate), Int.random(in: 1...Int(Int32.max)))
        X509_gmtime_adj(X509_getm_notBefore(certificate), begin)
        X509_gmtime_adj(X509_getm_notAfter(certificate), end)
        X509_set_pubkey(certificate, key)
        let subject = X509_get_subject_name(certificate)
        X509_NAME_add_entry_by_txt(subject, "CN", docdb_test_utf8, name, -1, -1, 0)
        X509_set_issuer_name(certificate, issuer.map { X509_get_subject_name($0) } ?? subject)
        var context = X509V3_CTX()
        X509V3_set_ctx(&context, issuer ?? certificate, certificate, nil, nil, 0)
        for (kind, value) in extensions {
            guard let made = X509V3_EXT_conf_nid(nil, &context, kind, value) else { throw failed }
            X509_add_ext(certificate, made, -1)
            X509_EXTENSION_free(made)
        }
        guard X509_sign(certificate, issuerKey, nil) > 0 else { throw failed }
        return certificate
    }

    private static func write(_ path: String, _ body: (OpaquePointer) -> Int32) throws {
        guard let output = BIO_new_file(path, "w") else { throw failed }
        defer { BIO_free(output) }
        guard body(output) == 1 else { throw failed }
    }

    private static let failed = DocDBError(.certificateInvalid, "OpenSSL does not make the test's certificate")
    private static let docdb_test_utf8: Int32 = 0x1000 | 1  // MBSTRING_ASC
}
