// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNSPrimitives

/// A call that is observed: the steps of the pipeline and the reader of its body note here what happens.
///
/// Events are made and put into the queues of subscribers under one lock, so that all queues have them in one order. Subscribers
/// are resumed, and the tracer and observers are called, after the lock is released.
final class ObservedCall: Sendable {
    private struct State {
        var log: CallLog
        var feeds: [EventFeed]
    }

    private let state: Lock<State>
    private let observations: [HTTPDNSClient.Observation]
    /// Whether an observer gets the details of the call.
    let keepsDetails: Bool
    /// Whether anything gets the progress of bodies: a tracer alone does not.
    let notesBodies: Bool
    /// Whether anything gets events of the progress of the response body.
    let notesProgress: Bool
    /// The spans of the call; nil without a tracer.
    let trace: (any CallTrace)?

    init(
        _ log: consuming CallLog,
        _ feeds: [EventFeed],
        _ observations: [HTTPDNSClient.Observation],
        keepsDetails: Bool = false,
        trace: (any CallTrace)? = nil
    ) {
        self.trace = trace
        self.keepsDetails = keepsDetails
        notesBodies = !feeds.isEmpty || !observations.isEmpty
        notesProgress = feeds.contains { $0.kinds?.contains(.bodyProgress) ?? true }
        state = Lock(State(log: log, feeds: feeds))
        self.observations = observations
    }

    private func change<Result: Sendable>(_ change: (inout CallLog, MonotonicTime) -> Result) -> Result {
        let (result, resumptions) = state.withLock { state in
            // Read under the lock: times are in the order of the events.
            let result = change(&state.log, SystemTimeSource().now())
            var resumptions: [@Sendable () -> Void] = []
            for event in state.log.takeEvents() {
                for index in state.feeds.indices {
                    if let resume = state.feeds[index].send(event) { resumptions.append(resume) }
                }
            }
            return (result, resumptions)
        }
        for resume in resumptions { resume() }
        return result
    }

    /// Begins a sending of a hop.
    /// - Returns: Its number, for the facts about it.
    func beginSending(_ hop: Int, _ request: HTTPDNSClient.Request) -> Int {
        change { log, now in log.beginSending(hop, request, at: now) }
    }

    /// Notes a fact. After the end of the call it is ignored.
    func note(_ fact: CallFact) {
        change { log, now in log.note(fact, at: now) }
        trace?.note(fact)
    }

    /// Ends the call, unless it has ended.
    func end(_ end: CallFact.End) {
        guard let record = change({ log, now in log.end(end, at: now) }) else { return }
        trace?.end(end)
        var reached: [ObjectIdentifier] = []
        for observation in observations { observation.deliver(record, besides: &reached) }
    }

    /// Returns a response whose body ends the call.
    func watching(_ response: consuming HTTPDNSClient.Response) -> HTTPDNSClient.Response {
        note(.answered(response.content))
        response.body = response.body.watched(by: self)
        return response
    }
}
