// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNSCore
internal import HTTPDNSCurl
internal import HTTPDNSPrimitives
internal import HTTPTypes

/// The log of one observed call: it makes the events and the record of the call from what the pipeline notes.
///
/// A value, whose methods add to the events that ``takeEvents()`` returns. After the end it makes none.
struct CallLog: Sendable {
    typealias Event = HTTPDNSClient.RequestEvent
    typealias Hop = HTTPDNSClient.CallRecord.Hop

    /// The end of a call.
    enum End {
        /// The body was read to its end.
        case whole(decoded: Int64?)
        /// The response was released before that, perhaps by a task that is canceled.
        /// - Parameter isAsReceived: Whether the bytes that were read are those on the wire.
        case released(isCanceled: Bool, isAsReceived: Bool)
        /// The call or its body failed or was canceled.
        case failed(any Error)
    }

    private struct OpenHop {
        let number: Int
        let request: RequestFacts
        let start: MonotonicTime
        /// The parts of the request for recorders; nil without details.
        let sent: CallDetails.SentRequest?
    }

    /// The number of sendings that are kept at each end.
    private static let kept = HTTPDNSClientError.AttemptTrail.kept

    private let makesEvents: Bool
    private var events: [Event] = []
    private var record: HTTPDNSClient.CallRecord
    /// The first and the last sendings; ``HTTPDNSClient/CallRecord/hopsLeftOut`` counts those between them.
    private var sendings: [Sending] = []
    private var openHops: [OpenHop] = []
    /// The number of the latest hop.
    private var hop = 0
    private var lastTime: MonotonicTime
    /// The URL of the latest request, and its text in the record: mostly the next step has the same one.
    private var lastRequest: (url: String, text: String)
    private var isEnded = false
    /// The parts that may have secrets, for recorders that get them; nil without such a recorder. They are whole at the end.
    private var details: CallDetails?
    /// The most bytes of the response body in the details.
    private let bodyLimit: Int

    /// - Parameters:
    ///   - start: The start of the call.
    ///   - makesEvents: Whether there is a subscriber; otherwise the log makes the record only.
    ///   - bodyLimit: The most bytes of the response body in the details; nil for no details.
    init(
        _ id: UInt64,
        _ request: HTTPDNSClient.Request,
        at start: MonotonicTime,
        makesEvents: Bool,
        bodyLimit: Int? = nil
    ) {
        details = bodyLimit == nil ? nil : CallDetails(request: request)
        self.bodyLimit = bodyLimit ?? 0
        let facts = RequestFacts(request)
        lastRequest = (request.url, facts.url)
        record = HTTPDNSClient.CallRecord(callID: id, method: facts.method, url: facts.url, start: start)
        lastTime = start
        self.makesEvents = makesEvents
    }

    /// Returns the events since the last call.
    mutating func takeEvents() -> [Event] {
        guard !events.isEmpty else { return [] }
        defer { events = [] }
        return events
    }

    private mutating func add(
        _ kind: Event.Kind,
        hop number: Int? = nil,
        at time: MonotonicTime,
        _ complete: (inout Event) -> Void = { _ in }
    ) {
        guard makesEvents else { return }
        // What the loop has timed may be older than an event of the pipeline.
        lastTime = max(lastTime, time)
        var event = Event(kind, callID: record.callID, hop: number ?? hop, at: lastTime)
        complete(&event)
        events.append(event)
    }

    private mutating func facts(of request: HTTPDNSClient.Request) -> RequestFacts {
        guard request.url != lastRequest.url else {
            return RequestFacts(method: request.method, url: lastRequest.text)
        }
        let facts = RequestFacts(request)
        lastRequest = (request.url, facts.url)
        return facts
    }

    private func sent(_ request: HTTPDNSClient.Request) -> CallDetails.SentRequest? {
        details == nil ? nil : CallDetails.SentRequest(request)
    }

    mutating func begin() {
        add(.started, at: record.start) { [record] event in
            event.method = record.method
            event.url = record.url
        }
    }

    // MARK: hops

    mutating func beginHop(_ number: Int, _ request: HTTPDNSClient.Request, at now: MonotonicTime) {
        guard !isEnded else { return }
        hop = number
        openHops.append(OpenHop(number: number, request: facts(of: request), start: now, sent: sent(request)))
    }

    /// - Parameters:
    ///   - outcome: The status of the response, or the error of the hop.
    ///   - source: The part that the response cache took in the response.
    ///   - head: The response head, for details.
    mutating func endHop(
        _ number: Int,
        _ outcome: Result<HTTPResponse.Status, any Error>,
        _ source: HTTPDNSClient.CacheSource?,
        _ head: HTTPResponse? = nil,
        at now: MonotonicTime
    ) {
        guard !isEnded, let index = openHops.firstIndex(where: { $0.number == number }) else { return }
        let open = openHops.remove(at: index)
        switch outcome {
        case .success(let status):
            // By index: a sending in a closure's parameter would be a copy of it.
            if let index = sendings.indices.last(where: { index in
                sendings[index].hop.number == number && sendings[index].hop.status != nil
            }) {
                sendings[index].response = head
                // The cache has answered with a stored response instead of that of the server.
                guard let source, source != .miss else { return }
                sendings[index].hop.cacheSource = source
                return addHeadInProcess(status, source, hop: number, at: now)
            }
            var hop = hop(of: open)
            hop.duration = now - open.start
            hop.isAnsweredInProcess = true
            hop.status = status
            hop.cacheSource = source
            append(Sending(hop: hop, request: open.sent, response: head))
            addHeadInProcess(status, source, hop: number, at: now)
        case .failure(let error):
            guard !sendings.contains(where: { $0.hop.number == number }) else { return }
            var hop = hop(of: open)
            hop.isUnsent = true
            CallLog.note(error, in: &hop, at: now)
            append(Sending(hop: hop, request: open.sent))
        }
    }

    /// Adds a sending, in bounded memory: a call that waits for the network for an hour has tens of thousands.
    /// - Returns: Its number in the call.
    @discardableResult
    private mutating func append(_ sending: Sending) -> Int {
        if sendings.count == 2 * CallLog.kept {
            sendings.remove(at: CallLog.kept)
            record.hopsLeftOut += 1
        }
        sendings.append(sending)
        return sendings.count - 1 + record.hopsLeftOut
    }

    /// Returns the index of a sending by its number; nil when it is left out, and after the end of the call.
    private func index(of sending: Int) -> Int? {
        guard !isEnded else { return nil }
        guard sending >= CallLog.kept else { return sending }
        let index = sending - record.hopsLeftOut
        return index >= CallLog.kept ? index : nil
    }

    private func hop(of open: OpenHop) -> Hop {
        Hop(number: open.number, method: open.request.method, url: open.request.url, start: open.start)
    }

    private mutating func addHeadInProcess(
        _ status: HTTPResponse.Status,
        _ source: HTTPDNSClient.CacheSource?,
        hop number: Int,
        at now: MonotonicTime
    ) {
        add(.responseHead, hop: number, at: now) { event in
            event.status = status
            event.cacheSource = source
            event.isAnsweredInProcess = true
        }
    }

    private static func note(_ error: any Error, in hop: inout Hop, at now: MonotonicTime) {
        guard !(error is CancellationError) else { return hop.cancellation = now - hop.start }
        let error = error as? HTTPDNSClientError ?? HTTPDNSClientError(interceptorError: error)
        hop.duration = now - hop.start
        hop.error = error
        hop.attempts = error.attempts
    }

    /// - Returns: The number of the sending, for the functions below.
    mutating func beginSending(_ number: Int, _ request: HTTPDNSClient.Request, at now: MonotonicTime) -> Int {
        let facts = facts(of: request)
        let hop = Hop(number: number, method: facts.method, url: facts.url, start: now)
        return append(Sending(hop: hop, request: sent(request)))
    }

    mutating func noteResolved(_ sending: Int, _ rewritten: HTTPDNSRewriter.RewrittenRequest, at now: MonotonicTime) {
        guard let index = index(of: sending) else { return }
        reportConnections(of: index)
        sendings[index].hop.host = rewritten.content.url.host
        sendings[index].hop.port = rewritten.content.url.port
        // The system resolver's addresses after a fallback have no route.
        if let route = rewritten.resolution.route { sendings[index].hop.route = route.pattern.description }
        if details != nil { sendings[index].rewritten = rewritten }
        guard !rewritten.isUnresolved, sendings[index].addresses != rewritten.addresses else { return }
        sendings[index].addresses = rewritten.addresses
        sendings[index].source = rewritten.source
        add(.resolved, hop: sendings[index].hop.number, at: now) { event in
            event.source = rewritten.source
            event.addresses = rewritten.addresses
        }
    }

    /// Notes a wait for a connection.
    mutating func noteWait(_ sending: Int, _ duration: Duration) {
        guard let index = index(of: sending) else { return }
        sendings[index].hop.queueWait = (sendings[index].hop.queueWait ?? .zero) + duration
    }

    mutating func beginTransfer(_ sending: Int, _ notes: TransferNotes, at now: MonotonicTime) {
        guard let index = index(of: sending) else { return }
        reportConnections(of: index)
        sendings[index].notes.append(notes)
    }

    mutating func noteRequestBody(_ sending: Int, _ progress: HTTPDNSClient.Progress, at now: MonotonicTime) {
        guard let index = index(of: sending) else { return }
        add(.requestBodyProgress, hop: sendings[index].hop.number, at: now) { $0.progress = progress }
    }

    mutating func noteHead(_ sending: Int, _ exchange: HTTPDNSClient.Exchange, at now: MonotonicTime) {
        guard let index = index(of: sending) else { return }
        if !reportConnections(of: index) { reportConnections(of: exchange, index, at: now) }
        sendings[index].hop.duration = now - sendings[index].hop.start
        sendings[index].hop.take(exchange)
        add(.responseHead, hop: sendings[index].hop.number, at: now) { event in
            event.status = exchange.status
            event.endpoint = exchange.remote
            event.cacheSource = exchange.cacheSource
        }
    }

    mutating func noteFailure(_ sending: Int, _ error: any Error, at now: MonotonicTime) {
        guard let index = index(of: sending) else { return }
        reportConnections(of: index)
        CallLog.note(error, in: &sendings[index].hop, at: now)
    }

    /// Adds a hop for the response to the request of another call. It has none of that call's attempts, times and bytes.
    /// - Parameter head: The response head, for details.
    mutating func noteMerged(
        _ number: Int,
        _ request: HTTPDNSClient.Request,
        _ response: HTTPDNSClient.Response,
        _ head: HTTPResponse? = nil,
        since start: MonotonicTime,
        at now: MonotonicTime
    ) {
        guard !isEnded else { return }
        hop = number
        let facts = facts(of: request)
        let exchange = response.lastExchange
        var hop = Hop(number: number, method: facts.method, url: facts.url, start: start)
        hop.duration = now - start
        hop.isMerged = true
        hop.isAnsweredInProcess = exchange == nil
        hop.destination = exchange.map { HTTPDNSClient.Response.Destination($0, $0.cacheSource) }
        hop.version = exchange?.version
        hop.tls = exchange?.tls
        hop.status = response.status
        append(Sending(hop: hop, request: sent(request), response: head))
        add(.responseHead, at: now) { event in
            event.status = response.status
            event.isMerged = true
            event.isAnsweredInProcess = exchange == nil
            event.endpoint = exchange?.remote
        }
    }

    // MARK: connections

    /// Adds the events of the connections that the loop has noted.
    /// - Returns: Whether there are notes of the present transfer.
    @discardableResult
    private mutating func reportConnections(of index: Int) -> Bool {
        var hasNotes = false
        while sendings[index].reported < sendings[index].notes.count {
            let attempts = sendings[index].notes[sendings[index].reported].attempts
            sendings[index].reported += 1
            hasNotes = !attempts.isEmpty
            let events = attempts.flatMap(CallLog.connectionEvents).enumerated()
            // Attempts overlap: of equal times the event that was noted first is first.
            for (_, event) in events.sorted(by: { ($0.element.time, $0.offset) < ($1.element.time, $1.offset) }) {
                add(event.kind, hop: sendings[index].hop.number, at: event.time) { added in
                    added.endpoint = event.endpoint
                    if event.kind == .requestSent { added.reusedConnection = event.isReused }
                }
            }
        }
        return hasNotes
    }

    private static func connectionEvents(
        _ attempt: TransferNotes.Attempt
    ) -> [(kind: Event.Kind, endpoint: HTTPDNSEndpoint, time: MonotonicTime, isReused: Bool)] {
        var events: [(kind: Event.Kind, endpoint: HTTPDNSEndpoint, time: MonotonicTime, isReused: Bool)] = []
        let isReused = !attempt.opensConnection
        if attempt.opensConnection {
            events.append((.connecting, attempt.endpoint, attempt.startedAt, isReused))
            let isConnected = [.send, .firstByte, .body].contains(attempt.phase) || attempt.sentAt != nil
            if isConnected {
                let time = attempt.startedAt + (attempt.timings.connect ?? .zero) + (attempt.timings.tls ?? .zero)
                events.append((.connected, attempt.endpoint, min(time, attempt.sentAt ?? time), isReused))
            }
        }
        if let sentAt = attempt.sentAt { events.append((.requestSent, attempt.endpoint, sentAt, isReused)) }
        return events
    }

    /// Adds the events of a response without notes, such as that of a test's sender.
    private mutating func reportConnections(of exchange: HTTPDNSClient.Exchange, _ index: Int, at now: MonotonicTime) {
        let number = sendings[index].hop.number
        for attempt in exchange.failedAttempts {
            add(.connecting, hop: number, at: now) { $0.endpoint = attempt.endpoint }
        }
        if !exchange.reusedConnection {
            for kind in [Event.Kind.connecting, .connected] {
                add(kind, hop: number, at: now) { $0.endpoint = exchange.remote }
            }
        }
        add(.requestSent, hop: number, at: now) { event in
            event.endpoint = exchange.remote
            event.reusedConnection = exchange.reusedConnection
        }
    }

    // MARK: between hops

    mutating func noteRedirect(
        _ status: HTTPResponse.Status,
        to next: HTTPDNSClient.Request,
        at now: MonotonicTime
    ) {
        guard !isEnded else { return }
        record.redirects += 1
        let facts = facts(of: next)
        add(.redirect, at: now) { event in
            event.status = status
            event.method = facts.method
            event.url = facts.url
        }
    }

    mutating func noteRetry(
        after outcome: Result<HTTPResponse.Status, any Error>,
        in delay: Duration,
        at now: MonotonicTime
    ) {
        guard !isEnded else { return }
        record.retries += 1
        add(.retry, at: now) { event in
            event.delay = delay
            switch outcome {
            case .success(let status): event.status = status
            case .failure(let error): event.error = error as? HTTPDNSClientError
            }
        }
    }

    // MARK: the end

    /// Notes the response that the caller gets.
    /// - Parameter head: The head of it, for details.
    mutating func noteResponse(_ status: HTTPResponse.Status, _ head: HTTPResponse? = nil, at now: MonotonicTime) {
        guard !isEnded else { return }
        details?.response = head
        record.timeToHead = now - record.start
        record.status = status
        // An application interceptor has answered: the call has no hop.
        guard sendings.isEmpty else { return }
        var hop = Hop(method: record.method, url: record.url, start: record.start)
        hop.duration = record.timeToHead
        hop.isAnsweredInProcess = true
        hop.status = status
        append(Sending(hop: hop, request: details.map { CallDetails.SentRequest($0.request) }, response: head))
        addHeadInProcess(status, nil, hop: 0, at: now)
    }

    /// - Parameters:
    ///   - bytes: The number of bytes that were read.
    ///   - total: The number of bytes of the whole body. It is read from the head for each event.
    ///   - chunk: The bytes that were read last, for details.
    mutating func noteBody(
        _ bytes: Int64,
        of total: @autoclosure () -> Int64?,
        _ chunk: [UInt8] = [],
        at now: MonotonicTime
    ) {
        guard !isEnded else { return }
        if let count = details?.bodyStart.count, count < bodyLimit {
            let start = chunk.prefix(bodyLimit - count)
            details?.bodyStart += start
        }
        record.bodyBytes = bytes
        add(.bodyProgress, at: now) { event in
            event.progress = HTTPDNSClient.Progress(bytes: bytes, total: total(), isComplete: false)
        }
    }

    /// Ends the call.
    /// - Returns: The record; nil when the call had ended before.
    mutating func end(_ end: End, at now: MonotonicTime) -> HTTPDNSClient.CallRecord? {
        guard !isEnded else { return nil }
        var (decoded, readBytes): (Int64?, Int64) = (nil, 0)
        switch end {
        case .whole(let bytes):
            record.isBodyComplete = true
            decoded = bytes
        case .released(let isCanceled, let isAsReceived):
            if isCanceled { record.outcome = .canceled }
            if isAsReceived { readBytes = record.bodyBytes }
        case .failed(is CancellationError):
            record.outcome = .canceled
        case .failed(let error):
            record.outcome = .failed
            record.error = error as? HTTPDNSClientError ?? HTTPDNSClientError(interceptorError: error)
        }
        record.duration = now - record.start
        add(record.outcome == .failed ? .failed : record.outcome == .canceled ? .canceled : .finished, at: now) {
            [record] in $0.error = record.error
        }
        isEnded = true
        for index in sendings.indices { sendings[index].addBytes() }
        if let last = sendings.indices.last {
            sendings[last].hop.decodedBodyBytes = decoded
            if let noted = sendings[last].hop.responseBodyBytes {
                sendings[last].hop.responseBodyBytes = max(noted, readBytes)
            }
        }
        record.hops = sendings.map(\.hop)
        if let request = details?.request {
            let whole = CallDetails.SentRequest(request)
            details?.hops = sendings.indices.map { index in
                CallDetails.Hop(
                    request: sendings[index].request ?? whole,
                    response: sendings[index].response,
                    rewritten: sendings[index].rewritten,
                    source: sendings[index].source,
                    addresses: sendings[index].addressesInOrder,
                    localEndpoint: sendings[index].localEndpoint,
                    connection: sendings[index].connection
                )
            }
        }
        return record
    }

    /// Returns the details of a call that has ended, for the first time.
    mutating func takeDetails() -> CallDetails? {
        defer { details = nil }
        return details
    }
}
