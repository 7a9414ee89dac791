// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNSPrimitives

/// The race of a request's endpoints: the attempts, their failures, and the one that carries the request (RFC 8305 section 5).
///
/// libcurl quirk: Several addresses of a name (7.88.1 to 8.14.1; 8.21.0 tries the next address after 200 ms, for TCP only).
/// libcurl moves on to the next address after TCP failures only, and gives each half of the remaining connect limit. So each
/// entry has one address, and the loop races handles. Tests: TransportRaceTests, TransportRaceOverTLSTests.
///
/// A value type for any dialer: every event is a method that returns the action to take. Attempts are identified by their index
/// in the order of endpoints; the dialer keeps what it needs to stop one, and the time of its delay. The gate is the last moment
/// before bytes of the request are sent: the first attempt that reaches it wins, and no other may send.
///
/// The race of a request that may safely be sent twice can open again: when its kept connection died and another one is made,
/// and when it has no response for too long (a hedge). In the latter case several attempts may send, and the first response
/// wins.
///
/// An attempt is `running`, `sent` or `won` exactly while the dialer has it. So it never has an attempt that is to begin,
/// whatever happened to the race meanwhile.
struct Race {
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
        /// The attempt to stop, without a verdict about its endpoint.
        var withdraws: Int?
        /// Whether the race ends without a winner: ``verdict(at:wasSent:)`` is its failure, and running attempts are stopped.
        var isLost = false

        static let nothing = Step()
    }

    /// The maximum number of times that a request is sent, whatever happens to its connections.
    private static let maximumSendings = 4

    /// The endpoints in the order in which they are tried.
    private(set) var endpoints: [HTTPDNSEndpoint]
    let startedAt: Int64
    private(set) var attempts: [Attempt]
    private(set) var winner: Int?
    /// Whether the request is sent more than once, so that the response decides and not the gate.
    private(set) var isHedged = false
    /// The failures of attempts before the winner, or of all attempts.
    private var failures: [TransferFailure] = []
    /// The failure that ended the race whatever the other attempts would have become.
    private var decisive: TransferFailure?
    var hasDecisiveFailure: Bool { decisive != nil }
    /// The latest attempt: its delay or failure begins the next.
    private var latest = -1
    /// Whether the latest attempt's delay has passed and there was none to begin.
    private var isLatestOverdue = false

    /// - Parameter startedAt: The time of the start in nanoseconds, on the clock of ``verdict(at:wasSent:)``.
    init(_ endpoints: [HTTPDNSEndpoint], startedAt: Int64) {
        self.endpoints = endpoints
        self.startedAt = startedAt
        attempts = Array(repeating: .waiting, count: endpoints.count)
    }

    /// Creates the race of a request that had one endpoint and was sent there.
    init(sentTo endpoint: HTTPDNSEndpoint, startedAt: Int64) {
        self.init([endpoint], startedAt: startedAt)
        _ = begin()
        _ = passesGate(0)
    }

    mutating func begin() -> Step { next() }

    /// Notes that an attempt failed, before the gate or without a response.
    /// - Parameter sendings: The number of times that the request was sent.
    mutating func failed(_ index: Int, _ failure: TransferFailure, sendings: Int = 0) -> Step {
        guard winner == nil, attempts[index] == .running || attempts[index] == .sent else { return .nothing }
        attempts[index] = .failed
        failures.append(failure)
        // Without a hedge the second sending of a request is the last.
        let isSentAgain =
            failure.requestMayHaveBeenSent && failure.isAttemptsOwn && (isHedged || sendings < 2)
        guard failure.isAboutConnection || isSentAgain else {
            decisive = failure
            return Step(isLost: true)
        }
        // The failure of an older attempt changes nothing: its successor began when its delay had passed.
        guard index == latest || !isAnyRunning else { return .nothing }
        return nextOrLost()
    }

    /// Notes that an attempt was still running when another one's failure ended the race.
    mutating func gaveUp(_ failure: TransferFailure) { failures.append(failure) }

    /// Notes that an attempt's delay has passed, after which its endpoint is suspect, here or in the race of another request.
    ///
    /// libcurl quirk: Waiters inherit a dead endpoint (7.88.1). When the owner of an awaited connection (CURLOPT_PIPEWAIT) is
    /// removed, libcurl connects to the same endpoint for the next waiter. So all that wait for a suspect endpoint are
    /// withdrawn together. Tests: RaceTests, TransportRaceOverTLSTests.
    /// - Parameter hasConnection: Whether it has a connection of its own. An attempt that waits for another's (HTTP/2) is
    ///   withdrawn if the latest attempt is still within its delay.
    mutating func delayPassed(_ index: Int, hasConnection: Bool = true) -> Step {
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

    /// Notes that an attempt was stopped without a verdict about its endpoint: another one had won, before or when it reached
    /// the gate. The race may be open again by then; the endpoint then counts as not yet tried.
    mutating func takenOut(_ index: Int) -> Step {
        switch attempts[index] {
        // An endpoint to which the request was sent is not tried again.
        case .sent: attempts[index] = .failed
        case .running: attempts[index] = .waiting
        case .waiting, .withdrawn, .failed, .won: return .nothing
        }
        guard winner == nil, index == latest || isLatestOverdue || !isAnyRunning else { return .nothing }
        return nextOrLost()
    }

    /// Notes that an attempt has reached the gate.
    /// - Returns: Whether it may send.
    mutating func passesGate(_ index: Int) -> Bool {
        guard winner == nil else { return winner == index }
        if isHedged { attempts[index] = .sent } else { win(index) }
        return true
    }

    /// Notes that an attempt has the first line of a response.
    /// - Returns: Whether that response is the request's.
    mutating func isAnswered(by index: Int) -> Bool {
        if winner == nil { win(index) }
        return winner == index
    }

    /// Notes that an attempt's connection died after the gate without a byte of a response, and that the dialer connects to its
    /// endpoint again. The race continues: running attempts keep running, and the others, except failed ones, may begin.
    /// - Returns: Whether the race is open.
    mutating func redials(_ index: Int) -> Bool {
        guard isCarried(by: index) else { return false }
        winner = nil
        attempts[index] = .running
        latest = index
        isLatestOverdue = false
        return true
    }

    /// Adds endpoints that became known during the race. They alternate with those that wait for their attempt (RFC 8305
    /// section 4). One begins now if the delay of the latest attempt has passed.
    mutating func add(_ late: [HTTPDNSEndpoint]) -> Step {
        var first = late.filter { !endpoints.contains($0) }[...]
        let waiting = attempts.indices.filter { attempts[$0] == .waiting }
        var second = waiting.map { endpoints[$0] }[...]
        let added = endpoints.count..<(endpoints.count + first.count)
        endpoints += first
        attempts += [Attempt](repeating: .waiting, count: added.count)
        for index in waiting + Array(added) {
            guard let endpoint = first.popFirst() ?? second.popFirst() else { break }
            endpoints[index] = endpoint
            swap(&first, &second)
        }
        return winner == nil && isLatestOverdue ? next() : .nothing
    }

    /// Notes that the request has had no response for too long, and is sent once more in parallel: to an endpoint to which it
    /// was not sent yet, or to the same one when there is none.
    /// - Returns: `nil` when it was sent too often.
    mutating func hedge(besides index: Int) -> Step? {
        let sendings = attempts.count { $0 == .sent || $0 == .won || isHedged && $0 == .running }
        guard isCarried(by: index), sendings < Race.maximumSendings else { return nil }
        if !attempts.contains(where: { $0 == .waiting || $0 == .withdrawn }) {
            endpoints.append(endpoints[index])
            attempts.append(.waiting)
        }
        winner = nil
        isHedged = true
        attempts[index] = .sent
        return next()
    }

    /// The attempts that have failed so far.
    var trail: [TransferAttempt] { failures.compactMap(TransferAttempt.init(ending:)) }

    /// Returns the failure for the caller of a lost race: the most informative one, with all attempts.
    func verdict(at now: Int64, wasSent: Bool = false) -> TransferFailure {
        var verdict = decisive ?? failures.first ?? TransferEnding.lostRace
        if decisive == nil {
            for failure in failures where failure.weight > verdict.weight { verdict = failure }
        }
        verdict.attempts = trail
        verdict.elapsed = .nanoseconds(max(0, now - startedAt))
        verdict.requestMayHaveBeenSent = wasSent
        return verdict
    }

    private var isAnyRunning: Bool { attempts.contains(.running) || attempts.contains(.sent) }

    /// Whether the request was sent by an attempt, and no other one has won.
    private func isCarried(by index: Int) -> Bool {
        (winner == nil || winner == index) && (attempts[index] == .won || attempts[index] == .sent)
    }

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

    private mutating func nextOrLost() -> Step {
        var step = next()
        step.isLost = step.begins == nil && !isAnyRunning
        return step
    }
}

extension TransferFailure {
    /// Whether another endpoint may succeed: nothing was sent, and the failure was about the connection.
    package var isAboutConnection: Bool { !requestMayHaveBeenSent && isConnectionsFault }

    /// Whether another attempt may succeed, for a request that may be sent twice.
    fileprivate var isAttemptsOwn: Bool { isConnectionsFault || code == .timedOut && phase == .firstByte }

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
