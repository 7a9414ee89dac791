// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNSPrimitives

extension HTTPDNSResolver {
    /// Resolves names in advance, with as few queries as their providers allow.
    ///
    /// Cached names cost nothing. Names that are being looked up at the same moment share that lookup.
    /// - Returns: The names that could not be resolved, with the reason; empty when all could.
    @discardableResult
    public func preresolve(_ hosts: [HTTPDNSName]) async -> [HTTPDNSName: HTTPDNSResolver.Error] {
        let settings = live.current
        var batches: [Batch.Key: Batch] = [:]
        for host in Set(hosts).sorted() {
            guard
                case .lookFor(let found)? = try? decide(
                    HTTPDNSResolver.Query(.name(host), port: ServiceRoute.port),
                    by: settings
                )
            else { continue }
            let lookup = found.upstream
            guard lookup.systemOnlyReason == nil, let route = lookup.route, !route.usesHTTPSRecords,
                case .providers(let names, _) = route.action, !names.isEmpty,
                // While the providers are unreliable, the fallback is queried name by name.
                !lookup.hasFallback || lookup.settings.pool.reliance(on: names) != .none
            else { continue }
            let key = Batch.Key(
                pattern: route.pattern,
                addressRules: lookup.screen.routes.map { $0?.pattern },
                families: lookup.queried
            )
            batches[key, default: Batch(route: route, names: names)].lookups.append(lookup)
        }
        await withTaskGroup(of: Void.self) { group in
            for batch in batches.values where batch.lookups.count > 1 {
                group.addTask { await self.ask(batch) }
            }
        }
        return await withTaskGroup(of: (HTTPDNSName, HTTPDNSResolver.Error?).self) { group in
            for host in Set(hosts) {
                group.addTask { (host, await self.failure(of: host)) }
            }
            var failures: [HTTPDNSName: HTTPDNSResolver.Error] = [:]
            for await (host, failure) in group { failures[host] = failure }
            return failures
        }
    }

    /// Names of one route that are queried together.
    private struct Batch: Sendable {
        struct Key: Hashable {
            var pattern: HTTPDNSRoute.Pattern
            /// The routes by which ``AnswerScreen`` judges the answers.
            var addressRules: [HTTPDNSRoute.Pattern?]
            var families: HTTPDNSAddress.Families
        }

        var route: HTTPDNSRoute
        var names: [String]
        var lookups: [UpstreamLookup] = []
    }

    /// Returns the error of resolving a name; nil for a success. After the batches it finds most answers in the cache.
    private func failure(of host: HTTPDNSName) async -> HTTPDNSResolver.Error? {
        do {
            _ = try await resolve(HTTPDNSResolver.Query(.name(host), port: ServiceRoute.port))
            return nil
        } catch let error as HTTPDNSResolver.Error {
            return error
        } catch {
            return HTTPDNSResolver.Error(
                code: .timedOut,
                host: host.description,
                message: "\(host) was not resolved: \(error)"
            )
        }
    }

    private func ask(_ batch: Batch) async {
        let now = fixed.timeSource.now()
        var lookups: [HTTPDNSName: (lookup: UpstreamLookup, lookupID: AnswerCache.Lookups.LookupID)] = [:]
        for lookup in batch.lookups {
            let lookupID = cache.shard(for: lookup.key).state.withLock { state -> AnswerCache.Lookups.LookupID? in
                guard let known = state.known(lookup.key, by: lookup.settings, at: now) else { return nil }
                if let answer = known.answer, !answer.isSpent(at: now) { return nil }
                let version = lookup.settings.version
                return state.lookups.open(
                    lookup.key,
                    version: version,
                    inBatch: true,
                    at: now,
                    mayStart: lookupBudget.take
                )
            }
            if let lookupID, !lookup.endIfSwitchedOff(lookupID) { lookups[lookup.host] = (lookup, lookupID) }
        }
        guard let any = lookups.values.first else { return }
        let settings = any.lookup.settings
        let limit = settings.configuration.timeLimit
        let deadline = now + limit
        // As for a single name, the system resolver gets its share of the time after the providers.
        let share = any.lookup.hasFallback ? any.lookup.systemShare(beside: batch.names) : .zero
        var poolAttempt = any.lookup.poolAttempt(batch.route, batch.names, until: deadline - share)
        let (opened, start) = (lookups, OneShot<Void>())
        // The kill switch ends lookups of names whose batch waits for its place.
        poolAttempt.isWanted = { [cache] host in
            guard let (lookup, lookupID) = opened[host] else { return false }
            return cache.shard(for: lookup.key).state.withLock { $0.lookups.contains(lookupID) }
        }
        // A task of its own, which the switch cancels with the last of the lookups.
        let task = CallWork.detached { [self, poolAttempt] in
            await start.value()
            await settings.pool.ask(poolAttempt, batch: Array(opened.keys)) { [self] host, answer in
                guard let (lookup, lookupID) = opened[host] else { return }
                if let answer, !answer.isUnconfirmed {
                    lookup.complete(.success(lookup.known(answer)), lookupID, isRefresh: false)
                } else {
                    leaveBatch(lookup, lookupID, until: deadline, denial: answer)
                }
            }
        }
        let sharers = LookupTask.Sharers(opened.count)
        let work = LookupTask(task: task, hurry: OneShot<Void>(), demand: nil, sharers: sharers)
        for (lookup, lookupID) in opened.values {
            cache.shard(for: lookup.key).state.withLock { $0.lookups.attach(work, to: lookupID) }?.cancel()
        }
        start.deliver(())
        await withTaskCancellationHandler {
            await task.value
        } onCancel: {
            task.cancel()
        }
    }

    /// Gives a lookup a query of its own, since its batch brought no final answer, unless one was started before. A lookup that
    /// nobody waits for ends when the call is canceled.
    private func leaveBatch(
        _ lookup: UpstreamLookup,
        _ lookupID: AnswerCache.Lookups.LookupID,
        until deadline: MonotonicTime,
        denial: ProviderPool.Answer?
    ) {
        let isWanted = !Task.isCancelled
        let (begins, ends) = cache.shard(for: lookup.key).state.withLock { state -> (Bool, Bool) in
            if state.lookups.isBegun(lookupID) { return (false, false) }
            if isWanted || state.lookups.hasWaiters(lookupID) { return (state.lookups.begin(lookupID), false) }
            return (false, state.lookups.complete(lookupID) != nil)
        }
        if begins { lookup.start(lookupID, until: deadline, denial: denial) }
        if ends { lookupBudget.giveBack(1) }
    }

    /// Refreshes cached answers in the background.
    ///
    /// No answer is removed: the cached one is served meanwhile, and also when the refresh fails. Names with a lookup in
    /// flight, or whose providers are in back-off, are skipped.
    /// - Parameters:
    ///   - hosts: Only these names; nil means all.
    ///   - limit: The maximum number of lookups.
    /// - Returns: The number of lookups, and whether there would have been more.
    package func refresh(_ hosts: [HTTPDNSName]?, limit: Int) -> (asked: Int, isTruncated: Bool) {
        let wanted = hosts.map(Set.init)
        let settings = live.current.resolving
        var asked = 0
        for shard in cache.shards {
            for answer in shard.state.withLock({ $0.table.answers }) {
                let key = answer.key
                guard wanted?.contains(key.host) ?? true else { continue }
                guard asked < limit else { return (asked, true) }
                let systemOnly: SystemOnlyReason? = key.isSystemOnly ? .request : nil
                if lookup(about: key, systemOnly: systemOnly, by: settings).refresh() { asked += 1 }
            }
        }
        return (asked, false)
    }
}
