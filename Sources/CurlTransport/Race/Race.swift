/// Which of a request's endpoints are being tried, and which one carries the request (RFC 8305 section 5).
///
/// A value: every event is a method that returns what is to be done. Endpoints are known by their place in the order in
/// which they are tried. The gate is the last moment before bytes of the request go out: the first attempt that gets there
/// wins, and no other passes.
struct Race: Equatable {
    enum Attempt: UInt8 {
        /// Not begun.
        case waiting
        /// Connecting.
        case running
        /// It waited for another request's connection to an endpoint that became suspect, and was taken out; it is begun again
        /// when nothing else is left.
        case withdrawn
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
    /// The attempt begun last: the one whose delay or failure begins the next.
    private var latest = -1

    init(count: Int) {
        attempts = Array(repeating: .waiting, count: count)
    }

    mutating func begin() -> Step { next() }

    /// An attempt failed before the gate.
    mutating func failed(_ index: Int) -> Step {
        guard winner == nil, attempts[index] == .running else { return .nothing }
        attempts[index] = .failed
        // An older attempt's failure changes nothing: its successor was begun when its delay was over.
        guard index == latest || !isAnyRunning else { return .nothing }
        var step = next()
        step.isLost = step.begins == nil && !isAnyRunning
        return step
    }

    /// An attempt has taken as long as its endpoint may without being suspect, here or in the race of another request.
    /// - Parameter hasConnection: Whether it has a connection of its own. One that waits for another's (HTTP/2) leaves, if
    ///   there is anything else to wait for: when that other one's owner leaves, libcurl would open a new one for whoever
    ///   waits first, to the same endpoint.
    mutating func delayPassed(_ index: Int, hasConnection: Bool) -> Step {
        guard winner == nil, attempts[index] == .running else { return .nothing }
        var step = index == latest ? next() : .nothing
        if !hasConnection, attempts.indices.contains(where: { $0 != index && attempts[$0] == .running }) {
            attempts[index] = .withdrawn
            step.withdraws = index
        }
        return step
    }

    /// An attempt is at the gate.
    /// - Returns: Whether it passes.
    mutating func passesGate(_ index: Int) -> Bool {
        guard winner == nil else { return winner == index }
        winner = index
        attempts[index] = .won
        return true
    }

    private var isAnyRunning: Bool { attempts.contains(.running) }

    private mutating func next() -> Step {
        guard let index = attempts.firstIndex(of: .waiting) ?? attempts.firstIndex(of: .withdrawn) else {
            return .nothing
        }
        attempts[index] = .running
        latest = index
        return Step(begins: index)
    }
}
