// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNSCore
internal import HTTPDNSPrimitives

/// The tokens of one Bearer credential. All requests with it share one call of its closure at a time.
final class BearerTokens: Hashable, Sendable {
    /// A token and its number, by which a refusal of it is told from a refusal of an earlier one.
    struct Use: Hashable, Sendable {
        let text: String
        let number: UInt64
    }

    /// The result that a waiting request gets.
    typealias Waiter = OneShot<Result<Use, any Error>>

    /// A request for a token, whose result may have to be awaited.
    struct Demand: Sendable {
        fileprivate let outcome: BearerState.Step.Outcome
        fileprivate let waiter: Waiter
    }

    /// The longest call of the closure. A closure that never returned would otherwise block the credential forever.
    private static let renewalLimit = Duration.seconds(30)

    let renewsAhead: Duration
    let minimumInterval: Duration
    private let provider: @Sendable () async throws -> HTTPDNSClient.Credential.Token
    private let state: Lock<BearerState>

    init(
        renewsAhead: Duration,
        minimumInterval: Duration,
        provider: @escaping @Sendable () async throws -> HTTPDNSClient.Credential.Token
    ) {
        self.renewsAhead = renewsAhead
        self.minimumInterval = minimumInterval
        self.provider = provider
        state = Lock(BearerState(renewsAhead: renewsAhead, minimumInterval: minimumInterval))
    }

    static func == (left: BearerTokens, right: BearerTokens) -> Bool { left === right }

    func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }

    /// Requests a token, and begins a call of the closure if one is needed. It does not wait.
    /// - Parameters:
    ///   - refused: The number of the token that a server has refused; nil for none.
    ///   - time: The clock of lifetimes and intervals.
    /// - Returns: Nil when a token was refused, and the next one must not be requested yet.
    func demand(after refused: UInt64? = nil, on time: any TimeSource) -> Demand? {
        let now = time.now()
        let waiter = Waiter()
        let step = state.withLock { $0.demand(after: refused, at: now, waiter) }
        if step.begins { renew(on: time, at: now) }
        if case .refused = step.outcome { return nil }
        return Demand(outcome: step.outcome, waiter: waiter)
    }

    /// Records the refusal of a token, and begins a call of the closure, for the requests after one that cannot be sent
    /// again.
    func refuse(_ number: UInt64, on time: any TimeSource) {
        let now = time.now()
        if state.withLock({ $0.refuse(number, at: now) }) { renew(on: time, at: now) }
    }

    /// Returns the token that was requested, as soon as there is one.
    /// - Parameters:
    ///   - deadline: The end of the wait, on `SystemTimeSource`.
    ///   - ending: The gate whose closing ends the wait.
    /// - Throws: ``RenewalOverdue``; the error of the last call of the closure; `CancellationError`, which ends this wait
    ///   and not the call of the closure; ``HTTPDNSClientError`` with code `shutDown`.
    func token(_ demand: Demand, until deadline: MonotonicTime?, orClosing ending: CallGate) async throws -> Use {
        switch demand.outcome {
        case .use(let use): return use
        case .refused: throw RenewalOverdue()
        case .failed(let error): throw error
        case .wait(let id):
            defer { state.withLock { $0.leave(id) } }
            return try await ending.value { try await BearerTokens.result(of: demand.waiter, until: deadline) }
        }
    }

    private static func result(of waiter: Waiter, until deadline: MonotonicTime?) async throws -> Use {
        try await waiter.value(
            until: deadline,
            on: SystemTimeSource(),
            or: .failure(RenewalOverdue()),
            onCancel: .failure(CancellationError())
        ).get()
    }

    /// Calls the closure in a task of its own: it serves all waiters, and no waiter's cancellation ends it.
    private func renew(on time: any TimeSource, at start: MonotonicTime) {
        _ = CallWork.detached { [self] in
            let limit = SystemTimeSource().now() + BearerTokens.renewalLimit
            let work = await LimitedWork.run(until: limit, on: SystemTimeSource(), operation: provider)
            let result: Result<HTTPDNSClient.Credential.Token, any Error> =
                switch work {
                case .succeeded(let token) where HTTPDNSClient.Credential.Token.isSendable(token.text): .success(token)
                case .succeeded: .failure(UnsendableToken())
                case .failed(let error): .failure(error)
                case .timedOut, .canceled: .failure(RenewalOverdue())
                }
            let ended = time.now()
            // The closure's last error is released after the lock.
            let (waiters, outcome) = state.change { $0.complete(result, began: start, ended: ended) }
            for waiter in waiters { waiter.deliver(outcome) }
        }
    }
}

/// The error of a token that did not come in time.
struct RenewalOverdue: Error, Hashable {}

/// The error of a token with characters that a field cannot have. It contains nothing of the token.
struct UnsendableToken: Error, Hashable {}

/// The state of ``BearerTokens``, as a value.
struct BearerState {
    private struct Token {
        let use: BearerTokens.Use
        /// The end of its lifetime; nil when that is unknown.
        let expiry: MonotonicTime?
    }

    /// The decision about one request.
    struct Step {
        enum Outcome: Sendable {
            case use(BearerTokens.Use)
            case wait(id: UInt64)
            /// The token was refused, and the next one must not be requested yet.
            case refused
            case failed(any Error)
        }

        let outcome: Outcome
        /// Whether the caller begins a call of the closure.
        var begins = false
    }

    let renewsAhead: Duration
    let minimumInterval: Duration
    private var token: Token?
    private var lastNumber: UInt64 = 0
    /// The number of the last token that was refused to a request which cannot be sent again.
    private var refusedNumber: UInt64 = 0
    private var lastError: (any Error)?
    private var isRenewing = false
    /// The end of the last call of the closure.
    private var lastEnd: MonotonicTime?
    private var waiters: [UInt64: BearerTokens.Waiter] = [:]
    private var lastWaiter: UInt64 = 0

    init(renewsAhead: Duration, minimumInterval: Duration) {
        self.renewsAhead = renewsAhead
        self.minimumInterval = minimumInterval
    }

    /// The number of requests that wait.
    var waiting: Int { waiters.count }

    /// Decides about a request.
    mutating func demand(after refused: UInt64?, at now: MonotonicTime, _ waiter: BearerTokens.Waiter) -> Step {
        let isAwaited = isRenewing && token?.use.number == refusedNumber
        if let token, token.use.number > (refused ?? 0), !isAwaited {
            guard let expiry = token.expiry, now >= expiry - renewsAhead else { return Step(outcome: .use(token.use)) }
            if now < expiry { return Step(outcome: .use(token.use), begins: begin(at: now)) }
            // An expired token is better than none: its server decides.
            if !isRenewing, !mayBegin(at: now) { return Step(outcome: .use(token.use)) }
        }
        guard isRenewing || mayBegin(at: now) else {
            if refused != nil { return Step(outcome: .refused) }
            return Step(outcome: .failed(lastError ?? RenewalOverdue()))
        }
        lastWaiter += 1
        waiters[lastWaiter] = waiter
        return Step(outcome: .wait(id: lastWaiter), begins: begin(at: now))
    }

    /// Records a refused token: requests wait for the next one while it is on its way.
    /// - Returns: Whether the caller begins a call of the closure.
    mutating func refuse(_ number: UInt64, at now: MonotonicTime) -> Bool {
        guard token?.use.number == number else { return false }
        refusedNumber = number
        return begin(at: now)
    }

    /// Removes a request that no longer waits.
    mutating func leave(_ id: UInt64) { waiters[id] = nil }

    /// Ends a call of the closure.
    /// - Returns: The requests that wait, and the result for them.
    mutating func complete(
        _ result: Result<HTTPDNSClient.Credential.Token, any Error>,
        began: MonotonicTime,
        ended: MonotonicTime
    ) -> ([BearerTokens.Waiter], Result<BearerTokens.Use, any Error>) {
        isRenewing = false
        lastEnd = ended
        defer { waiters = [:] }
        switch result {
        case .success(let new):
            lastNumber += 1
            lastError = nil
            let use = BearerTokens.Use(text: new.text, number: lastNumber)
            // The lifetime has begun at the server before the token arrived here.
            token = Token(use: use, expiry: new.lifetime.map { began + $0 })
            return (Array(waiters.values), .success(use))
        case .failure(let error):
            lastError = error
            // Later requests do not wait for a renewal ahead of the end of a token that may be good elsewhere.
            refusedNumber = 0
            return (Array(waiters.values), .failure(error))
        }
    }

    private func mayBegin(at now: MonotonicTime) -> Bool { lastEnd.map { now - $0 >= minimumInterval } ?? true }

    private mutating func begin(at now: MonotonicTime) -> Bool {
        guard !isRenewing, mayBegin(at: now) else { return false }
        isRenewing = true
        return true
    }
}
