// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNSPrimitives
internal import Synchronization

/// The answer of one side of a comparison for a name.
enum ShadowWord: Hashable, Sendable {
    case addresses(Set<HTTPDNSAddress>)
    /// The name does not exist, or has no address.
    case nothing
    case failed

    /// Returns the same answer without the addresses of other families.
    func limited(to families: HTTPDNSAddress.Families) -> ShadowWord {
        guard case .addresses(let addresses) = self else { return self }
        let left = addresses.filter { families.contains($0.family) }
        return left.isEmpty ? .nothing : .addresses(left)
    }

    /// Returns the result of a comparison.
    ///
    /// Answers with one address in common agree: large services draw new addresses for each query.
    static func verdict(system: ShadowWord, providers: ShadowWord) -> OccurrenceCount {
        switch (system, providers) {
        case (_, .failed): .shadowFailed
        case (.addresses(let left), .addresses(let right)):
            left.isDisjoint(with: right) ? .shadowDiffered : .shadowAgreed
        case (.nothing, .nothing): .shadowAgreed
        // Also when the system resolver failed: the request fails now, and would not with the providers' answer.
        default: .shadowDiffered
        }
    }
}

/// The comparisons of providers' answers with the system's: those that wait for the providers, and the reported differences.
///
/// However many requests there are for a name, one task waits for its providers. Each answer of the system is kept with a
/// count.
final class ShadowComparisons: Sendable {
    private struct Difference: Hashable {
        var host: HTTPDNSName
        var system: ShadowWord
        var providers: ShadowWord
    }

    private struct State: Sendable {
        var waiting: [CacheKey: [ShadowWord: Int]] = [:]
        var told: Set<Difference> = []
    }

    /// The maximum number of differences that are remembered as reported.
    private static let maximumTold = 1024

    private let observation: ResolverObservation
    private let state = Lock(State())

    init(_ observation: ResolverObservation) { self.observation = observation }

    /// The number of names that wait for their providers.
    var waitingCount: Int { state.withLock { $0.waiting.count } }

    /// Adds an answer of the system that waits for the providers.
    /// - Returns: Whether it is the first for the key: then the caller must call ``finish(_:_:)``.
    func wait(_ key: CacheKey, _ system: ShadowWord) -> Bool {
        state.withLock { state in
            let isFirst = state.waiting[key] == nil
            state.waiting[key, default: [:]][system, default: 0] += 1
            return isFirst
        }
    }

    /// Counts all comparisons that wait for the providers' answer for a key.
    func finish(_ key: CacheKey, _ providers: ShadowWord) {
        let waiting = state.withLock { $0.waiting.removeValue(forKey: key) } ?? [:]
        for (system, times) in waiting { count(key.host, system: system, providers: providers, times: times) }
    }

    /// Counts a comparison.
    func count(_ host: HTTPDNSName, system: ShadowWord, providers: ShadowWord, times: Int = 1) {
        let verdict = ShadowWord.verdict(system: system, providers: providers)
        observation.counting.count(verdict, times: times)
        guard verdict == .shadowDiffered, observation.wants(.shadowDiffered) else { return }
        let difference = Difference(host: host, system: system, providers: providers)
        let isNew = state.withLock { state in
            if state.told.count >= ShadowComparisons.maximumTold { state.told = [] }
            return state.told.insert(difference).inserted
        }
        guard isNew else { return }
        observation.tell(.shadowDiffered) { event in
            event.host = host
            event.addresses = providers.sorted
            event.previousAddresses = system.sorted
            event.message = "the system resolver \(system.text), the providers \(providers.text)"
        }
    }
}

extension ShadowWord {
    fileprivate var sorted: [HTTPDNSAddress] {
        guard case .addresses(let addresses) = self else { return [] }
        return addresses.sorted { $0.description < $1.description }
    }

    fileprivate var text: String {
        switch self {
        case .addresses(let addresses): addresses.count == 1 ? "has one address" : "have \(addresses.count) addresses"
        case .nothing: "know none"
        case .failed: "failed"
        }
    }
}

extension CacheLookup {
    /// Compares the providers' answer for a name with the system resolver's, once.
    ///
    /// No request waits for the comparison, and the providers' addresses are not used for anything else. A name that was
    /// switched off meanwhile is not compared.
    func compare(withSystem word: @autoclosure () -> ShadowWord) {
        guard let key = shadow else { return }
        let hosts = [host, key.host]
        guard mayCompare(hosts) else { return }
        var lookup = resolver.lookup(about: key, systemOnly: nil, by: settings.resolving)
        guard case .providers(let names, _) = lookup.route?.action, !names.isEmpty else { return }
        // Families that providers are not queried for are not compared.
        let system = word().limited(to: lookup.queried)
        // The system resolver's answer is already known.
        lookup.route?.action = .providers(names, fallback: .off)
        let now = resolver.fixed.timeSource.coarseNow()
        let known = resolver.cache.shard(for: key).state.withLock { $0.known(key, by: settings.resolving, at: now) }
        switch known?.answer?.find(at: now) ?? .nothing {
        case .fresh(let answer):
            if answer.wantsRefresh(at: now), settings.resolving.configuration.cache.refreshesAhead {
                lookup.refresh(answer, at: now)
            }
            resolver.shadows.count(key.host, system: system, providers: lookup.word(of: answer))
        case .backingOff, .stale(_, mayAsk: false):
            resolver.shadows.count(key.host, system: system, providers: .failed)
        case .stale(_, mayAsk: true), .nothing:
            guard resolver.shadows.wait(key, system) else { return }
            let asked = lookup
            // A detached task, because it is no part of the request: it has neither its priority nor its end.
            Task.detached {
                resolver.shadows.finish(key, mayCompare(hosts) ? await asked.providersWord() : .failed)
            }
        }
    }

    /// Returns whether the kill switch, in its present state, allows queries about all of these names.
    private func mayCompare(_ hosts: [HTTPDNSName]) -> Bool {
        hosts.allSatisfy { resolver.switchEntry(for: $0) == nil }
    }
}

extension UpstreamLookup {
    /// Returns the answer of the route's providers, through cache and lookups as for a request.
    fileprivate func providersWord() async -> ShadowWord {
        guard mayAsk, let answer = await answer(unless: { $0.isFresh(at: $1) }) else { return .failed }
        return word(of: answer)
    }

    /// Returns the usable addresses of an answer. An answer without usable addresses counts as one without addresses.
    fileprivate func word(of answer: CachedAnswer) -> ShadowWord {
        guard let origin = answer.origin, origin.source == .provider else { return .failed }
        guard answer.kind == .addresses else { return .nothing }
        let screen = screen
        let addresses = answer.endpoints(port: ServiceRoute.port).map(\.address).filter {
            screen.reason(of: $0, from: origin.terms.addressSource) == nil
        }
        return addresses.isEmpty ? .failed : .addresses(Set(addresses))
    }
}
