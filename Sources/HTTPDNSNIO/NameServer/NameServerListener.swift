// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

#if NIO
package import HTTPDNSCore
package import HTTPDNSPrimitives
internal import NIOCore
internal import NIOPosix

/// A name server (RFC 1035) for addresses of names, over UDP and TCP.
///
/// Names that neither a mapping nor a route with providers decides are asked of other servers, or refused without any.
///
/// It has a thread of its own, which decodes, looks into the cache and hands lookups on. Each address has a socket of its own, so that
/// a reply comes from the address that was asked.
package final class NameServerListener: Sendable {
    package struct Configuration: Sendable {
        /// The addresses; port 0 takes a free one, the same for UDP and TCP.
        package var addresses: [HTTPDNSEndpoint]
        /// The servers for names that are not decided here; nil refuses them.
        package var forward: HTTPDNSDNSProvider?
        /// The networks of clients besides loopback.
        package var allowed: [HTTPDNSAddressBlock] = []
        /// The time within which each lookup is replied to.
        package var timeLimit = Duration.seconds(2)
        /// Whether names of routes that fall back to the system resolver are served.
        package var servesFallback = false

        package init(_ addresses: [HTTPDNSEndpoint]) { self.addresses = addresses }
    }

    /// The queries since the start.
    package struct Counters: Hashable, Sendable {
        /// Decided here, and answered.
        package var answered = 0
        /// Decided here, and failed; names that do not exist are among them.
        package var failed = 0
        /// Asked of other servers.
        package var forwarded = 0
        /// Forwarded by this listener, and returned to it by the server that was asked.
        package var returned = 0
        /// Of a kind that is not served, or without another server.
        package var refused = 0
        /// From an address that may not ask.
        package var notAllowed = 0
        package var malformed = 0
        /// Given up for newer ones.
        package var dropped = 0
    }

    /// The reason that an address cannot be served.
    package struct Failure: Swift.Error {
        package var endpoint: HTTPDNSEndpoint
        package var message: String
    }

    /// The maximum number of queries that wait; the oldest one is dropped for another. A query takes about 2 KB.
    static let maximumWaiting = 10_000
    /// The maximum number of connections, which leaves descriptors for the providers of a process with the usual limit of 1,024.
    static let maximumConnections = 256
    /// The time after which a connection without queries is closed (RFC 7766 section 6.2.3).
    private static let idleLimit = TimeAmount.seconds(10)
    /// The datagrams that one system call reads, and room for each: a query is seldom longer than 100 bytes.
    private static let (batch, room) = (32, 4096)

    /// The addresses that are served, with their ports.
    package let endpoints: [HTTPDNSEndpoint]
    private let group: MultiThreadedEventLoopGroup
    private let channels: [any Channel]
    private let service: NameServerService
    private let replies: NIOLoopBound<PendingReplies>

    /// Opens the sockets.
    /// - Throws: ``Failure``.
    package init(_ resolver: HTTPDNSResolver, _ configuration: Configuration) async throws {
        let lookup = ListenerLookup(
            resolver: resolver,
            timeLimit: configuration.timeLimit,
            servesFallback: configuration.servesFallback
        )
        let service = NameServerService(lookup, forward: configuration.forward, allowed: configuration.allowed)
        let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        let loop = group.any()
        let replies = try await loop.submit {
            NIOLoopBound(PendingReplies(service, limit: Self.maximumWaiting, on: loop), eventLoop: loop)
        }.get()
        var channels: [any Channel] = []
        var endpoints: [HTTPDNSEndpoint] = []
        do {
            for endpoint in configuration.addresses {
                let (stream, datagram) = try await Self.open(endpoint, replies, on: group)
                channels += [stream, datagram]
                let port = UInt16(clamping: stream.localAddress?.port ?? 0)
                endpoints.append(HTTPDNSEndpoint(address: endpoint.address, port: port))
            }
        } catch {
            for channel in channels { try? await channel.close().get() }
            try? await group.shutdownGracefully()
            throw error
        }
        (self.endpoints, self.group, self.channels) = (endpoints, group, channels)
        (self.service, self.replies) = (service, replies)
    }

    package var counters: Counters { service.counters }

    /// Closes all sockets. To be called once.
    package func shutdown() async {
        for channel in channels { try? await channel.close().get() }
        try? await group.any().submit { [replies] in replies.value.close() }.get()
        try? await group.shutdownGracefully()
    }

    private static func open(
        _ endpoint: HTTPDNSEndpoint,
        _ replies: NIOLoopBound<PendingReplies>,
        on group: MultiThreadedEventLoopGroup
    ) async throws -> (stream: any Channel, datagram: any Channel) {
        do {
            let stream = try await ServerBootstrap(group: group)
                .serverChannelOption(.backlog, value: 256)
                .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
                .childChannelOption(.autoRead, value: false)
                .childChannelInitializer { channel in
                    channel.eventLoop.makeCompletedFuture {
                        let idle = IdleStateHandler(allTimeout: idleLimit)
                        let handler = NameServerStreamHandler(replies.value)
                        try channel.pipeline.syncOperations.addHandlers(idle, handler)
                    }
                }
                .bind(host: "\(endpoint.address)", port: Int(endpoint.port)).get()
            let datagram = try await DatagramBootstrap(group: group)
                .channelOption(.datagramVectorReadMessageCount, value: batch)
                .channelOption(.recvAllocator, value: FixedSizeRecvByteBufferAllocator(capacity: batch * room))
                .channelInitializer { channel in
                    channel.eventLoop.makeCompletedFuture {
                        try channel.pipeline.syncOperations.addHandler(NameServerDatagramHandler(replies.value))
                    }
                }
                .bind(host: "\(endpoint.address)", port: stream.localAddress?.port ?? 0).get()
            return (stream, datagram)
        } catch {
            let reason = (error as? IOError).map { systemErrorText($0.errnoCode) } ?? "\(error)"
            throw Failure(endpoint: endpoint, message: reason)
        }
    }
}
#endif
