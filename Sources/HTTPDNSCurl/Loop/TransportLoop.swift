// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import CHTTPDNSCurl
internal import HTTPDNSPrimitives

/// The loop, which alone owns a multi handle. It lives, with everything that it holds, only on its own thread.
///
/// A turn: take jobs, let libcurl act, collect finished transfers, end those whose deadline has passed, deliver received
/// data, sleep. A step without work costs one test: its work is marked in ``work``, or has a time.
final class TransportLoop {
    /// Sets up libcurl, once in a process and before its first use.
    private static let isCurlReady: Bool = curl_global_init(Int(CURL_GLOBAL_ALL)) == CURLE_OK

    /// Raises the threshold at which the C library returns free heap to the kernel. By default it returns the end of its heap
    /// once 128 KiB of it are free, and requests it again for the next turn: a page fault for each 4 KiB of a long body,
    /// which doubled its time. The threshold follows the largest freed block (glibc, mallopt(3), M_TRIM_THRESHOLD): after
    /// this one 2 MiB are kept, for the whole process.
    private static let keepsFreedMemory: Void = UnsafeMutableRawPointer.allocate(byteCount: 1 << 20, alignment: 16)
        .deallocate()

    let configuration: TransportConfiguration
    let mailbox: LoopMailbox
    let multi: UnsafeMutableRawPointer
    /// The session store of handles that have not used TLS yet.
    let noSessions = TLSSessions()
    lazy var noConnections = EmptyConnectionPool()
    /// Unchecked exclusivity, like the values below that each transfer or turn passes: they are accessed on the loop's thread only,
    /// and no callback of libcurl enters one during its change. The check at run time costs more than the change.
    @exclusivity(unchecked) private(set) var driver: EpollDriver?
    @exclusivity(unchecked) private var jobs: [LoopJob] = []
    @exclusivity(unchecked) var work = LoopWork()
    @exclusivity(unchecked) private var callers = CallerResumptions()
    @exclusivity(unchecked) var handles = LoopHandles()
    @exclusivity(unchecked) var pins: PinTable
    @exclusivity(unchecked) var deadlines = DeadlineHeap<EasyHandle>()
    /// The requests on kept connections that are checked once they have been silent for the delay of a race.
    @exclusivity(unchecked) var watched: SilenceWatch<EasyHandle>
    /// The measurement of the loop's work; `nil` with a single loop.
    @exclusivity(unchecked) var meter: LoopMeter?
    var routeProbe: RouteProbe
    @exclusivity(unchecked) var sweep = IdleSweep()
    @exclusivity(unchecked) var uncounted = UncountedConnections()
    /// The line with the content codings that are decoded, which the header lists of transfers end with; freed with the loop.
    let acceptedCodings: UnsafeMutablePointer<curl_slist>?
    /// The time until which the loop finishes its transfers before it ends; `nil` before it is asked to end.
    private(set) var drainsUntil: Int64?
    var isDraining: Bool { drainsUntil != nil }
    /// Whether a connection may serve a second transfer. In libcurl's own limit 0 means unlimited.
    var keepsConnections: Bool { configuration.maximumIdleConnections > 0 }
    /// The trust material and client certificate of the loop's connections; read once.
    let trust: Result<TrustMaterial, TransferFailure>
    let hasCertificate: Bool
    /// The origins that require HTTP/1.1, and the time until which they get it.
    @exclusivity(unchecked) var http1Origins = RecentTable<RaceOrigin, Int64>(limit: TransportLoop.maximumHTTP1Origins)
    /// The time on the loop's clock in nanoseconds, read at the end of each wait, and with new jobs: events in libcurl's
    /// callbacks must not be dated before the end of the wait, and no request is sent after its deadline.
    @exclusivity(unchecked) private(set) var now: Int64

    /// Runs a loop until it is asked to end.
    /// - Throws: ``TransferFailure`` when it cannot start.
    static func run(
        _ configuration: TransportConfiguration,
        mailbox: LoopMailbox,
        waker: Waker
    ) throws(TransferFailure) {
        guard isCurlReady, let multi = curl_multi_init() else {
            throw TransferFailure(code: .transport, phase: .queue, message: "libcurl could not be set up")
        }
        let loop = TransportLoop(configuration, mailbox: mailbox, multi: multi)
        do {
            try loop.attach(waker)
        } catch {
            curl_multi_cleanup(multi)
            throw error
        }
        _ = keepsFreedMemory
        loop.run()
        loop.end()
    }

    private init(_ configuration: TransportConfiguration, mailbox: LoopMailbox, multi: UnsafeMutableRawPointer) {
        self.configuration = configuration
        self.mailbox = mailbox
        self.multi = multi
        pins = PinTable(
            maximumPins: configuration.maximumIdleConnections,
            maximumAge: configuration.maximumAge,
            names: mailbox.shared.names
        )
        watched = SilenceWatch(interval: configuration.attemptDelay.wholeNanoseconds)
        routeProbe = RouteProbe(configuration.hasRoute)
        trust = mailbox.shared.trust(of: configuration)
        hasCertificate = configuration.trust.clientCertificate != nil
        acceptedCodings = curl_slist_append(nil, "Accept-Encoding: \(configuration.codingLibraries.acceptEncoding)")
        now = TransportLoop.clock()
        if mailbox.shared.count > 1 { meter = LoopMeter(at: now) }
    }

    deinit { curl_slist_free_all(acceptedCodings) }

    private static func clock() -> Int64 { SystemTimeSource().now().nanoseconds }

    private func readClock() -> Int64 {
        now = TransportLoop.clock()
        return now
    }

    private func attach(_ waker: Waker) throws(TransferFailure) {
        var room = IdleConnectionLimit(
            maximumIdle: configuration.maximumIdleConnections,
            shared: mailbox.shared.count > 1 ? (mailbox.shared, mailbox.index) : nil
        )
        room.keep(besides: 0, in: multi)
        _ = ccurl_multi_set_long(multi, CURLMOPT_MAX_CONCURRENT_STREAMS, configuration.maximumStreams)
        driver = try EpollDriver(
            multi: multi,
            waker: waker,
            room: room,
            clock: { [unowned self] in readClock() },
            control: configuration.system.epollControl,
            wait: configuration.system.epollWait
        )
    }

    private func run() {
        while let driver {
            takeJobs()
            if work.kinds.contains(.earlyAnswers) { resumeAnsweredEarly() }
            if driver.act(now: now) { work.kinds.insert(.ends) }
            if work.kinds.contains(.ends) { collectFinished() }
            if now >= work.timedAt { doTimedWork() }
            if !work.kinds.isEmpty { deliver() }
            if !work.crowded.isEmpty { admitWaiting() }
            if let drainsUntil, handles.active.isEmpty || now >= drainsUntil { return }
            if driver.hasUnwatched, endUnwatched() { continue }
            work.timedAt = nextTimedWork
            // Transfers that got room may have ended, and their callers wait.
            let isIdle = mailbox.fallAsleep() && work.kinds.isEmpty
            if isIdle { noteSleep() }
            driver.wait(until: isIdle ? work.timedAt : now, now: now)
            // From here on new jobs are found without the waker.
            mailbox.wakeUp()
            publishWork()
            if driver.actOnEvents() { work.kinds.insert(.ends) }
            // Received data goes to its caller before new work begins.
            if !work.kinds.isEmpty { deliver() }
        }
    }

    /// Collects what has ended, and gives callers what has arrived for them.
    private func deliver() {
        if work.kinds.contains(.ends) { collectFinished() }
        if work.kinds.contains(.readable) { deliverReadable() }
        if work.kinds.contains(.resumptions) { resumeCallers() }
    }

    private func end() {
        while let handle = handles.active.last {
            finish(
                handle,
                .failure(failure(.shutDown, .total, "the transport was shut down during the transfer", handle))
            )
        }
        deliverReadable()
        resumeCallers()
        driver?.detach()
        handles.removeSpares()
        sweep.stop(multi)
        curl_multi_cleanup(multi)
        pins.closeAll()
        mailbox.load.publish(transfers: 0, connections: 0)
        driver = nil
    }

    // MARK: jobs

    private func takeJobs() {
        mailbox.takeJobs(into: &jobs)
        // A job may have come after the end of the wait, and the deadline of its request is judged now.
        if !jobs.isEmpty { _ = readClock() }
        for job in jobs {
            switch job {
            case .start(let transfer):
                start(transfer)
            case .cancel(let transfer):
                cancel(transfer)
            case .add(let endpoints, to: let transfer):
                add(endpoints, to: transfer)
            case .endUnread(let transfer):
                endUnread(transfer)
            case .resumeReading(let transfer):
                if let handle = transfer.handle { resumeReading(handle) }
            case .gather(let transfer, let size):
                gather(transfer, size)
            case .resumeSending(let transfer):
                if let handle = transfer.handle { resumeSending(handle) }
            case .retire(let host):
                retireConnections(of: host)
            case .drain(let deadline):
                drainsUntil = min(drainsUntil ?? .max, deadline?.nanoseconds ?? .max)
                endProbes()
            }
        }
        jobs.removeAll(keepingCapacity: true)
        if meter != nil { publishTransfers() }
    }

    func cancel(_ transfer: Transfer) {
        if let handle = transfer.handle {
            finish(handle, .failure(CancellationError()))
        } else if transfer.race != nil {
            end(transfer, .failure(CancellationError()))
        }
    }

    private func start(_ transfer: Transfer) {
        if transfer.isCancelled { return end(transfer, .failure(CancellationError())) }
        // A kept connection would take the request in the same turn in which the deadline is checked.
        if let failure = transfer.limits.failure(at: now) { return end(transfer, .failure(failure)) }
        let endpoints = transfer.request.endpoints
        if endpoints.count > 1 || transfer.request.lateEndpoints != nil {
            startRace(transfer)
        } else if let endpoint = endpoints.first {
            begin(transfer, at: endpoint)
        }
    }

    /// Gives a transfer's attempt at one endpoint to libcurl. Its end comes through ``finish(_:_:isAdded:)``.
    /// - Parameter index: The index of the attempt in the transfer's race; `nil` without one.
    func begin(_ transfer: Transfer, at endpoint: HTTPDNSEndpoint, index: Int? = nil) {
        guard let handle = handles.take(for: self) else {
            let failure = TransferFailure(code: .transport, phase: .queue, message: "libcurl gave no handle")
            return end(transfer, .failure(failure))
        }
        let pin = pins.acquire(key(of: transfer, at: endpoint), for: transfer.request.url.scheme, at: now)
        let removals = pins.takeRemovals()
        handle.progress.start(at: now)
        if let index {
            handle.raceIndex = index
            handle.progress.delayedUntil = moment(configuration.attemptDelay, after: now)
            transfer.set(handle, ofAttempt: index)
        } else {
            transfer.handle = handle
        }
        handles.insert(handle)
        do {
            try handle.prepare(transfer, pin: pin, removals: removals)
        } catch {
            pins.restoreRemovals(removals)
            return finish(handle, .failure(error), isAdded: false)
        }
        if index != nil { pin.attempts.insert(handle) }
        let code = add(handle, removals: removals)
        guard code == CURLM_OK else {
            pins.restoreRemovals(removals)
            return finish(handle, unlessAdded: code)
        }
        let deadline = PhaseBound.next(for: handle, transfer.limits).deadline
        if deadline < .max { deadlines.insert(handle, at: deadline) }
    }

    // MARK: results

    func collectFinished() {
        stopLosers()
        var code = CURLE_OK
        while let curl = ccurl_next_finished(multi, &code) {
            var pointer: UnsafeMutableRawPointer?
            _ = ccurl_get_pointer(curl, CURLINFO_PRIVATE, &pointer)
            guard let pointer else {
                sweep.stop(multi)
                continue
            }
            let handle = Unmanaged<EasyHandle>.fromOpaque(pointer).takeUnretainedValue()
            if code != CURLE_OK || !handle.head.isComplete, beginAgain(handle, after: code) { continue }
            finish(handle, result(of: handle, code))
        }
        moveWaiters()
        work.endsAreCollected()
    }

    func result(of handle: EasyHandle, _ code: CURLcode) -> Result<TransferSummary, any Error> {
        if handle.ending.hasFailed, let failure = handle.ending.failure { return .failure(completed(failure, handle)) }
        guard code == CURLE_OK || handle.isWholeResponse(endedBy: code) else {
            return .failure(completed(handle.failure(for: code), handle))
        }
        // The code of libcurl 8 (libcurl quirk "Truncated TLS bodies pass").
        if handle.body.isCutOff { return .failure(completed(handle.failure(for: CURLE_RECV_ERROR), handle)) }
        guard handle.head.isComplete else {
            // libcurl quirk: Success without a head (7.88.1). While another request of the connection is repeated,
            // libcurl ends a transfer with `CURLE_OK` without a head (`bits.retry`). It counts as `CURLE_GOT_NOTHING`.
            // Tests: DeadHTTP2ConnectionTests.
            if handle.sending.stream != nil {
                return .failure(completed(handle.failure(for: CURLE_GOT_NOTHING), handle))
            }
            return .failure(failure(.protocolViolation, .firstByte, "the answer has no complete head", handle))
        }
        return .success(handle.summary)
    }

    /// Removes a handle from libcurl and delivers the end of its transfer.
    func finish(
        _ handle: EasyHandle,
        _ result: Result<TransferSummary, any Error>,
        isAdded: Bool = true
    ) {
        if case .failure(let error) = result { noteFailureAfterSending(of: handle, error) }
        if let transfer = handle.transfer, transfer.race != nil, transfer.race?.winner != handle.raceIndex {
            return attemptEnded(handle, of: transfer, result, isAdded: isAdded)
        }
        if handle.raceIndex < 0, case .failure(let error) = result { noteFailure(of: handle, error) }
        if case .success = result { handle.ending.isSuccess = true }
        if handle.transfer?.notes != nil, isAdded, !handle.streamTurn.isWaiting { handle.noteFacts() }
        deliver(handle, end: result)
        if let transfer = handle.transfer {
            stopLosers(of: transfer)
            noteHedgesOver(transfer)
            transfer.endRace()
        }
        takeOut(handle, isAdded: isAdded)
    }

    /// Removes a handle from libcurl, and clears all state of its transfer.
    func takeOut(_ handle: EasyHandle, isAdded: Bool = true) {
        // A handle that libcurl never had still tells of its last transfer.
        if handle.transfer?.notes != nil, isAdded, !handle.streamTurn.isWaiting { handle.noteFacts() }
        if handle.head.countsKeepAlive { handle.noteKeepAlive() }
        // libcurl would close the connection (libcurl quirk "Connect-only connections are private").
        if handle.options.onlyConnects { handle.options.set(CURLOPT_CONNECT_ONLY, 0) }
        if handle.streamTurn.isWaiting {
            handle.pin?.streams.remove(handle)
        } else if isAdded {
            if CurlLibrary.looksForLastConnection, handle.ending.isSuccess, handle.sending.isOverHTTP1,
                pins.connectionCount > EmptyConnectionPool.minimumConnections
            {
                handle.sessions.forgetConnection(of: handle.curl, noConnections)
            }
            curl_multi_remove_handle(multi, handle.curl)
        }
        handle.noteDecided()
        if handle.hasOpenedConnection, let connection = handle.connection { forgetIfClosed(connection) }
        deadlines.remove(handle)
        watched.remove(handle)
        if handle.transfer?.handle === handle { handle.transfer?.handle = nil }
        if let pin = handle.pin {
            if handle.listing.isListed { pin.attempts.remove(handle) }
            if handle.head.isComplete { pin.hadLongBody = handle.body.count >= EasyHandle.longBody }
            shut(pins.release(pin))
        }
        // Checked first, because a target is large and nearly no transfer has one.
        if handle.transfer?.isProbe == true, let target = handle.probe { probeEnded(target) }
        handles.remove(handle)
        let isSpare = !handle.spoilsNext
        handle.reset()
        if isSpare { handles.keep(handle) }
    }

    /// Delivers a handle's result, if the transfer belongs to that handle: another handle's data is not delivered.
    private func deliver(_ handle: EasyHandle, end: Result<TransferSummary, any Error>?) {
        guard let transfer = handle.transfer, transfer.handle === handle else { return }
        // A body that was dropped unread has not arrived whole, even when its rest was read.
        let end = end != nil && handle.body.isDiscarding ? .failure(CancellationError()) : end
        var head: TransferHead?
        if let endpoint = handle.pin?.key.endpoint, let received = handle.head.take() {
            // This comes first, because it also reads the number of connections.
            let timings = (try? end?.get())?.timings ?? handle.timings(isComplete: end != nil)
            head = TransferHead(
                head: received.head,
                version: received.version,
                endpoint: endpoint,
                failedAttempts: transfer.race?.trail ?? [],
                reusedConnection: handle.findings.connects == 0,
                hedges: transfer.hedges,
                peerCertificates: configuration.keepsPeerCertificates ? handle.connection?.tls.chain ?? [] : [],
                tls: handle.connection?.tls.parameters,
                timings: timings
            )
            if transfer.notes != nil { handle.noteFacts() }
            handle.noteVersion(received.version)
            if let status = handle.head.status { noteStatus(status, of: handle) }
        }
        let chunks = handle.body.takeChunks(atEnd: end != nil)
        if end != nil, let trailers = handle.head.trailers {
            transfer.response.withLock { $0.note(TransferTrailers(trailers)) }
        }
        resumeLater(transfer.deliver(head: head, chunks: chunks.full, lastChunk: chunks.last, end: end))
        if end == nil { handle.pauseBeforeNextRead() }
    }

    /// Queues a resumption: callers are resumed together at the end of a turn.
    func resumeLater(_ action: ResponseState.Action) {
        if callers.append(action) { work.kinds.insert(.resumptions) }
    }

    private func resumeCallers() {
        work.kinds.remove(.resumptions)
        callers.run()
    }

    private func deliverReadable() {
        work.kinds.remove(.readable)
        for handle in work.readable where handle.isReadable {
            handle.isReadable = false
            if handle.isAnsweredWhole {
                finish(handle, result(of: handle, CURLE_OK))
            } else {
                if handle.mayHaveMissedEnd { lookSoon(at: handle) }
                deliver(handle, end: nil)
            }
        }
        work.clearReadable()
    }

    // MARK: response bodies that are dropped unread

    // Over HTTP/2 their stream is reset. An HTTP/1.1 connection can carry another request only after the last byte, so a short
    // rest is read and dropped.

    /// The maximum number of bytes that are read: one read of libcurl (CURL_MAX_WRITE_SIZE). A longer rest takes more time than a
    /// new connection.
    static let maximumDiscardedBytes = EasyHandle.fullPiece

    /// Ends the transfer of a response whose body nobody will read.
    func endUnread(_ transfer: Transfer) {
        guard let handle = transfer.handle, !isDraining, handle.hasShortRest else { return cancel(transfer) }
        // Its connection permit stays: the connection cannot carry another request yet.
        handle.body.discard(until: moment(configuration.discardTime, after: now))
        deadlineMayBeEarlier(for: handle)
        // This may end the transfer.
        resumeReading(handle)
    }

    // MARK: transfers whose reader, or the source of whose request, was slower than the network

    func resumeReading(_ handle: EasyHandle) {
        guard handle.body.isPaused else { return }
        handle.body.resume()
        unpause(handle)
    }

    /// Gathers larger chunks for the reader of a transfer, which waits for them.
    private func gather(_ transfer: Transfer, _ size: Int) {
        let (unread, action) = transfer.response.withLock { $0.takeBack(transfer.handle == nil ? 0 : size) }
        resumeLater(action)
        guard let handle = transfer.handle else { return }
        handle.body.gather(size, unread: unread, length: handle.head.declaredLength.length ?? .max)
        resumeReading(handle)
    }

    func resumeSending(_ handle: EasyHandle) {
        guard handle.sending.isPaused else { return }
        handle.sending.isPaused = false
        unpause(handle)
    }

    /// Resumes sending after an early response: libcurl discards the rest of the request, and sending pauses again if
    /// it has nothing.
    ///
    /// libcurl quirk: A paused sender never ends (7.88.1). After an error status libcurl never ends a transfer whose
    /// sending is paused, so the loop resumes it when the response begins. Tests: TransportStreamTests.
    func resumeAnsweredEarly() {
        work.kinds.remove(.earlyAnswers)
        while let handle = work.popAnsweredEarly() { resumeSending(handle) }
    }

    /// Resumes both directions: curl_easy_pause sets them together, and may call back before it returns.
    private func unpause(_ handle: EasyHandle) {
        handle.progress.activeAt = now
        deadlineMayBeEarlier(for: handle)
        var directions: Int32 = 0
        if handle.body.isPaused { directions |= CURLPAUSE_RECV }
        if handle.sending.isPaused { directions |= CURLPAUSE_SEND }
        handle.body.isTakingKept = !handle.body.isPaused
        let code = curl_easy_pause(handle.curl, directions)
        handle.body.isTakingKept = false
        // libcurl quirk: Kept-back data arrives in the call (7.88.1). `curl_easy_pause` delivers kept-back data before
        // it returns. The body callback accepts it all, and the loop ends the transfer after an error.
        // Tests: TransportAnswerTests.
        if handle.ending.hasFailed || code == CURLE_WRITE_ERROR || code == CURLE_OUT_OF_MEMORY {
            finish(handle, result(of: handle, code))
        }
    }

    // MARK: sockets that the kernel does not watch

    /// Ends the transfers whose sockets the kernel does not watch. No event would wake the loop for them.
    /// - Returns: Whether there were any.
    func endUnwatched() -> Bool {
        guard let unwatched = driver?.takeUnwatched(), !unwatched.isEmpty else { return false }
        for (descriptor, error) in unwatched {
            guard let connection = pins.connection(descriptor) else { continue }
            while let handle = connection.carried.first {
                var failure = TransferFailure.notWatched(error)
                failure.phase = handle.phaseOfFailure
                finish(handle, .failure(completed(failure, handle)))
            }
        }
        return true
    }

    // MARK: the measurement of the loop's activity; with a single loop nothing is measured

    /// Notes that the loop is about to wait.
    func noteSleep() {
        guard meter != nil else { return }
        let begin = TransportLoop.clock()
        meter?.sleeps(at: begin)
        publishTransfers()
    }

    /// Publishes the share of the time that the loop works, once in each window.
    func publishWork() {
        guard let percent = meter?.wakes(at: now) else { return }
        mailbox.load.measured(percent, at: now)
    }

    func publishTransfers() {
        mailbox.load.publish(transfers: handles.active.count, connections: pins.connectionCount)
    }
}
