// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNSCurl
package import HTTPDNSPrimitives

/// The addresses of one vendor's service, updated beside the queries, and kept across restarts where there is a store.
///
/// They come from the settings and from the service itself; no name is ever looked up for them. A query never waits for a
/// discovery: it uses the addresses known when it begins.
package final class UpstreamAddresses: Sendable {
    /// The persistent storage of discovered addresses.
    package struct Storage: Sendable {
        package var store: any HTTPDNSResolutionStore
        /// The key of the stored addresses: the provider, its vendor and region. Addresses of other regions are not used.
        package var key: String
        package var provider: String

        package init(store: any HTTPDNSResolutionStore, key: String, provider: String) {
            self.store = store
            self.key = key
            self.provider = provider
        }
    }

    /// Asks the given addresses in turn for the service's addresses.
    package typealias Discover = @Sendable ([HTTPDNSEndpoint]) async throws -> ServiceDiscovery

    private struct State {
        var book: UpstreamAddressBook
        var task: Task<Void, Never>?
        var isRestored = false
        var isShutDown = false
    }

    /// The name of the store's entry. It cannot exist (RFC 6761 section 6.4), so that no cached answer can be confused with
    /// it.
    private static let storedName = HTTPDNSName(canonical: "service-addresses.invalid")

    /// The most public scope of the addresses in the settings: the service may not return addresses of a more private scope.
    private let scope: HTTPDNSAddressPolicy.Scope
    private let time: any TimeSource
    private let wallClock: WallClock
    private let storage: Storage?
    private let state: Lock<State>

    package init(
        bootstrap: [HTTPDNSEndpoint],
        maximumAttempts: Int = UpstreamAddressBook.maximumAttempts,
        scope: HTTPDNSAddressPolicy.Scope,
        storage: Storage? = nil,
        time: any TimeSource,
        wallClock: WallClock
    ) {
        self.scope = scope
        self.storage = storage
        self.time = time
        self.wallClock = wallClock
        state = Lock(State(book: UpstreamAddressBook(bootstrap: bootstrap, maximumAttempts: maximumAttempts)))
    }

    /// Whether the vendor has switched the service off.
    package var isDisabled: Bool { state.withLock { $0.book.isDisabled } }

    /// Returns the addresses that a query tries, best first; at least one.
    func attempts() -> [HTTPDNSEndpoint] {
        let now = time.now()
        return state.withLock { $0.book.attempts(at: now) }
    }

    /// Returns the addresses that a query tries, with the reserve.
    func order() -> UpstreamAddressBook.Order {
        let now = time.now()
        return state.withLock { $0.book.order(at: now) }
    }

    func succeeded(_ endpoint: HTTPDNSEndpoint) {
        state.withLock { $0.book.succeeded(endpoint) }
    }

    func failed(_ endpoint: HTTPDNSEndpoint) {
        let now = time.now()
        state.withLock { $0.book.failed(endpoint, at: now) }
    }

    /// Sends a request to one address after the other until one responds, beginning with the address that responded last.
    /// - Parameters:
    ///   - endpoints: The addresses to try; `nil` means those of a query.
    ///   - limit: The query's time limit, for messages.
    ///   - deadline: The end of that limit.
    ///   - exchange: Sends the request to an address, and returns the response until a deadline. An ``HTTPDNSProviderError`` is about
    ///     the query, and not the address.
    ///   - verdict: Returns the meaning of a response.
    /// - Throws: ``HTTPDNSProviderError`` that names every address tried; `CancellationError` when the task is canceled.
    func reply(
        of endpoints: [HTTPDNSEndpoint]? = nil,
        limit: Duration,
        deadline: MonotonicTime,
        exchange: (HTTPDNSEndpoint, MonotonicTime) async throws -> UpstreamReply,
        verdict: (UpstreamReply) -> ReplyVerdict
    ) async throws -> UpstreamReply {
        let order = endpoints.map { UpstreamAddressBook.Order(first: $0) } ?? self.order()
        var attempts = UpstreamAttempts(order, limit: limit, deadline: deadline)
        while let attempt = attempts.next(at: time.now()) {
            try Task.checkCancellation()
            let reply: UpstreamReply
            do {
                reply = try await exchange(attempt.endpoint, attempt.deadline)
            } catch let failure as TransferFailure {
                if Self.isAboutAddress(failure) { failed(attempt.endpoint) }
                attempts.failed(attempt, with: failure)
                continue
            } catch let error as HTTPDNSProviderError {
                attempts.failed(attempt, with: error)
                continue
            }
            switch verdict(reply) {
            case .answer:
                succeeded(attempt.endpoint)
                return reply
            case .addressFailed(let error):
                failed(attempt.endpoint)
                attempts.failed(attempt, with: error)
            case .nextAddress(let error):
                attempts.failed(attempt, with: error)
            case .again(let error):
                attempts.failed(attempt, with: error)
                attempts.repeat(attempt)
            case .final(let error):
                throw error
            }
        }
        throw attempts.error
    }

    /// Whether a failure is about the address, and not only about this process or this query.
    private static func isAboutAddress(_ failure: TransferFailure) -> Bool {
        switch failure.code {
        case .connectFailed, .tlsFailed, .clientCertificateRefused, .certificateRefused, .wrongPeer, .protocolViolation:
            true
        case .timedOut:
            // After these phases the time may have been spent on one name whose name servers do not respond.
            [.connect, .tls].contains(failure.reached ?? failure.phase)
        default: false
        }
    }

    /// Starts a discovery when one is due, and returns immediately.
    package func refreshIfDue(_ discover: @escaping Discover) {
        let now = time.now()
        state.withLock { state in
            guard !state.isShutDown, state.task == nil, state.book.beginRefresh(at: now) else { return }
            // Detached: the task belongs to the service, and outlives the query that started it.
            state.task = CallWork.detached { [self] in
                await refresh(discover)
                self.state.withLock { $0.task = nil }
            }
        }
    }

    /// Returns when no discovery is in progress.
    func settled() async {
        await state.withLock { $0.task }?.value
    }

    /// Cancels a discovery in progress. Idempotent.
    func shutdown() {
        let task = state.withLock { state in
            state.isShutDown = true
            return state.task
        }
        task?.cancel()
    }

    private func refresh(_ discover: Discover) async {
        let isFirst = state.withLock { state in
            defer { state.isRestored = true }
            return !state.isRestored
        }
        if isFirst, await restore() { return }
        let now = time.now()
        let attempts = state.withLock { $0.book.discoveryAttempts(at: now) }
        // A failure changes nothing; a later query tries again.
        guard var discovery = try? await discover(attempts) else { return }
        discovery.endpoints = discovery.endpoints.filter { isAllowed($0.address) }
        let later = time.now()
        state.withLock { [discovery] in $0.book.learned(discovery, at: later) }
        await save(discovery)
    }

    private func isAllowed(_ address: HTTPDNSAddress) -> Bool { HTTPDNSAddressPolicy.Scope(of: address) <= scope }
}

// MARK: - Storage

extension UpstreamAddresses {
    /// - Returns: Whether the store had addresses that are still new.
    private func restore() async -> Bool {
        guard let storage, let stored = try? await storage.store.load() else { return false }
        let wallNow = wallClock.now()
        var endpoints: [HTTPDNSEndpoint] = []
        // All entries were stored together, so they differ only in their ports.
        var oldest: Int64 = 0
        var lifetime = UpstreamAddressBook.refreshInterval
        for entry in stored where entry.host == Self.storedName && entry.provider == storage.provider {
            let (age, isAbsurd) = wallNow.subtractingReportingOverflow(entry.receivedAt)
            guard let port = port(in: entry.route, key: storage.key), !isAbsurd, age >= 0,
                Duration.milliseconds(age) < min(entry.timeToLive, UpstreamAddressBook.refreshInterval)
            else { continue }
            oldest = max(oldest, age)
            lifetime = min(lifetime, entry.timeToLive)
            endpoints += entry.addresses.filter(isAllowed).map { HTTPDNSEndpoint(address: $0, port: port) }
        }
        guard !endpoints.isEmpty else { return false }
        let discovery = ServiceDiscovery(endpoints: endpoints, lifetime: lifetime)
        let now = time.now()
        state.withLock { [oldest] in $0.book.learned(discovery, age: .milliseconds(oldest), at: now) }
        return true
    }

    /// If the store fails, the next process starts without these addresses; nothing else changes.
    private func save(_ discovery: ServiceDiscovery) async {
        guard let storage, !discovery.endpoints.isEmpty, !discovery.isDisabled else { return }
        let receivedAt = wallClock.now()
        let ports = Set(discovery.endpoints.map(\.port)).sorted()
        let entries = ports.map { port in
            HTTPDNSStoredResolution(
                host: Self.storedName,
                families: .both,
                route: "\(storage.key) \(port)",
                addresses: discovery.endpoints.filter { $0.port == port }.map(\.address),
                provider: storage.provider,
                receivedAt: receivedAt,
                timeToLive: discovery.lifetime ?? UpstreamAddressBook.refreshInterval
            )
        }
        try? await storage.store.save(entries)
    }

    private func port(in route: String, key: String) -> UInt16? {
        guard route.hasPrefix("\(key) ") else { return nil }
        return UInt16(route.dropFirst(key.count + 1)).flatMap { $0 > 0 ? $0 : nil }
    }
}
