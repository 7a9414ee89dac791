package import HTTPDNSCurl
public import HTTPDNSPrimitives

extension HTTPDNSDoHProvider {
    /// The HTTP method of a query.
    public enum Method: String, Hashable, Sendable, CaseIterable {
        /// GET, with the query in the URL, so that HTTP caches can serve it (RFC 8484 section 4.1).
        case get
        /// POST, with the query in the body.
        case post
    }

    /// Settings of a DoH service.
    public struct Configuration: Hashable, Sendable {
        /// The name of the provider.
        public var name: String
        /// The service's URL, such as `https://doh.example/dns-query`.
        ///
        /// The template form `https://doh.example/q{?dns}` (RFC 8484 section 4.1) is accepted too, and a query of the URL's own
        /// is kept.
        public var url: String
        /// The service's addresses, in the order to try.
        ///
        /// Required unless the URL has an address literal: the name is never looked up. In addition to a literal they are
        /// further addresses of the same service.
        public var bootstrap: [HTTPDNSAddress]
        /// The HTTP method of a query.
        public var method: Method = .get
        /// The certificate authorities that are trusted for the service's certificate.
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
