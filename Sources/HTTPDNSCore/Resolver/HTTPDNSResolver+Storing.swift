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
    /// Answers keep their age by the calendar. Answers past their stale limit are left out, and those of a service that no
    /// provider of the name's route queries any more. A failure of the store causes a log line and an event, nothing more.
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
            cache.restore(answer, for: key, at: now, version: settings.version)
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
        guard let route = settings.routes.entry(for: stored.host)?.route,
            stored.clientSubnet != nil || route.clientSubnet == nil
        else { return nil }
        let names = route.providerNames
        // The provider of that name first: several may query one service.
        let leases = (names.filter { $0 == stored.provider } + names).compactMap { name in
            settings.leases.first { $0.provider.name == name }
        }
        let known = leases.first { $0.identity.digest == stored.route }
        // Earlier versions did not store the service. It may be another one by now, so the answer is only better than none.
        let isFormer = stored.route == route.formerStoredName
        guard let lease = known ?? (isFormer ? leases.first { $0.provider.name == stored.provider } : nil) else {
            return nil
        }
        let addresses = HTTPDNSProviderAnswer.usable(stored.addresses, families: stored.families)
        guard !addresses.isEmpty else { return nil }
        let origin = settings.origins.provider(lease.provider, route)
        guard
            let life = stored.restored(
                wallNow: wallNow,
                monotonicNow: now,
                staleLimit: origin.staleLimit,
                maximumTimeToLive: known == nil ? .zero : configuration.cache.maximumTimeToLive
            )
        else { return nil }
        // As it was received: families, scope and policy of these settings apply to it as after a reload.
        var terms = origin.terms
        terms.families = stored.families
        terms.scope = stored.providerScope ?? terms.scope
        let subnet = stored.clientSubnet == route.clientSubnet ? nil : stored.clientSubnet
        let key = CacheKey(stored.host, clientSubnet: subnet)
        var answer = KnownAnswer(
            .addresses(addresses),
            origin: terms == origin.terms ? origin : settings.origins.with(terms),
            sentAt: life.sentAt,
            life: life.expiresAt - life.sentAt
        )
        answer.canonicalName = stored.canonicalName
        answer.refreshAt = refreshMoment(of: answer)
        return settings.adopt(answer, for: key).map { (key, $0) }
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
        guard let answer = settings.adopt(answer) else { return nil }
        let header = answer.header
        guard header.kind == .addresses, answer.addressCount > 0, header.families == 0, !header.isSystemOnly,
            !header.isAbsolute,
            header.details?.httpsRecords == nil, let origin = header.origin, let provider = origin.provider,
            let service = origin.terms.service, now < header.expiresAt || answer.isStale(at: now)
        else { return nil }
        let age = (now - header.sentAt).wholeNanoseconds / 1_000_000
        return HTTPDNSStoredResolution(
            host: answer.host,
            families: origin.terms.families,
            route: service.digest,
            clientSubnet: header.details?.clientSubnet ?? origin.route?.clientSubnet,
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
    /// The identification of a route in the stores of earlier versions: its pattern and its providers.
    fileprivate var formerStoredName: String { "\(pattern) > \(providerNames.joined(separator: ", "))" }
}
