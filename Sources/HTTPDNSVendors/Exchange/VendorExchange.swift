// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNSCore
internal import HTTPDNSCurl
internal import HTTPDNSPrimitives
internal import HTTPTypes

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
    private let credential: HTTPDNSVendorCredential
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
    /// - Throws: `HTTPDNSProviderConfigurationError` when a secret is malformed or cannot be read, and when this build
    ///   cannot sign although it must.
    init(
        _ vendor: any VendorProtocol,
        at location: UpstreamLocation,
        provider: String,
        credential: HTTPDNSVendorCredential,
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
    /// - Throws: `HTTPDNSProviderError`; `CancellationError` when the task is canceled.
    func answers(to question: VendorQuery, limit: Duration) async throws -> [HTTPDNSName: HTTPDNSProviderAnswer] {
        let deadline = time.now() + limit
        let admission = try await admit(until: deadline)
        let secrets = admission.secrets
        if isDiscovering { addresses.refreshIfDue { [self] in try await discover($0) } }
        guard !addresses.isDisabled else { throw Self.disabled }
        let reply = try await reply(of: nil, limit: limit, deadline: deadline) { seconds in
            try self.vendor.request(for: question, secrets: secrets, at: seconds)
        } account: { error in
            if let error { self.refused(admission, error) } else { self.accepted(admission) }
        }
        accepted(admission)
        do {
            return try vendor.answers(in: reply, to: question, secrets: secrets)
        } catch let error as VendorAnswerError {
            throw reply.badResponse(error)
        }
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
    private func admit(until deadline: MonotonicTime) async throws -> Admission {
        try channel.requireRunning()
        let secrets = try await credential.current(until: deadline, on: time)
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
        let deadline = time.now() + Self.discoveryLimit
        let secrets = try await credential.current(until: deadline, on: time)
        let reply = try await reply(
            of: endpoints,
            limit: Self.discoveryLimit,
            deadline: deadline
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

extension VendorExchange {
    /// Answers one query; see `HTTPDNSProvider.resolve(_:)`.
    func resolve(_ query: HTTPDNSProviderQuery) async throws -> HTTPDNSProviderAnswer {
        guard let answer = try await resolve(query, batch: [query.host])[query.host] else {
            throw HTTPDNSProviderError(
                code: .badResponse,
                message: "the answer says nothing about the name that was asked for"
            )
        }
        return answer
    }

    /// Answers a query about several names; see `HTTPDNSProvider.resolve(_:batch:)`.
    func resolve(_ query: HTTPDNSProviderQuery, batch: [HTTPDNSName]) async throws -> [HTTPDNSName:
        HTTPDNSProviderAnswer]
    {
        var seen: Set<HTTPDNSName> = []
        let hosts = batch.filter { seen.insert($0).inserted }
        guard !hosts.isEmpty else { return [:] }
        guard hosts.count <= batchLimit else {
            throw HTTPDNSProviderError(
                code: .refused,
                message: "a batch has \(hosts.count) names, and the service takes \(batchLimit) at most"
            )
        }
        let question = VendorQuery(hosts: hosts, families: query.families, clientSubnet: query.clientSubnet)
        let answers = try await answers(to: question, limit: query.timeLimit)
        if let failure = answers.values.compactMap(\.failure).first,
            answers.values.allSatisfy({ $0.failure != nil })
        {
            throw failure
        }
        return answers
    }
}

/// A vendor's refusal of an account, with the time of the next attempt. A value type.
///
/// An account stays refused until its owner pays, switches a feature on or corrects a secret. Meanwhile the vendor gets only
/// one query after each pause: a change in the vendor's console changes no setting here.
struct AccountRefusal: Sendable {
    /// The first pause between two attempts.
    static let firstPause = Duration.seconds(300)
    /// The longest pause; pauses double up to it.
    static let longestPause = Duration.seconds(3600)

    /// The fingerprint of the refused secrets. With other secrets the account may be accepted.
    let fingerprint: Int
    private(set) var error: HTTPDNSProviderError
    private var pause = AccountRefusal.firstPause
    private var retryAt: MonotonicTime

    init(fingerprint: Int, error: HTTPDNSProviderError, at now: MonotonicTime) {
        self.fingerprint = fingerprint
        self.error = error
        retryAt = now + pause
    }

    /// Whether a query may test if the account is accepted again. The next test may follow after the first pause, unless this
    /// query is refused too: a mere timeout says nothing about the account.
    mutating func beginRetry(at now: MonotonicTime) -> Bool {
        guard now >= retryAt else { return false }
        retryAt = now + Self.firstPause
        return true
    }

    /// Lets the next query test whether the account is accepted again. The length of the pause does not change.
    mutating func allowRetry(at now: MonotonicTime) { retryAt = now }

    mutating func refusedAgain(_ error: HTTPDNSProviderError, at now: MonotonicTime) {
        self.error = error
        pause = min(pause * 2, Self.longestPause)
        retryAt = now + pause
    }
}

/// The clock for a vendor's signatures: the machine's calendar clock, corrected by the vendor's clock after it rejected a
/// signature because of its time.
final class ClockOffset: Sendable {
    /// The largest difference, in seconds, that is ignored: the signatures of all vendors live longer.
    private static let tolerance: Int64 = 5

    private let clock: WallClock
    private let offset = Lock<Int64>(0)

    init(_ clock: WallClock) { self.clock = clock }

    /// Returns the vendor's time as far as it is known, in seconds since 1970-01-01 00:00 UTC.
    func seconds() -> Int64 { clock.now() / 1000 + offset.withLock { $0 } }

    /// Takes the time of a refusal (`Date`, RFC 9110 section 6.6.1) as the vendor's time.
    ///
    /// A wrong clock of the machine may be set right later. The offset is then learned again.
    /// - Parameter signedAt: The time in the signature of the refused request.
    /// - Returns: Whether a request signed now has another time than the refused one.
    func learn(from reply: UpstreamReply, signedAt: Int64) -> Bool {
        let now = clock.now() / 1000
        guard let date = reply.headerFields.singleton(.date), let time = HTTPDate.seconds(date.value, now: now) else {
            return false
        }
        let difference = time - now
        offset.withLock { $0 = abs(difference) < Self.tolerance ? 0 : difference }
        return abs(seconds() - signedAt) >= Self.tolerance
    }
}
