// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import CHTTPDNSCurl
internal import HTTPDNSPrimitives

/// The loop, which alone owns a multi handle. It lives, with everything that it holds, only on its own thread.
///
/// A turn: take jobs, let libcurl act, collect finished transfers, end those whose deadline has passed, deliver received
/// data, sleep. A step without work costs one test: its work is marked in ``pending``, or has a time.
final class TransportLoop {
    /// The maximum number of easy handles that are kept for later transfers; one costs 5 KiB.
    private static let maximumSpareHandles = 256

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
    /// Unchecked exclusivity, like the arrays below that each transfer passes: only this object's methods on the loop's thread
    /// access them, and no callback of libcurl enters one during its change. The check at run time costs more than the change.
    @exclusivity(unchecked) private(set) var driver: EpollDriver?
    @exclusivity(unchecked) private var jobs: [LoopJob] = []
    @exclusivity(unchecked) var pending = PendingWork()
    /// The time at which the first of the steps that have a time is due, as of the last wait.
    @exclusivity(unchecked) private var timedWorkAt = Int64.min
    @exclusivity(unchecked) var pins: PinTable
    @exclusivity(unchecked) var deadlines = DeadlineHeap<EasyHandle>()
    /// The requests on kept connections that are checked once they have been silent for the delay of a race.
    @exclusivity(unchecked) var watched: SilenceWatch<EasyHandle>
    @exclusivity(unchecked) var spares: [EasyHandle] = []
    @exclusivity(unchecked) private var readable: [EasyHandle] = []
    /// Handles whose response began while their stream had nothing to send.
    @exclusivity(unchecked) var answeredEarly: [EasyHandle] = []
    @exclusivity(unchecked) private var resumptions: [ResponseState.Action] = []
    /// The resumptions of callers that need no thread of the runtime.
    @exclusivity(unchecked) private var ownResumptions: [ResponseState.Action] = []
    /// The handles that libcurl has; it holds only pointers to them.
    @exclusivity(unchecked) var active: [EasyHandle] = []
    /// Pins with transfers that wait for a stream.
    @exclusivity(unchecked) var crowded: [Pin] = []
    /// Pins at which attempts failed in this turn, see ``moveWaiters()``.
    @exclusivity(unchecked) var failedPins: [Pin] = []
    /// Races whose winner libcurl has just let through; their other attempts are removed once libcurl returns.
    @exclusivity(unchecked) var decidedRaces: [RaceRun] = []
    /// The schedule of connections without a request; `nil` for none.
    let probing: SharedProbeSchedule?
    /// The measurement of the loop's work; `nil` with a single loop.
    var meter: LoopMeter?
    var routeProbe: RouteProbe
    /// The transfer that makes libcurl check its idle connections.
    var sweeper: IdleConnectionReaper?
    /// The time of the next sweep; `Int64.max` when there is nothing to check.
    var sweepAt = Int64.max
    var uncounted = UncountedConnections()
    /// The line with the content codings that are decoded, which the header lists of transfers end with; freed with the loop.
    let acceptedCodings: UnsafeMutablePointer<curl_slist>?
    private(set) var isDraining = false
    private(set) var drainDeadline = Int64.max
    /// Whether a connection may serve a second transfer. In libcurl's own limit 0 means unlimited.
    var keepsConnections: Bool { configuration.maximumIdleConnections > 0 }
    /// The trust material and client certificate of the loop's connections; read once.
    let trust: Result<TrustMaterial, TransferFailure>
    let hasCertificate: Bool
    /// The origins that require HTTP/1.1, and the time until which they get it.
    var http1Origins = RecentTable<RaceOrigin, Int64>(limit: TransportLoop.maximumHTTP1Origins)
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
        probing = mailbox.shared.probing
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
            control: configuration.epollControl,
            wait: configuration.epollWait
        )
    }

    private func run() {
        while let driver {
            takeJobs()
            if pending.contains(.earlyAnswers) { resumeAnsweredEarly() }
            if driver.act(now: now) { pending.insert(.ends) }
            if pending.contains(.ends) { collectFinished() }
            if now >= timedWorkAt { doTimedWork() }
            if !pending.isEmpty { deliver() }
            if !crowded.isEmpty { admitWaiting() }
            if isDraining, active.isEmpty || now >= drainDeadline { return }
            if driver.hasUnwatched, endUnwatched() { continue }
            timedWorkAt = nextTimedWork
            // Transfers that got room may have ended, and their callers wait.
            let isIdle = mailbox.fallAsleep() && pending.isEmpty
            if isIdle { noteSleep() }
            driver.wait(until: isIdle ? timedWorkAt : now, now: now)
            // From here on new jobs are found without the waker.
            mailbox.wakeUp()
            publishWork()
            if driver.actOnEvents() { pending.insert(.ends) }
            // Received data goes to its caller before new work begins.
            if !pending.isEmpty { deliver() }
        }
    }

    /// Collects what has ended, and gives callers what has arrived for them.
    private func deliver() {
        if pending.contains(.ends) { collectFinished() }
        if pending.contains(.readable) { deliverReadable() }
        if pending.contains(.resumptions) { resumeCallers() }
    }

    private func end() {
        while let handle = active.last {
            finish(
                handle,
                .failure(failure(.shutDown, .total, "the transport was shut down during the transfer", handle))
            )
        }
        deliverReadable()
        resumeCallers()
        driver?.detach()
        spares.removeAll()
        sweeper?.stop(multi)
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
            case .resumeSending(let transfer):
                if let handle = transfer.handle { resumeSending(handle) }
            case .retire(let host):
                retireConnections(of: host)
            case .drain(let deadline):
                isDraining = true
                endProbes()
                drainDeadline = min(drainDeadline, deadline?.nanoseconds ?? .max)
            }
        }
        jobs.removeAll(keepingCapacity: true)
        if meter != nil { publishTransfers() }
    }

    func cancel(_ transfer: Transfer) {
        if let handle = transfer.handle {
            finish(handle, .failure(CancellationError()))
        } else if let run = transfer.race {
            end(run, .failure(CancellationError()))
        }
    }

    private func start(_ transfer: Transfer) {
        if transfer.isCancelled { return resumeLater(transfer.deliver(end: .failure(CancellationError()))) }
        if let failure = transfer.limits.failure(at: now) {
            // A kept connection would take the request in the same turn in which the deadline is checked.
            return resumeLater(transfer.deliver(end: .failure(failure)))
        }
        let endpoints = transfer.request.endpoints
        if endpoints.count > 1 || transfer.request.lateEndpoints != nil {
            startRace(transfer)
        } else if let endpoint = endpoints.first {
            begin(transfer, at: endpoint, nil, index: -1)
        }
    }

    /// Gives a transfer's attempt at one endpoint to libcurl. Its end comes through ``finish(_:_:isAdded:)``.
    func begin(_ transfer: Transfer, at endpoint: HTTPDNSEndpoint, _ run: RaceRun?, index: Int) {
        guard let handle = spares.popLast() ?? EasyHandle(loop: self) else {
            let failure = TransferFailure(code: .transport, phase: .queue, message: "libcurl gave no handle")
            if let run { return end(run, .failure(failure)) }
            return resumeLater(transfer.deliver(end: .failure(failure)))
        }
        let pin = pins.acquire(key(of: transfer, at: endpoint), for: transfer.request.url.scheme, at: now)
        let removals = pins.takeRemovals()
        handle.startedAt = now
        handle.dialedAt = now
        handle.activeAt = now
        if let run {
            handle.raceIndex = index
            handle.delayedUntil = moment(configuration.attemptDelay, after: now)
            run.handles[index] = handle
        } else {
            transfer.handle = handle
        }
        handle.activeIndex = active.count
        active.append(handle)
        do {
            try handle.prepare(transfer, pin: pin, removals: removals)
        } catch {
            pins.restoreRemovals(removals)
            return finish(handle, .failure(error), isAdded: false)
        }
        if run != nil { pin.attempts.insert(handle) }
        let code = add(handle, removals: removals)
        guard code == CURLM_OK else {
            pins.restoreRemovals(removals)
            let text = String(cString: curl_multi_strerror(code))
            return finish(handle, .failure(failure(.transport, .queue, text, handle)), isAdded: false)
        }
        let deadline = PhaseBound.next(for: handle, transfer.limits).deadline
        if deadline < .max { deadlines.insert(handle, at: deadline) }
    }

    // MARK: results

    func collectFinished() {
        if !decidedRaces.isEmpty { stopLosers() }
        var code = CURLE_OK
        while let curl = ccurl_next_finished(multi, &code) {
            var pointer: UnsafeMutableRawPointer?
            _ = ccurl_get_pointer(curl, CURLINFO_PRIVATE, &pointer)
            guard let pointer else {
                sweeper?.stop(multi)
                continue
            }
            let handle = Unmanaged<EasyHandle>.fromOpaque(pointer).takeUnretainedValue()
            if code != CURLE_OK || !handle.isHeadComplete, beginAgain(handle, after: code) { continue }
            finish(handle, result(of: handle, code))
        }
        if !failedPins.isEmpty { moveWaiters() }
        if decidedRaces.isEmpty { pending.remove(.ends) }
    }

    func result(of handle: EasyHandle, _ code: CURLcode) -> Result<TransferSummary, any Error> {
        if handle.hasFailed, let failure = handle.failure { return .failure(completed(failure, handle)) }
        guard code == CURLE_OK || handle.isWholeResponse(endedBy: code) else {
            return .failure(withTrail(handle.failure(for: code, elapsed: elapsed(handle)), handle))
        }
        if handle.isCutOff {
            // The code of libcurl 8 (libcurl quirk "Truncated TLS bodies pass").
            return .failure(withTrail(handle.failure(for: CURLE_RECV_ERROR, elapsed: elapsed(handle)), handle))
        }
        guard handle.isHeadComplete else {
            // libcurl quirk: Success without a head (7.88.1). While another request of the connection is repeated, libcurl ends
            // a transfer with `CURLE_OK` without a head (`bits.retry`). It counts as `CURLE_GOT_NOTHING`.
            // Tests: DeadHTTP2ConnectionTests.
            if handle.stream != nil {
                let failure = handle.failure(for: CURLE_GOT_NOTHING, elapsed: elapsed(handle))
                return .failure(withTrail(failure, handle))
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
        if let run = handle.transfer?.race, run.race.winner != handle.raceIndex {
            return attemptEnded(handle, of: run, result, isAdded: isAdded)
        }
        if handle.raceIndex < 0, case .failure(let error) = result { noteFailure(of: handle, error) }
        if case .success = result { handle.isSuccess = true }
        if handle.transfer?.notes != nil, isAdded, !handle.waitsForStream { handle.noteFacts() }
        deliver(handle, end: result)
        if let transfer = handle.transfer { noteHedgesOver(transfer) }
        handle.transfer?.race = nil
        takeOut(handle, isAdded: isAdded)
    }

    /// Removes a handle from libcurl, and clears all state of its transfer.
    func takeOut(_ handle: EasyHandle, isAdded: Bool = true) {
        // A handle that libcurl never had still tells of its last transfer.
        if handle.transfer?.notes != nil, isAdded, !handle.waitsForStream { handle.noteFacts() }
        if handle.countsKeepAlive { handle.noteKeepAlive() }
        // libcurl would close the connection (libcurl quirk "Connect-only connections are private").
        if handle.onlyConnects { handle.set(CURLOPT_CONNECT_ONLY, 0) }
        if handle.waitsForStream {
            handle.pin?.streams.remove(handle)
        } else if isAdded {
            if CurlLibrary.looksForLastConnection, handle.isSuccess, handle.isSentOverHTTP1,
                pins.connectionCount > EmptyConnectionPool.minimumConnections
            {
                handle.forgetConnection()
            }
            curl_multi_remove_handle(multi, handle.curl)
        }
        handle.noteDecided()
        if handle.hasOpenedConnection, let connection = handle.connection { forgetIfClosed(connection) }
        deadlines.remove(handle)
        watched.remove(handle)
        if handle.transfer?.handle === handle { handle.transfer?.handle = nil }
        if let pin = handle.pin {
            if handle.attemptIndex >= 0 { pin.attempts.remove(handle) }
            if handle.isHeadComplete { pin.hadLongBody = handle.bodyBytes >= EasyHandle.longBody }
            shut(pins.release(pin))
        }
        // Checked first, because a target is large and nearly no transfer has one.
        if handle.transfer?.isProbe == true, let target = handle.probe { probing?.ended(target) }
        removeFromActive(handle)
        let isSpare = !handle.spoilsNext && spares.count < TransportLoop.maximumSpareHandles
        handle.reset()
        if isSpare { spares.append(handle) }
    }

    private func removeFromActive(_ handle: EasyHandle) {
        let last = active.removeLast()
        if last !== handle {
            active[handle.activeIndex] = last
            last.activeIndex = handle.activeIndex
        }
        handle.activeIndex = -1
    }

    /// Delivers a handle's result, if the transfer belongs to that handle: another handle's data is not delivered.
    private func deliver(_ handle: EasyHandle, end: Result<TransferSummary, any Error>?) {
        guard let transfer = handle.transfer, transfer.handle === handle else { return }
        // A body that was dropped unread has not arrived whole, even when its rest was read.
        let end = end != nil && handle.isDiscarding ? .failure(CancellationError()) : end
        var head: RawHead?
        if handle.isHeadComplete, !handle.isHeadDelivered, let endpoint = handle.pin?.key.endpoint,
            let received = handle.takeReceivedHead()
        {
            // This comes first, because it also reads the number of connections.
            let timings = (try? end?.get())?.timings ?? handle.timings(isComplete: end != nil)
            head = RawHead(
                head: received.head,
                version: received.version,
                endpoint: endpoint,
                failedAttempts: transfer.race?.trail ?? [],
                reusedConnection: handle.connects == 0,
                hedges: transfer.hedges,
                peerCertificates: configuration.keepsPeerCertificates ? handle.connection?.chain ?? [] : [],
                tls: handle.connection?.tls,
                timings: timings
            )
            handle.isHeadDelivered = true
            if transfer.notes != nil { handle.noteFacts() }
            handle.noteVersionOfHead()
            if let status = handle.status { noteStatus(status, of: handle) }
        }
        let (chunks, chunk) = (handle.chunks, handle.chunk)
        handle.chunks = []
        handle.chunk = []
        handle.unreadBytes += handle.pendingBytes
        if handle.pendingBytes > 0 { handle.lastTurnBytes = handle.pendingBytes }
        handle.pendingBytes = 0
        if end != nil, let trailers = handle.trailers {
            transfer.response.withLock { $0.note(TransferTrailers(trailers)) }
        }
        resumeLater(transfer.deliver(head: head, chunks: chunks, lastChunk: chunk, end: end))
        if end == nil { handle.pauseBeforeNextRead() }
    }

    /// Queues a resumption: callers are resumed together at the end of a turn.
    func resumeLater(_ action: ResponseState.Action) {
        switch action.place {
        case .ofItsOwn: ownResumptions.append(action)
        case .anyThread:
            if case .none = action { return }
            resumptions.append(action)
        }
        pending.insert(.resumptions)
    }

    /// Resumes the queued callers; several are resumed by a task. Each resumption may wake a worker thread of the runtime,
    /// which runs out of work before the next one arrives. From this thread that cost a thread switch in both directions for
    /// every two requests. The task's priority puts it before the workers' other jobs.
    private func resumeCallers() {
        pending.remove(.resumptions)
        for action in ownResumptions { action.run() }
        ownResumptions.removeAll(keepingCapacity: true)
        guard resumptions.count > 1 else {
            for action in resumptions { action.run() }
            return resumptions.removeAll(keepingCapacity: true)
        }
        let batch = resumptions
        resumptions = []
        resumptions.reserveCapacity(batch.count)
        Task(priority: .high) { for action in batch { action.run() } }
    }

    /// Notes that data arrived for a transfer; it is delivered once libcurl returns.
    func markReadable(_ handle: EasyHandle) {
        guard !handle.isReadable else { return }
        handle.isReadable = true
        readable.append(handle)
        pending.insert(.readable)
    }

    private func deliverReadable() {
        pending.remove(.readable)
        for handle in readable where handle.isReadable {
            handle.isReadable = false
            if handle.isAnsweredWhole {
                finish(handle, result(of: handle, CURLE_OK))
            } else {
                if handle.mayHaveMissedEnd { lookSoon(at: handle) }
                deliver(handle, end: nil)
            }
        }
        readable.removeAll(keepingCapacity: true)
    }
}
