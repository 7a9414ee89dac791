// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

#if GRPC
public import GRPCNIOTransportCore
internal import GRPCCore
public import HTTPDNSCore

/// A factory of name resolvers for grpc-swift-2: targets `.dns(host:port:)` are resolved by mappings, cache, providers and
/// policy, and a move of a name moves the next calls, while those in progress end on their connection.
///
/// ```swift
/// let transport = try HTTP2ClientTransport.Posix(
///     target: .dns(host: "orders.shop.example"),
///     transportSecurity: .tls,
///     resolverRegistry: .httpDNS(client.resolver)
/// )
/// ```
///
/// - A channel keeps its name in use, and receives each change of its addresses: `HTTPDNSResolver.addresses(of:)` says what
///   counts as one.
/// - Authority, SNI and certificate remain those of the target's host. A mapping may set the port.
/// - All addresses are one endpoint, which tries them in turn. With ``Balancing/spread`` each is an endpoint of its own, for
///   `round_robin`.
/// - A channel without addresses fails its calls with the `HTTPDNSResolver.Error`, and asks again with back-off. Later failures and
///   empty answers leave it on its addresses.
/// - Nothing is learned about the connections. gRPC stays on the addresses before a move until it has connected to one of the new ones.
public struct HTTPDNSNameResolver: NameResolverFactory, Sendable {
    /// The targets of the factory.
    public typealias Target = ResolvableTargets.DNS

    /// The form in which gRPC gets the addresses of a name.
    public struct Balancing: Hashable, Sendable {
        fileprivate let isSpread: Bool

        /// One endpoint with all addresses: the others serve when one does not accept connections.
        public static let failover = Balancing(isSpread: false)
        /// An endpoint for each address, for a load balancer that uses several at once.
        public static let spread = Balancing(isSpread: true)
    }

    private let resolver: HTTPDNSResolver
    private let balancing: Balancing

    /// Creates a factory for a registry of name resolvers.
    public init(_ resolver: HTTPDNSResolver, balancing: Balancing = .failover) {
        self.resolver = resolver
        self.balancing = balancing
    }

    /// Returns a name resolver that pushes the addresses of a target to its channel.
    public func resolver(for target: ResolvableTargets.DNS) -> NameResolver {
        let names = Names(resolver: resolver, target: target, balancing: balancing)
        return NameResolver(
            names: RPCAsyncSequence(wrapping: names),
            updateMode: .push,
            // As the DNS resolver of gRPC has it: without a port where the target has none.
            authority: target.host + (target.port.map { ":\($0)" } ?? "")
        )
    }

    private struct Names: AsyncSequence, Sendable {
        typealias Element = NameResolutionResult

        let resolver: HTTPDNSResolver
        let target: ResolvableTargets.DNS
        let balancing: Balancing

        func makeAsyncIterator() -> Iterator { Iterator(names: self) }

        struct Iterator: AsyncIteratorProtocol {
            let names: Names
            var updates: HTTPDNSResolver.AddressUpdates.Iterator?

            mutating func next() async throws -> NameResolutionResult? { try await next(isolation: nil) }

            mutating func next(isolation actor: isolated (any Actor)?) async throws -> NameResolutionResult? {
                let target = names.target
                // gRPC assumes TLS for targets without a port.
                guard let port = UInt16(exactly: target.port ?? 443) else {
                    throw RPCError(code: .invalidArgument, message: "the port of \(target.host) is not 0 to 65535")
                }
                let query = HTTPDNSResolver.Query(try HTTPDNSHost(target.host), port: port)
                var updates = updates ?? names.resolver.addresses(of: query).makeAsyncIterator()
                defer { self.updates = updates }
                guard let resolution = try await updates.next() else { return nil }
                let addresses = resolution.endpoints.map { endpoint -> SocketAddress in
                    let (address, port) = (endpoint.address.description, Int(endpoint.port))
                    return endpoint.address.family == .v4
                        ? .ipv4(host: address, port: port) : .ipv6(host: address, port: port)
                }
                let endpoints =
                    names.balancing.isSpread
                    ? addresses.map { Endpoint(addresses: [$0]) } : [Endpoint(addresses: addresses)]
                return NameResolutionResult(endpoints: endpoints, serviceConfig: nil)
            }
        }
    }
}

extension ResolvableTargets {
    /// A target that HTTP-DNS resolves, beside targets of DNS: `.httpDNS(host:port:)`.
    public struct HTTPDNS: ResolvableTarget, Sendable {
        /// The host.
        public var host: String
        /// The port; nil means that of TLS, 443.
        public var port: Int?
    }
}

extension ResolvableTarget where Self == ResolvableTargets.HTTPDNS {
    /// Returns a target for a registry that has targets of DNS too (`replacingDNS: false`).
    public static func httpDNS(host: String, port: Int? = nil) -> Self { Self(host: host, port: port) }
}

/// The factory for targets that name HTTP-DNS.
private struct HTTPDNSTargets: NameResolverFactory {
    let names: HTTPDNSNameResolver

    func resolver(for target: ResolvableTargets.HTTPDNS) -> NameResolver {
        names.resolver(for: .dns(host: target.host, port: target.port))
    }
}

extension NameResolverRegistry {
    /// Returns the default registry with this resolver, for targets `.httpDNS(host:port:)` and in place of DNS.
    /// - Parameter replacingDNS: Whether targets `.dns(host:port:)` are resolved by it too.
    public static func httpDNS(
        _ resolver: HTTPDNSResolver,
        balancing: HTTPDNSNameResolver.Balancing = .failover,
        replacingDNS: Bool = true
    ) -> NameResolverRegistry {
        var registry = NameResolverRegistry.defaults
        let names = HTTPDNSNameResolver(resolver, balancing: balancing)
        registry.registerFactory(HTTPDNSTargets(names: names))
        if replacingDNS {
            registry.removeFactory(ofType: NameResolvers.DNS.self)
            registry.registerFactory(names)
        }
        return registry
    }
}
#else
public import HTTPDNSCore

/// Not available in this build.
@available(*, unavailable, message: "name resolution of gRPC needs the trait GRPC of the package swift-httpdns")
public struct HTTPDNSNameResolver: Sendable {
    // Without it the compiler would report an initializer that is internal, and not the trait.
    /// Not available in this build.
    public init(_ resolver: HTTPDNSResolver) {}
}
#endif
