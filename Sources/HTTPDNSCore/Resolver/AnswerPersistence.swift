// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNSPrimitives
internal import Synchronization

/// The answers of a resolver in its store, which keeps them across a restart.
///
/// They are read once at the start, and saved at intervals while there is a change.
final class AnswerPersistence: Sendable {
    /// The maximum age of answers that the store does not have yet: a crash loses no more than this, and a busy resolver
    /// writes no more often.
    static let saveInterval: Duration = .seconds(30)
    /// The time that a start waits for a store.
    static let restoreLimit: Duration = .seconds(1)
    /// The time that a shutdown waits for a store.
    static let lastSaveLimit: Duration = .seconds(2)

    private let store: (any HTTPDNSResolutionStore)?
    private let timeSource: any TimeSource
    private let wallClock: WallClock
    private let cache: AnswerCache
    private let live: LiveSettingsBox
    private let observation: ResolverObservation
    private let random: @Sendable (UInt64) -> UInt64
    /// Whether the cache has changes that the store does not have.
    private let unsaved = Atomic(false)
    /// Whether a save is scheduled.
    private let isSaveDue = Atomic(false)
    /// The number of times that the whole cache was cleared.
    private let clearings = Atomic(0)
    /// The task of the next save, while it sleeps.
    private let saver = Lock<Task<Void, Never>?>(nil)
    private let started: Atomic<Bool>
    /// Whether the store was read.
    private let isRestored = Atomic(false)
    /// The task of the start, once it has begun.
    private let starting = Lock<Task<Void, Never>?>(nil)

    init(
        _ configuration: HTTPDNSResolver.Configuration,
        of cache: AnswerCache,
        by live: LiveSettingsBox,
        _ observation: ResolverObservation,
        random: @escaping @Sendable (UInt64) -> UInt64
    ) {
        store =
            configuration.store
            ?? configuration.snapshotPath.map { HTTPDNSDiskStore(path: $0, wallClock: configuration.wallClock) }
        timeSource = configuration.timeSource
        wallClock = configuration.wallClock
        started = Atomic(store == nil && configuration.preresolve.isEmpty)
        self.cache = cache
        self.live = live
        self.observation = observation
        self.random = random
    }

    /// Whether the work at the start is done.
    var isStarted: Bool { started.load(ordering: .acquiring) }

    /// Restores the answers of the store, within ``restoreLimit``. It does so once; later calls wait for the first.
    /// - Parameter next: Called once, after that.
    func start(_ next: @escaping @Sendable () -> Void) async {
        let task = starting.withLock { starting in
            if let starting { return starting }
            let task = Task.detached { [self] in
                if store != nil, !isRestored.load(ordering: .relaxed) {
                    let deadline = timeSource.now() + AnswerPersistence.restoreLimit
                    _ = await LimitedWork.run(until: deadline, on: timeSource) { await self.restore() }
                }
                started.store(true, ordering: .releasing)
                next()
            }
            starting = task
            return task
        }
        await task.value
    }

    /// Restores the answers that the store kept from before a restart.
    /// - Returns: The number of restored answers.
    func restore() async -> Int {
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
        let now = timeSource.now()
        let wallNow = wallClock.now()
        let settings = live.current.resolving
        var count = 0
        // Oldest first, so that the newest are the last to be evicted from a cache that is too small for all.
        for resolution in stored.reversed() {
            guard let (key, answer) = restored(resolution, by: settings, wallNow: wallNow, now: now) else { continue }
            cache.restore(answer, for: key, at: now, version: settings.version)
            count += 1
        }
        if count > 0 {
            observation.counting.count(.restored, times: count)
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
        answer.details.canonicalName = stored.canonicalName
        answer.refreshAt = Lifetimes.refreshMoment(of: answer, chance: Lifetimes.chance(random))
        return settings.adopt(answer, for: key).map { (key, $0) }
    }

    /// Records that the whole cache is cleared.
    func noteClearing() { clearings.add(1, ordering: .releasing) }

    /// Saves the cached answers for the last time, and abandons a store that takes too long.
    func end() async {
        saver.withLock { $0 }?.cancel()
        let deadline = timeSource.now() + AnswerPersistence.lastSaveLimit
        _ = await LimitedWork.run(until: deadline, on: timeSource) { await self.save() }
    }

    private func save() async {
        guard let store, unsaved.exchange(false, ordering: .relaxed) else { return }
        let now = timeSource.now()
        let wallNow = wallClock.now()
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
        guard answer.mayServe(at: now), answer.addressCount > 0, header.families == 0, !header.isSystemOnly,
            !header.isAbsolute,
            header.details?.fields.httpsRecords == nil, let origin = header.origin, let provider = origin.provider,
            let service = origin.terms.service
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
            canonicalName: header.details?.fields.canonicalName,
            receivedAt: wallNow - age,
            timeToLive: header.expiresAt - header.sentAt
        )
    }

    /// Records that there is a change to save, and schedules a save.
    func noteUnsaved() {
        unsaved.store(true, ordering: .relaxed)
        guard store != nil, !isSaveDue.exchange(true, ordering: .relaxed) else { return }
        let deadline = timeSource.now() + AnswerPersistence.saveInterval
        let task = Task.detached { [weak self, timeSource] in
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
