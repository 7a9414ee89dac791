public import CurlTransport
public import HTTPDNSPrimitives

/// DNS over HTTPS (RFC 8484), through a transport of its own that is pinned to the service's addresses.
public final class DoHProvider: Provider {
    /// How the query travels.
    public enum Method: String, Hashable, Sendable, CaseIterable {
        /// The query in the URL, so that HTTP caches can serve it (RFC 8484 section 4.1).
        case get
        /// The query in the body.
        case post
    }

    /// Settings of a DoH service.
    public struct Configuration: Sendable {
        /// The name of the provider.
        public var name: String
        /// The service's URL, such as `https://doh.example/dns-query`.
        public var url: String
        /// The service's addresses. Required unless the URL has an address literal: the name is never looked up.
        public var bootstrap: [IPAddress]
        /// How the query travels.
        public var method: Method = .get
        /// The authorities that the service's certificate must end at.
        public var trustRoots: TrustRoots = .system

        /// Creates settings with the defaults above.
        public init(name: String, url: String, bootstrap: [IPAddress] = []) {
            self.name = name
            self.url = url
            self.bootstrap = bootstrap
        }
    }

    public let name: String
    public let serviceScope: AddressScope

    /// Creates the provider. Nothing is sent until the first query.
    /// - Throws: ``ProviderConfigurationError`` when the URL is not an https URL (http is allowed for a loopback
    ///   address), or is by name without bootstrap addresses.
    public init(_ configuration: Configuration) throws(ProviderConfigurationError) {
        fatalError("seam")
    }

    public func resolve(_ query: ProviderQuery) async throws -> ProviderAnswer {
        fatalError("seam")
    }

    public func shutdown() async {
        fatalError("seam")
    }
}

/// Why a provider cannot be made from its settings.
public struct ProviderConfigurationError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The provider's name.
    public var provider: String
    /// What is wrong and what to do.
    public var message: String

    /// One line with both.
    public var description: String { "provider \"\(provider)\": \(message)" }
}
