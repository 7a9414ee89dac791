// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNSCurl
internal import HTTPDNSPrimitives
internal import Synchronization

/// The recorders and subscribers of a client, the observers of its requests, and the tracer of its calls.
final class CallObservers: Sendable {
    /// The maximum number of events of one call that wait for the observer of its request.
    static let maximumWaitingOfCall = 256
    /// The maximum number of events of all calls that wait for observers of requests.
    static let maximumWaiting = 4096

    private struct State {
        var recordings: [HTTPDNSClient.CallRecording] = []
        var queues: [RequestEventQueue] = []
        /// The records that recorders which have stopped had lost.
        var lost: [String: Int] = [:]
        var isEnding = false
    }

    private let state = Lock(State())
    /// Whether calls have something to read in ``state``: nearly none do, and the others do not take the lock.
    private let isUsed: Atomic<Bool>
    /// The settings of traces; nil without a tracer.
    private let tracing: (any CallTracing)?
    private let budget = EventBudget(limit: CallObservers.maximumWaiting)
    /// The thread of observers. On the runtime's own threads an observer that blocks could delay calls.
    private let executor = BlockingExecutor(named: "httpdns-events", isOnDuty: false)

    init(tracing: (any CallTracing)? = nil) {
        self.tracing = tracing?.hasTracer == true ? tracing : nil
        isUsed = Atomic(self.tracing != nil)
    }

    /// Whether there is a recorder, a subscriber or a tracer.
    var isInUse: Bool { isUsed.load(ordering: .acquiring) }

    // MARK: recorders and subscribers

    /// - Parameter bodyLimit: The most bytes of a response body in the details of a call; nil for no details.
    func add(
        _ record: @escaping @Sendable (HTTPDNSClient.CallRecord, CallDetails?) -> Void,
        bodyLimit: Int?,
        lost: @escaping @Sendable () -> [String: Int] = { [:] }
    ) -> HTTPDNSClient.CallRecording {
        let recording = HTTPDNSClient.CallRecording(record, bodyLimit: bodyLimit, lost: lost) { [weak self] in
            self?.remove($0)
        }
        change { $0.recordings.append(recording) }
        return recording
    }

    /// The records that recorders have lost from their start to their end, by the place that did not take them.
    var lostRecords: [String: Int] {
        let (recordings, lost) = state.withLock { ($0.recordings, $0.lost) }
        return recordings.reduce(into: lost) { sum, recording in sum.merge(recording.lost(), uniquingKeysWith: +) }
    }

    private func remove(_ recording: HTTPDNSClient.CallRecording) {
        let lost = recording.lost()
        change { state in
            // A second stop adds nothing.
            guard state.recordings.contains(where: { $0 === recording }) else { return }
            state.recordings.removeAll { $0 === recording }
            // The sum must not fall: an export has its differences.
            state.lost.merge(lost, uniquingKeysWith: +)
        }
    }

    func add(_ queue: RequestEventQueue) {
        let isEnding = change { state in
            state.queues.append(queue)
            return state.isEnding
        }
        if isEnding { queue.end() }
    }

    func remove(_ queue: RequestEventQueue) {
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
            let isUsed = !state.recordings.isEmpty || !state.queues.isEmpty || tracing != nil
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
        let (recordings, queues) = state.withLock { ($0.recordings, $0.queues) }
        var feeds = queues.filter { $0.open() }.map { EventFeed($0) }
        if let observer, budget.hasRoom {
            let queue = RequestEventQueue(limit: CallObservers.maximumWaitingOfCall, budget: budget)
            if queue.open() { feeds.append(EventFeed(queue)) }
            queue.end()
            Task.detached(executorPreference: executor) {
                while let event = await queue.next() { await observer(event) }
            }
        }
        let trace = tracing?.begin(request, at: start)
        guard !feeds.isEmpty || !recordings.isEmpty || trace != nil else { return nil }
        let bodyLimit = recordings.compactMap(\.bodyLimit).max()
        let log = CallLog(id, request, at: start, makesEvents: !feeds.isEmpty, bodyLimit: bodyLimit)
        let call = ObservedCall(log, feeds, recordings, keepsDetails: bodyLimit != nil, trace: trace)
        call.begin()
        return call
    }
}

/// The events of one call on their way to one queue.
struct EventFeed: Sendable {
    private let queue: RequestEventQueue
    private var isOver = false
    /// The kind of the last event and its number in the queue.
    private var last: (kind: HTTPDNSClient.RequestEvent.Kind, number: UInt64)?

    init(_ queue: RequestEventQueue) { self.queue = queue }

    /// Adds an event to the queue, unless the call is lost there.
    /// - Returns: The action that resumes the waiting subscriber; nil when none waits.
    mutating func send(_ event: HTTPDNSClient.RequestEvent) -> (@Sendable () -> Void)? {
        guard !isOver else { return nil }
        let isProgress = event.kind == .bodyProgress || event.kind == .requestBodyProgress
        let merged = isProgress && last?.kind == event.kind ? last?.number : nil
        last = nil
        switch queue.offer(event, mergingWith: merged) {
        case .stored(let number):
            last = (event.kind, number)
        case .delivered(let waiter, let event):
            return { waiter.deliver(event) }
        case .lost, .closed:
            isOver = true
        }
        return nil
    }
}
