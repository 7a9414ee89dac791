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
        let run = RaceRun(transfer, endpoints: endpoints, startedAt: now)
        transfer.race = run
        probe(insteadOf: endpoints[0], endpoints, for: transfer)
        noteUse(of: endpoints, by: transfer)
        follow(run.race.begin(), of: run)
    }

    /// Adds endpoints that became known during a race, unless it is decided.
    func add(_ late: [HTTPDNSEndpoint], to transfer: Transfer) {
        guard let run = transfer.race, run.race.winner == nil, !run.race.isHedged else { return }
        let step = run.add(late)
        transfer.notes?.note(order: run.endpoints)
        follow(step, of: run)
    }

    func follow(_ step: Race.Step, of run: RaceRun) {
        if let index = step.withdraws, let handle = run.handles[index] {
            run.handles[index] = nil
            takeOut(handle)
        }
        if let index = step.begins {
            begin(run.transfer, at: run.endpoints[index], run, index: index)
            listWaiters(of: run)
        }
        if step.isLost { end(run, .failure(run.verdict(at: now))) }
    }

    // MARK: attempts

    /// Marks an endpoint as suspect after its delay. All requests that wait for it try their next one now.
    func delayPassed(for handle: EasyHandle) {
        guard let run = handle.transfer?.race, let pin = handle.pin else { return }
        noteSuspect(handle)
        pin.attempts.remove(handle)
        let others = pin.attempts.takeAll()
        letGo(of: handle, in: run)
        letGo(of: others, at: pin)
    }

    private func letGo(of handles: [EasyHandle], at pin: Pin) {
        // The first of them may end others, whose handles then serve other attempts.
        for handle in handles where handle.attemptIndex < 0 && handle.pin === pin {
            guard let run = handle.transfer?.race, run.race.winner == nil,
                run.race.attempts[handle.raceIndex] == .running
            else { continue }
            letGo(of: handle, in: run)
        }
    }

    private func letGo(of handle: EasyHandle, in run: RaceRun) {
        handle.delayedUntil = .max
        deadlines.move(handle, to: PhaseBound.next(for: handle, run.transfer.limits).deadline)
        follow(run.race.delayPassed(handle.raceIndex, hasConnection: handle.hasOpenedConnection), of: run)
    }

    /// Lists the attempts of a race that wait for another's connection, after another of its attempts has become the latest.
    func listWaiters(of run: RaceRun) {
        guard run.race.winner == nil else { return }
        for case let handle? in run.handles
        where handle.attemptIndex < 0 && !handle.hasOpenedConnection && run.race.attempts[handle.raceIndex] == .running
        {
            handle.pin?.attempts.insert(handle)
        }
    }

    /// Moves the attempts that wait for connections to endpoints that failed in this turn (libcurl quirk "Waiters
    /// inherit a dead endpoint").
    func moveWaiters() {
        while let pin = failedPins.popLast() {
            pin.hasFailedAttempt = false
            letGo(of: pin.attempts.takeWaiting(), at: pin)
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
        let pin = handle.pin
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
        if let pin, !pin.hasFailedAttempt {
            pin.hasFailedAttempt = true
            failedPins.append(pin)
            pending.insert(.ends)
        }
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
        if handle.attemptIndex >= 0 { pin.attempts.remove(handle) }
        let host = transfer.request.url.host
        if handle.hasOpenedConnection, let connection = handle.connection {
            if pin.key.isConnectedTo {
                let time = Duration.nanoseconds(max(0, now - connection.openedAt))
                mailbox.endpoints.withLock { [now = self.time] in
                    $0.connected(pin.key.endpoint, for: host, from: pin.key.egressPath?.source, in: time, at: now)
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
        pending.insert(.ends)
        let (endpoint, origin, order) = (pin.key.endpoint, RaceOrigin(run.transfer), run.transfer.order)
        mailbox.endpoints.withLock { $0.carried(endpoint, origin, order) }
    }

    func stopLosers() {
        while let run = decidedRaces.popLast() {
            // The race was opened again before libcurl returned.
            guard let winner = run.race.winner else { continue }
            for index in run.handles.indices where index != winner {
                guard let handle = run.handles[index] else { continue }
                run.handles[index] = nil
                noteUnanswered(handle)
                takeOut(handle)
                _ = run.race.takenOut(index)
            }
        }
    }

    // MARK: endpoint health

    private func noteSuspect(_ handle: EasyHandle) {
        guard let key = handle.pin?.key, key.isConnectedTo else { return }
        let inTLS = handle.phase == .securing
        mailbox.endpoints.withLock { [time] in
            $0.suspected(key.endpoint, for: key.host, from: key.egressPath?.source, inTLS: inTLS, at: time)
        }
    }

    func noteFailure(of handle: EasyHandle, _ error: any Error) {
        guard var failure = error as? TransferFailure else { return }
        // Reasons of this process and loop: the others may have what this one lacks, such as open connections.
        if failure.code == .trustRootsMissing || TransferFailure.isLack(handle.socketError) {
            mailbox.shared.loopFailed(mailbox.index, isStarted: true)
        }
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
        if let run = handle.transfer?.race {
            guard run.race.winner == handle.raceIndex else { return failure }
            failure.attempts = run.trail
            failure.elapsed = .nanoseconds(max(0, now - run.startedAt))
        }
        if let own { failure.attempts.append(own) }
        return failure
    }
}
