package import HTTPDNSCurl
public import HTTPDNSPrimitives

extension AlibabaProvider {
    /// The versions of the protocol.
    public enum Version: String, Hashable, Sendable, CaseIterable {
        /// The older one: JSON, signed by MD5 where the account wants it.
        case v1
        /// The current one: JSON, signed by HMAC-SHA256 and encrypted where the account wants it.
        case v2
    }

    /// How names and answers are encrypted beneath TLS (version 2 alone).
    public enum Encryption: String, Hashable, Sendable, CaseIterable {
        /// AES-128-CBC: what Alibaba's iOS client uses.
        case cbc
        /// AES-128-GCM: what Alibaba's Android client uses. It also proves that nothing was altered.
        case gcm
    }

    /// Settings of Alibaba Cloud's HTTPDNS.
    public struct Configuration: Sendable {
        /// The name of the provider.
        public var name: String
        /// The version of the protocol.
        public var version: Version
        /// The account. With a ``VendorCredential/secret`` every query is signed. Version 2 wants the secret and the key in
        /// hexadecimal, as the vendor's console shows them.
        public var credential: VendorCredential
        /// Where the service's own addresses are.
        public var region: Region = .mainlandChina
        /// How names and answers are encrypted; nil leaves them to TLS. It needs ``VendorCredential/encryptionKey``.
        public var encryption: Encryption?
        /// What the account's custom resolution is told (`sdns-` parameters), without that prefix: keys of a-z, A-Z, 0-9,
        /// `-` and `_`, values of these and `=`, 1000 octets at most together. What the function at the vendor adds to its
        /// answers (`extra`) is not read.
        public var customParameters: [String: String] = [:]
        /// Where the service is asked: scheme, host and port; its certificate must be for that host. Another than the
        /// vendor's own is for a server that speaks the same.
        public var url: String
        /// The service's addresses, in the order to try; nil means those of the region for the vendor's own URL. The name in
        /// the URL is never looked up.
        public var bootstrap: [HTTPDNSAddress]?
        /// Whether the service is asked once a day which addresses it has (`/ss`), and whether the account is switched off.
        public var discoversAddresses = true
        /// Keeps discovered addresses over restarts. It must be this provider's alone: saving replaces what it holds.
        public var addressStore: (any HTTPDNSResolutionStore)?
        /// The authorities that the service's certificate must end at.
        public var trustRoots: HTTPDNSTrust.Roots = .system
        /// The most private scope of addresses that its answers may have (``HTTPDNSProvider/answerScope``).
        public var answers: HTTPDNSAddressPolicy.Scope = .public

        /// The vendor's own service. Its certificate is for this name at every address (Alibaba's C client relies on it).
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
