internal import HTTPDNSPrimitives

/// The race of one transfer with several endpoints, as its loop runs it. Loop thread only.
final class RaceRun {
    let transfer: Transfer
    /// The endpoints in the order in which they are tried.
    private(set) var endpoints: [HTTPDNSEndpoint]
    let startedAt: Int64
    var race: Race
    /// The handles of the attempts that libcurl has.
    var handles: [EasyHandle?]
    /// What attempts before the winner, or all of them, came to.
    var failures: [TransferFailure] = []
    /// The run's place among those that have no winner yet; -1 when it has left them.
    var index = -1

    init(_ transfer: Transfer, endpoints: [HTTPDNSEndpoint], startedAt: Int64) {
        self.transfer = transfer
        self.endpoints = endpoints
        self.startedAt = startedAt
        race = Race(count: endpoints.count)
        handles = Array(repeating: nil, count: endpoints.count)
    }

    /// Makes a race of a transfer that had one endpoint and has sent its request there.
    init(_ transfer: Transfer, sentBy handle: EasyHandle, to endpoint: HTTPDNSEndpoint) {
        self.transfer = transfer
        endpoints = [endpoint]
        startedAt = handle.startedAt
        race = Race(count: 1)
        _ = race.begin()
        _ = race.passesGate(0)
        handles = [handle]
    }

    /// Puts an endpoint that is in the order once more at its end.
    func tryAgain(at endpoint: HTTPDNSEndpoint) {
        endpoints.append(endpoint)
        handles.append(nil)
        race.extend()
    }

    /// The handle that tries an endpoint, as far as it has not passed the gate.
    func attempt(at key: PinKey) -> EasyHandle? {
        guard index >= 0, race.winner == nil, transfer.request.url.host == key.host else { return nil }
        for case let handle? in handles
        where handle.pin?.key == key && race.attempts[handle.raceIndex] == .running {
            return handle
        }
        return nil
    }

    /// The handle that waits for another transfer's connection to one of several endpoints.
    func waiter(at keys: Set<PinKey>) -> EasyHandle? {
        guard index >= 0, race.winner == nil else { return nil }
        for case let handle? in handles
        where !handle.hasOpenedConnection && race.attempts[handle.raceIndex] == .running {
            if let key = handle.pin?.key, keys.contains(key) { return handle }
        }
        return nil
    }

    /// The trail of what failed so far.
    var trail: [TransferAttempt] { failures.compactMap(TransferAttempt.init(ending:)) }

    /// What the caller is told when no attempt passed the gate: the failure that says most, with the trail of all.
    func verdict(at now: Int64) -> TransferFailure {
        var verdict = failures.first ?? EasyHandle.lostRace
        for failure in failures.dropFirst() where failure.weight > verdict.weight { verdict = failure }
        verdict.attempts = trail
        verdict.elapsed = .nanoseconds(max(0, now - startedAt))
        verdict.requestMayHaveBeenSent = transfer.wasSent
        return verdict
    }
}

extension TransferFailure {
    /// Whether another endpoint may do better: nothing was sent, and it was about the connection.
    package var isAboutConnection: Bool { !requestMayHaveBeenSent && isConnectionsFault }

    /// Whether another attempt of a request that may be sent twice may do better.
    var isAttemptsOwn: Bool { isConnectionsFault || code == .timedOut && phase == .firstByte }

    private var isConnectionsFault: Bool {
        switch code {
        case .connectFailed, .tlsFailed, .certificateRefused, .wrongPeer, .connectionLost, .lookupDenied, .transport,
            .proxyUnreachable, .proxyRefused:
            return true
        case .timedOut: return phase == .connect || phase == .tls
        default: return false
        }
    }

    /// Which of several failures says most: a certificate tells of a server that answered, a silent address of nothing.
    fileprivate var weight: Int {
        switch code {
        case .certificateRefused: 3
        case .tlsFailed, .proxyRefused: 2
        default: phase == .tls ? 2 : code == .timedOut ? 0 : 1
        }
    }
}
