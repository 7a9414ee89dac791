package import HTTPDNSCurl
public import HTTPDNSPrimitives

extension HTTPDNSDoHProvider {
    /// How the query travels.
    public enum Method: String, Hashable, Sendable, CaseIterable {
        /// The query in the URL, so that HTTP caches can serve it (RFC 8484 section 4.1).
        case get
        /// The query in the body.
        case post
    }

    /// Settings of a DoH service.
    public struct Configuration: Hashable, Sendable {
        /// The name of the provider.
        public var name: String
        /// The service's URL, such as `https://doh.example/dns-query`. The template form `https://doh.example/q{?dns}`
        /// (RFC 8484 section 4.1) is read too, and a query of its own is kept.
        public var url: String
        /// The service's addresses, in the order to try. Required unless the URL has an address literal: the name is
        /// never looked up. Beside a literal they are further addresses of the same service.
        public var bootstrap: [HTTPDNSAddress]
        /// How the query travels.
        public var method: Method = .get
        /// The authorities that the service's certificate must end at.
        public var trustRoots: HTTPDNSTrust.Roots = .system
        /// The most private scope of addresses that its answers may have (``HTTPDNSProvider/answerScope``).
        public var answers: HTTPDNSAddressPolicy.Scope = .public

        /// Creates settings with the defaults above.
        public init(name: String, url: String, bootstrap: [HTTPDNSAddress] = []) {
            self.name = name
            self.url = url
            self.bootstrap = bootstrap
        }
    }
}
