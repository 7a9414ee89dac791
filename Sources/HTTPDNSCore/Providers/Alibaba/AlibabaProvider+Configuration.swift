package import HTTPDNSCurl
public import HTTPDNSPrimitives

extension AlibabaProvider {
    /// The versions of the protocol.
    public enum Version: String, Hashable, Sendable, CaseIterable {
        /// The older version: JSON, signed with MD5 if the account requires it.
        case v1
        /// The current version: JSON, signed with HMAC-SHA256 and encrypted if the account requires it.
        case v2
    }

    /// The encryption of names and answers inside TLS (version 2 only).
    public enum Encryption: String, Hashable, Sendable, CaseIterable {
        /// AES-128-CBC, which Alibaba's iOS client uses.
        case cbc
        /// AES-128-GCM, which Alibaba's Android client uses. It also authenticates the content.
        case gcm
    }

    /// Settings of Alibaba Cloud's HTTPDNS.
    public struct Configuration: Sendable {
        /// The name of the provider.
        public var name: String
        /// The version of the protocol.
        public var version: Version
        /// The account. With a ``VendorCredential/secret`` every query is signed. Version 2 requires the secret and the key in
        /// hexadecimal, as the vendor's console shows them.
        public var credential: VendorCredential
        /// The region of the service, which sets the bootstrap addresses.
        public var region: Region = .mainlandChina
        /// The encryption of names and answers; `nil` leaves them to TLS. It requires ``VendorCredential/encryptionKey``.
        public var encryption: Encryption?
        /// The parameters of the account's custom resolution, without the prefix `sdns-`. Keys consist of a-z, A-Z, 0-9, `-`
        /// and `_`; values also of `=`. All together have at most 1000 bytes. Additions of the vendor's function to its answers
        /// (`extra`) are not read.
        public var customParameters: [String: String] = [:]
        /// The service's URL: scheme, host and port. The service's certificate must be valid for that host. Change it only for
        /// another server that implements the same protocol.
        public var url: String
        /// The service's addresses, in the order to try. `nil` means the addresses of the region, for the vendor's own URL. The
        /// name in the URL is never looked up.
        public var bootstrap: [HTTPDNSAddress]?
        /// Whether the provider asks the service once a day for its addresses and the state of the account (`/ss`).
        public var discoversAddresses = true
        /// The store that keeps discovered addresses across restarts. No other provider may use it: saving replaces its
        /// content.
        public var addressStore: (any HTTPDNSResolutionStore)?
        /// The trust roots for the service's certificate.
        public var trustRoots: HTTPDNSTrust.Roots = .system
        /// The most private scope that addresses in the service's answers may have (``HTTPDNSProvider/answerScope``).
        public var answers: HTTPDNSAddressPolicy.Scope = .public

        /// The URL of the vendor's own service. Its certificate is valid for this name at every address (Alibaba's C client
        /// relies on it).
        public static let vendorURL = "https://resolvers.httpdns.aliyuncs.com"

        /// Creates settings for the vendor's own service in mainland China.
        public init(name: String, version: Version, credential: VendorCredential) {
            self.name = name
            self.version = version
            self.credential = credential
            url = Self.vendorURL
        }
    }
}
