// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNSPrimitives
internal import Synchronization

/// A resolver's use of a provider: all provider pools with the provider share one lease.
///
/// When the settings no longer contain the provider, and the last lookup under settings with it has ended, the lease is
/// released. The last user in the process shuts the provider down (``ProviderUsers``).
final class ProviderLease: Sendable {
    let provider: any HTTPDNSProvider
    let identity: ProviderIdentity
    /// Whether the provider was shut down before.
    let isRefused: Bool
    private let isRetired = Atomic(false)
    private let isReleased: Atomic<Bool>

    init(_ provider: any HTTPDNSProvider) {
        self.provider = provider
        let use = ProviderUsers.shared.begin(provider)
        isRefused = use.isShutDown
        isReleased = Atomic(use.isShutDown)
        identity = ProviderIdentity(of: provider, number: use.number)
    }

    /// Records that the settings no longer contain the provider.
    func retire() { isRetired.store(true, ordering: .releasing) }

    /// Ends the use, and shuts the provider down if it has no other user. Idempotent.
    func end() async {
        release()
        await ProviderUsers.shared.shutDown(provider)
    }

    private func release() {
        if !isReleased.exchange(true, ordering: .acquiringAndReleasing) { ProviderUsers.shared.end(provider) }
    }

    deinit {
        // A lease that was ended has shut the provider down.
        guard !isReleased.load(ordering: .acquiring) else { return }
        release()
        guard isRetired.load(ordering: .acquiring) else { return }
        let provider = provider
        Task.detached { await ProviderUsers.shared.shutDown(provider) }
    }
}

/// The users of the provider objects of this process: settings are values, and several resolvers may have the same provider.
///
/// A provider of a value type has no identity: each of its leases counts as its only user.
package final class ProviderUsers: Sendable {
    private typealias Object = any HTTPDNSProvider & AnyObject

    private struct Entry: Sendable {
        weak var object: Object?
        let number: UInt64
        var users = 0
        var isShutDown = false
    }

    private struct State: Sendable {
        var entries: [ObjectIdentifier: Entry] = [:]
        var lastNumber: UInt64 = 0
    }

    package static let shared = ProviderUsers()

    private let state = Lock(State())

    /// Counts a user of a provider, unless the provider is shut down.
    /// - Returns: The number of the object, which no other provider of the process has.
    func begin(_ provider: any HTTPDNSProvider) -> (number: UInt64, isShutDown: Bool) {
        change(provider) { entry in
            if !entry.isShutDown { entry.users += 1 }
            return (entry.number, entry.isShutDown)
        }
    }

    /// Counts a user less.
    func end(_ provider: any HTTPDNSProvider) {
        change(provider) { $0.users = max($0.users - 1, 0) }
    }

    /// Returns whether a provider was shut down.
    package func isShutDown(_ provider: any HTTPDNSProvider) -> Bool {
        change(provider) { $0.isShutDown }
    }

    /// Shuts a provider down, unless it has a user.
    package func shutDown(_ provider: any HTTPDNSProvider) async {
        let isUnused = change(provider) { entry in
            if entry.users == 0 { entry.isShutDown = true }
            return entry.users == 0
        }
        if isUnused { await provider.shutdown() }
    }

    /// Records that a provider does not accept queries any more, or that it still does after a shutdown.
    package func note(isShutDown: Bool, _ provider: any HTTPDNSProvider) {
        change(provider) { $0.isShutDown = isShutDown }
    }

    /// Changes the entry of a provider; that of a value is not kept.
    private func change<Value: Sendable>(_ provider: any HTTPDNSProvider, _ body: (inout Entry) -> Value) -> Value {
        guard type(of: provider) is AnyClass, let object = provider as? Object else {
            return state.withLock { state in
                state.lastNumber += 1
                var entry = Entry(number: state.lastNumber)
                return body(&entry)
            }
        }
        // References to other providers, of which one may be the last, are released after the lock.
        let (value, _): (Value, [Object]) = state.withLock { state in
            let key = ObjectIdentifier(object)
            var others: [Object] = []
            if state.entries[key]?.object !== object {
                state.lastNumber += 1
                others = state.entries.values.compactMap(\.object)
                let living = Set(others.map { ObjectIdentifier($0) })
                state.entries = state.entries.filter { living.contains($0.key) }
                state.entries[key] = Entry(object: object, number: state.lastNumber)
            }
            var entry = state.entries[key] ?? Entry(object: object, number: state.lastNumber)
            let value = body(&entry)
            state.entries[key] = entry
            return (value, others)
        }
        return value
    }
}

/// The identity that makes the answers of two providers comparable: both query the same service, for the same account and region.
///
/// It tells nothing about secrets, and nothing about how the service is reached: bootstrap addresses, authorities, limits. A
/// provider outside of this library is its own service: the object in this process, its name and type across processes.
struct ProviderIdentity: Hashable, Sendable {
    /// A digest of the service, the same in each process.
    let digest: String
    /// The number of the object, for a provider outside of this library; 0 for others.
    let object: UInt64

    init(of provider: any HTTPDNSProvider, number: UInt64) {
        let known = provider as? any IdentifiedProvider
        let texts = known?.serviceTexts ?? [provider.name, String(reflecting: type(of: provider))]
        // The length of each text makes their borders unique.
        let whole = ([provider.kind] + texts).map { "\($0.utf8.count):\($0)" }.joined()
        digest = "sha256:" + SHA256Hash.hexadecimal(of: whole).prefix(32)
        object = known == nil ? number : 0
    }
}

/// A provider of this library.
package protocol IdentifiedProvider: HTTPDNSProvider {
    /// The service that answers: URL, account, region, and parameters that answers depend on.
    var serviceTexts: [String] { get }
}

/// The leases and provider pools that reloads took out of use and that are still alive. A shutdown ends them as well.
final class RetiredProviders: Sendable {
    private struct Retired: Sendable {
        weak let pool: ProviderPool?
        weak let lease: ProviderLease?
    }

    private let retired = Lock<[Retired]>([])

    func add(pool: ProviderPool?, leases: [ProviderLease]) {
        let new = leases.map { Retired(pool: nil, lease: $0) } + (pool.map { [Retired(pool: $0, lease: nil)] } ?? [])
        // A reference that is read may be the last one by then: it is released after the lock.
        let living = retired.withLock { retired in
            let living = retired.map { ($0.pool, $0.lease) }
            retired = zip(retired, living).filter { $1.0 != nil || $1.1 != nil }.map(\.0) + new
            return living
        }
        withExtendedLifetime(living) {}
    }

    /// The number that is left.
    var count: Int { pools.count + leases.count }

    var pools: [ProviderPool] { retired.withLock { $0.compactMap(\.pool) } }
    var leases: [ProviderLease] { retired.withLock { $0.compactMap(\.lease) } }
}

/// The kind and scope of providers by name, including those that were replaced. It keeps no provider alive.
package final class ProviderDirectory: Sendable {
    private let known = Lock<[String: (kind: String, scope: HTTPDNSAddressPolicy.Scope)]>([:])

    init() {}

    func add(_ providers: [any HTTPDNSProvider]) {
        let new = providers.map { ($0.name, ($0.kind, $0.answerScope)) }
        known.withLock { $0.merge(new) { _, newer in newer } }
    }

    /// Returns the most private scope that a provider may answer.
    package func scope(of name: String) -> HTTPDNSAddressPolicy.Scope? { known.withLock { $0[name]?.scope } }

    /// Returns the kind of the provider with a name: `doh`, `json`; nil for one that never existed.
    package func kind(of name: String) -> String? { known.withLock { $0[name]?.kind } }
}
