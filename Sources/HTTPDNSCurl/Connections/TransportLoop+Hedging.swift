// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import CHTTPDNSCurl
internal import HTTPDNSPrimitives

// Requests that were sent and have no response: checks of their connection, and second sendings.
extension TransportLoop {
    /// The maximum number of transfers that are sent once more at a time, as a fraction of all. When everything is slow,
    /// sending everything again makes it slower.
    private static let hedgeShare = 10
    private static let leastHedges = 4
    /// The maximum number of times that a request is sent, whatever happens to its connections.
    private static let maximumSendings = 4

    /// Notes that a request is sent. Its connection is checked while it has no response.
    func watch(_ handle: EasyHandle) {
        handle.sentAt = now
        guard let transfer = handle.transfer else { return }
        // A kept connection may be dead: packets to a vanished host are dropped silently. A new connection is alive, and may
        // die during an upload.
        if handle.hasOpenedConnection {
            handle.livenessCheckAt = moment(deadPathLimit(of: transfer), after: now)
        } else {
            lookAfterInterval(at: handle, of: transfer)
        }
        if let delay = transfer.hedgeAfter, transfer.hedges == 0 {
            handle.hedgesAt = (time + delay).nanoseconds
        }
    }

    /// Checks the connection of a request after the interval of all, or after its own if that is shorter.
    private func lookAfterInterval(at handle: EasyHandle, of transfer: Transfer) {
        let interval = lookInterval(transfer)
        guard interval < watched.interval else { return watched.insert(handle, at: now) }
        handle.livenessCheckAt = moment(.nanoseconds(interval), after: now)
    }

    /// Ends the checks of a request's connection.
    func unwatch(_ handle: EasyHandle) {
        handle.livenessCheckAt = .max
        watched.remove(handle)
    }

    /// Checks the connections of the requests that have been silent for the interval.
    func lookAtSilent() {
        while let handle = watched.popDue(at: now) {
            handle.livenessCheckAt = now
            look(at: handle)
        }
    }

    /// The time for the end of a stream after the last bytes of its response (libcurl quirk "The end of a stream is missed").
    private static let streamEndDelay: Int64 = 100_000_000

    func lookSoon(at handle: EasyHandle) {
        handle.livenessCheckAt = now + TransportLoop.streamEndDelay
        deadlineMayBeEarlier(for: handle)
    }

    /// Checks why a request has no response, or why its response does not continue.
    func look(at handle: EasyHandle) {
        if handle.mayHaveMissedEnd { return finish(handle, result(of: handle, CURLE_OK)) }
        if now >= handle.livenessCheckAt, !isCarried(by: handle) { return }
        // Its connection may have been abandoned meanwhile, and the transfer ended.
        if handle.transfer != nil, handle.phase != .receiving, now >= handle.hedgesAt {
            handle.hedgesAt = .max
            let transfers = mailbox.shared.count > 1 ? max(active.count, mailbox.shared.transfers) : active.count
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
            let state = configuration.sendingState(connection.descriptor)
        else { return true }
        connection.note(state, sentAt: handle.sentAt, at: now)
        let since = connection.unansweredSince
        guard since < .max else {
            // While a body is sent, bytes may be in transit at any time; otherwise the kernel's probes are the next to detect a
            // dead path.
            let isSending = handle.phase == .sending || state.hasUnacknowledged
            if isSending {
                lookAfterInterval(at: handle, of: transfer)
            } else {
                handle.livenessCheckAt = moment(configuration.tcpKeepalive.idle, after: now)
            }
            return true
        }
        let limit = deadPathLimit(of: transfer)
        let end = moment(limit, after: since)
        if state.retransmissions > 0 || now >= end {
            leaveSilent(pin)
            if transfer.mayBeSentTwice, handle.phase != .receiving, !handle.isSentElsewhere {
                handle.isSentElsewhere = true
                _ = sendAgain(handle)
                guard handle.transfer === transfer else { return false }
            }
        }
        guard now >= end, let limit else {
            handle.livenessCheckAt = end
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
        let run: RaceRun
        if let own = transfer.race {
            run = own
        } else {
            run = RaceRun(transfer, sentBy: handle, to: endpoint)
            transfer.race = run
            handle.raceIndex = 0
        }
        guard run.race.sendings < TransportLoop.maximumSendings else { return false }
        if !run.race.hasMore { run.tryAgain(at: endpoint) }
        let step = run.race.hedge(besides: handle.raceIndex)
        transfer.handle = nil
        follow(step, of: run)
        return true
    }

    /// Notes that a request's kept connection died without a byte of a response, and that another one is being made. libcurl
    /// may call this. If the new connection does not succeed, the request's other endpoints are tried.
    func noteRedial(_ handle: EasyHandle) {
        if let run = handle.transfer?.race, let key = handle.pin?.key, run.race.redials(handle.raceIndex) {
            run.transfer.handle = nil
            handle.pin?.attempts.insert(handle)
            listWaiters(of: run)
            let standing = mailbox.endpoints.withLock { [time] in
                $0.standing(of: key.endpoint, for: key.host, from: key.egressPath?.source, at: time)
            }
            // Another request has already found out that the endpoint does not respond.
            handle.delayedUntil = moment(standing == .healthy ? configuration.attemptDelay : .zero, after: now)
        }
        deadlineMayBeEarlier(for: handle)
    }

    private func countHedges(of transfer: Transfer, _ more: Int) {
        if more != 0 { mailbox.shared.countHedges(more) }
        transfer.hedges += more
    }

    func noteHedgesOver(_ transfer: Transfer) { countHedges(of: transfer, -transfer.hedges) }
}
