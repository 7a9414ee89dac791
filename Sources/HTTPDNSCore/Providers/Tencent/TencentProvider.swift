package import HTTPDNSPrimitives

/// Tencent Cloud's HTTPDNS (DNSPod), with a token or encrypted by AES, through a transport of its own that is pinned to the
/// service's addresses.
///
/// - Both families of up to eight names are one request. A client subnet is cut to 24 bits of IPv4 and 56 of IPv6, and its
///   first address is passed on.
/// - An address that does not answer, or fails by itself, is left alone for five minutes; a query tries three at most.
/// - A query that is refused by 401 or 403 while the service's clock is another one is made once more, by that clock.
/// - Which statuses refuse the account for good is for the settings to say. After one, nothing more is sent until the secrets
///   or the settings are others: queries fail at once with code `accountRefused`.
/// - A name that does not exist looks like one without addresses, for a minute at most.
/// - There is no DES, which the vendor offers too: its keys of 56 bits are searched in a day, and equal names give equal
///   texts.
/// - Records of type HTTPS are not asked for: ``HTTPDNSProviderAnswer/services`` stays nil.
public final class TencentProvider: HTTPDNSProvider {
    /// The name from the settings.
    public let name: String

    /// The setting ``Configuration/answers``.
    public let answerScope: HTTPDNSAddressPolicy.Scope

    /// Eight names.
    public var batchLimit: Int { exchange.batchLimit }

    let exchange: VendorExchange

    /// Creates the provider. Nothing is sent until the first query.
    /// - Throws: ``HTTPDNSProviderConfigurationError`` when the URL is not an https URL (http is allowed for a loopback
    ///   address), has a path, or has no addresses; when there is not one of token and key, one cannot be read or has not the
    ///   form that the protocol wants; when the account is no number and is sent; when a status cannot be one that refuses an
    ///   account; and when queries are to be encrypted without the package trait `Signing`.
    public convenience init(_ configuration: Configuration) throws(HTTPDNSProviderConfigurationError) {
        try self.init(
            configuration,
            exchange: ServiceTransportExchange(
                trustRoots: configuration.trustRoots,
                threadName: "httpdns-tencent",
                maximumBodyOctets: Self.maximumBodyOctets
            )
        )
    }

    /// - Parameters:
    ///   - exchange: What carries the requests; tests put a scripted one here.
    ///   - clock: When requests are made.
    ///   - randomOctets: So many octets that nobody can guess.
    package init(
        _ configuration: Configuration,
        exchange: any ServiceExchanging,
        time: any TimeSource = SystemTimeSource(),
        clock: WallClock = .system,
        randomOctets: @escaping @Sendable (Int) -> [UInt8] = RandomOctets.system
    ) throws(HTTPDNSProviderConfigurationError) {
        let vendor = try configuration.vendor(randomOctets)
        let location = vendor.location
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
            key: "\(location.url)",
            exchange: exchange,
            time: time,
            clock: clock
        )
    }

    /// The longest body. The vendor's answers have 8 KiB at most, and twice as many octets when they are encrypted.
    static let maximumBodyOctets = 64 * 1024

    /// Whether a status may be one by which an account is refused: those of 408, 429 and 500 pass by themselves.
    package static func mayRefuseAccount(_ status: Int) -> Bool {
        (400..<500).contains(status) && status != 408 && status != 429
    }

    /// Asks for all families of the query in one request.
    ///
    /// A family whose list has no address in it that can be read has ``HTTPDNSProviderAnswer/Family/failed(_:)``.
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

    /// Cuts the requests in flight, ends the connections and the transport's thread. Idempotent.
    public func shutdown() async {
        await exchange.shutdown()
    }
}

extension TencentProvider: AccountHolding {
    func retryRefusedAccount() -> Bool { exchange.retryRefusedAccount() }
}

extension TencentProvider.Configuration {
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
        if let status = accountRefusalStatuses.sorted().first(where: { !TencentProvider.mayRefuseAccount($0) }) {
            throw refusal("status \(status) cannot refuse an account; allowed: 400 to 499 but 408 and 429")
        }
        return TencentProtocol(
            location: try ServiceLocation.vendor(url: url ?? region.url, bootstrap: bootstrap, provider: name),
            account: credential.account,
            isEncrypted: isEncrypted,
            sendsExpiry: sendsExpiry,
            encryptsClientSubnet: encryptsClientSubnet,
            errors: TencentErrors(accountRefusals: accountRefusalStatuses),
            randomOctets: randomOctets
        )
    }

    fileprivate var needsSigning: Bool { isEncrypted }
}
