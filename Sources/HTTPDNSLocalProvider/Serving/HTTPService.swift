#if LocalProvider
internal import HTTPDNSPrimitives
internal import HTTPTypes
internal import Hummingbird
internal import HummingbirdHTTP2
internal import Logging
internal import NIOCore
internal import NIOSSL

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
        onQuery: @escaping @Sendable (LocalProvider.Query) -> Void,
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
        _ onQuery: @Sendable (LocalProvider.Query) -> Void
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
        // A reply that is cancelled during the delay is not sent.
        if let delay = outcome.delay { try await Task.sleep(for: delay) }
        return Response(
            status: HTTPResponse.Status(code: outcome.reply.status),
            headers: outcome.reply.headerFields,
            body: ResponseBody(byteBuffer: ByteBuffer(bytes: outcome.reply.body))
        )
    }
}
#endif
