// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

#if NIO
public import HTTPDNSCore
public import NIOCore
public import NIOPosix

/// A resolver for bootstraps of SwiftNIO: addresses come from mappings, cache, providers and policy, and a mapping may set the
/// port.
///
/// ```swift
/// let channel = try await ClientBootstrap(group: group)
///     .resolver(HTTPDNSNIOResolver(client.resolver))
///     .connect(host: "img.shop.example", port: 443).get()
/// ```
///
/// One resolver serves any number of concurrent connects. The name that TLS verifies is the one that the program gives to
/// `NIOSSLClientHandler`.
///
/// - Both families of a host share one lookup.
/// - A literal is answered without a lookup; the address policy applies to it.
/// - A name without addresses fails as `NIOConnectionError` with the `HTTPDNSResolver.Error` in `dnsAError`.
/// - `connect(to:)` resolves nothing, and so passes by the resolver.
/// - The resolver learns nothing about the connections. `ClientBootstrap.connect(host:port:through:)` does.
public struct HTTPDNSNIOResolver: Resolver, Sendable {
    private let resolver: HTTPDNSResolver
    private let group: any EventLoopGroup

    /// Creates a resolver for bootstraps.
    /// - Parameters:
    ///   - resolver: The resolver, such as that of a client.
    ///   - group: The group on whose loops answers are delivered; a bootstrap continues on its own.
    public init(
        _ resolver: HTTPDNSResolver,
        on group: any EventLoopGroup = MultiThreadedEventLoopGroup.singleton
    ) {
        self.resolver = resolver
        self.group = group
    }

    /// Returns the IPv4 addresses of a host.
    public func initiateAQuery(host: String, port: Int) -> EventLoopFuture<[SocketAddress]> {
        addresses(of: host, port: port, family: .v4)
    }

    /// Returns the IPv6 addresses of a host.
    public func initiateAAAAQuery(host: String, port: Int) -> EventLoopFuture<[SocketAddress]> {
        addresses(of: host, port: port, family: .v6)
    }

    /// Does nothing: a lookup that nobody waits for any more still fills the cache.
    public func cancelQueries() {}

    private func addresses(
        of host: String,
        port: Int,
        family: HTTPDNSAddress.Family
    ) -> EventLoopFuture<[SocketAddress]> {
        group.any().makeFutureWithTask { [resolver] in
            let query = try HTTPDNSResolver.Query(HTTPDNSHost(host), port: UInt16(port: port))
            var resolution = try await resolver.resolve(query)
            let hasFamily = resolution.endpoints.contains { $0.address.family == family }
            if resolution.awaitsFamily, !hasFamily, let complete = await resolver.completedResolution(for: query) {
                resolution = complete
            }
            return try resolution.endpoints.filter { $0.address.family == family }.map { try SocketAddress($0) }
        }
    }
}

extension SocketAddress {
    /// Creates the address of an endpoint.
    init(_ endpoint: HTTPDNSEndpoint) throws {
        try self.init(ipAddress: endpoint.address.description, port: Int(endpoint.port))
    }
}
#else
public import HTTPDNSCore

/// Not available in this build.
@available(*, unavailable, message: "connections of SwiftNIO need the trait NIO of the package swift-httpdns")
public struct HTTPDNSNIOResolver: Sendable {
    // Without it the compiler would report an initializer that is internal, and not the trait.
    /// Not available in this build.
    public init(_ resolver: HTTPDNSResolver) {}
}
#endif
