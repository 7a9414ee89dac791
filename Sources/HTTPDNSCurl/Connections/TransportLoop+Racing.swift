// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import CHTTPDNSCurl
internal import Glibc
internal import HTTPDNSPrimitives
internal import HTTPTypes

/// The host and port whose endpoints race.
struct RaceOrigin: Hashable {
    var host: ParsedURL.Host
    var port: UInt16
}

extension RaceOrigin {
    init(_ transfer: Transfer) {
        host = transfer.request.url.host
        port = transfer.request.url.port
    }
}

// Races run only on the loop's thread, so the gate is a plain flag that never waits.
extension TransportLoop {
    var time: MonotonicTime { MonotonicTime(nanoseconds: now) }

    // MARK: start

    func startRace(_ transfer: Transfer) {
        let endpoints = endpointsInOrder(of: transfer)
        transfer.notes?.note(order: endpoints)
        transfer.race = Race(endpoints, startedAt: now)
        probe(insteadOf: endpoints[0], endpoints, for: transfer)
        noteUse(of: endpoints, by: transfer)
        follow(transfer.race?.begin(), of: transfer)
    }

    /// Adds endpoints that became known during a race, unless it is decided.
    func add(_ late: [HTTPDNSEndpoint], to transfer: Transfer) {
        guard let isHedged = transfer.race?.isHedged, !isHedged, transfer.race?.winner == nil else { return }
        let step = transfer.race?.add(late)
        transfer.notes?.note(order: transfer.race?.endpoints ?? [])
        follow(step, of: transfer)
    }

    func follow(_ step: Race.Step?, of transfer: Transfer) {
        guard let step else { return }
        if let index = step.withdraws, let handle = transfer.attempts[index] {
            transfer.set(nil, ofAttempt: index)
            takeOut(handle)
        }
        if let index = step.begins, let endpoint = transfer.race?.endpoints[index] {
            begin(transfer, at: endpoint, index: index)
            listWaiters(of: transfer)
        }
        guard step.isLost else { return }
        // After the limit of the whole: attempts that were still running had no response either.
        for case let handle? in transfer.attempts {
            let failure = unfinished(handle)
            transfer.race?.gaveUp(failure)
        }
        guard let verdict = transfer.race?.verdict(at: now, wasSent: transfer.wasSent) else { return }
        end(transfer, .failure(verdict))
    }

    // MARK: attempts

    /// Marks an endpoint as suspect after its delay. All requests that wait for it try their next one now.
    func delayPassed(for handle: EasyHandle) {
        guard let transfer = handle.transfer, let pin = handle.pin else { return }
        noteSuspect(handle)
        pin.attempts.remove(handle)
        let others = pin.attempts.takeAll()
        letGo(of: handle, in: transfer)
        letGo(of: others, at: pin)
    }

    private func letGo(of handles: [EasyHandle], at pin: Pin) {
        // The first of them may end others, whose handles then serve other attempts.
        for handle in handles where !handle.listing.isListed && handle.pin === pin {
            guard let transfer = handle.transfer, let race = transfer.race, race.winner == nil,
                race.attempts[handle.raceIndex] == .running
            else { continue }
            letGo(of: handle, in: transfer)
        }
    }

    private func letGo(of handle: EasyHandle, in transfer: Transfer) {
        handle.progress.delayedUntil = .max
        deadlines.move(handle, to: bound(of: handle).deadline)
        let step = transfer.race?.delayPassed(handle.raceIndex, hasConnection: handle.hasOpenedConnection)
        follow(step, of: transfer)
    }

    /// Lists the attempts of a race that wait for another's connection, after another of its attempts has become the latest.
    func listWaiters(of transfer: Transfer) {
        guard let race = transfer.race, race.winner == nil else { return }
        for case let handle? in transfer.attempts
        where !handle.listing.isListed && !handle.hasOpenedConnection && race.attempts[handle.raceIndex] == .running {
            handle.pin?.attempts.insert(handle)
        }
    }

    /// Moves the attempts that wait for connections to endpoints that failed in this turn (libcurl quirk "Waiters
    /// inherit a dead endpoint").
    func moveWaiters() {
        while let pin = work.popFailed() { letGo(of: pin.attempts.takeWaiting(), at: pin) }
    }

    /// Handles the end of an attempt whose race has no winner, or that lost it.
    func attemptEnded(
        _ handle: EasyHandle,
        of transfer: Transfer,
        _ result: Result<TransferSummary, any Error>,
        isAdded: Bool
    ) {
        let (index, pin) = (handle.raceIndex, handle.pin)
        transfer.set(nil, ofAttempt: index)
        // Late at the gate or removed: no verdict about the endpoint. The race may be open again by now.
        guard transfer.race?.winner == nil, !handle.ending.hasLostRace, case .failure(let error) = result else {
            takeOut(handle, isAdded: isAdded)
            return follow(transfer.race?.takenOut(index), of: transfer)
        }
        noteFailure(of: handle, error)
        takeOut(handle, isAdded: isAdded)
        guard let failure = error as? TransferFailure else { return end(transfer, result) }
        let step = transfer.race?.failed(index, failure, sendings: transfer.sendings)
        let concernsOthers = transfer.race?.hasDecisiveFailure == false
        follow(step, of: transfer)
        if let pin, concernsOthers { work.add(failed: pin) }
    }

    private func unfinished(_ handle: EasyHandle) -> TransferFailure {
        let message = handle.sending.mayHaveBeenSent ? "no answer in time" : "no connection in time"
        var failure = TransferFailure(code: .timedOut, phase: handle.phaseOfFailure, message: message)
        failure.endpoint = handle.pin?.key.endpoint
        failure.elapsed = elapsed(handle)
        return failure
    }

    /// Ends a transfer that no handle carries: one that has not begun, or whose race has no winner.
    func end(_ transfer: Transfer, _ result: Result<TransferSummary, any Error>) {
        // While the transfer has its race, which is in the facts of its attempts.
        for handle in transfer.attempts.compactMap(\.self) { takeOut(handle) }
        transfer.endRace()
        noteHedgesOver(transfer)
        resumeLater(transfer.deliver(end: result))
    }

    // MARK: the gate

    /// Notes that a connection is established and its request is sent, or held back on purpose. libcurl calls this, so nothing
    /// is removed here.
    func noteGatePassed(_ handle: EasyHandle) {
        guard let transfer = handle.transfer, let pin = handle.pin else { return }
        if handle.listing.isListed { pin.attempts.remove(handle) }
        let host = transfer.request.url.host
        if handle.hasOpenedConnection, let connection = handle.connection {
            if pin.key.isConnectedTo {
                let time = Duration.nanoseconds(max(0, now - connection.openedAt))
                mailbox.endpoints.withLock { [now = self.time] in
                    $0.connected(
                        pin.key.endpoint,
                        for: host,
                        from: pin.key.egressPath?.source,
                        overTLS: transfer.isOverTLS,
                        in: time,
                        at: now
                    )
                }
            }
            if configuration.keepsPeerCertificates, transfer.request.url.scheme == .https {
                pin.connections.showed(handle.peerCertificates, on: connection)
            }
        }
        transfer.upload?.open()
        // The first response decides a race with several sendings.
        if transfer.race?.winner != nil, transfer.handle == nil { carry(transfer, by: handle, pin) }
    }

    func carry(_ transfer: Transfer, by handle: EasyHandle, _ pin: Pin) {
        transfer.handle = handle
        work.add(decided: transfer)
        let (endpoint, origin, order) = (pin.key.endpoint, RaceOrigin(transfer), transfer.order)
        mailbox.endpoints.withLock { $0.carried(endpoint, origin, order) }
    }

    func stopLosers() {
        while let transfer = work.popDecided() { stopLosers(of: transfer) }
    }

    /// Removes the other attempts of a decided race.
    func stopLosers(of transfer: Transfer) {
        // The race may have been opened again before libcurl returned.
        guard let winner = transfer.race?.winner else { return }
        for case let handle? in transfer.attempts where handle.raceIndex != winner {
            let index = handle.raceIndex
            transfer.set(nil, ofAttempt: index)
            noteUnanswered(handle)
            takeOut(handle)
            _ = transfer.race?.takenOut(index)
        }
    }

    // MARK: endpoint health

    private func noteSuspect(_ handle: EasyHandle) {
        guard let key = handle.pin?.key, key.isConnectedTo else { return }
        let inTLS = handle.progress.phase == .securing
        mailbox.endpoints.withLock { [time] in
            $0.suspected(key.endpoint, for: key.host, from: key.egressPath?.source, inTLS: inTLS, at: time)
        }
    }

    func noteFailure(of handle: EasyHandle, _ error: any Error) {
        guard var failure = error as? TransferFailure else { return }
        // Reasons of this process and loop: the others may have what this one lacks, such as open connections.
        if failure.code == .trustRootsMissing || TransferFailure.isLack(handle.findings.socketError) {
            mailbox.shared.loopFailed(mailbox.index, isStarted: true)
        }
        // The request was sent on the earlier connection.
        if handle.sending.isRedialed, handle.progress.phase == .connecting || handle.progress.phase == .securing {
            failure.requestMayHaveBeenSent = false
        }
        guard failure.isAboutConnection, failure.phase != .queue,
            failure.code != .lookupDenied, failure.code != .proxyRefused, handle.findings.socketError == 0,
            let key = handle.pin?.key, key.isConnectedTo
        else { return }
        let random = configuration.random()
        let inTLS = failure.phase == .tls
        mailbox.endpoints.withLock { [time] in
            $0.failed(
                key.endpoint,
                for: key.host,
                from: key.egressPath?.source,
                inTLS: inTLS,
                at: time,
                random: random
            )
        }
    }

    /// Returns the failure with all attempts, if it is the transfer's. An attempt's own failure is one of the attempts.
    func withTrail(_ failure: TransferFailure, _ handle: EasyHandle) -> TransferFailure {
        var failure = failure
        let own = TransferAttempt(ending: failure)
        if let race = handle.transfer?.race {
            guard race.winner == handle.raceIndex else { return failure }
            failure.attempts = race.trail
            failure.elapsed = .nanoseconds(max(0, now - race.startedAt))
        }
        if let own { failure.attempts.append(own) }
        return failure
    }
}

// Requests that were sent and have no response: checks of their connection, and second sendings.
extension TransportLoop {
    /// The maximum number of transfers that are sent once more at a time, as a fraction of all. When everything is slow,
    /// sending everything again makes it slower.
    private static let hedgeShare = 10
    private static let leastHedges = 4

    /// Notes that a request is sent. Its connection is checked while it has no response.
    func watch(_ handle: EasyHandle) {
        guard let transfer = handle.transfer else { return }
        // A kept connection may be dead: packets to a vanished host are dropped silently. A new connection is alive, and may
        // die during an upload.
        if handle.hasOpenedConnection {
            handle.progress.livenessCheckAt = moment(deadPathLimit(of: transfer), after: now)
        } else {
            lookAfterInterval(at: handle, of: transfer)
        }
        if let delay = transfer.hedgeAfter, transfer.hedges == 0 {
            handle.progress.hedgesAt = (time + delay).nanoseconds
        }
    }

    /// Checks the connection of a request after the interval of all, or after its own if that is shorter.
    private func lookAfterInterval(at handle: EasyHandle, of transfer: Transfer) {
        let interval = lookInterval(transfer)
        guard interval < watched.interval else { return watched.insert(handle, at: now) }
        handle.progress.livenessCheckAt = moment(.nanoseconds(interval), after: now)
    }

    /// Ends the checks of a request's connection.
    func unwatch(_ handle: EasyHandle) {
        handle.progress.livenessCheckAt = .max
        watched.remove(handle)
    }

    /// Checks the connections of the requests that have been silent for the interval.
    func lookAtSilent() {
        while let handle = watched.popDue(at: now) {
            handle.progress.livenessCheckAt = now
            look(at: handle)
        }
    }

    /// The time for the end of a stream after the last bytes of its response (libcurl quirk "The end of a stream is
    /// missed").
    private static let streamEndDelay: Int64 = 100_000_000

    func lookSoon(at handle: EasyHandle) {
        handle.progress.livenessCheckAt = now + TransportLoop.streamEndDelay
        deadlineMayBeEarlier(for: handle)
    }

    /// Checks why a request has no response, or why its response does not continue.
    func look(at handle: EasyHandle) {
        if handle.mayHaveMissedEnd { return finish(handle, result(of: handle, CURLE_OK)) }
        if now >= handle.progress.livenessCheckAt, !isCarried(by: handle) { return }
        // Its connection may have been abandoned meanwhile, and the transfer ended.
        if handle.transfer != nil, handle.progress.phase != .receiving, now >= handle.progress.hedgesAt {
            handle.progress.hedgesAt = .max
            let transfers =
                mailbox.shared.count > 1 ? max(handles.active.count, mailbox.shared.transfers) : handles.active.count
            let limit = max(TransportLoop.leastHedges, transfers / TransportLoop.hedgeShare)
            if mailbox.shared.hedgesRunning < limit, let transfer = handle.transfer {
                // Counted before: a sending that cannot begin may end the transfer, which subtracts its count.
                countHedges(of: transfer, 1)
                if !sendAgain(handle) { countHedges(of: transfer, -1) }
            }
        }
        guard let limits = handle.transfer?.limits else { return }
        deadlines.move(handle, to: PhaseBound.next(for: handle, limits).deadline)
    }

    // MARK: dead paths

    /// Checks the connection of a request. A slow server acknowledges received data; a vanished host does not. After the first
    /// unanswered retransmission the connection is abandoned, and a request that may safely be sent twice is sent once more on
    /// another one. Once nothing was acknowledged for the duration of the connect limit, the path is dead, and the transfer
    /// ends.
    /// - Returns: Whether the handle still has its transfer.
    private func isCarried(by handle: EasyHandle) -> Bool {
        unwatch(handle)
        guard let transfer = handle.transfer, let pin = handle.pin, let connection = handle.connection,
            let state = configuration.system.sendingState(connection.descriptor)
        else { return true }
        connection.path.note(state, sentAt: handle.sending.sentAt, at: now)
        let since = connection.path.unansweredSince
        guard since < .max else {
            // While a body is sent, bytes may be in transit at any time; otherwise the kernel's probes are the next to detect a
            // dead path.
            let isSending = handle.progress.phase == .sending || state.hasUnacknowledged
            if isSending {
                lookAfterInterval(at: handle, of: transfer)
            } else {
                handle.progress.livenessCheckAt = moment(configuration.tcpKeepalive.idle, after: now)
            }
            return true
        }
        let limit = deadPathLimit(of: transfer)
        let end = moment(limit, after: since)
        if state.retransmissions > 0 || now >= end {
            leaveSilent(pin)
            if transfer.mayBeRepeated, handle.progress.phase != .receiving, !handle.sending.isElsewhere {
                handle.sending.isElsewhere = true
                _ = sendAgain(handle)
                guard handle.transfer === transfer else { return false }
            }
        }
        guard now >= end, let limit else {
            handle.progress.livenessCheckAt = end
            return true
        }
        noteUnanswered(handle)
        let message =
            "the path is dead: nothing that was sent was acknowledged for \(Int64(limit.inSeconds * 1_000)) ms"
        finish(handle, .failure(failure(.connectionLost, handle.phaseOfFailure, message, handle)))
        return false
    }

    /// Returns the time in which a path must acknowledge something: the connect limit, or the shorter bound of the transport.
    /// It is at least a second, which the kernel may need for the first retransmission.
    private func deadPathLimit(of transfer: Transfer) -> Duration? {
        guard let connect = transfer.limits.connect else {
            return configuration.unacknowledgedLimit.map { max($0, .seconds(1)) }
        }
        return max(min(connect, configuration.unacknowledgedLimit ?? connect), .seconds(1))
    }

    /// Returns the interval in nanoseconds.
    private func lookInterval(_ transfer: Transfer) -> Int64 {
        // A path has at least a second, see below.
        if watched.interval <= 1_000_000_000 { return watched.interval }
        return min(watched.interval, (deadPathLimit(of: transfer) ?? .seconds(1)).wholeNanoseconds)
    }

    /// Returns the end of a duration; `Int64.max` without one.
    func moment(_ duration: Duration?, after start: Int64) -> Int64 {
        guard let duration else { return .max }
        let (moment, overflow) = start.addingReportingOverflow(duration.wholeNanoseconds)
        return overflow ? .max : moment
    }

    // MARK: sending once more

    /// Sends a request once more in parallel: to its next endpoint, or to the same one when there is none.
    /// - Returns: Whether it is sent.
    private func sendAgain(_ handle: EasyHandle) -> Bool {
        guard let transfer = handle.transfer, let endpoint = handle.pin?.key.endpoint else { return false }
        if transfer.race == nil {
            transfer.race = Race(sentTo: endpoint, startedAt: handle.progress.startedAt)
            handle.raceIndex = 0
            transfer.set(handle, ofAttempt: 0)
        }
        guard let step = transfer.race?.hedge(besides: handle.raceIndex) else { return false }
        transfer.handle = nil
        follow(step, of: transfer)
        return true
    }

    /// Notes that a request's kept connection died without a byte of a response, and that another one is being made. libcurl
    /// may call this. If the new connection does not succeed, the request's other endpoints are tried.
    func noteRedial(_ handle: EasyHandle) {
        if let transfer = handle.transfer, let key = handle.pin?.key, transfer.race?.redials(handle.raceIndex) == true {
            transfer.handle = nil
            handle.pin?.attempts.insert(handle)
            listWaiters(of: transfer)
            let standing = mailbox.endpoints.withLock { [time] in
                $0.standing(of: key.endpoint, for: key.host, from: key.egressPath?.source, at: time)
            }
            // Another request has already found out that the endpoint does not respond.
            handle.progress.delayedUntil = moment(standing == .healthy ? configuration.attemptDelay : .zero, after: now)
        }
        deadlineMayBeEarlier(for: handle)
    }

    private func countHedges(of transfer: Transfer, _ more: Int) {
        if more != 0 { mailbox.shared.countHedges(more) }
        transfer.hedges += more
    }

    func noteHedgesOver(_ transfer: Transfer) { countHedges(of: transfer, -transfer.hedges) }
}
