internal import HTTPDNSCurl
internal import HTTPDNSPrimitives

/// Asks a vendor's service: errors by the vendor's table, a wrong clock once more, a refused account after a pause. What all
/// vendors have in common; what they differ in is their ``VendorProtocol``.
final class VendorExchange: Sendable {
    /// The secrets of one query.
    private struct Admission {
        let secrets: VendorSecrets
        /// Whether the query shows if a refused account is accepted again.
        let isRetry: Bool
    }

    let channel: ServiceChannel
    private let vendor: any VendorProtocol
    private let credential: VendorCredential
    private let time: any TimeSource
    private let clock: ClockOffset
    private let isDiscovering: Bool
    private let refusal = Lock<AccountRefusal?>(nil)

    /// Reads every secret once, and makes a request with them, so that what cannot work is told before the first query.
    /// - Parameters:
    ///   - location: Where the service is, as the settings say.
    ///   - provider: The provider's name.
    ///   - needsSigning: Whether queries are signed or encrypted.
    ///   - isDiscovering: Whether the service is asked which addresses it has.
    ///   - store: Where discovered addresses are kept for the next process.
    ///   - key: What they are kept under: those of another service or region are not used.
    /// - Throws: ``HTTPDNSProviderConfigurationError`` when a secret cannot be read or has not the form that the protocol
    ///   wants, and when this build cannot sign although it must.
    init(
        _ vendor: any VendorProtocol,
        at location: ServiceLocation,
        provider: String,
        credential: VendorCredential,
        needsSigning: Bool,
        isDiscovering: Bool,
        store: (any HTTPDNSResolutionStore)?,
        key: String,
        exchange: any ServiceExchanging,
        time: any TimeSource,
        clock: WallClock
    ) throws(HTTPDNSProviderConfigurationError) {
        if needsSigning, let reason = VendorSigning.refusal {
            throw HTTPDNSProviderConfigurationError(provider: provider, message: reason)
        }
        do throws(HTTPDNSProviderError) {
            let question = VendorQuestion(hosts: [.localhost], families: .both)
            _ = try vendor.request(for: question, secrets: try credential.read(), at: 0)
        } catch {
            throw HTTPDNSProviderConfigurationError(provider: provider, message: error.message)
        }
        self.vendor = vendor
        self.credential = credential
        let addresses = ServiceAddresses(
            bootstrap: location.endpoints,
            scope: location.scope,
            storage: store.map { ServiceAddresses.Storage(store: $0, key: key, provider: provider) },
            time: time,
            wallClock: clock
        )
        channel = ServiceChannel(addresses: addresses, exchange: exchange, time: time)
        self.isDiscovering = isDiscovering
        self.time = time
        self.clock = ClockOffset(clock)
    }

    var addresses: ServiceAddresses { channel.addresses }

    /// How many names one question may have.
    var batchLimit: Int { vendor.batchLimit }

    /// Asks about all names of the question in one request.
    /// - Throws: ``HTTPDNSProviderError``; `CancellationError` when the task is cancelled.
    func answers(to question: VendorQuestion, limit: Duration) async throws -> [HTTPDNSName: HTTPDNSProviderAnswer] {
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

    /// Cuts what is under way, and refuses what comes. Idempotent.
    func shutdown() async {
        await channel.shutdown()
    }

    /// Lets one query show whether a refused account is accepted again.
    /// - Returns: Whether it is refused.
    func retryRefusedAccount() -> Bool {
        let now = time.now()
        return refusal.withLock { refusal in
            refusal?.allowRetry(at: now)
            return refusal != nil
        }
    }

    /// The secrets as they are now, unless nothing may be asked with them.
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
            // Queries that were under way together are refused together, and count once.
            if admission.isRetry { refusal?.refusedAgain(error, at: now) }
        }
    }

    /// How long a discovery may take: it waits for nobody, and nobody waits for it.
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
            // What is refused here may still be answered: only a refused query says that the account is bad.
        }
        return try vendor.discovery(in: reply, secrets: secrets)
    }

    /// The first reply that is no refusal.
    /// - Parameter account: Called with a refusal of the account, and with nil for a refusal that proves the account good.
    private func reply(
        of endpoints: [HTTPDNSEndpoint]?,
        limit: Duration,
        deadline: MonotonicTime,
        _ request: @Sendable (_ seconds: Int64) throws -> ServiceRequest,
        account: @Sendable (HTTPDNSProviderError?) -> Void
    ) async throws -> ServiceReply {
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
