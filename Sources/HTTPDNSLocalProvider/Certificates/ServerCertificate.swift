#if LocalProvider
internal import Crypto
internal import Foundation
internal import HTTPDNSPrimitives
internal import NIOSSL
internal import SwiftASN1
internal import X509

/// The certificate chain and key of the server.
struct ServerCertificate: Sendable {
    /// The certificates in PEM, for clients to trust.
    let text: String
    let configuration: TLSConfiguration

    /// The validity of a generated certificate, in days. It is used only while the process runs.
    private static let life = 7

    /// Generates a certificate and a key. The key is never written to a file.
    static func generated(names: [String], addresses: [HTTPDNSAddress]) throws -> ServerCertificate {
        let key = P256.Signing.PrivateKey()
        let subject = try DistinguishedName {
            OrganizationName("swift-httpdns local provider")
            CommonName(names.first ?? "localhost")
        }
        let alternatives =
            names.map { GeneralName.dnsName($0) }
            + addresses.map { GeneralName.ipAddress(ASN1OctetString(contentBytes: ArraySlice($0.bytes))) }
        let now = Date()
        let certificate = try Certificate(
            version: .v3,
            serialNumber: Certificate.SerialNumber(),
            publicKey: Certificate.PublicKey(key.publicKey),
            // Clocks of containers and machines differ slightly.
            notValidBefore: now.addingTimeInterval(-3600),
            notValidAfter: now.addingTimeInterval(TimeInterval(life * 86_400)),
            issuer: subject,
            subject: subject,
            signatureAlgorithm: .ecdsaWithSHA256,
            extensions: try Certificate.Extensions {
                Critical(BasicConstraints.isCertificateAuthority(maxPathLength: 0))
                Critical(KeyUsage(digitalSignature: true, keyCertSign: true))
                try ExtendedKeyUsage([.serverAuth])
                SubjectAlternativeNames(alternatives)
            },
            issuerPrivateKey: Certificate.PrivateKey(key)
        )
        let text = try certificate.serializeAsPEM().pemString
        return try ServerCertificate(certificate: text, key: key.pemRepresentation)
    }

    /// Reads a certificate and a key from two PEM files.
    init(certificateFile: String, keyFile: String) throws {
        do {
            try self.init(
                certificate: String(contentsOfFile: certificateFile, encoding: .utf8),
                key: String(contentsOfFile: keyFile, encoding: .utf8)
            )
        } catch {
            throw LocalProviderError(
                .badCertificate,
                "the certificate \(certificateFile) and the key \(keyFile) cannot be used: both must be PEM files that can be read, "
                    + "and the key must be the certificate's"
            )
        }
    }

    /// Creates a certificate from its chain and its key, both in PEM.
    init(certificate: String, key: String) throws {
        text = certificate
        let chain = try NIOSSLCertificate.fromPEMBytes(Array(certificate.utf8))
        var configuration = TLSConfiguration.makeServerConfiguration(
            certificateChain: chain.map { .certificate($0) },
            privateKey: .privateKey(try NIOSSLPrivateKey(bytes: Array(key.utf8), format: .pem))
        )
        configuration.applicationProtocols = ["h2", "http/1.1"]
        // A key of another certificate is detected here, and not only when the server starts.
        _ = try NIOSSLContext(configuration: configuration)
        self.configuration = configuration
    }
}
#endif
