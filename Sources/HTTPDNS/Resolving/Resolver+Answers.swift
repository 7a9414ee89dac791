internal import HTTPDNSPrimitives

extension Resolver {
    /// What someone who waits for a flight is given.
    enum Delivery: Sendable {
        case answer(KnownAnswer)
        case failed(ResolutionError)
        case timedOut
        case cancelled
        case shutDown
    }

    /// The answer to an inquiry, from the cache or from a flight of one's own or of others.
    func answer(
        _ inquiry: Inquiry,
        to question: ResolutionQuestion,
        since started: MonotonicTime
    ) async throws -> Resolution {
        let limit = min(question.timeLimit ?? configuration.timeLimit, configuration.timeLimit)
        let waiter = OneShot<Delivery>()
        // One lock for both, or a flight that lands in between would be flown a second time.
        let (finding, place): (CacheEntry.Finding, (seat: Flights.Seat, starts: Bool)?) = state.withLock { state in
            let finding = state.cache.find(inquiry.key, at: started)
            guard case .nothing = finding, limit > .zero, !Task.isCancelled else { return (finding, nil) }
            return (finding, state.flights.join(inquiry.key, waiter))
        }
        if let resolution = try use(finding, for: inquiry, question, at: started) { return resolution }
        try Task.checkCancellation()
        guard limit > .zero else { throw timedOut(question, inquiry, limit) }
        guard let (seat, starts) = place else { throw ResolutionError.overloaded(question.host.description) }
        if starts { start(inquiry, port: question.port, seat.flight) }
        // A shutdown between the first look and the taking of a place would find nobody to tell.
        do { try requireRunning(question) } catch { waiter.deliver(.shutDown) }

        let delivery = await delivery(to: waiter, by: started + limit, isShort: limit < configuration.timeLimit)
        switch delivery {
        case .answer(let answer):
            let now = configuration.timeSource.now()
            var resolution = try use(answer, for: inquiry, question, at: now)
            resolution.isCached = false
            resolution.elapsed = now - started
            return resolution
        case .failed(let error):
            throw error.seen(from: question, through: inquiry)
        case .timedOut:
            // The flight goes on within its own limit. Else a first provider that is dead would take all the time of
            // every hasty caller, and the healthy one behind it would never be asked.
            state.withLock { $0.flights.leave(seat, letsItLand: true) }?.cancel()
            throw timedOut(question, inquiry, limit)
        case .cancelled:
            leave(seat)
            throw CancellationError()
        case .shutDown:
            leave(seat)
            throw ResolutionError.shutDown(host: question.host.description)
        }
    }

    /// Waits for what the flight brings. A flight ends by itself within the resolver's limit; only a shorter limit needs a
    /// timer of its own.
    private func delivery(
        to waiter: OneShot<Delivery>,
        by deadline: MonotonicTime,
        isShort: Bool
    ) async -> Delivery {
        let timeSource = configuration.timeSource
        let timer: Task<Void, Never>? =
            isShort
            ? Task.detached {
                guard (try? await timeSource.sleep(until: deadline)) != nil else { return }
                waiter.deliver(.timedOut)
            } : nil
        defer { timer?.cancel() }
        return await withTaskCancellationHandler {
            await waiter.value()
        } onCancel: {
            waiter.deliver(.cancelled)
        }
    }

    /// Starts the flight that everyone who asks for the key will share.
    private func start(_ inquiry: Inquiry, port: UInt16, _ flight: Flights.FlightID) {
        // Detached: it serves all who wait, and must not end, or see the task-local values, with the one who came first.
        let work = Task.detached { [self] in
            guard let landed = await self.fly(inquiry, port: port) else { return }
            self.land(landed, inquiry.key, flight)
        }
        state.withLock { $0.flights.attach(work, to: flight) }?.cancel()
    }

    private func leave(_ seat: Flights.Seat) {
        state.withLock { $0.flights.leave(seat) }?.cancel()
    }

    /// Puts a flight's result into the cache and frees its key in one step, then tells all who waited.
    private func land(_ result: FlightResult, _ key: AnswerKey, _ flight: Flights.FlightID) {
        let now = configuration.timeSource.now()
        let (waiters, delivery): ([OneShot<Delivery>], Delivery) = state.withLock { state in
            let landing = state.flights.land(flight)
            var delivery: Delivery =
                switch result {
                case .answer(let answer), .fallback(let answer, _): .answer(answer)
                case .failure(let error, _): .failed(error)
                }
            if let landing, landing.isCurrent {
                state.cache.update(key, at: now) { entry in
                    switch result {
                    case .answer(let answer):
                        entry.install(answer, at: now)
                    case .fallback(let answer, let error):
                        delivery = .answer(entry.installFallback(answer, after: error, at: now))
                    case .failure(let error, let sentAt):
                        entry.recordFailure(error, sentAt: sentAt, at: now)
                    }
                }
            }
            return (landing?.waiters ?? [], delivery)
        }
        for waiter in waiters { waiter.deliver(delivery) }
    }

    /// What a look-up in the cache comes to; nil when there is nothing to use.
    func use(
        _ finding: CacheEntry.Finding,
        for inquiry: Inquiry,
        _ question: ResolutionQuestion,
        at now: MonotonicTime
    ) throws(ResolutionError) -> Resolution? {
        switch finding {
        case .fresh(let answer):
            return try use(answer, for: inquiry, question, at: now)
        case .backingOff(var error, let failedAt, let retryAt):
            let again = "failed \((now - failedAt).shortText) ago, asked again in \((retryAt - now).shortText)"
            error.hint = error.hint.map { "\($0); \(again)" } ?? again
            throw error.seen(from: question, through: inquiry)
        case .nothing:
            return nil
        }
    }

    /// The resolution that an answer makes for one question.
    private func use(
        _ answer: KnownAnswer,
        for inquiry: Inquiry,
        _ question: ResolutionQuestion,
        at now: MonotonicTime
    ) throws(ResolutionError) -> Resolution {
        let known: [Endpoint]
        switch answer.content {
        case .nothing(let error):
            // Askers with different reasons to ask the system share its answer.
            let own = answer.isUnknownToSystem ? .unknownToSystem(inquiry) : error
            throw own.seen(from: question, through: inquiry)
        case .endpoints(let endpoints): known = endpoints
        }
        let endpoints =
            answer.port == question.port ? known : known.map { Endpoint(address: $0.address, port: question.port) }
        var resolution = Resolution(
            endpoints: try allowed(
                endpoints,
                answer.source,
                providerScope: answer.providerScope,
                host: question.host.description
            ),
            source: answer.source
        )
        resolution.provider = answer.provider
        resolution.isCached = true
        resolution.age = max(now - answer.sentAt, .zero)
        let left = max(answer.expiresAt - now, .zero)
        resolution.timeToLive = inquiry.ruleTimeToLive.map { min($0, left) } ?? left
        resolution.generation = inquiry.generation
        resolution.canonicalName = answer.canonicalName
        resolution.identity = inquiry.identity
        resolution.rule = inquiry.rule
        resolution.route = inquiry.route
        resolution.failedAttempts = answer.failedAttempts
        return resolution
    }

    private func timedOut(_ question: ResolutionQuestion, _ inquiry: Inquiry, _ limit: Duration) -> ResolutionError {
        ResolutionError.timedOut(host: inquiry.host, limit: limit, attempts: []).seen(from: question, through: inquiry)
    }
}
