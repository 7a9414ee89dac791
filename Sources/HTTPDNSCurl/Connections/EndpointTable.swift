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

/// All that is known of endpoints: one record for each, and one for each and a host whose requests it serves. A value type: it
/// receives events with their times.
///
/// **Order.** The order of a request (``EndpointOrder``) sorts its endpoints by the carrier of the last request, by turns or by
/// latency. Then their health goes before it: healthy, suspect, ejected, cooling down.
///
/// **Connecting.** A failure to connect counts for the endpoint. A failure of TLS counts for the endpoint and the requested host, since one
/// address serves many names. After a failure an endpoint cools down: 1 s, doubled with each failure in a row, 60 s at most. A
/// slow endpoint is suspect. Both are tried last, and are never excluded: when all cool down, all are tried in order. An
/// established connection clears everything. After its cool-down an endpoint is probed beside a request
/// (``takeProbe(of:for:from:at:)``), which does not wait for it. An endpoint that no request has asked for since is forgotten
/// after ``memory``: many of them have left DNS.
///
/// **Responses.** An endpoint that responds to a host with errors in a row is ejected for a while, if the settings ask for that.
///
/// The results of connecting from one local source say nothing about another one, whose interface or route may be at fault.
struct EndpointTable {
    enum Standing: UInt8, Comparable {
        /// `ejected`: it accepts connections, and responds with errors.
        case healthy, suspect, ejected, cooling

        static func < (left: Standing, right: Standing) -> Bool { left.rawValue < right.rawValue }
    }

    struct Key: Hashable {
        var endpoint: HTTPDNSEndpoint
        /// The host, for results of TLS; `nil` for the endpoint itself.
        var host: ParsedURL.Host?
        /// The local source of the connections; `nil` for the system's choice.
        var source: HTTPDNSTransfer.LocalSource?
    }

    struct Record {
        var connecting: Connecting?
        fileprivate var responses: Responses?
        fileprivate var latency: Latency?
        /// The number of the last request that began with the endpoint; nil for none.
        fileprivate var turn: Int?

        /// Whether the endpoint goes behind others.
        fileprivate var isNotable: Bool { responses != nil || connecting.map { $0.standing != .healthy } ?? false }
        fileprivate var isEmpty: Bool { connecting == nil && responses == nil && latency == nil && turn == nil }
    }

    /// The results of connecting.
    struct Connecting {
        var standing = Standing.healthy
        var consecutiveFailures = 0
        /// The end of the cool-down, or the time when a suspect may be tried again.
        var until = MonotonicTime(nanoseconds: 0)
        /// The end of a probe in progress.
        var probedUntil: MonotonicTime?
        var connectedAt: MonotonicTime?
        var connectTime: Duration?
    }

    /// The errors of an endpoint whose last response was one.
    fileprivate struct Responses {
        /// The number of errors in a row, since the last good response or ejection.
        var errors = 0
        /// The number of ejections since the last good response that followed one.
        var ejections = 0
        /// The end of the last ejection.
        var until: MonotonicTime?
        /// The time of the last error.
        var errorAt: MonotonicTime

        func isEjected(at now: MonotonicTime) -> Bool { until.map { now < $0 } ?? false }
    }

    fileprivate struct Latency {
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

    /// The shortest cool-down. RFC 9520 section 3.2, which caches failures for at least a second, is about resolvers;
    /// connections need the same.
    static let shortestRest = Duration.seconds(1)
    static let longestRest = Duration.seconds(60)
    /// The time after which a probe without a result is no longer waited for.
    static let probeLimit = Duration.seconds(30)
    /// The maximum number of records; one takes about 250 bytes. A request that measures an endpoint renews its record, and one
    /// that cools down is renewed by a failure only: with fewer records many fast endpoints would push it out.
    static let maximumRecords = 16_384

    /// The time after the end of its cool-down for which an endpoint is remembered.
    static let memory = Duration.seconds(300)
    /// The interval between the removals of forgotten entries.
    private static let sweepInterval = Duration.seconds(60)

    /// The weight of the newest time in the average: about ten responses determine it, and one slow response does not.
    private static let newest = 0.2
    /// The half-life of a measurement: after one only half of it counts, after two a quarter. A slow endpoint is therefore
    /// tried again, later the slower it was, without probes.
    private static let halfLife = 60e9

    private var records: RecentTable<Key, Record>
    private var carriers: RecentTable<RaceOrigin, Carrier>
    private var lastTurn = 0
    /// The number of records of endpoints that go behind others. It is nearly always 0, and then no order changes.
    private(set) var notableCount = 0
    /// The same number by a few bits of the address, so that hosts without such an endpoint pay a comparison for each endpoint.
    private var notableByBits = [UInt16](repeating: 0, count: 256)
    private var nextSweep = MonotonicTime(nanoseconds: .min)

    init(limit: Int = EndpointTable.maximumRecords) {
        records = RecentTable(limit: limit)
        carriers = RecentTable(limit: limit)
    }

    /// Whether an endpoint may be one that goes behind others.
    func mayBeUnhealthy(_ endpoint: HTTPDNSEndpoint) -> Bool {
        notableCount > 0 && notableByBits[EndpointTable.bits(of: endpoint)] > 0
    }

    private static func bits(of endpoint: HTTPDNSEndpoint) -> Int {
        Int(((endpoint.address.high &+ endpoint.address.low) &* 0x9e37_79b9_7f4a_7c15) >> 56)
    }

    func standing(
        of endpoint: HTTPDNSEndpoint,
        for host: ParsedURL.Host,
        from source: HTTPDNSTransfer.LocalSource? = nil,
        at now: MonotonicTime
    ) -> Standing {
        guard mayBeUnhealthy(endpoint) else { return .healthy }
        let keys = [nil, host].map { Key(endpoint: endpoint, host: $0, source: source) }
        let standing = keys.compactMap { records[$0]?.connecting?.standing }.max() ?? .healthy
        let isEjected = records[Key(endpoint: endpoint, host: host)]?.responses?.isEjected(at: now) ?? false
        return isEjected ? max(standing, .ejected) : standing
    }

    /// Returns the endpoints sorted by health: healthy, suspect, ejected, cooling down; otherwise in their order.
    mutating func ordered(
        _ endpoints: [HTTPDNSEndpoint],
        for host: ParsedURL.Host,
        from source: HTTPDNSTransfer.LocalSource? = nil,
        at now: MonotonicTime
    ) -> [HTTPDNSEndpoint] {
        guard notableCount > 0 else { return endpoints }
        if now >= nextSweep { sweep(at: now) }
        guard endpoints.contains(where: { mayBeUnhealthy($0) }) else { return endpoints }
        let standings = endpoints.map { standing(of: $0, for: host, from: source, at: now) }
        guard let first = standings.first, standings.contains(where: { $0 != first }) else { return endpoints }
        var result: [HTTPDNSEndpoint] = []
        result.reserveCapacity(endpoints.count)
        for standing in [Standing.healthy, .suspect, .ejected, .cooling] {
            for (index, endpoint) in endpoints.enumerated() where standings[index] == standing {
                result.append(endpoint)
            }
        }
        return result
    }

    /// Notes that a connection was established, including TLS where it is used.
    /// - Parameter overTLS: Whether it is.
    mutating func connected(
        _ endpoint: HTTPDNSEndpoint,
        for host: ParsedURL.Host,
        from source: HTTPDNSTransfer.LocalSource? = nil,
        overTLS: Bool = true,
        in time: Duration?,
        at now: MonotonicTime
    ) {
        change(Key(endpoint: endpoint, host: nil, source: source)) { record in
            let time = time ?? record.connecting?.connectTime
            record.connecting = Connecting(connectedAt: now, connectTime: time)
        }
        // Without TLS it proves nothing about the results of TLS.
        guard overTLS else { return }
        let key = Key(endpoint: endpoint, host: host, source: source)
        if notableCount > 0, records[key]?.connecting != nil { change(key) { $0.connecting = nil } }
    }

    /// Notes that an endpoint takes too long, or that a kept connection to it became silent.
    mutating func suspected(
        _ endpoint: HTTPDNSEndpoint,
        for host: ParsedURL.Host,
        from source: HTTPDNSTransfer.LocalSource? = nil,
        inTLS: Bool,
        at now: MonotonicTime
    ) {
        let key = Key(endpoint: endpoint, host: inTLS ? host : nil, source: source)
        change(key) { record in
            var entry = record.connecting ?? Connecting()
            guard entry.standing == .healthy else { return }
            entry.standing = .suspect
            entry.until = now + EndpointTable.shortestRest
            record.connecting = entry
        }
    }

    /// Notes a failure to connect. Failures during a cool-down count as one.
    /// - Parameter random: In 0..<1; it shortens the cool-down by up to a quarter, so that endpoints that failed together are
    ///   not tried together.
    mutating func failed(
        _ endpoint: HTTPDNSEndpoint,
        for host: ParsedURL.Host,
        from source: HTTPDNSTransfer.LocalSource? = nil,
        inTLS: Bool,
        at now: MonotonicTime,
        random: Double
    ) {
        let key = Key(endpoint: endpoint, host: inTLS ? host : nil, source: source)
        change(key) { record in
            var entry = record.connecting ?? Connecting()
            entry.probedUntil = nil
            if entry.standing != .cooling || now >= entry.until {
                entry.standing = .cooling
                entry.consecutiveFailures += 1
                entry.until = now + EndpointTable.rest(afterFailures: entry.consecutiveFailures, random: random)
            }
            record.connecting = entry
        }
    }

    static func rest(afterFailures failures: Int, random: Double) -> Duration {
        // 2^6 s is longer than the longest cool-down.
        let full = min(longestRest, shortestRest * (1 << min(max(0, failures - 1), 6)))
        return full * (1 - 0.25 * min(max(0, random), 1))
    }

    /// Returns whether the caller must probe the endpoint now, beside a request to another one.
    mutating func takeProbe(
        of endpoint: HTTPDNSEndpoint,
        for host: ParsedURL.Host,
        from source: HTTPDNSTransfer.LocalSource? = nil,
        at now: MonotonicTime
    ) -> Bool {
        guard mayBeUnhealthy(endpoint) else { return false }
        for host in [nil, host] {
            let key = Key(endpoint: endpoint, host: host, source: source)
            guard let entry = records[key]?.connecting, entry.standing != .healthy else { continue }
            guard now >= entry.until, entry.probedUntil.map({ now >= $0 }) ?? true else { return false }
            change(key) { $0.connecting?.probedUntil = now + EndpointTable.probeLimit }
            return true
        }
        return false
    }

    // MARK: responses

    /// Notes the response of an endpoint to a request for a host.
    mutating func answered(
        _ endpoint: HTTPDNSEndpoint,
        for host: ParsedURL.Host,
        status: Int,
        _ settings: HTTPDNSTransfer.OutlierEjection,
        at now: MonotonicTime
    ) {
        let key = Key(endpoint: endpoint, host: host)
        let before = records[key]?.responses
        // A response to a request from before the ejection says nothing about the present.
        if before?.isEjected(at: now) ?? false { return }
        guard settings.statuses.contains(status) else {
            if before != nil { change(key) { $0.responses = nil } }
            return
        }
        var responses = before ?? Responses(errorAt: now)
        responses.errorAt = now
        responses.errors += 1
        if responses.errors >= max(1, settings.consecutive) {
            responses.errors = 0
            responses.ejections += 1
            responses.until = now + EndpointTable.rest(settings, ejections: responses.ejections)
        }
        change(key) { [responses] in $0.responses = responses }
    }

    static func rest(_ settings: HTTPDNSTransfer.OutlierEjection, ejections: Int) -> Duration {
        // 2^9 s is longer than any useful ejection.
        let factor = 1 << min(max(0, ejections - 1), 9)
        return min(max(settings.duration, .seconds(1)) * factor, max(settings.maximumDuration, settings.duration))
    }

    /// Notes that a request tries an endpoint first.
    mutating func begins(_ endpoint: HTTPDNSEndpoint, _ origin: RaceOrigin, _ order: EndpointOrder, at now: Int64) {
        let key = Key(endpoint: endpoint, host: origin.host)
        switch order {
        case .roundRobin:
            lastTurn += 1
            change(key) { [lastTurn] in $0.turn = lastTurn }
        case .fastest:
            // Otherwise all requests until the response would follow the first one, to an address that may never respond.
            var latency = waited(for: key, at: now) ?? Latency(average: 0, measuredAt: now, isPending: true)
            if !latency.isPending { latency.measuredAt = now }
            change(key) { [latency] in $0.latency = latency }
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
        change(Key(endpoint: endpoint, host: origin.host)) { record in
            var latency = Latency(average: Double(time), measuredAt: now)
            if let before = record.latency, !before.isPending {
                latency.average = before.average + (latency.average - before.average) * EndpointTable.newest
            }
            record.latency = latency
        }
    }

    /// Notes that a request got no response in the given nanoseconds and is given up. An endpoint that was known to take longer
    /// keeps its average.
    mutating func unanswered(_ endpoint: HTTPDNSEndpoint, _ origin: RaceOrigin, for time: Int64, at now: Int64) {
        let before = records[Key(endpoint: endpoint, host: origin.host)]?.latency
        if let before, !before.isPending, before.average >= Double(time) { return }
        answered(endpoint, origin, in: time, at: now)
    }

    // MARK: orders

    /// Returns the endpoint that carried the last request.
    func lastCarrier(for origin: RaceOrigin) -> Carrier? { carriers[origin] }

    /// Returns the endpoints with the least recently used first; unused ones precede all others.
    func byTurns(_ endpoints: [HTTPDNSEndpoint], for origin: RaceOrigin) -> [HTTPDNSEndpoint] {
        sorted(endpoints) { records[Key(endpoint: $0, host: origin.host)]?.turn.map(Double.init) ?? 0 }
    }

    /// Returns the endpoints with the fastest first. Unknown endpoints precede all others, and follow them while their first
    /// response is pending.
    func byLatency(_ endpoints: [HTTPDNSEndpoint], for origin: RaceOrigin, at now: Int64) -> [HTTPDNSEndpoint] {
        sorted(endpoints) { endpoint in
            guard let latency = waited(for: Key(endpoint: endpoint, host: origin.host), at: now) else { return 0 }
            if latency.isPending { return .greatestFiniteMagnitude }
            return latency.average
                / EndpointTable.growth(over: Double(now - latency.measuredAt) / EndpointTable.halfLife)
        }
    }

    /// Returns the measurement of an endpoint. A first response is awaited for one half-life: the request may have been given
    /// up, or never sent.
    private func waited(for key: Key, at now: Int64) -> Latency? {
        guard let latency = records[key]?.latency else { return nil }
        return latency.isPending && Double(now - latency.measuredAt) >= EndpointTable.halfLife ? nil : latency
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

    // MARK: records

    /// Returns all results of connecting, and the endpoints that are ejected, by endpoint.
    func endpointRecords(at now: MonotonicTime) -> [HTTPDNSTransfer.EndpointRecord] {
        records.all.flatMap { key, record in
            [
                record.connecting.map { HTTPDNSTransfer.EndpointRecord(key, $0) },
                record.responses.flatMap { responses in
                    guard let until = responses.until, now < until else { return nil }
                    return HTTPDNSTransfer.EndpointRecord(key, ejectedUntil: until, failures: responses.ejections)
                },
            ].compactMap(\.self)
        }
        .map { (text: $0.endpoint.description, record: $0) }
        .sorted { ($0.text, $0.record.host ?? "") < ($1.text, $1.record.host ?? "") }
        .map(\.record)
    }

    /// Returns the table without the results of TLS and of responses, for a transport with other certificates.
    func withoutTLSResults() -> EndpointTable {
        var table = self
        for (key, _) in records.all where key.host != nil {
            table.change(key) { ($0.connecting, $0.responses) = (nil, nil) }
        }
        return table
    }

    /// Changes a record, which becomes the newest. An empty one is removed.
    private mutating func change(_ key: Key, _ change: (inout Record) -> Void) {
        let before = records[key]
        var record = before ?? Record()
        change(&record)
        note(before, for: key, -1)
        note(record, for: key, 1)
        if record.isEmpty {
            records.remove(key)
        } else {
            if before == nil, let (key, evicted) = records.makeRoom() { note(evicted, for: key, -1) }
            records.set(record, for: key)
        }
    }

    /// Counts a record that was added or removed.
    private mutating func note(_ record: Record?, for key: Key, _ change: Int) {
        guard let record, record.isNotable else { return }
        notableCount += change
        let bits = EndpointTable.bits(of: key.endpoint)
        notableByBits[bits] = UInt16(clamping: Int(notableByBits[bits]) + change)
    }

    /// Forgets the failures that are long ago.
    private mutating func sweep(at now: MonotonicTime) {
        nextSweep = now + EndpointTable.sweepInterval
        for (key, record) in records.all where record.isNotable {
            change(key) { record in
                if let entry = record.connecting, entry.standing != .healthy, now - entry.until >= EndpointTable.memory
                {
                    record.connecting = nil
                }
                if let responses = record.responses,
                    now - max(responses.errorAt, responses.until ?? responses.errorAt) >= EndpointTable.memory
                {
                    record.responses = nil
                }
            }
        }
    }
}

extension HTTPDNSTransfer.EndpointRecord {
    init(_ key: EndpointTable.Key, _ entry: EndpointTable.Connecting) {
        let state: State =
            switch entry.standing {
            case .healthy: .healthy
            case .suspect: .suspect
            case .ejected: .ejected
            case .cooling: .cooling
            }
        self.init(
            endpoint: key.endpoint,
            host: key.host?.plainText,
            state: state,
            consecutiveFailures: entry.consecutiveFailures,
            until: entry.standing == .healthy ? nil : entry.until,
            connectedAt: entry.connectedAt,
            connectTime: entry.connectTime
        )
    }

    /// Creates the record of an ejected endpoint.
    init(_ key: EndpointTable.Key, ejectedUntil end: MonotonicTime, failures: Int) {
        self.init(
            endpoint: key.endpoint,
            host: key.host?.plainText,
            state: .ejected,
            consecutiveFailures: failures,
            until: end
        )
    }
}
