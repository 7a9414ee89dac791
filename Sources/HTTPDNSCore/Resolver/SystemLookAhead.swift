// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNSPrimitives
internal import Synchronization

/// A run that looks up names in use in advance on the system path, after the kill switch has turned names off.
struct SystemLookAhead: Sendable {
    let resolver: HTTPDNSResolver
    let settings: LiveSettings
    /// The number of the run. The newest one ends the earlier ones.
    let number: Int

    /// The number of names that are looked up concurrently: half of the system resolver's threads.
    ///
    /// The other half stays free for names that are queried meanwhile.
    private var width: Int { max(resolver.fixed.systemThreads, SystemResolver.maximumThreads) / 2 }

    /// Looks up the names in use that are off, those with the newest answers first.
    ///
    /// It looks up only a few concurrently, and stops once the resolver is shut down or a newer run has begun.
    func run() async {
        var names = namesInUse.makeIterator()
        /// Returns the next name that is still off; nil at the end.
        func next() -> CacheKey? {
            while !resolver.live.isClosed, resolver.lookAheads.load(ordering: .relaxed) == number,
                let name = names.next()
            {
                if resolver.switchEntry(for: name.host, by: settings) != nil { return name }
            }
            return nil
        }
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<width {
                guard let name = next() else { break }
                group.addTask { await lookUp(name) }
            }
            while await group.next() != nil, let name = next() {
                group.addTask { await lookUp(name) }
            }
        }
    }

    /// Returns the names with cached addresses of providers, and the names that `via` rules lead to them; the newest answers
    /// first.
    private var namesInUse: [CacheKey] {
        let now = resolver.fixed.timeSource.now()
        let known = resolver.cache.answers.filter { !$0.header.isSystemOnly && $0.mayServe(at: now) }
        let keys = known.sorted { $0.sentAt > $1.sentAt }.map(\.key)
        let index = settings.mappings.index
        guard index.hasVia else { return keys }
        var origins: [HTTPDNSName: [HTTPDNSName]] = [:]
        for case .exact(let host) in index.viaKeys.map(\.pattern) {
            for port in index.ports(for: host).union([ServiceRoute.port]) {
                let target = ViaChain(from: host, port: port, in: index).target
                if origins[target]?.contains(host) != true { origins[target, default: []].append(host) }
            }
        }
        return keys.flatMap { key in
            [key] + (origins[key.host] ?? []).map { CacheKey($0, families: key.families) }
        }
    }

    private func lookUp(_ name: CacheKey) async {
        let key = CacheKey(name.host, families: name.families, isSystemOnly: true)
        let lookup = resolver.lookup(about: key, systemOnly: .switchedOff, by: settings.resolving)
        _ = await lookup.answer { known, now in !known.isSpent(at: now) }
    }
}
