// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNSTesting

@testable import HTTPDNSCore

/// A team on simulated providers and simulated time: what the machine tells to be done happens, in order, without tasks.
struct PoolSimulation {
    /// How a provider answers a query that is sent at a moment; nil means never.
    typealias Behaviour = @Sendable (HTTPDNSProviderQuery, MonotonicTime) -> (after: Duration, PoolQuery.Result)?

    private enum Event {
        case returned(PoolQuery.ID, PoolQuery.Result)
        case expired(PoolQuery.ID)
        case wake(PoolRequest.ID)
    }

    struct Sent: Equatable {
        var provider: String
        var at: Duration
        var limit: Duration
        var isProbe: Bool
    }

    var state: PoolSelector
    private(set) var now: MonotonicTime
    private(set) var sent: [Sent] = []
    private(set) var endings: [PoolRequest.ID: (ending: PoolSelector.Ending, at: Duration)] = [:]
    private(set) var reports: [AttemptReport] = []
    private(set) var peakInFlight: [String: Int] = [:]
    var jitter = (MemberHealth.jitterSteps - 1) / 2
    private var behaviours: [String: Behaviour]
    private var events: [(at: MonotonicTime, number: Int, event: Event)] = []
    private var eventCount = 0
    let start: MonotonicTime

    init(
        _ behaviours: [(String, Behaviour)],
        limits: [String: HTTPDNSResolver.Configuration.ProviderLimits] = [:],
        hedgeAfter: Duration = .milliseconds(50),
        attemptLimit: Duration = .seconds(1)
    ) {
        let start = HTTPDNSManualClock().now()
        self.start = start
        now = start
        self.behaviours = Dictionary(uniqueKeysWithValues: behaviours)
        let members = behaviours.map { name, _ in
            PooledProvider(
                HTTPDNSScriptedProvider(name: name),
                limits: limits[name] ?? HTTPDNSResolver.Configuration.ProviderLimits(),
                hedgeAfter: hedgeAfter,
                attemptLimit: attemptLimit,
                at: start
            )
        }
        state = PoolSelector(members, attemptLimit: attemptLimit)
    }

    var elapsed: Duration { now - start }
    var names: [String] { state.members.map(\.name) }

    mutating func set(_ name: String, _ behaviour: @escaping Behaviour) {
        behaviours[name] = behaviour
    }

    @discardableResult
    mutating func ask(
        _ providers: [String]? = nil,
        host: String = "img.test",
        order: HTTPDNSRoute.Order = .given,
        secondOpinion: Bool = false,
        explores: Bool = false,
        limit: Duration = .seconds(3),
        patience: Duration? = nil,
        wantedFor: Duration? = nil
    ) throws -> PoolRequest.ID {
        let query = HTTPDNSProviderQuery(host: try HTTPDNSName(host), families: .v4, timeLimit: .zero)
        var poolAttempt = ProviderPool.PoolAttempt(
            providers: providers ?? names,
            order: order,
            wantsSecondOpinion: secondOpinion,
            query: query,
            deadline: now + limit
        )
        poolAttempt.patientUntil = patience.map { now + $0 }
        poolAttempt.demand = wantedFor.map { LookupDemand(since: now, limit: $0 * 2) }
        let (id, actions) = state.begin(poolAttempt, explores: explores, at: now)
        take(actions)
        return id
    }

    mutating func leave(_ id: PoolRequest.ID) {
        take(state.leave(id, at: now))
    }

    /// Lets time pass, and everything happen that falls into it.
    mutating func run(for duration: Duration) {
        let end = now + duration
        while let next = events.indices.min(by: {
            (events[$0].at, events[$0].number) < (events[$1].at, events[$1].number)
        }),
            events[next].at <= end
        {
            let (at, _, event) = events.remove(at: next)
            now = max(now, at)
            switch event {
            case .returned(let id, let result): take(state.returned(id, result, jitter: jitter, at: now))
            case .expired(let id): take(state.check(id, until: now, jitter: jitter, at: now).1)
            case .wake(let id): take(state.wake(id, at: now))
            }
        }
        now = end
    }

    private mutating func take(_ actions: [PoolSelector.Action]) {
        for action in actions {
            switch action {
            case .send(let query, let limit):
                let name = names[query.member]
                sent.append(Sent(provider: name, at: elapsed, limit: limit, isProbe: query.isProbe))
                if let (latency, result) = behaviours[name]?(query.question, now) {
                    schedule(.returned(query.id, result), at: now + latency)
                }
                schedule(.expired(query.id), at: now + limit)
                let underWay = state.queries.values.filter { $0.member == query.member && $0.sentAt != nil }.count
                peakInFlight[name] = max(peakInFlight[name] ?? 0, underWay)
            case .cancel(let id):
                // A provider that listens comes back at once. What it had to say comes too late.
                schedule(.returned(id, .canceled), at: now)
            case .wake(let id, let time):
                schedule(.wake(id), at: time)
            case .finish(let id, let ending):
                endings[id] = (ending, elapsed)
            case .report(let report):
                reports.append(report)
            }
        }
    }

    private mutating func schedule(_ event: Event, at time: MonotonicTime) {
        eventCount += 1
        events.append((time, eventCount, event))
    }

    // MARK: What came of it

    /// `ali after 50 ms: addresses`, `failed after ...`, `canceled after ...`.
    func text(_ id: PoolRequest.ID) -> String {
        guard let (ending, at) = endings[id] else { return "open" }
        let start = at.shortText
        switch ending {
        case .batch: return "batch at \(start)"
        case .outcome(.canceled): return "canceled at \(start)"
        case .outcome(.answered(let answer)):
            return "\(answer.provider.name) at \(start): \(answer.outcome.isNegative ? "nothing" : "addresses")"
        case .outcome(.failed(let attempts, let isTimeout, _)):
            let all = attempts.map(\.description).joined(separator: "; ")
            return "failed at \(start)\(isTimeout ? ", timed out" : ""): \(all)"
        }
    }

    func failedAttempts(_ id: PoolRequest.ID) -> [String] {
        switch endings[id]?.ending {
        case .outcome(.answered(let answer)): answer.failedAttempts.map(\.description)
        case .outcome(.failed(let attempts, _, _)): attempts.map(\.description)
        default: []
        }
    }

    func standing(_ name: String) -> MemberHealth.Standing? {
        state.numbers[name].map { state.members[$0].health.standing(at: now) }
    }

    func sentTo(_ name: String) -> Int { sent.filter { $0.provider == name }.count }

    // MARK: Ways to behave

    static func answering(after latency: Duration) -> Behaviour {
        { _, _ in
            let addresses = [HTTPDNSAddress(v4: 203, 0, 113, 7)]
            return (latency, .answered(.addresses(addresses, timeToLive: .seconds(60))))
        }
    }

    static func negative(after latency: Duration) -> Behaviour {
        { _, _ in (latency, .answered(HTTPDNSProviderAnswer(v4: .nameError(timeToLive: nil)))) }
    }

    static func failing(
        _ code: HTTPDNSProviderError.Code = .httpStatus,
        after latency: Duration = .zero,
        retryAfter: Duration? = nil
    ) -> Behaviour {
        { _, _ in
            (latency, .failed(HTTPDNSProviderError(code: code, message: "503", retryAfter: retryAfter)))
        }
    }

    static let blackHole: Behaviour = { _, _ in nil }
}
