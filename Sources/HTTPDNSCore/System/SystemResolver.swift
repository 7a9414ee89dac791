// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

package import HTTPDNSPrimitives

/// A resolver that runs `getaddrinfo` on its own threads, which start on demand, grow in number while lookups wait, and end
/// when none does.
///
/// The call itself cannot be stopped. At its deadline, or when its task is canceled, a caller returns immediately and the
/// result of its lookup is dropped; ``LookupPool`` limits the number of threads in such calls. Lookups of different callers
/// are independent of each other: a cancellation affects only its own caller.
package final class SystemResolver: SystemResolving {
    /// A blocking lookup, which is called on a thread of the resolver.
    package typealias LookUpFunction =
        @Sendable (HTTPDNSName, HTTPDNSAddress.Families) -> Result<[HTTPDNSAddress], SystemResolverError>

    private struct State {
        var pool: LookupPool
        var lookUps: [LookupPool.ID: Lookup] = [:]
        var nextID: LookupPool.ID = 0
        /// Whether a task checks for waiting lookups.
        var isWatched = false
    }

    /// The number of threads while no lookup waits longer than ``growthDelay``.
    static let defaultThreads = 16
    /// The maximum number of threads while lookups wait, unless the settings have more from the start.
    package static let maximumThreads = 64
    /// The time that a lookup waits for a thread before more are started.
    static let growthDelay = Duration.milliseconds(20)

    private let state: Lock<State>
    private let time: any TimeSource
    private let lookUp: LookUpFunction
    private let startThread: @Sendable (@escaping @Sendable () -> Void) -> Bool

    /// - Parameter threads: The number of concurrent lookups before any of them waits, at least 1.
    package convenience init(threads: Int = SystemResolver.defaultThreads) {
        let maximum = max(threads, Self.maximumThreads)
        self.init(
            threads: threads,
            maximumThreads: maximum,
            maximumAbandoned: maximum,
            time: SystemTimeSource(),
            lookUp: AddressInfoLookup.addresses(of:families:)
        )
    }

    /// - Parameters:
    ///   - threads: The number of concurrent lookups before any of them waits, at least 1.
    ///   - maximumThreads: The number of concurrent lookups once lookups have waited.
    ///   - maximumAbandoned: The maximum number of additional threads that are blocked in abandoned lookups.
    ///   - time: The clock of the deadlines.
    ///   - lookUp: The function to call in place of `getaddrinfo`.
    ///   - startThread: A function that runs its argument on a new thread, or returns false.
    package init(
        threads: Int,
        maximumThreads: Int,
        maximumAbandoned: Int,
        time: any TimeSource,
        lookUp: @escaping LookUpFunction,
        startThread: @escaping @Sendable (@escaping @Sendable () -> Void) -> Bool = DetachedThread.start
    ) {
        state = Lock(
            State(
                pool: LookupPool(
                    threads: threads,
                    maximumThreads: maximumThreads,
                    maximumAbandoned: maximumAbandoned
                )
            )
        )
        self.time = time
        self.lookUp = lookUp
        self.startThread = startThread
    }

    package func resolve(
        _ host: HTTPDNSName,
        families: HTTPDNSAddress.Families,
        timeLimit: Duration
    ) async throws(SystemResolverError) -> [HTTPDNSAddress] {
        let timedOut = SystemResolverError(
            code: .timedOut,
            message: "the system resolver has no answer for \(host) within \(timeLimit); "
                + "check the name servers of /etc/resolv.conf, or give it a mapping or a route to a provider"
        )
        guard timeLimit > .zero else { throw timedOut }
        let lookUp = makeLookUp(host, families)
        let deadline = time.now() + timeLimit
        let timer = time.alarm(at: deadline) { [self] in
            giveUp(lookUp, as: isQueued(lookUp) ? noThread(for: host, within: timeLimit) : timedOut)
            return nil
        }
        defer { timer.cancel() }

        let outcome = await withTaskCancellationHandler {
            submit(lookUp)
            return await lookUp.outcome.value()
        } onCancel: {
            let message = "the lookup of \(host) was canceled"
            giveUp(lookUp, as: SystemResolverError(code: .canceled, message: message))
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

    /// The number of lookups that wait for a thread.
    package var queuedLookUps: Int { state.withLock { $0.pool.queuedLookUps } }

    /// The present number of threads: active ones, and those abandoned in a lookup without a caller.
    package var threads: (active: Int, abandoned: Int) {
        state.withLock { ($0.pool.activeThreads, $0.pool.abandonedThreads) }
    }
}

extension SystemResolver {
    private func makeLookUp(_ host: HTTPDNSName, _ families: HTTPDNSAddress.Families) -> Lookup {
        state.withLock { state in
            state.nextID += 1
            return Lookup(id: state.nextID, host: host, families: families)
        }
    }

    private func submit(_ lookUp: Lookup) {
        guard !lookUp.outcome.isDelivered else { return }
        let (action, watches) = state.withLock { state in
            state.lookUps[lookUp.id] = lookUp
            let action = state.pool.submit(lookUp.id)
            let watches = state.pool.mayGrow && action == .none && !state.isWatched
            if watches { state.isWatched = true }
            return (action, watches)
        }
        run(action)
        if watches { watchQueue(after: lookUp.id) }
        // A cancellation or a deadline just before the submission found no lookup to abandon.
        if lookUp.outcome.isDelivered { abandon(lookUp) }
    }

    /// Adds threads for as long as lookups wait longer than ``growthDelay``.
    /// - Parameter newest: The newest lookup that waits now.
    private func watchQueue(after newest: LookupPool.ID) {
        CallWork.detached { [self] in
            var newest = newest
            while true {
                try? await time.sleep(until: time.now() + Self.growthDelay)
                let (count, next): (Int, LookupPool.ID?) = state.withLock { state in
                    let count = state.pool.hasWaited(since: newest) ? state.pool.grow() : 0
                    if !state.pool.mayGrow { state.isWatched = false }
                    return (count, state.pool.mayGrow ? state.nextID : nil)
                }
                for _ in 0..<count { run(.startThread) }
                guard let next else { return }
                newest = next
            }
        }
    }

    private func isQueued(_ lookUp: Lookup) -> Bool { state.withLock { $0.pool.isQueued(lookUp.id) } }

    private func noThread(for host: HTTPDNSName, within limit: Duration) -> SystemResolverError {
        SystemResolverError(
            code: .overloaded,
            message: "no thread was free to look up \(host) within \(limit): \(threads.active) lookups of the system "
                + "resolver are in progress; check whether the name servers of /etc/resolv.conf are slow, "
                + "or raise resolver.system_threads"
        )
    }

    private func giveUp(_ lookUp: Lookup, as error: SystemResolverError) {
        lookUp.outcome.deliver(.failure(error))
        abandon(lookUp)
    }

    private func abandon(_ lookUp: Lookup) {
        let action = state.withLock { state in
            state.lookUps[lookUp.id] = nil
            return state.pool.abandon(lookUp.id)
        }
        run(action)
    }

    private func run(_ action: LookupPool.Action) {
        guard action == .startThread, !startThread({ self.work() }) else { return }
        let orphans = state.withLock { state in
            state.pool.threadDidNotStart().compactMap { state.lookUps.removeValue(forKey: $0) }
        }
        for orphan in orphans {
            orphan.outcome.deliver(
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

    /// Runs lookups until none waits: the body of a thread.
    private func work() {
        var finished: LookupPool.ID?
        while let lookUp = next(after: finished) {
            let outcome = self.lookUp(lookUp.host, lookUp.families)
            finished = lookUp.id
            lookUp.outcome.deliver(outcome)
        }
    }

    private func next(after finished: LookupPool.ID?) -> Lookup? {
        state.withLock { state in
            if let finished { state.lookUps[finished] = nil }
            guard let id = state.pool.next(after: finished) else { return nil }
            return state.lookUps[id]
        }
    }
}

/// The operating system's resolver, behind a protocol so that tests can script it.
package protocol SystemResolving: Sendable {
    /// Looks up the addresses of a name, in the order in which the system would try them (RFC 6724).
    /// - Throws: ``SystemResolverError``, with code `timedOut` at `timeLimit` and `canceled` when the task is canceled.
    func resolve(
        _ host: HTTPDNSName,
        families: HTTPDNSAddress.Families,
        timeLimit: Duration
    ) async throws(SystemResolverError) -> [HTTPDNSAddress]
}

/// An error of the system resolver.
package struct SystemResolverError: Error, Hashable, Sendable, CustomStringConvertible {
    package enum Code: Hashable, Sendable {
        /// The name does not exist, or the system does not know it.
        case nameNotFound
        /// The name exists without addresses of a queried family.
        case noAddresses
        case timedOut
        case failed
        /// There was no thread for the lookup in time. Nothing is known about the name.
        case overloaded
        case canceled
    }

    package var code: Code
    /// A readable message on one line.
    package var message: String

    package init(code: Code, message: String) {
        self.code = code
        self.message = message
    }

    package var description: String { message }
}

/// A lookup, and its outcome for the caller: the first of result, deadline and cancellation.
struct Lookup: Sendable {
    let id: LookupPool.ID
    let host: HTTPDNSName
    let families: HTTPDNSAddress.Families
    let outcome = OneShot<Result<[HTTPDNSAddress], SystemResolverError>>()
}
