// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

package import HTTPDNSPrimitives

/// The addresses of one vendor's service: the known ones, their order, and the quarantined ones. A value type: it receives
/// events with their times and has no side effects.
package struct UpstreamAddressBook: Sendable {
    /// The quarantine of a failed address, as in the vendors' own clients.
    static let quarantine = Duration.seconds(300)
    /// The time until discovered addresses are due for a refresh, unless the vendor sets one. It is that of the vendors' own
    /// clients.
    static let refreshInterval = Duration.seconds(24 * 3600)
    /// The time until a vendor that has switched the service off is asked again.
    static let recheckInterval = Duration.seconds(3600)
    /// The least time between two discoveries, also when they fail, as in Alibaba's Android client.
    static let shortestInterval = Duration.seconds(300)
    /// The maximum number of addresses that one query tries, so that each has a fair share of its time.
    static let maximumAttempts = 3
    /// The maximum number of discovered addresses that are kept; vendors return only a few.
    static let maximumDiscovered = 32

    /// The addresses of one query, best first.
    struct Order: Sendable, Equatable {
        /// The addresses that are tried.
        var first: [HTTPDNSEndpoint]
        /// Quarantined addresses, for when all others failed and time is left.
        var reserve: [HTTPDNSEndpoint] = []
    }

    private let maximumAttempts: Int
    /// The addresses from the settings, for the first query and for when no other address responds.
    let bootstrap: [HTTPDNSEndpoint]
    private(set) var discovered: [HTTPDNSEndpoint] = []
    /// Whether the vendor has switched the service off.
    private(set) var isDisabled = false
    /// The address that responded last.
    private var preferred: HTTPDNSEndpoint?
    private var restingUntil: [HTTPDNSEndpoint: MonotonicTime] = [:]
    private var refreshDueAt: MonotonicTime?
    private var mayRefreshAt: MonotonicTime?

    init(bootstrap: [HTTPDNSEndpoint], maximumAttempts: Int = UpstreamAddressBook.maximumAttempts) {
        self.bootstrap = bootstrap
        self.maximumAttempts = maximumAttempts
    }

    /// Returns the addresses that a query tries, best first. When all are quarantined, those whose quarantine ends first.
    func attempts(at now: MonotonicTime) -> [HTTPDNSEndpoint] { order(at: now).first }

    func order(at now: MonotonicTime) -> Order {
        let known = all
        guard known.count > 1 else { return Order(first: known) }
        let rested = known.filter { !isResting($0, at: now) }
        let resting = known.filter { isResting($0, at: now) }
            .enumerated()
            .sorted { (restingUntil[$0.element] ?? now, $0.offset) < (restingUntil[$1.element] ?? now, $1.offset) }
            .map(\.element)
        // The address that responded last comes first, so that its connection is used; the rest keep their order.
        let ordered = rested.filter { $0 == preferred } + rested.filter { $0 != preferred }
        if ordered.isEmpty { return Order(first: Array(resting.prefix(maximumAttempts))) }
        let first = Array(ordered.prefix(maximumAttempts))
        return Order(first: first, reserve: Array(resting.prefix(maximumAttempts - first.count)))
    }

    /// Returns the addresses that a discovery tries.
    func discoveryAttempts(at now: MonotonicTime) -> [HTTPDNSEndpoint] {
        // The bootstrap addresses are the least likely to be wrong.
        var seen: Set<HTTPDNSEndpoint> = []
        return Array(
            (attempts(at: now) + bootstrap).filter { seen.insert($0).inserted }.prefix(2 * Self.maximumAttempts)
        )
    }

    mutating func succeeded(_ endpoint: HTTPDNSEndpoint) {
        preferred = endpoint
        restingUntil[endpoint] = nil
    }

    mutating func failed(_ endpoint: HTTPDNSEndpoint, at now: MonotonicTime) {
        guard all.contains(endpoint) else { return }
        if preferred == endpoint { preferred = nil }
        restingUntil[endpoint] = now + Self.quarantine
        // A discovery becomes due when every known address fails.
        if all.allSatisfy({ isResting($0, at: now) }) { refreshDueAt = nil }
    }

    /// Whether a discovery is due. If so, the interval until the next discovery begins.
    mutating func beginRefresh(at now: MonotonicTime) -> Bool {
        if let due = refreshDueAt, now < due { return false }
        if let earliest = mayRefreshAt, now < earliest { return false }
        mayRefreshAt = now + Self.shortestInterval
        return true
    }

    /// Stores the result of a discovery.
    /// - Parameter age: The time since that result.
    mutating func learned(_ discovery: ServiceDiscovery, age: Duration = .zero, at now: MonotonicTime) {
        isDisabled = discovery.isDisabled
        if !discovery.endpoints.isEmpty {
            var seen: Set<HTTPDNSEndpoint> = []
            discovered = Array(discovery.endpoints.filter { seen.insert($0).inserted }.prefix(Self.maximumDiscovered))
            let known = Set(all)
            restingUntil = restingUntil.filter { known.contains($0.key) }
        }
        let lifetime = isDisabled ? Self.recheckInterval : discovery.lifetime ?? Self.refreshInterval
        refreshDueAt = now + max(lifetime, Self.shortestInterval) - age
    }

    private var all: [HTTPDNSEndpoint] {
        discovered.isEmpty ? bootstrap : discovered + bootstrap.filter { !discovered.contains($0) }
    }

    private func isResting(_ endpoint: HTTPDNSEndpoint, at now: MonotonicTime) -> Bool {
        restingUntil[endpoint].map { now < $0 } ?? false
    }
}

/// A vendor's description of its own service.
package struct ServiceDiscovery: Hashable, Sendable {
    /// The service's addresses; an empty list changes nothing.
    package var endpoints: [HTTPDNSEndpoint]
    /// Whether the vendor has switched the account off: no query may be sent.
    package var isDisabled: Bool
    /// The life of this description, where the vendor states it.
    package var lifetime: Duration?

    package init(endpoints: [HTTPDNSEndpoint] = [], isDisabled: Bool = false, lifetime: Duration? = nil) {
        self.endpoints = endpoints
        self.isDisabled = isDisabled
        self.lifetime = lifetime
    }
}
