// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNSCore
internal import HTTPDNSCurl
internal import HTTPDNSPrimitives
internal import HTTPTypes

/// The log of one observed call: it makes the events and the record of the call from the facts that the pipeline notes.
///
/// A value, whose methods add to the events that ``takeEvents()`` returns. After the end it makes none.
struct CallLog: Sendable {
    typealias Event = HTTPDNSClient.RequestEvent
    typealias Hop = HTTPDNSClient.CallRecord.Hop

    /// The number of sendings that are kept at each end.
    private static let kept = HTTPDNSClientError.AttemptTrail.kept

    /// The kinds of the events that are made; nil for all.
    private let kinds: Set<Event.Kind>?
    private var events: [Event] = []
    /// Its hops are the first and the last sendings of hops, and hops without any.
    private var record: HTTPDNSClient.CallRecord
    /// For each of its hops the number of transfers whose connections have made events.
    private var reported: [Int] = []
    /// The number of the latest hop.
    private var hop = 0
    private var lastTime: MonotonicTime
    private var isEnded = false
    /// The most bytes of the response body in the details; nil for no details.
    private let bodyLimit: Int?
    /// The caller's request and the client's resolver, for the details; nil without details, and after the end.
    private var request: HTTPDNSClient.Request?
    private let resolver: HTTPDNSResolver?
    /// The response head that the caller got; nil when there was none.
    private var head: ResponseHead?
    /// The first bytes of the body that the caller read.
    private var bodyStart: [UInt8] = []

    /// - Parameters:
    ///   - start: The start of the call.
    ///   - kinds: The kinds of the events that are made; nil for all.
    ///   - bodyLimit: The most bytes of the response body in the details; nil for no details.
    ///   - resolver: The resolver of the client, for the details.
    init(
        _ id: UInt64,
        _ request: HTTPDNSClient.Request,
        at start: MonotonicTime,
        making kinds: Set<Event.Kind>? = [],
        bodyLimit: Int? = nil,
        resolver: HTTPDNSResolver? = nil
    ) {
        self.bodyLimit = bodyLimit
        record = HTTPDNSClient.CallRecord(callID: id, method: request.method, url: "", start: .init(start))
        record.shownURL = ShownURL(request.url)
        self.resolver = resolver
        if bodyLimit != nil { self.request = request }
        lastTime = start
        self.kinds = kinds
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
        guard kinds?.contains(kind) ?? true else { return }
        // What the loop has timed may be older than an event of the pipeline.
        lastTime = max(lastTime, time)
        var event = Event(kind, callID: record.callID, hop: number ?? hop, at: .init(lastTime))
        complete(&event)
        events.append(event)
    }

    private func sending(_ number: Int, _ request: HTTPDNSClient.Request, at start: MonotonicTime) -> Hop {
        var hop = Hop(number: number, method: request.method, url: "", start: .init(start))
        hop.shownURL = ShownURL(request.url)
        // Without details the body would be in memory for as long as the response.
        if bodyLimit != nil { hop.messages = CallDetails.Messages(request) }
        return hop
    }

    /// Notes a fact. The numbers of sendings are those of ``beginSending(_:_:at:)``.
    mutating func note(_ fact: CallFact, at now: MonotonicTime) {
        guard !isEnded else { return }
        switch fact {
        case .began:
            add(.started, at: lastTime) { [method = record.method, url = record.shownURL] event in
                (event.method, event.url) = (method, url.text)
            }
        case .hopEnded(let number, let request, let start, let outcome):
            endHop(number, request, since: start, outcome, at: now)
        case .lookedUp: break
        case .resolved(let sending, let rewritten): noteResolved(sending, rewritten, at: now)
        case .waited(let sending, let start):
            guard let index = index(of: sending) else { break }
            record.hops[index].queueWait = (record.hops[index].queueWait ?? .zero) + (now - start)
        case .transferBegan(let sending, let notes):
            guard let index = index(of: sending) else { break }
            reportConnections(of: index)
            record.hops[index].notes.append(notes)
        case .requestBody(let sending, let progress):
            guard let index = index(of: sending) else { break }
            add(.requestBodyProgress, hop: record.hops[index].number, at: now) { $0.progress = progress }
        case .head(let sending, let exchange): noteHead(sending, exchange, at: now)
        case .failed(let sending, let error):
            guard let index = index(of: sending) else { break }
            reportConnections(of: index)
            record.hops[index].note(error, at: now)
        case .merged(let number, let request, let response, let start):
            noteMerged(number, request, response, since: start, at: now)
        case .redirected(let status, let next):
            record.redirects += 1
            add(.redirect, at: now) { event in
                (event.status, event.method, event.url) = (status, next.method, ShownURL(next.url).text)
            }
        case .retried(let outcome, let delay):
            record.retries += 1
            add(.retry, at: now) { event in
                event.delay = delay
                switch outcome {
                case .success(let response): event.status = response.status
                case .failure(let error): event.error = error as? HTTPDNSClientError
                }
            }
        case .answered(let head): noteResponse(head, at: now)
        case .bodyRead(let bytes, let body, let chunk):
            if let bodyLimit, bodyStart.count < bodyLimit { bodyStart += chunk.prefix(bodyLimit - bodyStart.count) }
            record.bodyBytes = bytes
            add(.bodyProgress, at: now) { event in
                event.progress = HTTPDNSClient.Progress(bytes: bytes, total: body.declaredLength, isComplete: false)
            }
        }
    }

    // MARK: hops

    /// Ends a hop. It gets a record when it was not sent: a sending has its own.
    private mutating func endHop(
        _ number: Int,
        _ request: HTTPDNSClient.Request,
        since start: MonotonicTime,
        _ outcome: Result<CallFact.Head, any Error>,
        at now: MonotonicTime
    ) {
        // Another hop may have begun meanwhile.
        hop = max(hop, number)
        switch outcome {
        case .success(let head):
            let (source, status) = (head.cacheSource, head.content.status)
            // By index: a sending in a closure's parameter would be a copy of it.
            if let index = record.hops.indices.last(where: { index in
                record.hops[index].number == number && record.hops[index].status != nil
            }) {
                record.hops[index].messages?.head = head.content
                // The cache has answered with a stored response instead of that of the server.
                guard let source, source != .miss else { return }
                record.hops[index].cacheSource = source
                return addHeadInProcess(status, source, hop: number, at: now)
            }
            var open = sending(number, request, at: start)
            open.duration = now - open.start
            open.isAnsweredInProcess = true
            open.status = status
            open.cacheSource = source
            open.messages?.head = head.content
            append(open)
            addHeadInProcess(status, source, hop: number, at: now)
        case .failure(let error):
            guard !record.hops.indices.contains(where: { record.hops[$0].number == number }) else { return }
            var open = sending(number, request, at: start)
            open.isUnsent = true
            open.note(error, at: now)
            append(open)
        }
    }

    /// Adds a sending, in bounded memory: a call that waits for the network for an hour has tens of thousands.
    /// - Returns: Its number in the call.
    @discardableResult
    private mutating func append(_ sending: consuming Hop) -> Int {
        if record.hops.count == 2 * CallLog.kept {
            record.hops.remove(at: CallLog.kept)
            reported.remove(at: CallLog.kept)
            record.hopsLeftOut += 1
        }
        record.hops.append(sending)
        reported.append(0)
        return record.hops.count - 1 + record.hopsLeftOut
    }

    /// Returns the index of a sending by its number; nil when it is left out.
    private func index(of sending: Int) -> Int? {
        guard sending >= CallLog.kept else { return sending }
        let index = sending - record.hopsLeftOut
        return index >= CallLog.kept ? index : nil
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

    /// Begins a sending of a hop.
    /// - Returns: Its number, for the facts about it.
    mutating func beginSending(_ number: Int, _ request: HTTPDNSClient.Request, at now: MonotonicTime) -> Int {
        hop = max(hop, number)
        return append(sending(number, request, at: now))
    }

    private mutating func noteResolved(
        _ sending: Int,
        _ rewritten: HTTPDNSRewriter.RewrittenRequest,
        at now: MonotonicTime
    ) {
        guard let index = index(of: sending) else { return }
        reportConnections(of: index)
        guard record.hops[index].note(rewritten) else { return }
        add(.resolved, hop: record.hops[index].number, at: now) { event in
            event.source = rewritten.source
            event.addresses = rewritten.addresses
        }
    }

    private mutating func noteHead(_ sending: Int, _ exchange: HTTPDNSClient.Exchange, at now: MonotonicTime) {
        guard let index = index(of: sending) else { return }
        if !reportConnections(of: index) { reportConnections(of: exchange, index, at: now) }
        record.hops[index].note(exchange, at: now)
        add(.responseHead, hop: record.hops[index].number, at: now) { event in
            event.status = exchange.status
            event.endpoint = exchange.remote
            event.cacheSource = exchange.cacheSource
        }
    }

    /// Adds a hop for the response to the request of another call. It has none of that call's attempts, times and bytes.
    private mutating func noteMerged(
        _ number: Int,
        _ request: HTTPDNSClient.Request,
        _ response: HTTPDNSClient.Response,
        since start: MonotonicTime,
        at now: MonotonicTime
    ) {
        hop = number
        var exchange = response.lastExchange
        exchange?.failedAttempts = []
        exchange?.resolve = nil
        exchange?.timings = .init()
        var merged = sending(number, request, at: start)
        merged.duration = now - start
        merged.isMerged = true
        merged.isAnsweredInProcess = exchange == nil
        merged.exchange = exchange
        merged.status = response.status
        merged.messages?.head = response.content
        append(merged)
        add(.responseHead, at: now) { [exchange] event in
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
        // Most records are made without events.
        if let kinds, kinds.isEmpty { return true }
        var hasNotes = false
        while reported[index] < record.hops[index].notes.count {
            let attempts = record.hops[index].notes[reported[index]].attempts
            reported[index] += 1
            hasNotes = !attempts.isEmpty
            let events = attempts.flatMap(CallLog.connectionEvents).enumerated()
            // Attempts overlap: of equal times the event that was noted first is first.
            for (_, event) in events.sorted(by: { ($0.element.time, $0.offset) < ($1.element.time, $1.offset) }) {
                add(event.kind, hop: record.hops[index].number, at: event.time) { added in
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
        let number = record.hops[index].number
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

    // MARK: the end

    private mutating func noteResponse(_ head: ResponseHead, at now: MonotonicTime) {
        self.head = head
        record.timeToHead = now - record.start
        record.status = head.status
        // An application interceptor has answered: the call has no hop.
        guard record.hops.isEmpty else { return }
        var hop = Hop(method: record.method, url: "", start: record.start)
        hop.shownURL = record.shownURL
        hop.duration = record.timeToHead
        hop.isAnsweredInProcess = true
        hop.status = head.status
        hop.messages = request.map(CallDetails.Messages.init)
        hop.messages?.head = head
        append(hop)
        addHeadInProcess(head.status, nil, hop: 0, at: now)
    }

    /// Ends the call.
    /// - Returns: The record; nil for a call that has ended.
    mutating func end(_ end: CallFact.End, at now: MonotonicTime) -> HTTPDNSClient.CallRecord? {
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
            [error = record.error] in $0.error = error
        }
        isEnded = true
        for index in record.hops.indices { record.hops[index].addNotedBytes() }
        if let last = record.hops.indices.last {
            record.hops[last].decodedBodyBytes = decoded
            if let noted = record.hops[last].responseBodyBytes {
                record.hops[last].responseBodyBytes = max(noted, readBytes)
            }
        }
        var record = record
        if let request {
            record.details = CallDetails(request: request, resolver: resolver, head: head, bodyStart: bodyStart)
        } else {
            record.removeDetails()
        }
        // The log lives as long as the response does.
        (self.record.hops, reported, request, head, bodyStart) = ([], [], nil, nil, [])
        return record
    }
}

// Methods of the hop: reading one of its parts through the array would copy the hop.
extension HTTPDNSClient.CallRecord.Hop {
    /// - Returns: Whether its addresses are others than before.
    fileprivate mutating func note(_ rewritten: HTTPDNSRewriter.RewrittenRequest) -> Bool {
        host = rewritten.content.url.host
        port = rewritten.content.url.port
        // The system resolver's addresses after a fallback have no route.
        if let route = rewritten.resolution.route { self.route = route.pattern.description }
        self.rewritten = rewritten
        guard !rewritten.isUnresolved, resolved?.addresses != rewritten.addresses else { return false }
        resolved = (rewritten.source, rewritten.addresses)
        return true
    }

    fileprivate mutating func note(_ exchange: HTTPDNSClient.Exchange, at now: MonotonicTime) {
        duration = now - start
        self.exchange = exchange
        status = exchange.status
        cacheSource = exchange.cacheSource
        timings = exchange.timings
        isHedged = exchange.isHedged
    }

    fileprivate mutating func note(_ error: any Error, at now: MonotonicTime) {
        guard !(error is CancellationError) else { return cancellation = now - start }
        let error = error as? HTTPDNSClientError ?? HTTPDNSClientError(interceptorError: error)
        duration = now - start
        self.error = error
    }

    /// Adds the bytes and times that the loop has noted.
    fileprivate mutating func addNotedBytes() {
        let attempts = notedAttempts
        guard let last = Self.last(of: attempts) else { return }
        requestHeadBytes = attempts.reduce(0) { $0 + Int64($1.requestHeadBytes) }
        requestBodyBytes = attempts.reduce(0) { $0 + Int64($1.requestBodyBytes) }
        responseHeadBytes = attempts.reduce(0) { $0 + Int64($1.responseHeadBytes) }
        responseBodyBytes = attempts.reduce(0) { $0 + Int64($1.responseBodyBytes) }
        timings = last.timings
    }
}
