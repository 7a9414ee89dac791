package import HTTPDNSCurl
public import HTTPDNSPrimitives

extension TencentProvider {
    /// Settings of Tencent Cloud's HTTPDNS (DNSPod).
    public struct Configuration: Sendable {
        /// The name of the provider.
        public var name: String
        /// The account: its number in the vendor's console (`id`), and one of two secrets. With a
        /// ``VendorCredential/secret``, the token of the console, names go in clear beneath TLS. With a
        /// ``VendorCredential/encryptionKey``, 1 to 16 octets of text, names and answers are encrypted by AES-128-CBC too.
        public var credential: VendorCredential
        /// Which of the vendor's sites is asked.
        public var region: Region = .mainlandChina
        /// Where the service is asked: scheme, host and port; nil means the region's HTTPS entry. With an address as host,
        /// each address of the service proves itself by a certificate for that very address, with a name each by one for the
        /// name.
        public var url: String?
        /// More addresses of the service, in the order to try, and all of them when the URL has a name; that is never looked
        /// up.
        public var bootstrap: [HTTPDNSAddress] = []
        /// Whether queries say until when they are good (`names;expiry`), ten minutes from now, as the vendor's newer iOS
        /// client does. Its other clients do not.
        public var sendsExpiry = true
        /// Whether the client subnet is encrypted as names are, as the vendor's documents have it. Its own clients send it in
        /// clear beside encrypted names. It means nothing with a token.
        public var encryptsClientSubnet = true
        /// The HTTP statuses by which the service refuses the account for good: 400 to 499 but 408 and 429. After one of
        /// them nothing more is sent until settings or secrets are others. No such status is documented, which is why there
        /// is none here at first.
        public var accountRefusalStatuses: Set<Int> = []
        /// Whether the service is asked which addresses it has (`/conf`), as often as it wants that.
        public var discoversAddresses = true
        /// Keeps discovered addresses over restarts. It must be this provider's alone: saving replaces what it holds.
        public var addressStore: (any HTTPDNSResolutionStore)?
        /// The authorities that the service's certificate must end at.
        public var trustRoots: HTTPDNSTrust.Roots = .system
        /// The most private scope of addresses that its answers may have (``HTTPDNSProvider/answerScope``).
        public var answers: HTTPDNSAddressPolicy.Scope = .public

        /// Creates settings for the vendor's own service in mainland China.
        public init(name: String, credential: VendorCredential) {
            self.name = name
            self.credential = credential
        }
    }
}
