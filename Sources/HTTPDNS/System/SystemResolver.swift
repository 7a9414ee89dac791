package import HTTPDNSPrimitives

/// `getaddrinfo` on threads of its own, which are few, start on demand and end when nothing waits.
///
/// The call itself cannot be stopped. At its deadline, or when its task is cancelled, a caller returns at once and
/// nothing comes of its look-up any more; see ``LookUpPool`` for how many threads may hang like that. Look-ups of
/// different callers are independent of each other: one's cancellation is not seen by another.
package final class SystemResolver: SystemResolving {
    /// A blocking look-up, which is called on a thread of the resolver.
    package typealias LookUpFunction = @Sendable (HostName, AddressFamilies) -> Result<[IPAddress], SystemResolverError>

    private struct State {
        var pool: LookUpPool
        var lookUps: [LookUpPool.ID: LookUp] = [:]
        var nextID: LookUpPool.ID = 0
    }

    private let state: Lock<State>
    private let time: any TimeSource
    private let lookUp: LookUpFunction
    private let startThread: @Sendable (@escaping @Sendable () -> Void) -> Bool
    private let maximumQueued: Int

    /// - Parameters:
    ///   - workers: The most look-ups that run at the same time, at least 1.
    ///   - maximumQueued: The most look-ups that wait for one of them to end; more throw `overloaded`.
    package convenience init(workers: Int = 4, maximumQueued: Int = 256) {
        self.init(
            workers: workers,
            maximumQueued: maximumQueued,
            maximumAbandoned: 4 * max(1, workers),
            time: SystemTimeSource(),
            lookUp: AddressInfoLookUp.addresses(of:families:)
        )
    }

    /// - Parameters:
    ///   - maximumAbandoned: The most threads that may hang besides `workers`.
    ///   - time: The clock of the deadlines.
    ///   - lookUp: Stands for `getaddrinfo`.
    ///   - startThread: Runs its argument on a new thread, or returns false.
    package init(
        workers: Int,
        maximumQueued: Int,
        maximumAbandoned: Int,
        time: any TimeSource,
        lookUp: @escaping LookUpFunction,
        startThread: @escaping @Sendable (@escaping @Sendable () -> Void) -> Bool = DetachedThread.start
    ) {
        state = Lock(
            State(
                pool: LookUpPool(workers: workers, maximumQueued: maximumQueued, maximumAbandoned: maximumAbandoned)
            )
        )
        self.maximumQueued = maximumQueued
        self.time = time
        self.lookUp = lookUp
        self.startThread = startThread
    }

    package func resolve(
        _ host: HostName,
        families: AddressFamilies,
        timeLimit: Duration
    ) async throws(SystemResolverError) -> [IPAddress] {
        let timedOut = SystemResolverError(
            code: .timedOut,
            message: "the system resolver has no answer for \(host) within \(timeLimit); "
                + "check the name servers of /etc/resolv.conf, or give it a mapping or a route to a provider"
        )
        guard timeLimit > .zero else { throw timedOut }
        let lookUp = makeLookUp(host, families)
        let deadline = time.now() + timeLimit
        let timer = Task { [time] in
            guard (try? await time.sleep(until: deadline)) != nil else { return }
            self.giveUp(lookUp, as: timedOut)
        }
        defer { timer.cancel() }

        let outcome = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                lookUp.wait(continuation)
                submit(lookUp)
            }
        } onCancel: {
            let message = "the look-up of \(host) was cancelled"
            giveUp(lookUp, as: SystemResolverError(code: .cancelled, message: message))
        }
        let addresses = try outcome.get().filter { families.contains($0.family) }
        guard !addresses.isEmpty else {
            throw SystemResolverError(
                code: .noAddresses,
                message: "the system resolver has no address of the families asked for, for \(host)"
            )
        }
        return addresses
    }

    /// How many threads there are now: at work, and left behind in a look-up that nobody waits for.
    package var threads: (active: Int, abandoned: Int) {
        state.withLock { ($0.pool.activeThreads, $0.pool.abandonedThreads) }
    }
}

extension SystemResolver {
    private func makeLookUp(_ host: HostName, _ families: AddressFamilies) -> LookUp {
        state.withLock { state in
            state.nextID += 1
            return LookUp(id: state.nextID, host: host, families: families)
        }
    }

    private func submit(_ lookUp: LookUp) {
        guard !lookUp.isSettled else { return }
        let submission = state.withLock { state in
            let submission = state.pool.submit(lookUp.id)
            if submission != .refused { state.lookUps[lookUp.id] = lookUp }
            return submission
        }
        switch submission {
        case .accepted(let action):
            run(action)
            // A cancellation or a deadline just before the submission found nothing to abandon.
            if lookUp.isSettled { abandon(lookUp) }
        case .refused:
            lookUp.settle(
                .failure(
                    SystemResolverError(
                        code: .overloaded,
                        message: "\(maximumQueued) look-ups wait for the system resolver already, \(lookUp.host) "
                            + "would be one more; the name servers of /etc/resolv.conf may hang"
                    )
                )
            )
        }
    }

    private func giveUp(_ lookUp: LookUp, as error: SystemResolverError) {
        lookUp.settle(.failure(error))
        abandon(lookUp)
    }

    private func abandon(_ lookUp: LookUp) {
        let action = state.withLock { state in
            state.lookUps[lookUp.id] = nil
            return state.pool.abandon(lookUp.id)
        }
        run(action)
    }

    private func run(_ action: LookUpPool.Action) {
        guard action == .startThread, !startThread({ self.work() }) else { return }
        let orphans = state.withLock { state in
            state.pool.threadDidNotStart().compactMap { state.lookUps.removeValue(forKey: $0) }
        }
        for orphan in orphans {
            orphan.settle(
                .failure(
                    SystemResolverError(
                        code: .overloaded,
                        message: "the system gives no thread to look up \(orphan.host); check the limit of processes "
                            + "and threads (ulimit -u)"
                    )
                )
            )
        }
    }

    /// A thread's life.
    private func work() {
        var finished: LookUpPool.ID?
        while let lookUp = next(after: finished) {
            let outcome = self.lookUp(lookUp.host, lookUp.families)
            finished = lookUp.id
            lookUp.settle(outcome)
        }
    }

    private func next(after finished: LookUpPool.ID?) -> LookUp? {
        state.withLock { state in
            if let finished { state.lookUps[finished] = nil }
            guard let id = state.pool.next(after: finished) else { return nil }
            return state.lookUps[id]
        }
    }
}
