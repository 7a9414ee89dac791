// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNSCore
internal import HTTPDNSCurl
internal import HTTPDNSPrimitives
internal import Synchronization

/// The observers of a client's calls: those that were added, subscribers, observers of requests, and the tracer.
final class CallObservers: Sendable {
    /// The maximum number of events of one call that wait for one observer.
    static let maximumWaitingOfCall = 256
    /// The maximum number of events of all calls that wait for observers.
    static let maximumWaiting = 4096

    private struct State {
        var observations: [HTTPDNSClient.Observation] = []
        var queues: [EventQueue<HTTPDNSClient.RequestEvent>] = []
        /// The records that observers which have stopped had lost.
        var lost: [String: Int] = [:]
        var isEnding = false
    }

    private let state = Lock(State())
    /// Whether calls have something to read in ``state``: nearly none do, and the others do not take the lock.
    private let isUsed: Atomic<Bool>
    /// The settings of traces; nil without a tracer.
    private let tracing: (any CallTracing)?
    private let resolver: HTTPDNSResolver?
    private let budget = EventBudget(limit: CallObservers.maximumWaiting)
    /// The thread of observers. On the runtime's own threads an observer that blocks could delay calls.
    private let executor = BlockingExecutor(named: "httpdns-events", isOnDuty: false)

    init(_ observers: [any HTTPDNSObserver] = [], tracing: (any CallTracing)? = nil, resolver: HTTPDNSResolver? = nil) {
        self.tracing = tracing?.hasTracer == true ? tracing : nil
        self.resolver = resolver
        isUsed = Atomic(self.tracing != nil)
        for observer in observers { add(observer) }
    }

    /// Whether there is an observer, a subscriber or a tracer.
    var isInUse: Bool { isUsed.load(ordering: .acquiring) }

    // MARK: observers and subscribers

    @discardableResult
    func add(_ observer: any HTTPDNSObserver) -> HTTPDNSClient.Observation {
        let observation = HTTPDNSClient.Observation(observer) { [weak self] in self?.remove($0) }
        change { $0.observations.append(observation) }
        return observation
    }

    /// The records that observers have lost from their start to their end, by the place that did not take them.
    var lostRecords: [String: Int] {
        let (observations, lost) = state.withLock { ($0.observations, $0.lost) }
        var counted: [ObjectIdentifier] = []
        return observations.reduce(into: lost) { sum, observation in
            if let recorder = observation.recorder {
                if counted.contains(recorder) { return }
                counted.append(recorder)
            }
            sum.merge(observation.lost, uniquingKeysWith: +)
        }
    }

    private func remove(_ observation: HTTPDNSClient.Observation) {
        let lost = observation.lost
        change { state in
            // A second stop adds nothing.
            guard let index = state.observations.firstIndex(where: { $0 === observation }) else { return }
            state.observations.remove(at: index)
            let same = { (other: HTTPDNSClient.Observation) in
                other.recorder != nil && other.recorder == observation.recorder
            }
            // Only the first observation of a recorder counts what it has lost.
            if state.observations[..<index].contains(where: same) { return }
            // The sum must not fall: an export has its differences.
            if let next = state.observations[index...].first(where: same) { return next.takeOver(from: observation) }
            state.lost.merge(lost, uniquingKeysWith: +)
        }
    }

    /// Adds a subscriber of the calls that begin from now on.
    func subscribe(limit: Int) -> EventSubscription<HTTPDNSClient.RequestEvent> {
        let queue = EventQueue.ofCalls(limit: limit)
        let isEnding = change { state in
            state.queues.append(queue)
            return state.isEnding
        }
        if isEnding { queue.end() }
        return EventSubscription(queue) { [self] queue in remove(queue) }
    }

    private func remove(_ queue: EventQueue<HTTPDNSClient.RequestEvent>) {
        change { state in state.queues.removeAll { $0 === queue } }
        queue.close()
    }

    /// Ends all subscriptions after the calls that have begun. Idempotent.
    func end() {
        let queues = change { state in
            state.isEnding = true
            return state.queues
        }
        for queue in queues { queue.end() }
        executor.thread.leave()
    }

    @discardableResult
    private func change<Result: Sendable>(_ change: (inout State) -> Result) -> Result {
        state.withLock { state in
            let result = change(&state)
            let isUsed = !state.observations.isEmpty || !state.queues.isEmpty || tracing != nil
            self.isUsed.store(isUsed, ordering: .releasing)
            return result
        }
    }

    // MARK: calls

    /// Begins the observation of a call.
    /// - Returns: Nil when nothing observes it.
    func begin(_ request: HTTPDNSClient.Request, id: UInt64, at start: MonotonicTime) -> ObservedCall? {
        let observer = request.own?.observer
        guard isInUse || observer != nil else { return nil }
        let (observations, queues) = state.withLock { ($0.observations, $0.queues) }
        var feeds = queues.filter { $0.open() }.map { EventFeed($0) }
        if let observer { feed(nil, to: observer).map { feeds.append($0) } }
        for observation in observations {
            feed(observation.kinds) { await observation.deliver($0) }.map { feeds.append($0) }
        }
        let trace = tracing?.begin(request, at: start)
        guard !feeds.isEmpty || !observations.isEmpty || trace != nil else { return nil }
        let bodyLimit = observations.compactMap(\.bodyLimit).max()
        let call = ObservedCall(
            CallLog(
                id,
                request,
                at: start,
                making: feeds.reduce(.some([])) { all, feed in all.flatMap { all in feed.kinds.map(all.union) } },
                bodyLimit: bodyLimit,
                resolver: resolver
            ),
            feeds,
            observations,
            keepsDetails: bodyLimit != nil,
            trace: trace
        )
        // Nothing else needs this fact.
        if !feeds.isEmpty { call.note(.began) }
        return call
    }

    /// Returns the feed of an observer, which gets the events of one call in a task of its own; nil when it wants none, and when
    /// too many events wait.
    /// - Parameter kinds: The kinds of the events that it wants; nil for all.
    private func feed(
        _ kinds: Set<HTTPDNSClient.RequestEvent.Kind>?,
        to observe: @escaping @Sendable (HTTPDNSClient.RequestEvent) async -> Void
    ) -> EventFeed? {
        guard kinds?.isEmpty != true, budget.hasRoom else { return nil }
        let queue = EventQueue.ofCalls(limit: CallObservers.maximumWaitingOfCall, budget: budget)
        guard queue.open() else { return nil }
        queue.end()
        Task.detached(executorPreference: executor) {
            while let event = await queue.next() { await observe(event) }
        }
        return EventFeed(queue, of: kinds)
    }
}

extension EventQueue<HTTPDNSClient.RequestEvent> {
    /// Creates a queue that loses whole calls when it is full.
    static func ofCalls(limit: Int, budget: EventBudget? = nil) -> EventQueue {
        EventQueue(limit: limit, losing: .group, count: \.lostCalls, budget: budget)
    }
}

/// The events of one call on their way to one queue.
struct EventFeed: Sendable {
    private let queue: EventQueue<HTTPDNSClient.RequestEvent>
    /// The kinds of the events that it takes; nil for all.
    let kinds: Set<HTTPDNSClient.RequestEvent.Kind>?
    private var isOver = false
    /// The kind of the last event and its number in the queue.
    private var last: (kind: HTTPDNSClient.RequestEvent.Kind, number: UInt64)?

    /// - Parameter kinds: The kinds besides the terminal ones, which end the queue; nil for all.
    init(_ queue: EventQueue<HTTPDNSClient.RequestEvent>, of kinds: Set<HTTPDNSClient.RequestEvent.Kind>? = nil) {
        self.queue = queue
        self.kinds = kinds?.union([.finished, .failed, .canceled])
    }

    /// Adds an event to the queue, unless the call is lost there.
    /// - Returns: The action that resumes the waiting subscriber; nil when none waits.
    mutating func send(_ event: HTTPDNSClient.RequestEvent) -> (@Sendable () -> Void)? {
        guard !isOver, kinds?.contains(event.kind) ?? true else { return nil }
        let isProgress = event.kind == .bodyProgress || event.kind == .requestBodyProgress
        let merged = isProgress && last?.kind == event.kind ? last?.number : nil
        last = nil
        switch queue.offer(event, replacing: merged, isLast: event.kind.isTerminal) {
        case .stored(let number): last = (event.kind, number)
        case .delivered(let resume): return resume
        case .refused: isOver = true
        }
        return nil
    }
}
