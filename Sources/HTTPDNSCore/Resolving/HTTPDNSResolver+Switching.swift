internal import HTTPDNSPrimitives
internal import Synchronization

/// The resolver's part in a turn of the kill switch: providers' answers about names that go off are wrong, and in use.
extension HTTPDNSResolver {
    /// The number of names that are looked up ahead concurrently: half of the threads of the system resolver. Names that are
    /// asked for meanwhile find threads in the other half.
    private var lookAheadWidth: Int { max(fixed.systemThreads, SystemResolver.maximumThreads) / 2 }

    /// Sends the questions that wait for providers to the system path, and looks up the names in use there ahead of the next
    /// questions. It returns immediately.
    func moveToSystemPath() {
        let settings = live.current
        // A flight has the name at the end of its `via` rules, and the switch decides about the one asked for as well. With
        // such rules each question that waits decides for itself.
        let hasVia = settings.mappings.index.hasVia
        for shard in cache.shards {
            let waiters = shard.state.withLock { state in
                state.flights.waiters { !$0.isBypass && (hasVia || isOff($0.host, by: settings)) }
            }
            for waiter in waiters { waiter.deliver(.switchedOff) }
        }
        let run = lookAheads.add(1, ordering: .relaxed).newValue
        Task.detached { [weak self] in await self?.lookUpAhead(run) }
    }

    /// Whether a question would be passed to the system resolver by the switch as it stands now.
    func isSwitchedOff(_ question: HTTPDNSResolver.Query) -> Bool {
        guard !killSwitch.isFullyOn, case .lookFor(let name)? = try? decide(question, by: live.current) else {
            return false
        }
        return name.bypass == .switchedOff
    }

    private func isOff(_ host: HTTPDNSName, by settings: LiveSettings) -> Bool {
        killSwitch.off(for: host, decidedBy: settings.resolving.routes.entry(for: host)?.route.pattern) != nil
    }

    /// Looks up the names in use that are off, those with the newest answers first. Only a few at a time, and no further ones
    /// once the resolver is shut down or a newer run has begun.
    private func lookUpAhead(_ run: Int) async {
        let settings = live.current
        var names = namesInUse(by: settings).makeIterator()
        /// The next name, if there is to be one: it may have been switched on again.
        func next() -> AnswerKey? {
            while !live.isClosed, lookAheads.load(ordering: .relaxed) == run,
                let name = names.next()
            {
                if isOff(name.host, by: settings) { return name }
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

    /// The names with addresses of providers in the cache, and those that `via` rules lead from to such a name; the newest
    /// answers first.
    private func namesInUse(by settings: LiveSettings) -> [AnswerKey] {
        let now = fixed.timeSource.now()
        let known = cache.answers.filter { answer in
            answer.kind == .addresses && !answer.header.isBypass && (answer.isFresh(at: now) || answer.isStale(at: now))
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
            [key] + (origins[key.host] ?? []).map { AnswerKey($0, families: key.families) }
        }
    }

    private func lookUpAhead(_ name: AnswerKey, by settings: LiveSettings) async {
        let key = AnswerKey(name.host, families: name.families, isBypass: true)
        let inquiry = inquiry(about: key, bypass: .switchedOff, by: settings.resolving)
        let waiter = OneShot<Delivery>()
        let now = fixed.timeSource.now()
        let place = cache.shard(for: key).state.withLock { state -> (seat: AnswerCache.Flights.Seat, starts: Bool)? in
            guard let known = state.known(key, by: settings.resolving, at: now) else { return nil }
            if let answer = known.answer, !answer.isSpent(at: now) { return nil }
            let epoch = settings.resolving.epoch
            guard !state.flights.isOutdated(key, epoch: epoch) else { return nil }
            return state.flights.join(key, waiter, epoch: epoch, at: now, mayStart: flightBudget.take)
        }
        guard let place else { return }
        if place.starts { start(inquiry, place.seat.flight) }
        if live.isClosed { waiter.deliver(.shutDown) }
        // A flight ends by itself within the resolver's limit.
        _ = await waiter.value()
    }
}

/// A name was switched off while a question waited for its providers: the question takes the system path.
struct SwitchedOffMeanwhile: Error {}
