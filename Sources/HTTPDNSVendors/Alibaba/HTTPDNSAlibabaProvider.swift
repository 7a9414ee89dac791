// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

public import HTTPDNSCore
internal import HTTPDNSCurl
public import HTTPDNSPrimitives

/// A provider for Alibaba Cloud's HTTPDNS, versions 2 and 1 of the protocol. It has its own transport, which is pinned to the
/// service's addresses.
///
/// - One request asks for both families of up to five names. A client subnet is cut to 24 bits of IPv4 and 56 of IPv6; its
///   first address is sent.
/// - An address that does not respond, or returns an error of its own, is quarantined for five minutes. A query tries at most
///   three addresses.
/// - A signature that is rejected because of its time is made once more, with the service's clock.
/// - After the service rejects the account or the signature, nothing more is sent until the secrets or the settings change.
///   Queries fail immediately with code `accountRefused`.
/// - After the vendor switches the account off, queries fail immediately with code `serviceDisabled`. Once an hour the
///   provider checks whether that still holds.
/// - Names that are not entered in the vendor's console have no addresses, cached for at most a minute. Version 1 cannot
///   report that a name does not exist.
/// - Records of type HTTPS are not requested: `HTTPDNSProviderAnswer.httpsRecords` stays nil.
public final class HTTPDNSAlibabaProvider: HTTPDNSProvider {
    /// The name from the settings.
    public let name: String

    /// The setting ``Configuration/answerScope``.
    public let answerScope: HTTPDNSAddressPolicy.Scope

    /// The maximum number of names in one request: five.
    public var batchLimit: Int { exchange.batchLimit }

    let exchange: VendorExchange
    private let configuration: Configuration
    private let url: String

    /// Creates the provider. Nothing is sent until the first query.
    /// - Throws: `HTTPDNSProviderConfigurationError` in these cases:
    ///   - The URL is not an https URL (http is allowed for a loopback address), has a path, or has no addresses.
    ///   - The account, a secret or a custom parameter is malformed, or a secret cannot be read.
    ///   - Queries must be signed or encrypted, and the build lacks the package trait `Signing`.
    public convenience init(_ configuration: Configuration) throws(HTTPDNSProviderConfigurationError) {
        try self.init(
            configuration,
            exchange: UpstreamTransportExchange(
                trustRoots: configuration.trustRoots,
                threadName: "httpdns-alibaba",
                maximumBodyOctets: Self.maximumBodyOctets,
                readsRefusals: true
            )
        )
    }

    /// - Parameters:
    ///   - exchange: The carrier of the requests; tests pass a scripted one.
    ///   - clock: The clock for signatures.
    ///   - randomOctets: Returns the given number of unpredictable bytes.
    package init(
        _ configuration: Configuration,
        exchange: any UpstreamExchanging,
        time: any TimeSource = SystemTimeSource(),
        clock: WallClock = .system,
        randomOctets: @escaping @Sendable (Int) -> [UInt8] = RandomOctets.system
    ) throws(HTTPDNSProviderConfigurationError) {
        let location = try configuration.checkedLocation()
        let schedule = AlibabaSchedule(
            location: location,
            account: configuration.credential.account,
            region: configuration.region,
            randomOctets: randomOctets
        )
        let vendor = try configuration.vendor(schedule)
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
            key: "\(location.url) \(configuration.region.identifier)",
            exchange: exchange,
            time: time,
            clock: clock
        )
    }

    /// The maximum length of a body. Five encrypted names with a hundred addresses each are shorter.
    static let maximumBodyOctets = 64 * 1024

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
        guard let other = other as? HTTPDNSAlibabaProvider else { return false }
        return other === self || other.configuration.isSame(as: configuration)
    }
}

extension HTTPDNSAlibabaProvider: IdentifiedProvider {
    /// The parameters of custom resolution go to a function that decides about the answers.
    package var serviceTexts: [String] {
        [url, configuration.credential.account, configuration.region.identifier]
            + configuration.customParameters.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value)" }
    }
}

extension HTTPDNSAlibabaProvider: AccountHolding {
    package var protocolName: String { "alibaba" }

    package func retryRefusedAccount() -> Bool { exchange.retryRefusedAccount() }
}

extension HTTPDNSAlibabaProvider.Configuration {
    private func refusal(_ message: String) -> HTTPDNSProviderConfigurationError {
        HTTPDNSProviderConfigurationError(provider: name, message: message)
    }

    fileprivate func checkedLocation() throws(HTTPDNSProviderConfigurationError) -> UpstreamLocation {
        guard credential.hasPlainAccount else {
            throw refusal("its account is empty, too long, or has other characters than a-z, A-Z, 0-9, -, _ and .")
        }
        let addresses = bootstrap ?? (url == Self.vendorURL ? region.bootstrap : [])
        return try UpstreamLocation.vendor(url: url, bootstrap: addresses, provider: name)
    }

    fileprivate func vendor(_ schedule: AlibabaSchedule) throws(HTTPDNSProviderConfigurationError) -> any VendorProtocol
    {
        let custom = try AlibabaCustomParameters(customParameters, provider: name)
        switch version {
        case .v1:
            guard encryption == nil, credential.encryptionKey == nil else {
                throw refusal("version 1 of the protocol has no encryption; take it and its key out, or use version 2")
            }
            return AlibabaV1(schedule: schedule, customParameters: custom)
        case .v2:
            guard (encryption == nil) == (credential.encryptionKey == nil) else {
                throw refusal("encryption and its key belong together; give both or neither")
            }
            return AlibabaV2(schedule: schedule, encryption: encryption, customParameters: custom)
        }
    }

    fileprivate var needsSigning: Bool { credential.secret != nil || encryption != nil }

    fileprivate func isSame(as other: Self) -> Bool {
        name == other.name && version == other.version && credential.isSame(as: other.credential)
            && region == other.region && encryption == other.encryption && customParameters == other.customParameters
            && url == other.url && bootstrap == other.bootstrap && discoversAddresses == other.discoversAddresses
            && HTTPDNSDiskStore.isSame(addressStore, other.addressStore)
            && trustRoots == other.trustRoots && answerScope == other.answerScope
    }
}

extension HTTPDNSAlibabaProvider {
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
        /// The account. With a ``HTTPDNSVendorCredential/secret`` every query is signed. Version 2 requires the secret and the key in
        /// hexadecimal, as the vendor's console shows them.
        public var credential: HTTPDNSVendorCredential
        /// The region of the service, which sets the bootstrap addresses.
        public var region: Region = .mainlandChina
        /// The encryption of names and answers; `nil` leaves them to TLS. It requires ``HTTPDNSVendorCredential/encryptionKey``.
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
        /// The most private scope that addresses in the service's answers may have (`HTTPDNSProvider.answerScope`).
        public var answerScope: HTTPDNSAddressPolicy.Scope = .public

        /// The URL of the vendor's own service. Its certificate is valid for this name at every address (Alibaba's C client
        /// relies on it).
        public static let vendorURL = "https://resolvers.httpdns.aliyuncs.com"

        /// Creates settings for the vendor's own service in mainland China.
        public init(name: String, version: Version, credential: HTTPDNSVendorCredential) {
            self.name = name
            self.version = version
            self.credential = credential
            url = Self.vendorURL
        }
    }
}

extension HTTPDNSAlibabaProvider {
    /// A region of the service, with its identifier and its bootstrap addresses.
    public struct Region: Hashable, Sendable {
        /// The service's identifier for the region, such as `cn`.
        public let identifier: String
        /// The bootstrap addresses, IPv4 and IPv6 in alternation, so that a machine with only one family succeeds at the second
        /// attempt. Each address serves queries and discoveries.
        public let bootstrap: [HTTPDNSAddress]

        /// Mainland China (`cn`).
        public static let mainlandChina = Region(
            "cn",
            [
                "203.107.1.1", "203.107.1.97", "203.107.1.100", "203.119.238.240", "106.11.25.239", "59.82.99.47",
                "2401:b180:7001::31d", "2408:4003:1f40::30a", "2401:b180:2000:20::10", "2401:b180:2000:30::1c",
            ]
        )
        /// Hong Kong (`hk`).
        public static let hongKong = Region(
            "hk",
            ["47.56.234.194", "47.56.119.115", "240b:4000:f10::178", "240b:4000:f10::188"]
        )
        /// Singapore (`sg`).
        public static let singapore = Region(
            "sg",
            ["161.117.200.122", "47.74.222.190", "240b:4000:f10::178", "240b:4000:f10::188"]
        )
        /// Germany (`de`).
        public static let germany = Region(
            "de",
            ["47.89.80.182", "47.246.146.77", "2404:2280:3000::176", "2404:2280:3000::188"]
        )
        /// The United States (`us`).
        public static let unitedStates = Region(
            "us",
            ["47.246.131.175", "47.246.131.141", "2404:2280:4000::2bb", "2404:2280:4000::23e"]
        )
        /// The whole world (`global`). No address of it is published: it needs addresses in the settings.
        public static let global = Region("global", [])

        /// All regions of the service.
        public static let all: [Region] = [.mainlandChina, .hongKong, .singapore, .germany, .unitedStates, .global]

        private init(_ identifier: String, _ addresses: [String]) {
            self.identifier = identifier
            let all = addresses.compactMap { HTTPDNSAddress($0) }
            let (v4, v6) = (all.filter { $0.family == .v4 }, all.filter { $0.family == .v6 })
            bootstrap = (0..<max(v4.count, v6.count)).flatMap {
                v4.dropFirst($0).prefix(1) + v6.dropFirst($0).prefix(1)
            }
        }
    }
}

/// The validated inputs of custom resolution (`sdns-` parameters). They are sent unescaped: none of their characters has a
/// meaning in a URL or in JSON.
struct AlibabaCustomParameters: Sendable {
    static let prefix = "sdns-"
    /// The maximum number of bytes of all keys and values together. It is the limit of the vendor's Android client.
    static let maximumBytes = 1000

    /// The prefixed names and their values, sorted by the names' bytes.
    let sorted: [(name: String, value: String)]

    init(_ parameters: [String: String], provider: String) throws(HTTPDNSProviderConfigurationError) {
        func refusal(_ message: String) -> HTTPDNSProviderConfigurationError {
            HTTPDNSProviderConfigurationError(provider: provider, message: message)
        }
        for (key, value) in parameters.sorted(by: { $0.key < $1.key }) {
            guard !key.isEmpty, key.utf8.allSatisfy({ $0.isLetterOrDigit(or: "-_") }) else {
                throw refusal(
                    "the key of a custom parameter is empty, or has other characters than a-z, A-Z, 0-9, - and _"
                )
            }
            guard !key.hasPrefix(Self.prefix) else {
                throw refusal("the custom parameter \(key) has the prefix \(Self.prefix), which is added; leave it out")
            }
            guard !value.isEmpty, value.utf8.allSatisfy({ $0.isLetterOrDigit(or: "-_=") }) else {
                throw refusal(
                    "the value of the custom parameter \(key) is empty, or has other characters than a-z, A-Z, 0-9, -, _ and ="
                )
            }
        }
        let bytes = parameters.reduce(0) { $0 + $1.key.utf8.count + $1.value.utf8.count }
        guard bytes <= Self.maximumBytes else {
            throw refusal("its custom parameters have \(bytes) bytes; the vendor takes \(Self.maximumBytes) at most")
        }
        sorted = parameters.map { (name: Self.prefix + $0.key, value: $0.value) }
            .sorted { $0.name.utf8.lexicographicallyPrecedes($1.name.utf8) }
    }
}
