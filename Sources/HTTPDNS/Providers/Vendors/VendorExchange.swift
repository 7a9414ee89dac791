internal import CurlTransport
internal import HTTPDNSPrimitives

/// Asks a vendor's service: addresses in turn, errors by the vendor's table, a wrong clock once more, a refused account no
/// more. What all vendors have in common; what they differ in is their ``VendorProtocol``.
final class VendorExchange: Sendable {
    private struct Refusal {
        /// Of the secrets that were refused. With others the account may be a good one.
        let fingerprint: Int
        let error: ProviderError
    }

    private struct State {
        var refusal: Refusal?
        var isShutDown = false
    }

    let addresses: ServiceAddresses
    private let vendor: any VendorProtocol
    private let credential: VendorCredential
    private let exchange: any ServiceExchanging
    private let time: any TimeSource
    private let clock: ClockOffset
    private let isDiscovering: Bool
    private let state = Lock(State())

    /// Reads every secret once, and makes a request with them, so that what cannot work is told before the first query.
    /// - Parameters:
    ///   - location: Where the service is, as the settings say.
    ///   - provider: The provider's name.
    ///   - needsSigning: Whether queries are signed or encrypted.
    ///   - isDiscovering: Whether the service is asked which addresses it has.
    ///   - store: Where discovered addresses are kept for the next process.
    ///   - key: What they are kept under: those of another service or region are not used.
    /// - Throws: ``ProviderConfigurationError`` when a secret cannot be read or has not the form that the protocol wants, and
    ///   when this build cannot sign although it must.
    init(
        _ vendor: any VendorProtocol,
        at location: ServiceLocation,
        provider: String,
        credential: VendorCredential,
        needsSigning: Bool,
        isDiscovering: Bool,
        store: (any ResolutionStore)?,
        key: String,
        exchange: any ServiceExchanging,
        time: any TimeSource,
        clock: WallClock
    ) throws(ProviderConfigurationError) {
        if needsSigning, let reason = VendorSigning.refusal {
            throw ProviderConfigurationError(provider: provider, message: reason)
        }
        do throws(ProviderError) {
            let question = VendorQuestion(hosts: [.localhost], families: .both)
            _ = try vendor.request(for: question, secrets: try credential.read(), at: 0)
        } catch {
            throw ProviderConfigurationError(provider: provider, message: error.message)
        }
        self.vendor = vendor
        self.credential = credential
        addresses = ServiceAddresses(
            bootstrap: location.endpoints,
            scope: location.scope,
            storage: store.map { ServiceAddresses.Storage(store: $0, key: key, provider: provider) },
            time: time,
            wallClock: clock
        )
        self.isDiscovering = isDiscovering
        self.exchange = exchange
        self.time = time
        self.clock = ClockOffset(clock)
    }

    /// How many names one question may have.
    var batchLimit: Int { vendor.batchLimit }

    /// Asks about all names of the question in one request.
    /// - Throws: ``ProviderError``; `CancellationError` when the task is cancelled.
    func answers(to question: VendorQuestion, limit: Duration) async throws -> [HostName: ProviderAnswer] {
        let deadline = time.now() + limit
        let secrets = try admit()
        if isDiscovering { addresses.refreshIfDue { [self] in try await discover($0) } }
        guard !addresses.isDisabled else { throw Self.disabled }
        let reply = try await reply(of: addresses.attempts(), limit: limit, deadline: deadline) { seconds in
            try self.vendor.request(for: question, secrets: secrets, at: seconds)
        } refused: { error in
            self.state.withLock { $0.refusal = Refusal(fingerprint: secrets.hashValue, error: error) }
        }
        return try vendor.answers(in: reply, to: question, secrets: secrets)
    }

    /// Cuts what is under way, and refuses what comes. Idempotent.
    func shutdown() async {
        state.withLock { $0.isShutDown = true }
        addresses.shutdown()
        await exchange.shutdown()
        await addresses.settled()
    }

    /// The secrets as they are now, unless nothing may be asked with them.
    private func admit() throws(ProviderError) -> VendorSecrets {
        guard !state.withLock({ $0.isShutDown }) else { throw Self.shutDown }
        let secrets = try credential.read()
        let refusal: Refusal? = state.withLock { state in
            if state.refusal?.fingerprint != secrets.hashValue { state.refusal = nil }
            return state.refusal
        }
        if let refusal { throw refusal.error }
        return secrets
    }

    /// How long a discovery may take: it waits for nobody, and nobody waits for it.
    private static let discoveryLimit = Duration.seconds(15)

    private func discover(_ endpoints: [Endpoint]) async throws -> ServiceDiscovery {
        let secrets = try credential.read()
        let reply = try await reply(
            of: endpoints,
            limit: Self.discoveryLimit,
            deadline: time.now() + Self.discoveryLimit
        ) { seconds in
            guard let request = try self.vendor.discoveryRequest(secrets: secrets, at: seconds) else {
                throw ProviderError(code: .notConfigured, message: "the vendor has no discovery")
            }
            return request
        } refused: { _ in
            // What is refused here may still be answered: only a refused query says that the account is bad.
        }
        return try vendor.discovery(in: reply, secrets: secrets)
    }

    /// The first reply that is no refusal.
    private func reply(
        of endpoints: [Endpoint],
        limit: Duration,
        deadline: MonotonicTime,
        _ request: @Sendable (_ seconds: Int64) throws -> ServiceRequest,
        refused: @Sendable (ProviderError) -> Void
    ) async throws -> ServiceReply {
        var attempts = ServiceAttempts(endpoints: endpoints, limit: limit, deadline: deadline)
        var refusal: ProviderError?
        var mayCorrectClock = true
        while let attempt = attempts.next(at: time.now()) {
            try Task.checkCancellation()
            let seconds = clock.seconds()
            let request = vendor.addressed(try request(seconds), to: attempt.endpoint)
            let reply: ServiceReply
            do {
                reply = try await exchange.exchange(request, with: attempt.endpoint, deadline: attempt.deadline)
            } catch let failure as TransferFailure {
                if Self.isAboutAddress(failure) { addresses.failed(attempt.endpoint) }
                attempts.failed(attempt, with: failure)
                refusal = nil
                continue
            }
            guard let found = vendor.refusal(in: reply) else {
                addresses.succeeded(attempt.endpoint)
                return reply
            }
            refusal = found.error
            switch found.meaning {
            case .account:
                refused(found.error)
                throw found.error
            case .clock:
                guard mayCorrectClock, clock.learn(from: reply, signedAt: seconds) else { throw found.error }
                mayCorrectClock = false
                attempts.repeat(attempt)
            case .address: addresses.failed(attempt.endpoint)
            case .nextAddress: break
            case .question, .rateLimit: throw found.error
            }
        }
        throw refusal ?? attempts.error
    }

    /// Whether a failure says something about the address, and not about this process or this query alone.
    private static func isAboutAddress(_ failure: TransferFailure) -> Bool {
        switch failure.code {
        case .connectFailed, .tlsFailed, .certificateRefused, .wrongPeer, .timedOut, .protocolViolation: true
        default: false
        }
    }

    private static let shutDown = ProviderError(code: .shutDown, message: "the provider is shut down")

    private static let disabled = ProviderError(
        code: .serviceDisabled,
        message:
            "the vendor has switched the service off for this account (service_status is disable): nothing is asked "
            + "until it is switched on again; ask the vendor, or take the provider out of the routes"
    )
}
