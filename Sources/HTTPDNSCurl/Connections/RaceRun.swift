internal import HTTPDNSPrimitives

/// The running race of one transfer with several endpoints. Loop thread only.
final class RaceRun {
    let transfer: Transfer
    /// The endpoints in the order in which they are tried.
    private(set) var endpoints: [HTTPDNSEndpoint]
    let startedAt: Int64
    var race: Race
    /// The handles of the attempts that libcurl has.
    var handles: [EasyHandle?]
    /// The failures of attempts before the winner, or of all attempts.
    var failures: [TransferFailure] = []
    /// The run's index among those without a winner; -1 when it is not among them.
    var index = -1

    init(_ transfer: Transfer, endpoints: [HTTPDNSEndpoint], startedAt: Int64) {
        self.transfer = transfer
        self.endpoints = endpoints
        self.startedAt = startedAt
        race = Race(count: endpoints.count)
        handles = Array(repeating: nil, count: endpoints.count)
    }

    /// Creates a race for a transfer that had one endpoint and has sent its request there.
    init(_ transfer: Transfer, sentBy handle: EasyHandle, to endpoint: HTTPDNSEndpoint) {
        self.transfer = transfer
        endpoints = [endpoint]
        startedAt = handle.startedAt
        race = Race(count: 1)
        _ = race.begin()
        _ = race.passesGate(0)
        handles = [handle]
    }

    /// Appends an endpoint that is already in the order.
    func tryAgain(at endpoint: HTTPDNSEndpoint) {
        endpoints.append(endpoint)
        handles.append(nil)
        race.extend()
    }

    /// Returns the handle that tries an endpoint, unless it has passed the gate.
    func attempt(at key: PinKey) -> EasyHandle? {
        guard index >= 0, race.winner == nil, transfer.request.url.host == key.host else { return nil }
        for case let handle? in handles
        where handle.pin?.key == key && race.attempts[handle.raceIndex] == .running {
            return handle
        }
        return nil
    }

    /// Returns the handle that waits for another transfer's connection to one of several endpoints.
    func waiter(at keys: Set<PinKey>) -> EasyHandle? {
        guard index >= 0, race.winner == nil else { return nil }
        for case let handle? in handles
        where !handle.hasOpenedConnection && race.attempts[handle.raceIndex] == .running {
            if let key = handle.pin?.key, keys.contains(key) { return handle }
        }
        return nil
    }

    /// The attempts that have failed so far.
    var trail: [TransferAttempt] { failures.compactMap(TransferAttempt.init(ending:)) }

    /// Returns the failure for the caller when no attempt passed the gate: the most informative one, with all attempts.
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
    /// Whether another endpoint may succeed: nothing was sent, and the failure was about the connection.
    package var isAboutConnection: Bool { !requestMayHaveBeenSent && isConnectionsFault }

    /// Whether another attempt may succeed, for a request that may be sent twice.
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

    /// The information in a failure, for a comparison: a refused certificate comes from a server that responded, a silent
    /// address from none.
    fileprivate var weight: Int {
        switch code {
        case .certificateRefused: 3
        case .tlsFailed, .proxyRefused: 2
        default: phase == .tls ? 2 : code == .timedOut ? 0 : 1
        }
    }
}
