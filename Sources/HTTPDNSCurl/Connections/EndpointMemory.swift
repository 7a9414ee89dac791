// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNSPrimitives

/// The statuses with which drained servers, and those before them, answer: another address may serve the request.
package enum RefusalStatus {
    package static func contains(_ status: Int) -> Bool {
        switch status {
        case 421, 502, 503, 504: true
        default: false
        }
    }
}

/// A loop's measurements of endpoints, which put the endpoints of the next request in order. A value type: it receives events
/// with their times.
struct EndpointMemory {
    private struct Place: Hashable {
        var origin: RaceOrigin
        var endpoint: HTTPDNSEndpoint
    }

    private struct LatencyEWMA {
        /// The average time from a request to its response in nanoseconds; the newest counts for a fifth.
        var average: Double
        var measuredAt: Int64
        /// Whether nothing is known yet except that a request was sent.
        var isPending = false
    }

    /// The endpoint that carried the last request to an origin.
    struct Carrier: Equatable {
        var endpoint: HTTPDNSEndpoint
        /// Whether a request failed after it was sent there, or had a response of ``RefusalStatus``.
        var hasFailed = false
    }

    /// The weight of the newest time in the average: about ten responses determine it, and one slow response does not.
    private static let newest = 0.2
    /// The half-life of a measurement: after one only half of it counts, after two a quarter. A slow endpoint is therefore
    /// tried again, later the slower it was, without probes.
    private static let halfLife = 60e9

    private var carriers = RecentTable<RaceOrigin, Carrier>(limit: EndpointHealth.maximumEntries)
    private var turns = RecentTable<Place, Int>(limit: EndpointHealth.maximumEntries)
    private var latencyEWMA = RecentTable<Place, LatencyEWMA>(limit: EndpointHealth.maximumEntries)
    private var lastTurn = 0

    // MARK: events

    /// Notes that a request tries an endpoint first.
    mutating func begins(_ endpoint: HTTPDNSEndpoint, _ origin: RaceOrigin, _ order: EndpointOrder, at now: Int64) {
        let place = Place(origin: origin, endpoint: endpoint)
        switch order {
        case .roundRobin:
            lastTurn += 1
            turns.set(lastTurn, for: place)
        case .fastest:
            // Otherwise all requests until the response would follow the first one, to an address that may never respond.
            var latency = waited(for: place, at: now) ?? LatencyEWMA(average: 0, measuredAt: now, isPending: true)
            if !latency.isPending { latency.measuredAt = now }
            latencyEWMA.set(latency, for: place)
        case .given, .adaptive, .random: break
        }
    }

    /// Notes that a request was sent to an endpoint.
    mutating func carried(_ endpoint: HTTPDNSEndpoint, _ origin: RaceOrigin, _ order: EndpointOrder) {
        guard case .adaptive = order, carriers[origin] != Carrier(endpoint: endpoint) else { return }
        carriers.set(Carrier(endpoint: endpoint), for: origin)
    }

    /// Notes that a request failed after it was sent to an endpoint, or that the server refused it: the next one begins
    /// elsewhere. An endpoint that carried an earlier request changes nothing.
    mutating func failed(_ endpoint: HTTPDNSEndpoint, _ origin: RaceOrigin) {
        guard carriers[origin]?.endpoint == endpoint else { return }
        carriers.set(Carrier(endpoint: endpoint, hasFailed: true), for: origin)
    }

    /// Notes that a response began, and the nanoseconds since its request was sent.
    mutating func answered(_ endpoint: HTTPDNSEndpoint, _ origin: RaceOrigin, in time: Int64, at now: Int64) {
        let place = Place(origin: origin, endpoint: endpoint)
        var latency = LatencyEWMA(average: Double(time), measuredAt: now)
        if let before = latencyEWMA[place], !before.isPending {
            latency.average = before.average + (latency.average - before.average) * Self.newest
        }
        latencyEWMA.set(latency, for: place)
    }

    /// Notes that a request got no response in the given nanoseconds and is given up. An endpoint that was known to take longer
    /// keeps its average.
    mutating func unanswered(_ endpoint: HTTPDNSEndpoint, _ origin: RaceOrigin, for time: Int64, at now: Int64) {
        let before = latencyEWMA[Place(origin: origin, endpoint: endpoint)]
        if let before, !before.isPending, before.average >= Double(time) { return }
        answered(endpoint, origin, in: time, at: now)
    }

    // MARK: orders

    /// Returns the endpoint that carried the last request.
    func lastCarrier(for origin: RaceOrigin) -> Carrier? { carriers[origin] }

    /// Returns the endpoints with the least recently used first; unused ones precede all others.
    func byTurns(_ endpoints: [HTTPDNSEndpoint], for origin: RaceOrigin) -> [HTTPDNSEndpoint] {
        sorted(endpoints) { turns[Place(origin: origin, endpoint: $0)].map(Double.init) ?? 0 }
    }

    /// Returns the endpoints with the fastest first. Unknown endpoints precede all others, and follow them while their first
    /// response is pending.
    func byLatency(_ endpoints: [HTTPDNSEndpoint], for origin: RaceOrigin, at now: Int64) -> [HTTPDNSEndpoint] {
        sorted(endpoints) { endpoint in
            guard let latency = waited(for: Place(origin: origin, endpoint: endpoint), at: now) else { return 0 }
            if latency.isPending { return .greatestFiniteMagnitude }
            return latency.average / Self.growth(over: Double(now - latency.measuredAt) / Self.halfLife)
        }
    }

    /// Returns the measurement of an endpoint. A first response is awaited for one half-life: the request may have been given
    /// up, or never sent.
    private func waited(for place: Place, at now: Int64) -> LatencyEWMA? {
        guard let latency = latencyEWMA[place] else { return nil }
        return latency.isPending && Double(now - latency.measuredAt) >= Self.halfLife ? nil : latency
    }

    /// Returns 2 to the power of `halfLives`, linear between whole numbers: nothing here needs more precision, or a mathematics
    /// library.
    private static func growth(over halfLives: Double) -> Double {
        guard halfLives > 0 else { return 1 }
        let whole = min(halfLives.rounded(.down), 60)
        return Double(UInt64(1) << UInt64(whole)) * (1 + min(1, halfLives - whole))
    }

    /// Returns the endpoints sorted by rank; those of equal rank keep their order.
    private func sorted(_ endpoints: [HTTPDNSEndpoint], by rank: (HTTPDNSEndpoint) -> Double) -> [HTTPDNSEndpoint] {
        endpoints.enumerated().map { ($0.offset, rank($0.element), $0.element) }
            .sorted { ($0.1, $0.0) < ($1.1, $1.0) }
            .map(\.2)
    }
}
