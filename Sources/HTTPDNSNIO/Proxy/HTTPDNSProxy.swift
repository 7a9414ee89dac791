// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

#if NIO
public import HTTPDNS
public import HTTPDNSPrimitives
public import Logging
internal import NIOCore
internal import NIOPosix

/// A proxy on loopback for the other clients of a process: SOCKS 5 and CONNECT, through a client's resolver, policy, race, health
/// and last resorts.
///
/// ```swift
/// let proxy = try await HTTPDNSProxy(client)
/// let listener = proxy.listener
/// var configuration = HTTPClient.Configuration()
/// configuration.proxy = .server(
///     host: listener.host,
///     port: listener.port,
///     authorization: .basic(username: listener.user, password: listener.password)
/// )
/// ```
///
/// - TLS goes through a tunnel end to end: the other client verifies the name that it asked for.
/// - Each connection needs the login, which is drawn for each proxy.
/// - Literals, too, are under the client's address policy and `HTTPDNSClient.Configuration.reachableNetworks`.
/// - A tunnel is counted by host and address (``tunnels``, ``counters``); its content is neither read nor kept.
/// - HTTP/1.1 requests for `http:` need CONNECT as well: a request to forward is answered with 501.
///
/// Released without ``shutdown()`` it serves on, for as long as the process runs.
public final class HTTPDNSProxy: Sendable {
    /// The settings of a proxy.
    public struct Configuration: Sendable {
        /// The maximum number of tunnels, those that are being made included. Further ones are refused.
        public var maximumTunnels = 4096
        /// The time after which all tunnels to an address end that its name has left, as after a change of a mapping; nil keeps
        /// them.
        ///
        /// Before it, a tunnel ends when there was no byte for 2 s, and in its second half after 50 ms without one, if the last
        /// one came from the server. The other client sees a closed idle connection. A request that it writes in that moment
        /// is lost, as with any server's idle limit.
        public var drainDeadline: Duration?
        /// The time that a connection has for login and destination.
        public var handshakeTimeout = Duration.seconds(10)
        /// The logger for refused connections and tunnels that could not be made; nil means no log.
        public var logger: Logger?
        /// The networks that literals, and names without mapping and route, may reach besides public addresses; nil for all that
        /// the client's policy permits.
        package var guardedBesides: [HTTPDNSAddressBlock]?

        /// Creates the defaults.
        public init() {}
    }

    /// An open tunnel.
    public struct Tunnel: Hashable, Sendable {
        /// The host that was asked for.
        public var host: String
        /// The port that was asked for.
        public var port: UInt16
        /// The endpoint that it leads to.
        public var endpoint: HTTPDNSEndpoint
        /// The bytes from the client.
        public var bytesSent: Int
        /// The bytes from the server.
        public var bytesReceived: Int
        /// The time since it was made.
        public var age: Duration
    }

    /// The counts of a proxy since its start.
    public struct Counters: Hashable, Sendable {
        /// The tunnels that were made.
        public var opened = 0
        /// The connections without the right login.
        public var loginsRefused = 0
        /// The connections that were neither SOCKS 5 nor CONNECT, too slow or too long.
        public var handshakesRefused = 0
        /// The tunnels that could not be made.
        public var failed = 0
        /// The tunnels to left addresses that ended after 2 s without a byte.
        public var endedQuiet = 0
        /// The tunnels to left addresses that ended after a response.
        public var endedAfterServer = 0
        /// The tunnels to left addresses that ended at the deadline.
        public var endedAtDeadline = 0
    }

    /// The address and the login.
    public let listener: Listener

    private let shared: ProxyState
    private let server: any Channel

    /// Starts a proxy.
    /// - Parameters:
    ///   - client: The client through which it connects. It is neither started nor shut down.
    ///   - listener: A listener that the process has opened before; nil opens one.
    ///   - configuration: The settings.
    /// - Throws: ``HTTPDNSProxy/Error``; an error of SwiftNIO when the socket cannot be served.
    public init(
        _ client: HTTPDNSClient,
        on listener: Listener? = nil,
        configuration: Configuration = Configuration()
    ) async throws {
        let listener = try listener ?? Listener()
        guard !client.goesThrough(loopbackPort: listener.port) else { throw Error.circle }
        guard let descriptor = listener.take() else { throw Error.listenerInUse }
        let shared = ProxyState(client, listener.login, ownPort: UInt16(listener.port), configuration)
        server = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .childChannelOption(.allowRemoteHalfClosure, value: true)
            .childChannelOption(.tcpOption(.tcp_nodelay), value: 1)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(HandshakeHandler(shared))
                }
            }
            .withBoundSocket(descriptor).get()
        self.listener = listener
        self.shared = shared
    }

    /// The open tunnels, in no particular order.
    public var tunnels: [Tunnel] { shared.tunnels }

    /// The counts since the start.
    public var counters: Counters { shared.counters }

    /// Refuses new connections, and closes all tunnels. Idempotent.
    public func shutdown() async {
        try? await server.close().get()
        await shared.close()
    }
}
#else
public import HTTPDNS

/// Not available in this build.
@available(*, unavailable, message: "the proxy needs the trait NIO of the package swift-httpdns")
public final class HTTPDNSProxy: Sendable {
    // Without it the compiler would report an initializer that is internal, and not the trait.
    /// Not available in this build.
    public init(_ client: HTTPDNSClient) async throws {}
}
#endif
