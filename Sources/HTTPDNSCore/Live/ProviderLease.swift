internal import HTTPDNSPrimitives
internal import Synchronization

/// A provider as long as somebody may ask it: each team that it is in holds one and the same lease. When the settings have it
/// no more, and the last flight by settings that had it is over, the lease goes, and the provider is shut down.
final class ProviderLease: Sendable {
    let provider: any HTTPDNSProvider
    private let isRetired = Atomic(false)

    init(_ provider: any HTTPDNSProvider) { self.provider = provider }

    /// Notes that the settings have it no more.
    func retire() { isRetired.store(true, ordering: .releasing) }

    deinit {
        guard isRetired.load(ordering: .acquiring) else { return }
        let provider = provider
        Task.detached { await provider.shutdown() }
    }
}

/// The leases and teams that reloads took out of use, as far as they are still alive: a shutdown ends them as well.
final class RetiredProviders: Sendable {
    private struct Retired: Sendable {
        weak let team: ProviderTeam?
        weak let lease: ProviderLease?
    }

    private let retired = Lock<[Retired]>([])

    func add(team: ProviderTeam?, leases: [ProviderLease]) {
        let new = leases.map { Retired(team: nil, lease: $0) } + (team.map { [Retired(team: $0, lease: nil)] } ?? [])
        retired.withLock { retired in
            retired.removeAll { $0.team == nil && $0.lease == nil }
            retired += new
        }
    }

    /// How many are left.
    var count: Int { retired.withLock { $0.count { $0.team != nil || $0.lease != nil } } }

    var teams: [ProviderTeam] { retired.withLock { $0.compactMap(\.team) } }
    var providers: [any HTTPDNSProvider] { retired.withLock { $0.compactMap { $0.lease?.provider } } }
}
