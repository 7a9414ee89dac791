package import HTTPDNSPrimitives

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
/// - Records of type HTTPS are not requested: ``HTTPDNSProviderAnswer/services`` stays nil.
public final class AlibabaProvider: HTTPDNSProvider {
    /// The name from the settings.
    public let name: String

    /// The setting ``Configuration/answers``.
    public let answerScope: HTTPDNSAddressPolicy.Scope

    /// The maximum number of names in one request: five.
    public var batchLimit: Int { exchange.batchLimit }

    let exchange: VendorExchange

    /// Creates the provider. Nothing is sent until the first query.
    /// - Throws: ``HTTPDNSProviderConfigurationError`` in these cases:
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
        answerScope = configuration.answers
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
    /// A family is ``HTTPDNSProviderAnswer/Family/failed(_:)`` when its list contains no readable address.
    /// - Throws: ``HTTPDNSProviderError`` when no family has an outcome; `CancellationError` when the task is cancelled.
    public func resolve(_ query: HTTPDNSProviderQuery) async throws -> HTTPDNSProviderAnswer {
        try await exchange.resolve(query)
    }

    /// Asks about all names in one request.
    /// - Throws: ``HTTPDNSProviderError`` when no name has an outcome, or there are more than ``batchLimit``;
    ///   `CancellationError`.
    public func resolve(_ query: HTTPDNSProviderQuery, batch: [HTTPDNSName]) async throws -> [HTTPDNSName:
        HTTPDNSProviderAnswer]
    {
        try await exchange.resolve(query, batch: batch)
    }

    /// Aborts the requests in progress, closes the connections and stops the transport's thread. Idempotent.
    public func shutdown() async {
        await exchange.shutdown()
    }
}

extension AlibabaProvider: AccountHolding {
    func retryRefusedAccount() -> Bool { exchange.retryRefusedAccount() }
}

extension AlibabaProvider.Configuration {
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
}
