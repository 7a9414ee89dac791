package import HTTPDNSCurl
public import HTTPDNSPrimitives

extension HTTPDNSJSONProvider {
    /// A JSON DNS dialect: its default URL and addresses, and the query parameters it accepts.
    public struct Service: Sendable {
        /// The default URL of the service.
        public let url: String
        /// The addresses behind ``url``, in the order to try.
        public let bootstrap: [HTTPDNSAddress]
        /// Whether the service accepts a client subnet (`edns_client_subnet`, RFC 7871).
        public let takesClientSubnet: Bool
        let account: Account?

        struct Account: Sendable {
            let identifier: String
            let accessKey: String
            let secret: HTTPDNSSecret
        }

        /// Google Public DNS: `https://dns.google/resolve` at 8.8.8.8 and 8.8.4.4.
        public static let google = Service(
            url: "https://dns.google/resolve",
            bootstrap: [HTTPDNSAddress(v4: 8, 8, 8, 8), HTTPDNSAddress(v4: 8, 8, 4, 4)],
            takesClientSubnet: true
        )

        /// Cloudflare: `https://cloudflare-dns.com/dns-query` at 1.1.1.1 and 1.0.0.1.
        public static let cloudflare = Service(
            url: "https://cloudflare-dns.com/dns-query",
            bootstrap: [HTTPDNSAddress(v4: 1, 1, 1, 1), HTTPDNSAddress(v4: 1, 0, 0, 1)],
            takesClientSubnet: false
        )

        /// Alidns without an account: `https://dns.alidns.com/resolve` at 223.5.5.5 and 223.6.6.6.
        ///
        /// The service limits queries by their source address.
        public static let alidns = Service(
            url: "https://dns.alidns.com/resolve",
            bootstrap: alidnsAddresses,
            takesClientSubnet: true
        )

        /// Alidns with an account: every query is signed with SHA-256 and the time of the machine's clock.
        ///
        /// Needs the package trait `Signing`.
        /// - Parameters:
        ///   - account: The account (`uid`): letters, digits, `-`, `_` and `.`.
        ///   - accessKey: The identifier of the access key (`ak`), in the same characters.
        ///   - secret: The secret of the access key.
        public static func alidns(account: String, accessKey: String, secret: HTTPDNSSecret) -> Service {
            Service(
                url: "https://223.5.5.5/resolve",
                bootstrap: alidnsAddresses,
                takesClientSubnet: true,
                account: Account(identifier: account, accessKey: accessKey, secret: secret)
            )
        }

        /// Returns whether both are the same service for the same account.
        func isSame(as other: Service) -> Bool {
            guard url == other.url, bootstrap == other.bootstrap, takesClientSubnet == other.takesClientSubnet else {
                return false
            }
            switch (account, other.account) {
            case (nil, nil): return true
            case (let own?, let other?):
                return own.identifier == other.identifier && own.accessKey == other.accessKey
                    && own.secret.isSame(as: other.secret)
            default: return false
            }
        }

        private static let alidnsAddresses = [HTTPDNSAddress(v4: 223, 5, 5, 5), HTTPDNSAddress(v4: 223, 6, 6, 6)]

        private init(url: String, bootstrap: [HTTPDNSAddress], takesClientSubnet: Bool, account: Account? = nil) {
            self.url = url
            self.bootstrap = bootstrap
            self.takesClientSubnet = takesClientSubnet
            self.account = account
        }
    }

    /// Settings of a JSON DNS service.
    public struct Configuration: Sendable {
        /// The name of the provider.
        public var name: String
        /// The dialect that the service speaks.
        public var service: Service
        /// The URL of the service. A query of the URL's own is kept.
        public var url: String
        /// The service's addresses, in the order to try.
        ///
        /// Required unless the URL has an address literal: the name is never looked up. In addition to a literal they are
        /// further addresses of the same service.
        public var bootstrap: [HTTPDNSAddress]
        /// The certificate authorities that are trusted for the service's certificate.
        public var trustRoots: HTTPDNSTrust.Roots = .system
        /// The most private scope of addresses that its answers may have (``HTTPDNSProvider/answerScope``).
        public var answers: HTTPDNSAddressPolicy.Scope = .public

        /// Creates settings with the service's own URL and addresses, or those of another service with the same dialect.
        /// - Parameters:
        ///   - name: The name of the provider.
        ///   - service: The dialect that the service speaks.
        ///   - url: The URL to query; nil means the service's own URL.
        ///   - bootstrap: Its addresses; nil means those of the service for its own URL, and none for another.
        public init(name: String, service: Service, url: String? = nil, bootstrap: [HTTPDNSAddress]? = nil) {
            self.name = name
            self.service = service
            self.url = url ?? service.url
            self.bootstrap = bootstrap ?? (url == nil ? service.bootstrap : [])
        }
    }
}
