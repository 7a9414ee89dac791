// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

/// The size of a load: the requests in flight, the rate, and its end.
struct LoadPlan: Hashable, Sendable {
    /// The maximum number of requests in flight.
    var inFlight: Int
    /// The requests that begin in a second, for an open loop. Nil means a closed loop: each response makes the next request
    /// begin.
    var rate: Double?
    /// The number of requests; nil for any number.
    var requests: Int?
    /// The time in which requests begin; nil for any time.
    var duration: Duration?

    /// The number of requests that the plan has; nil for a closed loop that only a duration ends.
    var plannedRequests: Int? {
        guard let rate, let duration else { return requests }
        let scheduled = Int((rate * (duration / .seconds(1))).rounded(.up))
        return min(requests ?? scheduled, scheduled)
    }

    /// Returns parts of equal size, at most `count`, that together are the whole plan.
    func slices(_ count: Int) -> [LoadPlan] {
        let count = max(1, min(count, requests ?? count))
        return (0..<count).map { index in
            var slice = self
            slice.requests = requests.map { $0 * (index + 1) / count - $0 * index / count }
            slice.duration = duration.map { $0 / count }
            return slice
        }
    }

    /// Returns the same load for another time, without a number of requests.
    func lasting(_ duration: Duration) -> LoadPlan {
        LoadPlan(inFlight: inFlight, rate: rate, requests: nil, duration: duration)
    }
}

/// The requests of a plan that may still begin, with the times at which they are due.
struct LoadSchedule: Sendable {
    typealias Instant = ContinuousClock.Instant

    /// A request that may begin.
    struct Ticket: Hashable, Sendable {
        /// The intended start; nil in a closed loop, where a request begins immediately.
        var due: Instant?
    }

    private let plan: LoadPlan
    private let start: Instant
    private let limit: Int?
    private(set) var begun = 0

    init(_ plan: LoadPlan, at start: Instant) {
        self.plan = plan
        self.start = start
        limit = plan.plannedRequests
    }

    /// The number of requests of an open loop that did not begin in its time.
    var unsent: Int { plan.rate == nil ? 0 : (limit ?? begun) - begun }

    /// Returns the next request; nil when no further one may begin.
    mutating func next(at now: Instant) -> Ticket? {
        if let limit, begun >= limit { return nil }
        if let duration = plan.duration, now >= start + duration { return nil }
        defer { begun += 1 }
        return Ticket(due: plan.rate.map { start + .seconds(Double(begun) / $0) })
    }
}
