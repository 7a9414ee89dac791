internal import HTTPDNSPrimitives

// Requests that went out and have no answer: is their connection dead, and are they sent once more?
extension TransportLoop {
    /// At most so many transfers may have been sent once more at a time, as a share of all: when everything is slow, a second
    /// sending of everything makes it slower.
    private static let hedgeShare = 10
    private static let leastHedges = 4
    /// How often a request goes out at most, whatever becomes of its connections.
    private static let maximumSendings = 4

    /// A request goes out. On a kept connection it may go nowhere: packets to a host that has gone are dropped without a word.
    func watch(_ handle: EasyHandle) {
        handle.sentAt = now
        guard let transfer = handle.transfer else { return }
        // A connection that was just made is alive.
        handle.looksAt = handle.socket < 0 ? now + configuration.attemptDelay.wholeNanoseconds : .max
        if let delay = transfer.hedgeAfter, transfer.hedges == 0 {
            handle.hedgesAt = (time + delay).nanoseconds
        }
    }

    /// The time has come to see why a request has no answer.
    func look(at handle: EasyHandle) {
        if now >= handle.looksAt { lookAtConnection(of: handle) }
        // The transfer may have ended meanwhile, here and below.
        if handle.transfer != nil, now >= handle.hedgesAt {
            handle.hedgesAt = .max
            let limit = max(TransportLoop.leastHedges, active.count / TransportLoop.hedgeShare)
            if hedgesRunning < limit, let transfer = handle.transfer {
                // Counted before: a sending that cannot begin may end the transfer, which gives back what it has counted.
                countHedges(of: transfer, 1)
                if !sendAgain(handle) { countHedges(of: transfer, -1) }
            }
        }
        guard let limits = handle.transfer?.limits else { return }
        deadlines.move(handle, to: PhaseBound.next(for: handle, limits).deadline)
    }

    /// A slow server acknowledges what it gets; a host that has gone does not. Then the connection is left, and a request that
    /// does no harm when it is sent twice goes out once more, on another one.
    private func lookAtConnection(of handle: EasyHandle) {
        handle.looksAt = .max
        guard let pin = handle.pin, let socket = pin.sockets.first(where: { localPort(of: $0) == handle.localPort })
        else { return }
        switch sentBytes(of: socket) {
        case .acknowledged: break
        case .underWay: handle.looksAt = now + configuration.attemptDelay.wholeNanoseconds
        case .sentAgain:
            leaveSilent(pin)
            if handle.transfer?.mayBeSentTwice == true { _ = sendAgain(handle) }
        }
    }

    /// Sends a request once more, besides: to its next endpoint, or to the same one when there is none.
    /// - Returns: Whether it goes out.
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
        rejoin(run)
        follow(step, of: run)
        return true
    }

    /// The kept connection of a request died without a byte of an answer, and another one is dialled. libcurl may call. When that
    /// does not come through, the request's other endpoints are tried.
    func noteRedial(_ handle: EasyHandle) {
        if let run = handle.transfer?.race, let key = handle.pin?.key, run.race.redials(handle.raceIndex) {
            rejoin(run)
            let standing = mailbox.health.withLock { [time] in $0.standing(of: key.endpoint, for: key.host, at: time) }
            // Another request has found out already that it does not come through.
            let delay = standing == .healthy ? configuration.attemptDelay.wholeNanoseconds : 0
            handle.delayedUntil = now + delay
        }
        deadlineMayBeEarlier(for: handle)
    }

    private func countHedges(of transfer: Transfer, _ more: Int) {
        hedgesRunning += more
        transfer.hedges += more
    }

    func noteHedgesOver(_ transfer: Transfer) { countHedges(of: transfer, -transfer.hedges) }
}
