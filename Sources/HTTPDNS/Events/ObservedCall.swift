// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNSCore
internal import HTTPDNSCurl
internal import HTTPDNSPrimitives
internal import HTTPTypes

/// A call that is observed: the steps of the pipeline and the reader of its body note here what happens.
///
/// Events are made and put into the queues of subscribers under one lock, so that all queues have them in one order. Subscribers
/// are resumed, and recorders are called, after the lock is released.
final class ObservedCall: Sendable {
    private struct State {
        var log: CallLog
        var feeds: [EventFeed]
    }

    private let state: Lock<State>
    private let recordings: [HTTPDNSClient.CallRecording]
    /// Whether a recorder gets the heads and the start of the body.
    private let keepsDetails: Bool
    /// Whether anything gets the progress of bodies: a tracer alone does not.
    let notesBodies: Bool
    /// The spans of the call; nil without a tracer.
    let trace: (any CallTrace)?

    init(
        _ log: CallLog,
        _ feeds: [EventFeed],
        _ recordings: [HTTPDNSClient.CallRecording],
        keepsDetails: Bool = false,
        trace: (any CallTrace)? = nil
    ) {
        self.trace = trace
        self.keepsDetails = keepsDetails
        notesBodies = !feeds.isEmpty || !recordings.isEmpty
        state = Lock(State(log: log, feeds: feeds))
        self.recordings = recordings
    }

    private func note<Result: Sendable>(_ change: @Sendable (inout CallLog, MonotonicTime) -> Result) -> Result {
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

    func begin() { note { log, _ in log.begin() } }

    // MARK: hops

    func beginHop(_ number: Int, _ request: HTTPDNSClient.Request) {
        note { log, now in log.beginHop(number, request, at: now) }
    }

    /// Ends a hop, which has a response. One that was not sent was answered in process.
    func endHop(_ number: Int, _ response: HTTPDNSClient.Response) {
        let (status, source) = (response.status, response.cacheSource)
        // The fields of a head are read on demand: nearly no recorder wants them.
        let head = keepsDetails ? response.head : nil
        note { log, now in log.endHop(number, .success(status), source, head, at: now) }
    }

    func endHop(_ number: Int, _ error: any Error) {
        note { log, now in log.endHop(number, .failure(error), nil, at: now) }
    }

    /// Begins a sending of a hop.
    /// - Returns: Its number, for the functions below.
    func beginSending(_ number: Int, _ request: HTTPDNSClient.Request) -> Int {
        note { log, now in log.beginSending(number, request, at: now) }
    }

    func noteResolved(_ sending: Int, _ rewritten: HTTPDNSRewriter.RewrittenRequest) {
        note { log, now in log.noteResolved(sending, rewritten, at: now) }
    }

    /// Notes a wait for a connection, also in vain.
    func noteWait(_ sending: Int, since start: MonotonicTime) {
        note { log, now in log.noteWait(sending, now - start) }
    }

    /// Returns the notes for a transfer that begins.
    func beginTransfer(_ sending: Int) -> TransferNotes {
        let notes = TransferNotes(keepsLocalEndpoints: keepsDetails)
        note { log, now in log.beginTransfer(sending, notes, at: now) }
        return notes
    }

    func noteRequestBody(_ sending: Int, _ progress: HTTPDNSClient.Progress) {
        guard notesBodies else { return }
        note { log, now in log.noteRequestBody(sending, progress, at: now) }
    }

    func noteHead(_ sending: Int, _ exchange: HTTPDNSClient.Exchange) {
        note { log, now in log.noteHead(sending, exchange, at: now) }
        trace?.endRequest(sending, exchange)
    }

    func noteFailure(_ sending: Int, _ error: any Error) {
        note { log, now in log.noteFailure(sending, error, at: now) }
        trace?.endRequest(sending, error)
    }

    /// Notes that the call got the response to the request of another call.
    /// - Parameter start: The time since which the call has waited for it.
    func noteMerged(
        _ number: Int,
        _ request: HTTPDNSClient.Request,
        _ response: HTTPDNSClient.Response,
        since start: MonotonicTime
    ) {
        let head = keepsDetails ? response.head : nil
        note { log, now in log.noteMerged(number, request, response, head, since: start, at: now) }
    }

    // MARK: between hops

    func noteRedirect(_ status: HTTPResponse.Status, to next: HTTPDNSClient.Request) {
        note { log, now in log.noteRedirect(status, to: next, at: now) }
    }

    func noteRetry(after outcome: Result<HTTPDNSClient.Response, any Error>, in delay: Duration) {
        let outcome = outcome.map(\.status)
        note { log, now in log.noteRetry(after: outcome, in: delay, at: now) }
    }

    // MARK: the end

    /// Returns a response whose body ends the call.
    func watching(_ response: HTTPDNSClient.Response) -> HTTPDNSClient.Response {
        let status = response.status
        let head = keepsDetails ? response.head : nil
        note { log, now in log.noteResponse(status, head, at: now) }
        trace?.noteResponse(status)
        var response = response
        response.body = response.body.watched(by: self)
        return response
    }

    /// - Parameters:
    ///   - bytes: The number of bytes that were read.
    ///   - chunk: The bytes that were read last.
    func noteBody(_ bytes: Int64, of body: HTTPDNSClient.Response.Body, _ chunk: [UInt8]) {
        guard notesBodies else { return }
        note { log, now in log.noteBody(bytes, of: body.declaredLength, chunk, at: now) }
    }

    /// Ends the call. All later notes are ignored.
    func end(_ end: CallLog.End) {
        let ended = note { log, now in log.end(end, at: now).map { (record: $0, details: log.takeDetails()) } }
        guard let ended else { return }
        trace?.end(end)
        for recording in recordings { recording.deliver(ended.record, ended.details) }
    }
}
