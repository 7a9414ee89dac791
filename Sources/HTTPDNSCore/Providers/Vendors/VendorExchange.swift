internal import HTTPDNSCurl
internal import HTTPDNSPrimitives

/// The exchange with a vendor's service that all vendors share; their differences are in ``VendorProtocol``. It applies the
/// vendor's error table, repeats a request once after a wrong clock, and pauses for a refused account.
final class VendorExchange: Sendable {
    /// The secrets of one query.
    private struct Admission {
        let secrets: VendorSecrets
        /// Whether the query tests if a refused account is accepted again.
        let isRetry: Bool
    }

    let channel: UpstreamChannel
    private let vendor: any VendorProtocol
    private let credential: VendorCredential
    private let time: any TimeSource
    private let clock: ClockOffset
    private let isDiscovering: Bool
    private let refusal = Lock<AccountRefusal?>(nil)

    /// Reads every secret once and makes a request with them, so that configuration errors appear before the first query.
    /// - Parameters:
    ///   - location: The location of the service, from the settings.
    ///   - provider: The provider's name.
    ///   - needsSigning: Whether queries are signed or encrypted.
    ///   - isDiscovering: Whether the service is asked for its addresses.
    ///   - store: The store that keeps discovered addresses for the next process.
    ///   - key: The key of the stored addresses: those of another service or region are not used.
    /// - Throws: ``HTTPDNSProviderConfigurationError`` when a secret is malformed or cannot be read, and when this build
    ///   cannot sign although it must.
    init(
        _ vendor: any VendorProtocol,
        at location: UpstreamLocation,
        provider: String,
        credential: VendorCredential,
        needsSigning: Bool,
        isDiscovering: Bool,
        store: (any HTTPDNSResolutionStore)?,
        key: String,
        exchange: any UpstreamExchanging,
        time: any TimeSource,
        clock: WallClock
    ) throws(HTTPDNSProviderConfigurationError) {
        if needsSigning, let reason = VendorSigning.refusal {
            throw HTTPDNSProviderConfigurationError(provider: provider, message: reason)
        }
        do throws(HTTPDNSProviderError) {
            let question = VendorQuery(hosts: [.localhost], families: .both)
            _ = try vendor.request(for: question, secrets: try credential.read(), at: 0)
        } catch {
            throw HTTPDNSProviderConfigurationError(provider: provider, message: error.message)
        }
        self.vendor = vendor
        self.credential = credential
        let addresses = UpstreamAddresses(
            bootstrap: location.endpoints,
            scope: location.scope,
            storage: store.map { UpstreamAddresses.Storage(store: $0, key: key, provider: provider) },
            time: time,
            wallClock: clock
        )
        channel = UpstreamChannel(addresses: addresses, exchange: exchange, time: time)
        self.isDiscovering = isDiscovering
        self.time = time
        self.clock = ClockOffset(clock)
    }

    var addresses: UpstreamAddresses { channel.addresses }

    /// The maximum number of names in one query.
    var batchLimit: Int { vendor.batchLimit }

    /// Asks about all names of the query in one request.
    /// - Throws: ``HTTPDNSProviderError``; `CancellationError` when the task is cancelled.
    func answers(to question: VendorQuery, limit: Duration) async throws -> [HTTPDNSName: HTTPDNSProviderAnswer] {
        let deadline = time.now() + limit
        let admission = try await admit()
        let secrets = admission.secrets
        if isDiscovering { addresses.refreshIfDue { [self] in try await discover($0) } }
        guard !addresses.isDisabled else { throw Self.disabled }
        let reply = try await reply(of: nil, limit: limit, deadline: deadline) { seconds in
            try self.vendor.request(for: question, secrets: secrets, at: seconds)
        } account: { error in
            if let error { self.refused(admission, error) } else { self.accepted(admission) }
        }
        accepted(admission)
        return try vendor.answers(in: reply, to: question, secrets: secrets)
    }

    /// Aborts the requests in progress, and refuses new ones. Idempotent.
    func shutdown() async {
        await channel.shutdown()
    }

    /// Lets one query test whether a refused account is accepted again.
    /// - Returns: Whether the account is refused.
    func retryRefusedAccount() -> Bool {
        let now = time.now()
        return refusal.withLock { refusal in
            refusal?.allowRetry(at: now)
            return refusal != nil
        }
    }

    /// Returns the secrets, unless the service has refused the account with them.
    private func admit() async throws -> Admission {
        try channel.requireRunning()
        let secrets = try await credential.current()
        let now = time.now()
        let (isRetry, error): (Bool, HTTPDNSProviderError?) = refusal.withLock { refusal in
            if refusal?.fingerprint != secrets.hashValue { refusal = nil }
            guard let refused = refusal else { return (false, nil) }
            if refusal?.beginRetry(at: now) == true { return (true, nil) }
            return (false, refused.error)
        }
        if let error { throw error }
        return Admission(secrets: secrets, isRetry: isRetry)
    }

    private func accepted(_ admission: Admission) {
        let fingerprint = admission.secrets.hashValue
        refusal.withLock { if $0?.fingerprint == fingerprint { $0 = nil } }
    }

    private func refused(_ admission: Admission, _ error: HTTPDNSProviderError) {
        let now = time.now()
        let fingerprint = admission.secrets.hashValue
        refusal.withLock { refusal in
            guard refusal?.fingerprint == fingerprint else {
                refusal = AccountRefusal(fingerprint: fingerprint, error: error, at: now)
                return
            }
            // Queries in progress together are refused together, and count once.
            if admission.isRetry { refusal?.refusedAgain(error, at: now) }
        }
    }

    /// The time limit of a discovery: it delays no query, and needs little urgency.
    private static let discoveryLimit = Duration.seconds(15)

    private func discover(_ endpoints: [HTTPDNSEndpoint]) async throws -> ServiceDiscovery {
        let secrets = try await credential.current()
        let reply = try await reply(
            of: endpoints,
            limit: Self.discoveryLimit,
            deadline: time.now() + Self.discoveryLimit
        ) { seconds in
            guard let request = try self.vendor.discoveryRequest(secrets: secrets, at: seconds) else {
                throw HTTPDNSProviderError(code: .notConfigured, message: "the vendor has no discovery")
            }
            return request
        } account: { _ in
            // A refused discovery does not refuse the account: queries may still be answered.
        }
        return try vendor.discovery(in: reply, secrets: secrets)
    }

    /// Returns the first reply that is not a refusal.
    /// - Parameter account: Called with a refusal of the account, and with `nil` for a refusal that proves that the account
    ///   is accepted.
    private func reply(
        of endpoints: [HTTPDNSEndpoint]?,
        limit: Duration,
        deadline: MonotonicTime,
        _ request: @Sendable (_ seconds: Int64) throws -> ServiceRequest,
        account: @Sendable (HTTPDNSProviderError?) -> Void
    ) async throws -> UpstreamReply {
        var mayCorrectClock = true
        var signedAt: Int64 = 0
        return try await channel.reply(of: endpoints, limit: limit, deadline: deadline) { endpoint in
            signedAt = clock.seconds()
            return vendor.addressed(try request(signedAt), to: endpoint)
        } verdict: { reply in
            guard let refusal = vendor.refusal(in: reply) else { return .answer }
            switch refusal.meaning {
            case .account:
                account(refusal.error)
                return .final(refusal.error)
            case .clock:
                guard mayCorrectClock, clock.learn(from: reply, signedAt: signedAt) else {
                    if refusal.provesAccount { account(nil) }
                    return .final(refusal.error)
                }
                mayCorrectClock = false
                return .again(refusal.error)
            case .address: return .addressFailed(refusal.error)
            case .nextAddress: return .nextAddress(refusal.error)
            case .question, .rateLimit:
                if refusal.provesAccount { account(nil) }
                return .final(refusal.error)
            }
        }
    }

    private static let disabled = HTTPDNSProviderError(
        code: .serviceDisabled,
        message:
            "the vendor has switched the service off for this account (service_status is disable): nothing is asked "
            + "until it is switched on again; ask the vendor, or take the provider out of the routes"
    )
}
