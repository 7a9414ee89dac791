// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNSPrimitives
internal import Synchronization

/// The resolver's reaction to a turn of the kill switch: providers' answers for names that are turned off must no longer be
/// used.
extension HTTPDNSResolver {
    /// The number of names that are looked up in advance concurrently: half of the system resolver's threads.
    ///
    /// The other half stays free for names that are queried meanwhile.
    private var lookAheadWidth: Int { max(fixed.systemThreads, SystemResolver.maximumThreads) / 2 }

    /// Ends the lookups at providers, moves the queries that wait for them to the system resolver, and looks up the names in use
    /// there in advance.
    ///
    /// A lookup ends without waiters too: it would go on to the next provider. It returns immediately.
    func moveToSystemPath() {
        let settings = live.current
        // A lookup has the name at the end of its `via` rules, but the queried name can be off as well. With such rules each
        // waiting query decides for itself.
        let hasVia = settings.mappings.index.hasVia
        for shard in cache.shards {
            let (count, waiters, work) = shard.state.withLock { state in
                var ended = state.lookups.removeAll {
                    !$0.isSystemOnly && switchEntry(for: $0.host, by: settings) != nil
                }
                if hasVia { ended.waiters += state.lookups.waiters { !$0.isSystemOnly } }
                return ended
            }
            lookupBudget.giveBack(count)
            for waiter in waiters { waiter.deliver(.switchedOff) }
            for task in work { task.cancel() }
        }
        let run = lookAheads.add(1, ordering: .relaxed).newValue
        Task.detached { [weak self] in await self?.lookUpAhead(run) }
    }

    /// Returns whether the kill switch, in its present state, would send a query to the system resolver.
    func isSwitchedOff(_ query: HTTPDNSResolver.Query) -> Bool {
        guard !killSwitch.isFullyOn, case .lookFor(let lookup)? = try? decide(query, by: live.current) else {
            return false
        }
        return lookup.systemOnly == .switchedOff
    }

    /// Looks up the names in use that are off, those with the newest answers first.
    ///
    /// It looks up only a few concurrently, and stops once the resolver is shut down or a newer run has begun.
    private func lookUpAhead(_ run: Int) async {
        let settings = live.current
        var names = namesInUse(by: settings).makeIterator()
        /// Returns the next name that is still off; nil at the end.
        func next() -> CacheKey? {
            while !live.isClosed, lookAheads.load(ordering: .relaxed) == run,
                let name = names.next()
            {
                if switchEntry(for: name.host, by: settings) != nil { return name }
            }
            return nil
        }
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<lookAheadWidth {
                guard let name = next() else { break }
                group.addTask { await self.lookUpAhead(name, by: settings) }
            }
            while await group.next() != nil, let name = next() {
                group.addTask { await self.lookUpAhead(name, by: settings) }
            }
        }
    }

    /// Returns the names with cached addresses of providers, and the names that `via` rules lead to them; the newest answers
    /// first.
    private func namesInUse(by settings: LiveSettings) -> [CacheKey] {
        let now = fixed.timeSource.now()
        let known = cache.answers.filter { answer in
            answer.kind == .addresses && !answer.header.isSystemOnly
                && (answer.isFresh(at: now) || answer.isStale(at: now))
        }
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

    private func lookUpAhead(_ name: CacheKey, by settings: LiveSettings) async {
        let key = CacheKey(name.host, families: name.families, isSystemOnly: true)
        let lookup = lookup(about: key, systemOnly: .switchedOff, by: settings.resolving)
        let waiter = OneShot<Delivery>()
        let now = fixed.timeSource.now()
        let place = cache.shard(for: key).state.withLock {
            state -> (entry: AnswerCache.Lookups.WaiterEntry, starts: Bool)? in
            guard let known = state.known(key, by: settings.resolving, at: now) else { return nil }
            if let answer = known.answer, !answer.isSpent(at: now) { return nil }
            let version = settings.resolving.version
            guard !state.lookups.isOutdated(key, version: version) else { return nil }
            return state.lookups.join(key, waiter, version: version, at: now, mayStart: lookupBudget.take)
        }
        guard let place else { return }
        if place.starts { start(lookup, place.entry.lookupID) }
        if live.isClosed { waiter.deliver(.shutDown) }
        // A lookup always ends within the resolver's limit.
        _ = await waiter.value()
    }
}
