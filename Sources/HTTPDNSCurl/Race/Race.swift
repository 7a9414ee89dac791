/// Which of a request's endpoints are being tried, and which one carries the request (RFC 8305 section 5).
///
/// A value: every event is a method that returns what is to be done. Endpoints are known by their place in the order in
/// which they are tried. The gate is the last moment before bytes of the request go out: the first attempt that gets there
/// wins, and no other passes.
///
/// A request that does no harm when it is sent twice may open its race again: when its kept connection died and another one is
/// dialed, and when it has no answer for too long (a hedge). In the latter case the gate lets several through, and the
/// first that is answered wins.
///
/// An attempt is `running`, `sent` or `won` for exactly as long as libcurl has it. So an attempt that is to begin is never one that libcurl
/// still has, whatever the race came to meanwhile.
struct Race: Equatable {
    enum Attempt: UInt8 {
        /// Not begun.
        case waiting
        /// Connecting, or waiting for a connection.
        case running
        /// It waited for another request's connection to an endpoint that became suspect, and was taken out; it is begun again
        /// when nothing else is left.
        case withdrawn
        /// The request went out, and may go out elsewhere too: the first answer decides.
        case sent
        case failed
        case won
    }

    /// What an event asks for.
    struct Step: Equatable {
        /// The attempt to begin. Its delay counts from now.
        var begins: Int?
        /// The attempt to take out of libcurl, without a verdict about its endpoint.
        var withdraws: Int?
        /// Whether nothing is left to wait for.
        var isLost = false

        static let nothing = Step()
    }

    private(set) var attempts: [Attempt]
    private(set) var winner: Int?
    /// Whether the request goes out more than once, so that not the gate decides, but the answer.
    private(set) var isHedged = false
    /// The attempt begun last: the one whose delay or failure begins the next.
    private var latest = -1
    /// Whether its delay was over and there was nothing to begin.
    private var isLatestOverdue = false

    init(count: Int) {
        attempts = Array(repeating: .waiting, count: count)
    }

    mutating func begin() -> Step { next() }

    /// An attempt failed before the gate.
    mutating func failed(_ index: Int) -> Step {
        guard winner == nil, attempts[index] == .running || attempts[index] == .sent else { return .nothing }
        attempts[index] = .failed
        // An older attempt's failure changes nothing: its successor was begun when its delay was over.
        guard index == latest || !isAnyRunning else { return .nothing }
        var step = next()
        step.isLost = step.begins == nil && !isAnyRunning
        return step
    }

    /// An attempt has taken as long as its endpoint may without being suspect, here or in the race of another request.
    /// - Parameter hasConnection: Whether it has a connection of its own. One that waits for another's (HTTP/2) leaves, if
    ///   there is a later one whose time is not over: when that other one's owner leaves, libcurl would open a new one for
    ///   whoever waits first, to the same endpoint.
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

    /// An attempt was taken out of libcurl without a verdict about its endpoint: another one had won, or it came to the gate while
    /// another was the winner. The race may be open again by then; the endpoint is tried again as one that was not begun.
    mutating func takenOut(_ index: Int) -> Step {
        switch attempts[index] {
        // Where the request went, it does not go again.
        case .sent: attempts[index] = .failed
        case .running: attempts[index] = .waiting
        case .waiting, .withdrawn, .failed, .won: return .nothing
        }
        guard winner == nil, index == latest || isLatestOverdue || !isAnyRunning else { return .nothing }
        var step = next()
        step.isLost = step.begins == nil && !isAnyRunning
        return step
    }

    /// An attempt is at the gate.
    /// - Returns: Whether it passes.
    mutating func passesGate(_ index: Int) -> Bool {
        guard winner == nil else { return winner == index }
        guard !isHedged else {
            attempts[index] = .sent
            return true
        }
        win(index)
        return true
    }

    /// An attempt has the first line of an answer.
    /// - Returns: Whether that answer is the request's.
    mutating func isAnswered(by index: Int) -> Bool {
        guard winner == nil else { return winner == index }
        win(index)
        return true
    }

    /// The connection of an attempt that had passed the gate died without a byte of an answer, and libcurl dials its endpoint
    /// again. The race goes on: attempts that libcurl still has run on, and the others, but for those that failed, may begin.
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

    /// Whether there is an endpoint that the request could go to besides those where it went.
    var hasMore: Bool {
        attempts.contains { $0 == .waiting || $0 == .withdrawn }
    }

    /// One more place at the end of the order, for an endpoint that is tried once more.
    mutating func extend() { attempts.append(.waiting) }

    /// The request has no answer for too long: it goes out once more, besides.
    mutating func hedge(besides index: Int) -> Step {
        guard winner == nil || winner == index, attempts[index] == .won || attempts[index] == .sent else {
            return .nothing
        }
        winner = nil
        isHedged = true
        attempts[index] = .sent
        return next()
    }

    /// How often the request went out, or is about to.
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
