internal import HTTPDNSPrimitives

/// What a loop remembers of the endpoints of hosts, to put those of the next request in order. A value: it is told what
/// happened and when.
struct EndpointMemory {
    private struct Place: Hashable {
        var origin: RaceOrigin
        var endpoint: HTTPDNSEndpoint
    }

    private struct Pace {
        /// Nanoseconds from a request's sending to its answer, averaged; the newest counts for a fifth.
        var average: Double
        var measuredAt: Int64
        /// Whether nothing is known yet but that a request went there.
        var isPending = false
    }

    /// The share of the newest time in the average: some ten answers tell, and one slow one does not.
    private static let newest = 0.2
    /// Of a time that is so old, half counts, of one twice as old a quarter: so an endpoint that was slow is tried again, the
    /// later the slower it was, and nobody has to probe.
    private static let halfLife = 60e9

    private var carriers = RecentTable<RaceOrigin, HTTPDNSEndpoint>(limit: EndpointHealth.maximumEntries)
    private var turns = RecentTable<Place, Int>(limit: EndpointHealth.maximumEntries)
    private var paces = RecentTable<Place, Pace>(limit: EndpointHealth.maximumEntries)
    private var lastTurn = 0

    // MARK: what happens

    /// A request tries an endpoint first.
    mutating func begins(_ endpoint: HTTPDNSEndpoint, _ origin: RaceOrigin, _ order: EndpointOrder, at now: Int64) {
        let place = Place(origin: origin, endpoint: endpoint)
        switch order {
        case .roundRobin:
            lastTurn += 1
            turns.set(lastTurn, for: place)
        case .fastest:
            // Else all requests until the answer would follow the first one, to an address that may never answer.
            var pace = waited(for: place, at: now) ?? Pace(average: 0, measuredAt: now, isPending: true)
            if !pace.isPending { pace.measuredAt = now }
            paces.set(pace, for: place)
        case .given, .adaptive, .random: break
        }
    }

    /// A request was sent to an endpoint.
    mutating func carried(_ endpoint: HTTPDNSEndpoint, _ origin: RaceOrigin, _ order: EndpointOrder) {
        guard case .adaptive = order, carriers[origin] != endpoint else { return }
        carriers.set(endpoint, for: origin)
    }

    /// An answer began, so many nanoseconds after its request had been sent.
    mutating func answered(_ endpoint: HTTPDNSEndpoint, _ origin: RaceOrigin, in time: Int64, at now: Int64) {
        let place = Place(origin: origin, endpoint: endpoint)
        var pace = Pace(average: Double(time), measuredAt: now)
        if let before = paces[place], !before.isPending {
            pace.average = before.average + (pace.average - before.average) * Self.newest
        }
        paces.set(pace, for: place)
    }

    /// A request was sent and has had no answer for so many nanoseconds, after which nobody waits any more. An endpoint that
    /// was known to take longer takes as long as it did.
    mutating func unanswered(_ endpoint: HTTPDNSEndpoint, _ origin: RaceOrigin, for time: Int64, at now: Int64) {
        let before = paces[Place(origin: origin, endpoint: endpoint)]
        if let before, !before.isPending, before.average >= Double(time) { return }
        answered(endpoint, origin, in: time, at: now)
    }

    // MARK: orders

    /// The endpoint that carried the last request.
    func lastCarrier(for origin: RaceOrigin) -> HTTPDNSEndpoint? { carriers[origin] }

    /// The one that began a request longest ago first; those that never did before all.
    func byTurns(_ endpoints: [HTTPDNSEndpoint], for origin: RaceOrigin) -> [HTTPDNSEndpoint] {
        sorted(endpoints) { turns[Place(origin: origin, endpoint: $0)].map(Double.init) ?? 0 }
    }

    /// The fastest first; those that nothing is known of before all, and after all while their first answer is waited for.
    func byPace(_ endpoints: [HTTPDNSEndpoint], for origin: RaceOrigin, at now: Int64) -> [HTTPDNSEndpoint] {
        sorted(endpoints) { endpoint in
            guard let pace = waited(for: Place(origin: origin, endpoint: endpoint), at: now) else { return 0 }
            if pace.isPending { return .greatestFiniteMagnitude }
            return pace.average / Self.growth(over: Double(now - pace.measuredAt) / Self.halfLife)
        }
    }

    /// What is known of a place. A first answer is waited for as long as a time counts in full: the request may have been
    /// given up, or never have been sent.
    private func waited(for place: Place, at now: Int64) -> Pace? {
        guard let pace = paces[place] else { return nil }
        return pace.isPending && Double(now - pace.measuredAt) >= Self.halfLife ? nil : pace
    }

    /// 2 to the power of `halfLives`, in straight lines between whole numbers: nothing here needs more, nor a mathematics
    /// library.
    private static func growth(over halfLives: Double) -> Double {
        guard halfLives > 0 else { return 1 }
        let whole = min(halfLives.rounded(.down), 60)
        return Double(UInt64(1) << UInt64(whole)) * (1 + min(1, halfLives - whole))
    }

    /// In the order of what is said of them; otherwise in their own.
    private func sorted(_ endpoints: [HTTPDNSEndpoint], by rank: (HTTPDNSEndpoint) -> Double) -> [HTTPDNSEndpoint] {
        endpoints.enumerated().map { ($0.offset, rank($0.element), $0.element) }
            .sorted { ($0.1, $0.0) < ($1.1, $1.0) }
            .map(\.2)
    }
}
