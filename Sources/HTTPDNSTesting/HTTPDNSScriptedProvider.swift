// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

public import HTTPDNSCore
public import HTTPDNSPrimitives

/// A provider with scripted answers that records its queries and can delay them.
///
/// It keeps the contract of `HTTPDNSProvider`: it honors families, time limit, cancellation and shutdown, unless it is created
/// as stubborn. A name without a script does not exist.
public final class HTTPDNSScriptedProvider: HTTPDNSProvider {
    /// The scripted answer for one name.
    public enum Script: Sendable {
        /// Returns this answer, without families and HTTPS records that were not queried.
        case answer(HTTPDNSProviderAnswer)
        /// Throws this error.
        case failure(HTTPDNSProviderError)
        /// Does not respond until the time limit.
        case silence
    }

    private struct State: Sendable {
        var scripts: [HTTPDNSName: Script]
        var queries: [HTTPDNSProviderQuery] = []
        var batches: [[HTTPDNSName]] = []
        var latency = Duration.zero
        var underWay = 0
        var peakInFlight = 0
        var isHeld = false
        var heldNames: Set<HTTPDNSName> = []
        var held: [(host: HTTPDNSName, gate: OneShot<Void>)] = []
        var watchers: [Watcher] = []
        var isShutDown = false
        /// Delivered when the provider shuts down, so that no query outlives it.
        var active: [UInt64: OneShot<Ending>] = [:]
        var lastNumber: UInt64 = 0
    }

    private struct Watcher: Sendable {
        var count: Int
        var alarm: OneShot<Void>
    }

    private enum Ending: Sendable { case released, canceled, shutDown, timedOut }

    /// The provider's name.
    public let name: String
    /// The most private scope of addresses that its answers may have.
    public let answerScope: HTTPDNSAddressPolicy.Scope
    /// The maximum number of names in one batch.
    public let batchLimit: Int
    private let ignoresCancellation: Bool
    private let timeSource: any TimeSource
    private let state: Lock<State>

    /// Creates a provider.
    /// - Parameters:
    ///   - name: The provider's name.
    ///   - answerScope: The most private scope of addresses that its answers may have.
    ///   - scripts: The scripted answers, by name.
    ///   - ignoresCancellation: Whether it ignores time limit and cancellation while it waits, as a bad provider would.
    ///   - batchLimit: The maximum number of names in one batch.
    ///   - clock: The clock of its time limits and of its latency; nil means the system's.
    public init(
        name: String = "scripted",
        answerScope: HTTPDNSAddressPolicy.Scope = .public,
        scripts: [HTTPDNSName: Script] = [:],
        ignoresCancellation: Bool = false,
        batchLimit: Int = 1,
        clock: HTTPDNSManualClock? = nil
    ) {
        self.name = name
        self.answerScope = answerScope
        self.ignoresCancellation = ignoresCancellation
        self.batchLimit = max(1, batchLimit)
        timeSource = clock ?? SystemTimeSource()
        state = Lock(State(scripts: scripts))
    }

    /// The queries so far, in order, those in batches included.
    public var queries: [HTTPDNSProviderQuery] { state.withLock { $0.queries } }

    /// The names of the batches so far, in order.
    public var batches: [[HTTPDNSName]] { state.withLock { $0.batches } }

    /// The maximum number of queries that were ever in flight at the same time.
    public var peakInFlight: Int { state.withLock { $0.peakInFlight } }

    /// Whether ``shutdown()`` was called.
    public var isShutDown: Bool { state.withLock { $0.isShutDown } }

    /// Changes the script for a name; nil makes it a name that does not exist.
    public func answer(_ script: Script?, for host: HTTPDNSName) {
        state.withLock { $0.scripts[host] = script }
    }

    /// Sets the latency of every answer, from the next query on.
    public func delay(by latency: Duration) {
        state.withLock { $0.latency = latency }
    }

    /// Holds queries, from the next one on, until ``release()``.
    public func hold() {
        state.withLock { $0.isHeld = true }
    }

    /// Holds queries for one name, from the next one on, until ``release(_:)`` or ``release()``.
    ///
    /// A batch waits for its first name alone.
    public func hold(_ host: HTTPDNSName) {
        state.withLock { _ = $0.heldNames.insert(host) }
    }

    /// Resumes the held queries, and stops holding later ones. Each uses the script of this moment.
    public func release() {
        let held = state.withLock { state in
            defer { state.held = [] }
            state.isHeld = false
            state.heldNames = []
            return state.held.map(\.gate)
        }
        for gate in held { gate.deliver(()) }
    }

    /// Resumes the queries for one name, unless all are held.
    public func release(_ host: HTTPDNSName) {
        let held = state.withLock { state in
            state.heldNames.remove(host)
            guard !state.isHeld else { return [OneShot<Void>]() }
            defer { state.held.removeAll { $0.host == host } }
            return state.held.filter { $0.host == host }.map(\.gate)
        }
        for gate in held { gate.deliver(()) }
    }

    /// Returns as soon as at least `count` queries were received, or the waiting task is canceled.
    public func queries(atLeast count: Int) async {
        let alarm = OneShot<Void>()
        let isReached = state.withLock { state in
            guard state.queries.count < count else { return true }
            state.watchers.append(Watcher(count: count, alarm: alarm))
            return false
        }
        if !isReached { await alarm.value(orOnCancel: ()) }
    }

    /// Returns the scripted answer.
    /// - Throws: `HTTPDNSProviderError` as scripted, at the time limit, or after ``shutdown()``; `CancellationError`.
    public func resolve(_ query: HTTPDNSProviderQuery) async throws -> HTTPDNSProviderAnswer {
        try await admit(query, batch: nil)
        defer { state.withLock { $0.underWay -= 1 } }
        if case .silence = state.withLock({ $0.scripts[query.host] }) {
            try await wait(for: OneShot(), query)
            throw HTTPDNSScriptedProvider.timedOutError
        }
        return try answer(query)
    }

    /// Returns the scripted answer for each name.
    ///
    /// Names scripted to fail or not to respond are left out. If there are no others, it throws the first failure, or does not
    /// respond until the time limit.
    public func resolve(_ query: HTTPDNSProviderQuery, batch: [HTTPDNSName]) async throws -> [HTTPDNSName:
        HTTPDNSProviderAnswer]
    {
        try await admit(query, batch: batch)
        defer { state.withLock { $0.underWay -= 1 } }
        var answers: [HTTPDNSName: HTTPDNSProviderAnswer] = [:]
        var failure: (any Error)?
        for host in batch {
            var single = query
            single.host = host
            do {
                answers[host] = try answer(single)
            } catch {
                failure = failure ?? error
            }
        }
        guard answers.isEmpty, let failure else { return answers }
        if (failure as? HTTPDNSProviderError)?.code == .timedOut { try await wait(for: OneShot(), query) }
        throw failure
    }

    /// Records a query, and returns once it is not held and its latency has passed.
    private func admit(_ query: HTTPDNSProviderQuery, batch: [HTTPDNSName]?) async throws {
        let gate = OneShot<Void>()
        let (isOpen, latency, seen): (Bool, Duration, [OneShot<Void>]) = try state.withLock { state in
            if state.isShutDown { throw HTTPDNSScriptedProvider.shutDownError }
            state.queries.append(query)
            if let batch { state.batches.append(batch) }
            state.underWay += 1
            state.peakInFlight = max(state.peakInFlight, state.underWay)
            let reached = state.watchers.filter { $0.count <= state.queries.count }
            state.watchers.removeAll { $0.count <= state.queries.count }
            let isHeld = state.isHeld || state.heldNames.contains(query.host)
            if isHeld { state.held.append((query.host, gate)) }
            return (!isHeld, state.latency, reached.map(\.alarm))
        }
        for watcher in seen { watcher.deliver(()) }
        do {
            if !isOpen { try await wait(for: gate, query) }
            guard latency > .zero else { return }
            let end = OneShot<Void>()
            let due = timeSource.now() + latency
            let timer = Task.detached { [timeSource] in
                try? await timeSource.sleep(until: due)
                end.deliver(())
            }
            defer { timer.cancel() }
            try await wait(for: end, query)
        } catch {
            state.withLock { $0.underWay -= 1 }
            throw error
        }
    }

    private func answer(_ query: HTTPDNSProviderQuery) throws -> HTTPDNSProviderAnswer {
        switch state.withLock({ $0.scripts[query.host] }) {
        case .answer(let answer):
            var said = HTTPDNSProviderAnswer(
                v4: query.families.contains(.v4) ? answer.v4 : nil,
                v6: query.families.contains(.v6) ? answer.v6 : nil
            )
            said.holdsForAllClients = answer.holdsForAllClients
            if query.wantsHTTPSRecords { said.httpsRecords = answer.httpsRecords }
            return said
        case .failure(let error):
            throw error
        case .silence:
            throw HTTPDNSScriptedProvider.timedOutError
        case nil:
            return HTTPDNSProviderAnswer(
                v4: query.families.contains(.v4) ? .nameError(timeToLive: nil) : nil,
                v6: query.families.contains(.v6) ? .nameError(timeToLive: nil) : nil
            )
        }
    }

    /// Ends the held queries, and refuses later ones.
    public func shutdown() async {
        ProviderUsers.shared.note(isShutDown: true, self)
        let active = state.withLock { state in
            state.isShutDown = true
            return Array(state.active.values)
        }
        for ending in active { ending.deliver(.shutDown) }
    }

    /// Waits until a gate opens, the time limit passes, the task is canceled or the provider is shut down.
    private func wait(for gate: OneShot<Void>, _ query: HTTPDNSProviderQuery) async throws {
        if ignoresCancellation { return await gate.value() }
        let ending = OneShot<Ending>()
        let (number, isShutDown): (UInt64, Bool) = state.withLock { state in
            state.lastNumber += 1
            state.active[state.lastNumber] = ending
            return (state.lastNumber, state.isShutDown)
        }
        if isShutDown { ending.deliver(.shutDown) }
        Task.detached {
            await gate.value()
            ending.deliver(.released)
        }
        let deadline = timeSource.now() + query.timeLimit
        let how = await ending.value(until: deadline, on: timeSource, or: .timedOut, onCancel: .canceled)
        // Ends the task that waits for the gate, also when the gate is not opened any more.
        gate.deliver(())
        state.withLock { $0.active[number] = nil }
        switch how {
        case .released: return
        case .canceled: throw CancellationError()
        case .shutDown: throw HTTPDNSScriptedProvider.shutDownError
        case .timedOut: throw HTTPDNSScriptedProvider.timedOutError
        }
    }

    private static let shutDownError = HTTPDNSProviderError(code: .shutDown, message: "the provider is shut down")
    private static let timedOutError = HTTPDNSProviderError(code: .timedOut, message: "no answer")
}

extension HTTPDNSProviderAnswer {
    /// Returns an answer with these addresses, sorted into their families; a family without addresses has "no data".
    public static func addresses(
        _ addresses: [HTTPDNSAddress],
        timeToLive: Duration,
        canonicalName: HTTPDNSName? = nil
    ) -> HTTPDNSProviderAnswer {
        func outcome(_ family: HTTPDNSAddress.Family) -> HTTPDNSProviderAnswer.Family {
            let own = addresses.filter { $0.family == family }
            if own.isEmpty { return .noData(timeToLive: timeToLive) }
            return .addresses(own, timeToLive: timeToLive, canonicalName: canonicalName)
        }
        return HTTPDNSProviderAnswer(v4: outcome(.v4), v6: outcome(.v6))
    }
}
