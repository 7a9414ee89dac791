package import HTTPDNSCurl
public import HTTPDNSPrimitives

extension TencentProvider {
    /// Settings of Tencent Cloud's HTTPDNS (DNSPod).
    public struct Configuration: Sendable {
        /// The name of the provider.
        public var name: String
        /// The account: its number in the vendor's console (`id`), and one of two secrets.
        ///
        /// - With a ``VendorCredential/secret``, the console's token, names are sent unencrypted inside TLS.
        /// - With a ``VendorCredential/encryptionKey``, 1 to 16 bytes of text, names and answers are also encrypted with
        ///   AES-128-CBC.
        public var credential: VendorCredential
        /// The vendor's site that serves the queries.
        public var region: Region = .mainlandChina
        /// The service's URL: scheme, host and port; `nil` means the region's HTTPS entry. If the host is an address, the
        /// certificate at each address must be valid for that address. If the host is a name, it must be valid for the name.
        public var url: String?
        /// Further addresses of the service, in the order to try. When the URL has a name, these are all of its addresses: the
        /// name is never looked up.
        public var bootstrap: [HTTPDNSAddress] = []
        /// Whether queries carry an expiry (`names;expiry`), ten minutes from now, as in the vendor's newer iOS client. The
        /// vendor's other clients do not send it.
        public var sendsExpiry = true
        /// Whether the client subnet is encrypted like the names, as the vendor's documents require. The vendor's own clients
        /// send it unencrypted beside encrypted names. It has no effect with a token.
        public var encryptsClientSubnet = true
        /// The HTTP statuses that mean a permanent refusal of the account: 400 to 499 except 408 and 429. After such a status
        /// nothing more is sent until the settings or secrets change. The vendor documents no such status, so the default is
        /// empty.
        public var accountRefusalStatuses: Set<Int> = []
        /// Whether the provider asks the service for its addresses (`/conf`), as often as the service requests it.
        public var discoversAddresses = true
        /// The store that keeps discovered addresses across restarts. No other provider may use it: saving replaces its
        /// content.
        public var addressStore: (any HTTPDNSResolutionStore)?
        /// The trust roots for the service's certificate.
        public var trustRoots: HTTPDNSTrust.Roots = .system
        /// The most private scope that addresses in the service's answers may have (``HTTPDNSProvider/answerScope``).
        public var answers: HTTPDNSAddressPolicy.Scope = .public

        /// Creates settings for the vendor's own service in mainland China.
        public init(name: String, credential: VendorCredential) {
            self.name = name
            self.credential = credential
        }
    }
}
