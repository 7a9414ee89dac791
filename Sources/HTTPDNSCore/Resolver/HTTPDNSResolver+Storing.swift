// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNSPrimitives
internal import Synchronization

extension HTTPDNSResolver {
    /// The maximum age of answers that the store does not have yet: a crash loses no more than this, and a busy resolver
    /// writes no more often.
    static let saveInterval: Duration = .seconds(30)

    /// The time that a start waits for a store.
    private static let restoreLimit: Duration = .seconds(1)

    /// Restores the answers of the store, and begins to resolve the names of the settings in the background.
    ///
    /// It waits at most a second for the store. It runs once, at the latest with the first query that cannot be answered
    /// without a wait; an earlier call spares that query the wait.
    public func start() async {
        let task = starting.withLock { starting in
            if let starting { return starting }
            let task = Task.detached { [self] in
                if store != nil, !isRestored.load(ordering: .relaxed) {
                    let clock = fixed.timeSource
                    let deadline = clock.now() + HTTPDNSResolver.restoreLimit
                    _ = await LimitedWork.run(until: deadline, on: clock) { await self.restore() }
                }
                isStarted.store(true, ordering: .releasing)
                let names = fixed.preresolve
                guard !names.isEmpty else { return }
                Task.detached { [weak self] in _ = await self?.preresolve(names) }
            }
            starting = task
            return task
        }
        await task.value
    }

    /// Starts the resolver for a query with a time limit.
    func startFirst(limit: Duration?) async {
        let clock = fixed.timeSource
        let end = clock.now() + min(limit ?? HTTPDNSResolver.restoreLimit, HTTPDNSResolver.restoreLimit)
        _ = await LimitedWork.run(until: end, on: clock) { await self.start() }
    }

    /// Restores the answers that the store kept from before a restart.
    ///
    /// Answers keep their age by the calendar. Answers past their stale limit, and those whose route or provider the settings
    /// no longer contain, are left out. A failure of the store causes a log line and an event, nothing more.
    /// - Returns: The number of restored answers.
    @discardableResult
    public func restore() async -> Int {
        guard let store else { return 0 }
        isRestored.store(true, ordering: .relaxed)
        let clearings = clearings.load(ordering: .acquiring)
        let stored: [HTTPDNSStoredResolution]
        do {
            stored = try await store.load()
        } catch {
            tellFailure(of: "loading", error)
            return 0
        }
        // Answers that were cleared while a slow store was read are not restored.
        guard self.clearings.load(ordering: .acquiring) == clearings else { return 0 }
        let now = fixed.timeSource.now()
        let wallNow = fixed.wallClock.now()
        let settings = live.current.resolving
        var count = 0
        // Oldest first, so that the newest are the last to be evicted from a cache that is too small for all.
        for resolution in stored.reversed() {
            guard let (key, answer) = restored(resolution, by: settings, wallNow: wallNow, now: now) else { continue }
            cache.restore(answer, for: key, at: now, epoch: settings.epoch)
            count += 1
        }
        if count > 0 {
            counting.count(.restored, times: count)
            observation.tell(.restored) { $0.count = count }
        }
        return count
    }

    private func restored(
        _ stored: HTTPDNSStoredResolution,
        by settings: ResolvingSettings,
        wallNow: Int64,
        now: MonotonicTime
    ) -> (CacheKey, KnownAnswer)? {
        let configuration = settings.configuration
        guard let entry = settings.routes.entry(for: stored.host), case let route = entry.route,
            route.storedName == stored.route,
            case .providers(let names, _) = route.action, names.contains(stored.provider),
            let provider = configuration.providers.first(where: { $0.name == stored.provider })
        else { return nil }
        let families = route.families ?? configuration.usableFamilies
        guard stored.families == families, stored.clientSubnet != nil || route.clientSubnet == nil else { return nil }
        let addresses = AnswerReading.usable(stored.addresses, families: families)
        guard !addresses.isEmpty else { return nil }
        var origin = settings.origins.provider(provider, route)
        guard
            let life = stored.restored(
                wallNow: wallNow,
                monotonicNow: now,
                staleLimit: origin.staleLimit,
                maximumTimeToLive: configuration.cache.maximumTimeToLive
            )
        else { return nil }
        // The address policy uses the scope that the provider may answer now, or the one at that time: the more public of
        // both.
        if let scope = stored.providerScope, scope < provider.answerScope {
            origin = AnswerOrigin(
                source: .provider,
                provider: provider.name,
                providerScope: scope,
                route: route,
                basis: entry.basis,
                policy: configuration.policy,
                staleLimit: origin.staleLimit
            )
        }
        let subnet = stored.clientSubnet == route.clientSubnet ? nil : stored.clientSubnet
        var answer = KnownAnswer(
            .addresses(addresses),
            origin: origin,
            sentAt: life.sentAt,
            life: life.expiresAt - life.sentAt
        )
        answer.canonicalName = stored.canonicalName
        answer.refreshAt = refreshMoment(of: answer)
        return (CacheKey(stored.host, clientSubnet: subnet), answer)
    }

    /// The time that a shutdown waits for a store.
    static let lastSaveLimit: Duration = .seconds(2)

    /// Saves the cached answers, and abandons a store that takes too long.
    func saveLast() async {
        let clock = fixed.timeSource
        _ = await LimitedWork.run(until: clock.now() + HTTPDNSResolver.lastSaveLimit, on: clock) { await self.save() }
    }

    /// Saves the cached answers. Called at intervals while there is a change, and by ``shutdown()``.
    func save() async {
        guard let store, unsaved.exchange(false, ordering: .relaxed) else { return }
        let now = fixed.timeSource.now()
        let wallNow = fixed.wallClock.now()
        let settings = live.current.resolving
        let stored = cache.answers.compactMap { self.stored($0, by: settings, wallNow: wallNow, now: now) }
        do {
            try await store.save(stored)
            observation.tell(.snapshotSaved) { $0.count = stored.count }
        } catch {
            // Answers that could not be saved are saved with the next answer or at the end.
            unsaved.store(true, ordering: .relaxed)
            isSaveDue.store(false, ordering: .relaxed)
            tellFailure(of: "saving", error)
        }
    }

    /// Providers' answers for the routes' own families are kept. Answers of the system resolver cost nothing to look up
    /// again, and HTTPS records are queried again.
    private func stored(
        _ answer: CachedAnswer,
        by settings: ResolvingSettings,
        wallNow: Int64,
        now: MonotonicTime
    ) -> HTTPDNSStoredResolution? {
        let header = answer.header
        guard header.kind == .addresses, answer.addressCount > 0, header.families == 0, !header.isSystemOnly,
            !header.isAbsolute,
            header.details?.httpsRecords == nil, let origin = header.origin, let provider = origin.provider,
            let route = origin.route, now < header.expiresAt || answer.isStale(at: now), settings.keeps(answer)
        else { return nil }
        let age = (now - header.sentAt).wholeNanoseconds / 1_000_000
        return HTTPDNSStoredResolution(
            host: answer.host,
            families: route.families ?? settings.configuration.usableFamilies,
            route: route.storedName,
            clientSubnet: header.details?.clientSubnet ?? route.clientSubnet,
            addresses: answer.addresses,
            provider: provider,
            providerScope: origin.providerScope,
            canonicalName: header.details?.canonicalName,
            receivedAt: wallNow - age,
            timeToLive: header.expiresAt - header.sentAt
        )
    }

    /// Records that there is a change to save, and schedules a save.
    func noteUnsaved() {
        unsaved.store(true, ordering: .relaxed)
        guard store != nil, !isSaveDue.exchange(true, ordering: .relaxed) else { return }
        let timeSource = fixed.timeSource
        let deadline = timeSource.now() + HTTPDNSResolver.saveInterval
        let task = Task.detached { [weak self] in
            guard (try? await timeSource.sleep(until: deadline)) != nil, let self else { return }
            // From here on a new answer schedules its own save, and a shutdown does not stop this one.
            self.saver.withLock { $0 = nil }
            self.isSaveDue.store(false, ordering: .relaxed)
            await self.save()
        }
        saver.withLock { $0 = task }
    }

    private func tellFailure(of what: String, _ error: any Swift.Error) {
        observation.tell(.storeFailed) { event in
            event.code = (error as? HTTPDNSResolutionStoreError)?.code.description ?? "other"
            event.message = "\(what) failed: \(error)"
        }
    }
}

extension HTTPDNSRoute {
    /// The identification of a route in a store: its pattern and its providers. After a change of these its answers are not
    /// used.
    fileprivate var storedName: String {
        guard case .providers(let names, _) = action else { return pattern.description }
        return "\(pattern) > \(names.joined(separator: ", "))"
    }
}
