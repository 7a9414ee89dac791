// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNSPrimitives

/// The race of a request's endpoints: the attempts, and the one that carries the request (RFC 8305 section 5).
///
/// libcurl quirk: Several addresses of a name (7.88.1 to 8.14.1; 8.21.0 tries the next address after 200 ms, for TCP only).
/// libcurl moves on to the next address after TCP failures only, and gives each half of the remaining connect limit. So each
/// entry has one address, and the loop races handles. Tests: TransportRaceTests, TransportRaceOverTLSTests.
///
/// A value type: every event is a method that returns the action to take. Endpoints are identified by their index in the order
/// of attempts. The gate is the last moment before bytes of the request are sent: the first attempt that reaches it wins, and
/// no other may send.
///
/// The race of a request that may safely be sent twice can open again: when its kept connection died and another one is made,
/// and when it has no response for too long (a hedge). In the latter case several attempts may send, and the first response
/// wins.
///
/// An attempt is `running`, `sent` or `won` exactly while libcurl has it. So libcurl never has an attempt that is to begin,
/// whatever happened to the race meanwhile.
struct Race: Equatable {
    enum Attempt: UInt8 {
        /// Not begun.
        case waiting
        /// Connecting, or waiting for a connection.
        case running
        /// Withdrawn: it waited for another request's connection to an endpoint that became suspect. It begins again when
        /// nothing else is left.
        case withdrawn
        /// The request was sent, and may also be sent elsewhere: the first response decides.
        case sent
        case failed
        case won
    }

    /// The action that an event requires.
    struct Step: Equatable {
        /// The attempt to begin. Its delay counts from now.
        var begins: Int?
        /// The attempt to remove from libcurl, without a verdict about its endpoint.
        var withdraws: Int?
        /// Whether no attempt is left to wait for.
        var isLost = false

        static let nothing = Step()
    }

    private(set) var attempts: [Attempt]
    private(set) var winner: Int?
    /// Whether the request is sent more than once, so that the response decides and not the gate.
    private(set) var isHedged = false
    /// The latest attempt: its delay or failure begins the next.
    private var latest = -1
    /// Whether the latest attempt's delay has passed and there was none to begin.
    private var isLatestOverdue = false

    init(count: Int) {
        attempts = Array(repeating: .waiting, count: count)
    }

    mutating func begin() -> Step { next() }

    /// Notes that an attempt failed before the gate.
    mutating func failed(_ index: Int) -> Step {
        guard winner == nil, attempts[index] == .running || attempts[index] == .sent else { return .nothing }
        attempts[index] = .failed
        // The failure of an older attempt changes nothing: its successor began when its delay had passed.
        guard index == latest || !isAnyRunning else { return .nothing }
        var step = next()
        step.isLost = step.begins == nil && !isAnyRunning
        return step
    }

    /// Notes that an attempt's delay has passed, after which its endpoint is suspect, here or in the race of another request.
    ///
    /// libcurl quirk: Waiters inherit a dead endpoint (7.88.1). When the owner of an awaited connection (CURLOPT_PIPEWAIT) is
    /// removed, libcurl connects to the same endpoint for the next waiter. So all that wait for a suspect endpoint are
    /// withdrawn together. Tests: RaceTests, TransportRaceOverTLSTests.
    /// - Parameter hasConnection: Whether it has a connection of its own. An attempt that waits for another's (HTTP/2) is
    ///   withdrawn if the latest attempt is still within its delay.
    mutating func delayPassed(_ index: Int, hasConnection: Bool) -> Step {
        guard winner == nil, attempts[index] == .running else { return .nothing }
        var step = Step.nothing
        if index == latest {
            step = next()
            isLatestOverdue = step.begins == nil
        }
        let isLatestUnderWay = attempts[latest] == .running || attempts[latest] == .sent
        if !hasConnection, index != latest, isLatestUnderWay, !isLatestOverdue {
            attempts[index] = .withdrawn
            step.withdraws = index
        }
        return step
    }

    /// Notes that an attempt was removed from libcurl without a verdict about its endpoint: another one had won, before or when
    /// it reached the gate. The race may be open again by then; the endpoint then counts as not yet tried.
    mutating func takenOut(_ index: Int) -> Step {
        switch attempts[index] {
        // An endpoint to which the request was sent is not tried again.
        case .sent: attempts[index] = .failed
        case .running: attempts[index] = .waiting
        case .waiting, .withdrawn, .failed, .won: return .nothing
        }
        guard winner == nil, index == latest || isLatestOverdue || !isAnyRunning else { return .nothing }
        var step = next()
        step.isLost = step.begins == nil && !isAnyRunning
        return step
    }

    /// Notes that an attempt has reached the gate.
    /// - Returns: Whether it may send.
    mutating func passesGate(_ index: Int) -> Bool {
        guard winner == nil else { return winner == index }
        guard !isHedged else {
            attempts[index] = .sent
            return true
        }
        win(index)
        return true
    }

    /// Notes that an attempt has the first line of a response.
    /// - Returns: Whether that response is the request's.
    mutating func isAnswered(by index: Int) -> Bool {
        guard winner == nil else { return winner == index }
        win(index)
        return true
    }

    /// Notes that an attempt's connection died after the gate without a byte of a response, and that libcurl connects to its
    /// endpoint again. The race continues: attempts in libcurl keep running, and the others, except failed ones, may begin.
    /// - Returns: Whether the race is open.
    mutating func redials(_ index: Int) -> Bool {
        guard winner == nil || winner == index, attempts[index] == .won || attempts[index] == .sent else {
            return false
        }
        winner = nil
        attempts[index] = .running
        latest = index
        isLatestOverdue = false
        return true
    }

    /// Whether there is an endpoint to which the request was not sent yet.
    var hasMore: Bool {
        attempts.contains { $0 == .waiting || $0 == .withdrawn }
    }

    /// Appends an attempt, for an endpoint that is tried once more.
    mutating func extend() { attempts.append(.waiting) }

    /// Appends attempts, for endpoints that became known during the race. One begins now if the delay of the latest
    /// attempt has passed.
    mutating func extend(by count: Int) -> Step {
        attempts += [Attempt](repeating: .waiting, count: count)
        return winner == nil && isLatestOverdue ? next() : .nothing
    }

    /// Notes that the request has had no response for too long, and is sent once more in parallel.
    mutating func hedge(besides index: Int) -> Step {
        guard winner == nil || winner == index, attempts[index] == .won || attempts[index] == .sent else {
            return .nothing
        }
        winner = nil
        isHedged = true
        attempts[index] = .sent
        return next()
    }

    /// The number of times that the request was sent, or is about to be.
    var sendings: Int {
        attempts.count { $0 == .sent || $0 == .won || isHedged && $0 == .running }
    }

    private var isAnyRunning: Bool { attempts.contains(.running) || attempts.contains(.sent) }

    private mutating func win(_ index: Int) {
        winner = index
        attempts[index] = .won
    }

    private mutating func next() -> Step {
        guard let index = attempts.firstIndex(of: .waiting) ?? attempts.firstIndex(of: .withdrawn) else {
            return .nothing
        }
        attempts[index] = .running
        latest = index
        isLatestOverdue = false
        return Step(begins: index)
    }
}

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
        startedAt = handle.progress.startedAt
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

    /// Adds endpoints that became known during the race. They alternate with those that wait for their attempt
    /// (RFC 8305 section 4).
    func add(_ late: [HTTPDNSEndpoint]) -> Race.Step {
        var first = late.filter { !endpoints.contains($0) }[...]
        let waiting = race.attempts.indices.filter { race.attempts[$0] == .waiting }
        var second = waiting.map { endpoints[$0] }[...]
        let (start, count) = (endpoints.count, first.count)
        endpoints += first
        handles += [EasyHandle?](repeating: nil, count: count)
        for index in waiting + Array(start..<endpoints.count) {
            guard let endpoint = first.popFirst() ?? second.popFirst() else { break }
            endpoints[index] = endpoint
            swap(&first, &second)
        }
        return race.extend(by: count)
    }

    /// The attempts that have failed so far.
    var trail: [TransferAttempt] { failures.compactMap(TransferAttempt.init(ending:)) }

    /// Returns the failure for the caller when no attempt passed the gate: the most informative one, with all attempts.
    func verdict(at now: Int64) -> TransferFailure {
        var verdict = failures.first ?? TransferEnding.lostRace
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
        case .connectFailed, .tlsFailed, .clientCertificateRefused, .certificateRefused, .wrongPeer, .connectionLost,
            .lookupDenied, .transport, .proxyUnreachable, .proxyRefused:
            return true
        case .timedOut: return phase == .connect || phase == .tls
        default: return false
        }
    }

    /// The information in a failure, for a comparison: a refused certificate comes from a server that responded, a silent
    /// address from none.
    fileprivate var weight: Int {
        switch code {
        case .certificateRefused, .clientCertificateRefused: 3
        case .tlsFailed, .proxyRefused: 2
        default: phase == .tls ? 2 : code == .timedOut ? 0 : 1
        }
    }
}
