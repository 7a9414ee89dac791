// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

public import HTTPDNSCore
internal import HTTPDNSCurl
public import HTTPDNSPrimitives

/// A provider for Tencent Cloud's HTTPDNS (DNSPod), with a token or AES encryption. It has its own transport, which is pinned
/// to the service's addresses.
///
/// - One request asks for both families of up to eight names. A client subnet is cut to 24 bits of IPv4 and 56 of IPv6; its
///   first address is sent.
/// - An address that does not respond, or returns an error of its own, is quarantined for five minutes. A query tries at most
///   three addresses.
/// - A query that is rejected with 401 or 403 is sent once more with the service's time, if its clock differs from the
///   machine's.
/// - The settings define the statuses that permanently refuse the account. After one, nothing more is sent until the secrets
///   or the settings change. Queries fail immediately with code `accountRefused`.
/// - A name that does not exist cannot be distinguished from a name without addresses, which is cached for at most a minute.
/// - DES, which the vendor also offers, is not supported: its 56-bit keys can be searched in a day, and equal names give
///   equal cipher texts.
/// - Records of type HTTPS are not requested: `HTTPDNSProviderAnswer.httpsRecords` stays nil.
public final class HTTPDNSTencentProvider: HTTPDNSProvider {
    /// The name from the settings.
    public let name: String

    /// The setting ``Configuration/answerScope``.
    public let answerScope: HTTPDNSAddressPolicy.Scope

    /// The maximum number of names in one request: eight.
    public var batchLimit: Int { exchange.batchLimit }

    let exchange: VendorExchange
    private let configuration: Configuration
    private let url: String

    /// Creates the provider. Nothing is sent until the first query.
    /// - Throws: `HTTPDNSProviderConfigurationError` in these cases:
    ///   - The URL is not an https URL (http is allowed for a loopback address), has a path, or has no addresses.
    ///   - The settings do not have exactly one of token and key, or it is malformed or cannot be read.
    ///   - The account is sent but is not a number.
    ///   - A status is not one that can refuse an account.
    ///   - Queries must be encrypted, and the build lacks the package trait `Signing`.
    public convenience init(_ configuration: Configuration) throws(HTTPDNSProviderConfigurationError) {
        try self.init(
            configuration,
            exchange: UpstreamTransportExchange(
                trustRoots: configuration.trustRoots,
                threadName: "httpdns-tencent",
                maximumBodyOctets: Self.maximumBodyOctets
            )
        )
    }

    /// - Parameters:
    ///   - exchange: The carrier of the requests; tests pass a scripted one.
    ///   - clock: The clock for the expiry of queries.
    ///   - randomOctets: Returns the given number of unpredictable bytes.
    package init(
        _ configuration: Configuration,
        exchange: any UpstreamExchanging,
        time: any TimeSource = SystemTimeSource(),
        clock: WallClock = .system,
        randomOctets: @escaping @Sendable (Int) -> [UInt8] = RandomOctets.system
    ) throws(HTTPDNSProviderConfigurationError) {
        let vendor = try configuration.vendor(randomOctets)
        let location = vendor.location
        name = configuration.name
        answerScope = configuration.answerScope
        self.configuration = configuration
        url = "\(location.url)"
        self.exchange = try VendorExchange(
            vendor,
            at: location,
            provider: configuration.name,
            credential: configuration.credential,
            needsSigning: configuration.needsSigning,
            isDiscovering: configuration.discoversAddresses,
            store: configuration.addressStore,
            key: "\(location.url)",
            exchange: exchange,
            time: time,
            clock: clock
        )
    }

    /// The maximum length of a body. The vendor's answers have at most 8 KiB, and twice as many bytes when they are
    /// encrypted.
    static let maximumBodyOctets = 64 * 1024

    /// Whether a status can mean that an account is refused: 408, 429 and 5xx are temporary.
    package static func mayRefuseAccount(_ status: Int) -> Bool {
        (400..<500).contains(status) && status != 408 && status != 429
    }

    /// Asks for all families of the query in one request.
    ///
    /// A family is `HTTPDNSProviderAnswer.Family.failed(_:)` when its list contains no readable address.
    /// - Throws: `HTTPDNSProviderError` when no family has an outcome; `CancellationError` when the task is canceled.
    public func resolve(_ query: HTTPDNSProviderQuery) async throws -> HTTPDNSProviderAnswer {
        try await exchange.resolve(query)
    }

    /// Asks about all names in one request.
    /// - Throws: `HTTPDNSProviderError` when no name has an outcome, or there are more than ``batchLimit``;
    ///   `CancellationError`.
    public func resolve(_ query: HTTPDNSProviderQuery, batch: [HTTPDNSName]) async throws -> [HTTPDNSName:
        HTTPDNSProviderAnswer]
    {
        try await exchange.resolve(query, batch: batch)
    }

    /// Aborts the requests in progress, closes the connections and stops the transport's thread. Idempotent.
    public func shutdown() async {
        ProviderUsers.shared.note(isShutDown: true, self)
        await exchange.shutdown()
    }

    /// Returns whether the other provider queries the same service in the same way.
    ///
    /// Secrets are equal when they are read from the same file or variable. A secret from a closure equals no other.
    public func isEquivalent(to other: any HTTPDNSProvider) -> Bool {
        guard let other = other as? HTTPDNSTencentProvider else { return false }
        return other === self || other.configuration.isSame(as: configuration)
    }
}

extension HTTPDNSTencentProvider: IdentifiedProvider {
    package var serviceTexts: [String] { [url, configuration.credential.account] }
}

extension HTTPDNSTencentProvider: AccountHolding {
    package var protocolName: String { "tencent" }

    package func retryRefusedAccount() -> Bool { exchange.retryRefusedAccount() }
}

extension HTTPDNSTencentProvider.Configuration {
    private func refusal(_ message: String) -> HTTPDNSProviderConfigurationError {
        HTTPDNSProviderConfigurationError(provider: name, message: message)
    }

    private var isEncrypted: Bool { credential.encryptionKey != nil }

    fileprivate func vendor(
        _ randomOctets: @escaping @Sendable (Int) -> [UInt8]
    ) throws(HTTPDNSProviderConfigurationError) -> TencentProtocol {
        guard (credential.secret == nil) == isEncrypted else {
            throw refusal("it needs one of two: a token as its secret, or an encryption key")
        }
        guard !isEncrypted || TencentText.number(credential.account[...]) != nil else {
            throw refusal("its account is not a number of up to 10 digits, which it must be to be sent as id")
        }
        if let status = accountRefusalStatuses.sorted().first(where: { !HTTPDNSTencentProvider.mayRefuseAccount($0) }) {
            throw refusal("status \(status) cannot refuse an account; allowed: 400 to 499 but 408 and 429")
        }
        return TencentProtocol(
            location: try UpstreamLocation.vendor(url: url ?? region.url, bootstrap: bootstrap, provider: name),
            account: credential.account,
            isEncrypted: isEncrypted,
            sendsExpiry: sendsExpiry,
            encryptsClientSubnet: encryptsClientSubnet,
            errors: TencentErrors(accountRefusals: accountRefusalStatuses),
            randomOctets: randomOctets
        )
    }

    fileprivate var needsSigning: Bool { isEncrypted }

    fileprivate func isSame(as other: Self) -> Bool {
        name == other.name && credential.isSame(as: other.credential) && region == other.region && url == other.url
            && bootstrap == other.bootstrap && sendsExpiry == other.sendsExpiry
            && encryptsClientSubnet == other.encryptsClientSubnet
            && accountRefusalStatuses == other.accountRefusalStatuses && discoversAddresses == other.discoversAddresses
            && HTTPDNSDiskStore.isSame(addressStore, other.addressStore)
            && trustRoots == other.trustRoots && answerScope == other.answerScope
    }
}

extension HTTPDNSTencentProvider {
    /// Settings of Tencent Cloud's HTTPDNS (DNSPod).
    public struct Configuration: Sendable {
        /// The name of the provider.
        public var name: String
        /// The account: its number in the vendor's console (`id`), and one of two secrets.
        ///
        /// - With a ``HTTPDNSVendorCredential/secret``, the console's token, names are sent unencrypted inside TLS.
        /// - With a ``HTTPDNSVendorCredential/encryptionKey``, 1 to 16 bytes of text, names and answers are also encrypted with
        ///   AES-128-CBC.
        public var credential: HTTPDNSVendorCredential
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
        /// The most private scope that addresses in the service's answers may have (`HTTPDNSProvider.answerScope`).
        public var answerScope: HTTPDNSAddressPolicy.Scope = .public

        /// Creates settings for the vendor's own service in mainland China.
        public init(name: String, credential: HTTPDNSVendorCredential) {
            self.name = name
            self.credential = credential
        }
    }
}

extension HTTPDNSTencentProvider {
    /// A site of the service, with its identifier and its HTTPS entry.
    public struct Region: Hashable, Sendable {
        /// The identifier in a configuration file, such as `cn`.
        public let identifier: String
        /// The URL of the HTTPS entry. Its host is an address, and its certificate must be valid for that address.
        public let url: String

        /// The site in mainland China (`cn`).
        public static let mainlandChina = Region(identifier: "cn", url: "https://119.29.29.99")
        /// The international site (`intl`). Some of the vendor's documents state that its HTTPS entry is not open.
        public static let international = Region(identifier: "intl", url: "https://43.132.55.56")

        /// All sites of the service.
        public static let all: [Region] = [.mainlandChina, .international]
    }
}
