internal import HTTPDNSPrimitives
internal import Synchronization

/// What a turn of the kill switch does besides: names that go off are wrong at the providers, and in use.
extension Resolver {
    /// How many names are looked up ahead concurrently: as many as the system path has threads when lookups wait.
    private static let lookAheadWidth = SystemResolver.maximumThreads

    /// Sends the questions that wait for providers to the system path, and looks up the names in use there ahead of the next
    /// questions. It returns immediately.
    func moveToSystemPath() {
        let settings = live.current
        for shard in cache.shards {
            let waiters = shard.state.withLock { state in
                state.flights.waiters { !$0.isBypass && isOff($0.host, by: settings) }
            }
            for waiter in waiters { waiter.deliver(.switchedOff) }
        }
        Task.detached { [weak self] in await self?.lookUpAhead() }
    }

    /// Whether a question would be passed to the system resolver by the switch as it stands now.
    func isSwitchedOff(_ question: ResolutionQuestion) -> Bool {
        guard !killSwitch.isFullyOn, case .lookFor(let name)? = try? decide(question, by: live.current) else {
            return false
        }
        return name.bypass == .switchedOff
    }

    private func isOff(_ host: HostName, by settings: LiveSettings) -> Bool {
        killSwitch.off(for: host, decidedBy: settings.resolving.routes.entry(for: host)?.route.pattern) != nil
    }

    /// Looks up names with addresses in the cache that are off, those with the newest answers first. Only a few at a time:
    /// names that are asked for meanwhile do not stand behind all of these.
    private func lookUpAhead() async {
        let settings = live.current
        let now = fixed.timeSource.now()
        let known = cache.answers.filter { answer in
            answer.kind == .addresses && !answer.header.isBypass && (answer.isFresh(at: now) || answer.isStale(at: now))
                && isOff(answer.host, by: settings)
        }
        var names = known.sorted { $0.sentAt > $1.sentAt }.map(\.key).makeIterator()
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<Self.lookAheadWidth {
                guard let name = names.next() else { break }
                group.addTask { await self.lookUpAhead(name, by: settings) }
            }
            while await group.next() != nil, let name = names.next() {
                group.addTask { await self.lookUpAhead(name, by: settings) }
            }
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
            return state.flights.join(key, waiter, epoch: epoch, mayStart: flightBudget.take)
        }
        guard let place else { return }
        if place.starts { start(inquiry, place.seat.flight) }
        if isShutDown.load(ordering: .sequentiallyConsistent) { waiter.deliver(.shutDown) }
        // A flight ends by itself within the resolver's limit.
        _ = await waiter.value()
    }
}

/// That a name was switched off while a question waited for its providers: the question takes the system path.
struct SwitchedOffMeanwhile: Error {}
