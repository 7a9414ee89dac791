// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

#if LocalProvider
internal import Crypto
internal import Foundation
internal import HTTPDNSPrimitives
internal import HTTPTypes
internal import Hummingbird
internal import HummingbirdHTTP2
internal import Logging
internal import NIOCore
internal import NIOSSL
internal import SwiftASN1
internal import X509

/// The HTTP server, which passes requests to the core and sends its replies.
enum HTTPService {
    /// The maximum body length: a DNS message is the largest body of a query.
    private static let maximumBodyOctets = 65_535

    /// The properties of a connection that the protocols need.
    struct Context: InitializableFromSource, RequestContext {
        var coreContext: CoreRequestContextStorage
        var client: SocketAddress?
        var service: SocketAddress?

        init(source: ApplicationRequestContextSource) {
            coreContext = .init(source: source)
            // An HTTP/2 stream is a separate channel, with the addresses of its connection.
            let connection =
                source.channel.remoteAddress == nil ? source.channel.parent ?? source.channel : source.channel
            client = connection.remoteAddress
            service = connection.localAddress
        }
    }

    static func application(
        _ core: ServiceCore,
        address: HTTPDNSAddress,
        port: UInt16,
        tls: TLSConfiguration?,
        onQuery: @escaping @Sendable (HTTPDNSProviderServer.Query) -> Void,
        onListening: @escaping @Sendable (SocketAddress?) async -> Void
    ) throws -> Application<CallbackResponder<Context>> {
        // Queries are reported through `onQuery` only.
        var logger = Logger(label: "httpdns.local-provider") { _ in SwiftLogNoOpLogHandler() }
        logger.logLevel = .critical
        return Application(
            responder: CallbackResponder { request, context in
                try await respond(to: request, context, core, address: address, onQuery)
            },
            server: try tls.map { try .http2Upgrade(tlsConfiguration: $0) } ?? .http1(),
            configuration: ApplicationConfiguration(
                address: .hostname("\(address)", port: Int(port)),
                serverName: "httpdns-local-provider"
            ),
            onServerRunning: { channel in await onListening(channel.localAddress) },
            logger: logger
        )
    }

    private static func respond(
        to request: Request,
        _ context: Context,
        _ core: ServiceCore,
        address: HTTPDNSAddress,
        _ onQuery: @Sendable (HTTPDNSProviderServer.Query) -> Void
    ) async throws -> Response {
        var request = request
        let body = try? await request.collectBody(upTo: maximumBodyOctets)
        let served = ServedRequest(
            method: request.method,
            path: request.uri.path,
            query: request.uri.query ?? "",
            headerFields: request.headers,
            body: body.map { Array($0.readableBytesView) } ?? [],
            client: context.client?.ipAddress.flatMap { HTTPDNSAddress($0) },
            service: HTTPDNSEndpoint(
                address: context.service?.ipAddress.flatMap { HTTPDNSAddress($0) } ?? address,
                port: UInt16(clamping: context.service?.port ?? 0)
            )
        )
        let outcome = body == nil ? core.outcome(ofUnread: served) : core.outcome(of: served)
        onQuery(outcome.record)
        // A reply that is canceled during the delay is not sent.
        if let delay = outcome.delay { try await Task.sleep(for: delay) }
        return Response(
            status: HTTPResponse.Status(code: outcome.reply.status),
            headers: outcome.reply.headerFields,
            body: ResponseBody(byteBuffer: ByteBuffer(bytes: outcome.reply.body))
        )
    }
}

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
            throw HTTPDNSProviderServerError(
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
