// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import CHTTPDNSCurl
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
        let run = RaceRun(transfer, endpoints: endpoints, startedAt: now)
        transfer.race = run
        run.index = races.count
        races.append(run)
        probe(insteadOf: endpoints[0], endpoints, for: transfer)
        noteUse(of: endpoints, by: transfer)
        follow(run.race.begin(), of: run)
    }

    func follow(_ step: Race.Step, of run: RaceRun) {
        if let index = step.withdraws, let handle = run.handles[index] {
            run.handles[index] = nil
            takeOut(handle)
        }
        if let index = step.begins { begin(run.transfer, at: run.endpoints[index], run, index: index) }
        if step.isLost { end(run, .failure(run.verdict(at: now))) }
    }

    // MARK: attempts

    /// Marks an endpoint as suspect after its delay. All requests that wait for it try their next one now.
    func delayPassed(for handle: EasyHandle) {
        guard let run = handle.transfer?.race, let pin = handle.pin else { return }
        noteSuspect(handle)
        let key = pin.key
        letGo(of: handle, in: run)
        // The list changes during the iteration when a race ends.
        for other in races where other !== run {
            if let waiting = other.attempt(at: key) { letGo(of: waiting, in: other) }
        }
    }

    private func letGo(of handle: EasyHandle, in run: RaceRun) {
        handle.delayedUntil = .max
        deadlines.move(handle, to: PhaseBound.next(for: handle, run.transfer.limits).deadline)
        follow(run.race.delayPassed(handle.raceIndex, hasConnection: handle.hasOpenedConnection), of: run)
    }

    /// Moves the attempts that wait for connections to endpoints that failed in this turn. Otherwise each of them would try its
    /// endpoint again once libcurl continues. One pass over the races handles all failures of a turn.
    func moveWaiters() {
        while !failedKeys.isEmpty {
            let keys = failedKeys
            failedKeys.removeAll()
            for run in races {
                if let waiting = run.waiter(at: keys) { letGo(of: waiting, in: run) }
            }
        }
    }

    /// Handles the end of an attempt whose race has no winner, or that lost it.
    func attemptEnded(
        _ handle: EasyHandle,
        of run: RaceRun,
        _ result: Result<TransferSummary, any Error>,
        isAdded: Bool
    ) {
        let index = handle.raceIndex
        run.handles[index] = nil
        // Late at the gate or removed: no verdict about the endpoint. The race may be open again by now.
        guard run.race.winner == nil, !handle.hasLostRace, case .failure(let error) = result else {
            takeOut(handle, isAdded: isAdded)
            return follow(run.race.takenOut(index), of: run)
        }
        noteFailure(of: handle, error)
        let key = handle.pin?.key
        guard let failure = error as? TransferFailure else {
            takeOut(handle, isAdded: isAdded)
            return end(run, result)
        }
        run.failures.append(failure)
        guard failure.isAboutConnection || transfer(of: run, outlives: failure) else {
            // Usually the limit of the whole: attempts that were still running had no response either.
            for other in run.handles {
                if let other { run.failures.append(unfinished(other)) }
            }
            takeOut(handle, isAdded: isAdded)
            var failure = failure
            failure.attempts = run.trail
            failure.elapsed = .nanoseconds(max(0, now - run.startedAt))
            failure.requestMayHaveBeenSent = run.transfer.wasSent
            return end(run, .failure(failure))
        }
        takeOut(handle, isAdded: isAdded)
        follow(run.race.failed(index), of: run)
        if let key { failedKeys.insert(key) }
    }

    /// Returns whether a request that may be sent twice continues after one of its sendings failed. Without a hedge the second
    /// one is the last.
    private func transfer(of run: RaceRun, outlives failure: TransferFailure) -> Bool {
        failure.requestMayHaveBeenSent && failure.isAttemptsOwn && (run.race.isHedged || run.transfer.sendings < 2)
    }

    private func unfinished(_ handle: EasyHandle) -> TransferFailure {
        let message = handle.mayHaveBeenSent ? "no answer in time" : "no connection in time"
        var failure = TransferFailure(code: .timedOut, phase: handle.phaseOfFailure, message: message)
        failure.endpoint = handle.pin?.key.endpoint
        failure.elapsed = elapsed(handle)
        return failure
    }

    /// Ends a race without a winner.
    func end(_ run: RaceRun, _ result: Result<TransferSummary, any Error>) {
        leave(run)
        for handle in run.handles {
            if let handle { takeOut(handle) }
        }
        run.handles = []
        noteHedgesOver(run.transfer)
        run.transfer.race = nil
        resumeLater(run.transfer.deliver(end: result))
    }

    // MARK: the gate

    /// Notes that a connection is established and its request is sent, or held back on purpose. libcurl calls this, so nothing
    /// is removed here.
    func noteGatePassed(_ handle: EasyHandle) {
        guard let transfer = handle.transfer, let pin = handle.pin else { return }
        let host = transfer.request.url.host
        if handle.hasOpenedConnection, let connection = handle.connection {
            if pin.key.isConnectedTo {
                let time = Duration.nanoseconds(max(0, now - connection.openedAt))
                mailbox.health.withLock { [now = self.time] in
                    $0.connected(pin.key.endpoint, for: host, in: time, at: now)
                }
            }
            if configuration.keepsPeerCertificates, transfer.request.url.scheme == .https {
                pin.connections.showed(handle.peerCertificates, on: connection)
            }
        }
        transfer.upload?.open()?.resume()
        // The first response decides a race with several sendings.
        guard let run = transfer.race, run.race.winner != nil, transfer.handle == nil else { return }
        carry(run, by: handle, pin)
    }

    func carry(_ run: RaceRun, by handle: EasyHandle, _ pin: Pin) {
        run.transfer.handle = handle
        decidedRaces.append(run)
        memory.carried(pin.key.endpoint, RaceOrigin(run.transfer), run.transfer.order)
    }

    func stopLosers() {
        while let run = decidedRaces.popLast() {
            // The race was opened again before libcurl returned.
            guard let winner = run.race.winner else { continue }
            leave(run)
            for index in run.handles.indices where index != winner {
                guard let handle = run.handles[index] else { continue }
                run.handles[index] = nil
                noteUnanswered(handle)
                takeOut(handle)
                _ = run.race.takenOut(index)
            }
        }
    }

    /// Opens a decided race again.
    func rejoin(_ run: RaceRun) {
        run.transfer.handle = nil
        guard run.index < 0 else { return }
        run.index = races.count
        races.append(run)
    }

    private func leave(_ run: RaceRun) {
        guard run.index >= 0 else { return }
        let last = races.removeLast()
        if last !== run {
            races[run.index] = last
            last.index = run.index
        }
        run.index = -1
    }

    // MARK: endpoint health

    private func noteSuspect(_ handle: EasyHandle) {
        guard let key = handle.pin?.key, key.isConnectedTo else { return }
        let inTLS = handle.phase == .securing
        mailbox.health.withLock { [time] in $0.suspected(key.endpoint, for: key.host, inTLS: inTLS, at: time) }
    }

    func noteFailure(of handle: EasyHandle, _ error: any Error) {
        guard var failure = error as? TransferFailure else { return }
        // The request was sent on the earlier connection.
        if handle.isRedialed, handle.phase == .connecting || handle.phase == .securing {
            failure.requestMayHaveBeenSent = false
        }
        guard failure.isAboutConnection, failure.phase != .queue,
            failure.code != .lookupDenied, failure.code != .proxyRefused, handle.socketError == 0,
            let key = handle.pin?.key, key.isConnectedTo
        else { return }
        let random = configuration.random()
        let inTLS = failure.phase == .tls
        mailbox.health.withLock { [time] in
            $0.failed(key.endpoint, for: key.host, inTLS: inTLS, at: time, random: random)
        }
    }

    /// Returns the failure with all attempts, if it is the transfer's. An attempt's own failure is one of the attempts.
    func withTrail(_ failure: TransferFailure, _ handle: EasyHandle) -> TransferFailure {
        var failure = failure
        let own = TransferAttempt(ending: failure)
        if let run = handle.transfer?.race {
            guard run.race.winner == handle.raceIndex else { return failure }
            failure.attempts = run.trail
            failure.elapsed = .nanoseconds(max(0, now - run.startedAt))
        }
        if let own { failure.attempts.append(own) }
        return failure
    }
}
