internal import HTTPDNSPrimitives
internal import Synchronization

/// A reference that keeps a provider running: all provider pools with the provider share one lease.
///
/// When the settings no longer contain the provider, and the last lookup under settings with it has ended, the lease is
/// released and shuts the provider down.
final class ProviderLease: Sendable {
    let provider: any HTTPDNSProvider
    private let isRetired = Atomic(false)

    init(_ provider: any HTTPDNSProvider) { self.provider = provider }

    /// Records that the settings no longer contain the provider.
    func retire() { isRetired.store(true, ordering: .releasing) }

    deinit {
        guard isRetired.load(ordering: .acquiring) else { return }
        let provider = provider
        Task.detached { await provider.shutdown() }
    }
}

/// The leases and provider pools that reloads took out of use and that are still alive. A shutdown ends them as well.
final class RetiredProviders: Sendable {
    private struct Retired: Sendable {
        weak let team: ProviderPool?
        weak let lease: ProviderLease?
    }

    private let retired = Lock<[Retired]>([])

    func add(team: ProviderPool?, leases: [ProviderLease]) {
        let new = leases.map { Retired(team: nil, lease: $0) } + (team.map { [Retired(team: $0, lease: nil)] } ?? [])
        retired.withLock { retired in
            retired.removeAll { $0.team == nil && $0.lease == nil }
            retired += new
        }
    }

    /// The number that is left.
    var count: Int { retired.withLock { $0.count { $0.team != nil || $0.lease != nil } } }

    var teams: [ProviderPool] { retired.withLock { $0.compactMap(\.team) } }
    var providers: [any HTTPDNSProvider] { retired.withLock { $0.compactMap { $0.lease?.provider } } }
}
