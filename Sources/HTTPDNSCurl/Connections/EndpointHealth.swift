// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNSPrimitives

/// The health of endpoints, learned from connecting to them. A value type: it receives events with their times.
///
/// A failure to connect counts for the endpoint. A failure of TLS counts for the endpoint and the requested host, since one
/// address serves many names. After a failure an endpoint cools down: 1 s, doubled with each failure in a row, 60 s at most. A
/// slow endpoint is suspect. Both are tried last, and are never excluded: when all cool down, all are tried in order. An
/// established connection clears everything. After its cool-down an endpoint is probed beside a request
/// (``takeProbe(of:for:from:at:)``), which does not wait for it. An endpoint that no request has asked for since is forgotten
/// after ``memory``: many of them have left DNS.
///
/// The results from one local source say nothing about another one, whose interface or route may be at fault.
struct EndpointHealth {
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

    struct Entry {
        var standing = Standing.healthy
        var consecutiveFailures = 0
        /// The end of the cool-down, or the time when a suspect may be tried again.
        var until = MonotonicTime(nanoseconds: 0)
        /// The end of a probe in progress.
        var probedUntil: MonotonicTime?
        var connectedAt: MonotonicTime?
        var connectTime: Duration?
    }

    /// The shortest cool-down. RFC 9520 section 3.2, which caches failures for at least a second, is about resolvers;
    /// connections need the same.
    static let shortestRest = Duration.seconds(1)
    static let longestRest = Duration.seconds(60)
    /// The time after which a probe without a result is no longer waited for.
    static let probeLimit = Duration.seconds(30)
    /// The maximum number of endpoints; an entry takes about 150 bytes.
    static let maximumEntries = 4096

    /// The time after the end of its cool-down for which an endpoint is remembered.
    static let memory = Duration.seconds(300)
    /// The interval between the removals of forgotten entries.
    private static let sweepInterval = Duration.seconds(60)

    private var entries: RecentTable<Key, Entry>
    /// The number of entries that are not healthy. It is nearly always 0, and then no order changes.
    private(set) var unhealthyCount = 0
    /// The same number by a few bits of the address, so that hosts without such an endpoint pay a comparison for each endpoint.
    private var unhealthyByBits = [UInt16](repeating: 0, count: 256)
    private var nextSweep = MonotonicTime(nanoseconds: .min)
    /// The endpoints that are ejected because of their response statuses.
    private var outliers = OutlierTable()

    init(limit: Int = EndpointHealth.maximumEntries) { entries = RecentTable(limit: limit) }

    /// Whether an endpoint may have an entry that is not healthy.
    func mayBeUnhealthy(_ endpoint: HTTPDNSEndpoint) -> Bool {
        unhealthyCount > 0 && unhealthyByBits[EndpointHealth.bits(of: endpoint)] > 0 || !outliers.isEmpty
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
        let key = Key(endpoint: endpoint, host: host, source: source)
        let own = entries[Key(endpoint: endpoint, host: nil, source: source)]?.standing ?? .healthy
        let standing = max(own, entries[key]?.standing ?? .healthy)
        return outliers.isEjected(Key(endpoint: endpoint, host: host), at: now) ? max(standing, .ejected) : standing
    }

    /// Returns the endpoints sorted by health: healthy, suspect, ejected, cooling down; otherwise in their order.
    mutating func ordered(
        _ endpoints: [HTTPDNSEndpoint],
        for host: ParsedURL.Host,
        from source: HTTPDNSTransfer.LocalSource? = nil,
        at now: MonotonicTime
    ) -> [HTTPDNSEndpoint] {
        guard unhealthyCount > 0 || !outliers.isEmpty else { return endpoints }
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
    mutating func connected(
        _ endpoint: HTTPDNSEndpoint,
        for host: ParsedURL.Host,
        from source: HTTPDNSTransfer.LocalSource? = nil,
        in time: Duration?,
        at now: MonotonicTime
    ) {
        let key = Key(endpoint: endpoint, host: nil, source: source)
        var entry = Entry()
        entry.connectedAt = now
        entry.connectTime = time ?? entries[key]?.connectTime
        set(entry, for: key)
        if unhealthyCount > 0 { remove(Key(endpoint: endpoint, host: host, source: source)) }
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
        var entry = entries[key] ?? Entry()
        guard entry.standing == .healthy else { return }
        entry.standing = .suspect
        entry.until = now + EndpointHealth.shortestRest
        set(entry, for: key)
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
        var entry = entries[key] ?? Entry()
        entry.probedUntil = nil
        if entry.standing != .cooling || now >= entry.until {
            entry.standing = .cooling
            entry.consecutiveFailures += 1
            entry.until = now + EndpointHealth.rest(afterFailures: entry.consecutiveFailures, random: random)
        }
        set(entry, for: key)
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
        guard unhealthyCount > 0, unhealthyByBits[EndpointHealth.bits(of: endpoint)] > 0 else { return false }
        for host in [nil, host] {
            let key = Key(endpoint: endpoint, host: host, source: source)
            guard var entry = entries[key], entry.standing != .healthy else { continue }
            guard now >= entry.until, entry.probedUntil.map({ now >= $0 }) ?? true else { return false }
            entry.probedUntil = now + EndpointHealth.probeLimit
            set(entry, for: key)
            return true
        }
        return false
    }

    /// Notes the response of an endpoint to a request for a host.
    mutating func answered(
        _ endpoint: HTTPDNSEndpoint,
        for host: ParsedURL.Host,
        status: Int,
        _ settings: HTTPDNSTransfer.OutlierEjection,
        at now: MonotonicTime
    ) {
        outliers.answered(Key(endpoint: endpoint, host: host), status: status, settings, at: now)
    }

    /// Returns all records, by endpoint.
    func records(at now: MonotonicTime) -> [HTTPDNSTransfer.EndpointRecord] {
        (entries.all.map { key, entry in HTTPDNSTransfer.EndpointRecord(key, entry) } + outliers.records(at: now))
            .map { (text: $0.endpoint.description, record: $0) }
            .sorted { ($0.text, $0.record.host ?? "") < ($1.text, $1.record.host ?? "") }
            .map(\.record)
    }

    /// Returns the health without the results of TLS and of responses, for a transport with other certificates.
    func withoutTLSResults() -> EndpointHealth {
        var health = EndpointHealth()
        for (key, entry) in entries.all where key.host == nil { health.set(entry, for: key) }
        return health
    }

    private mutating func set(_ entry: Entry, for key: Key) {
        note(entries[key], for: key, -1)
        if entries[key] == nil, let (key, evicted) = entries.makeRoom() { note(evicted, for: key, -1) }
        entries.set(entry, for: key)
        note(entry, for: key, 1)
    }

    private mutating func remove(_ key: Key) { note(entries.remove(key), for: key, -1) }

    /// Counts an entry that was added or removed.
    private mutating func note(_ entry: Entry?, for key: Key, _ change: Int) {
        guard let entry, entry.standing != .healthy else { return }
        unhealthyCount += change
        let bits = EndpointHealth.bits(of: key.endpoint)
        unhealthyByBits[bits] = UInt16(clamping: Int(unhealthyByBits[bits]) + change)
    }

    /// Removes what is forgotten.
    private mutating func sweep(at now: MonotonicTime) {
        nextSweep = now + EndpointHealth.sweepInterval
        for (key, entry) in entries.all where entry.standing != .healthy && now - entry.until >= EndpointHealth.memory {
            remove(key)
        }
        outliers.forget(before: now, after: EndpointHealth.memory)
    }
}

/// The endpoints that respond with errors, and are ejected for a while. A value type: it receives events with their times.
struct OutlierTable {
    typealias Key = EndpointHealth.Key

    private struct Entry {
        /// The number of errors in a row, since the last good response or ejection.
        var errors = 0
        /// The number of ejections since the last good response that followed one.
        var ejections = 0
        var until: MonotonicTime?
        /// The time of the last error.
        var errorAt: MonotonicTime
    }

    /// Endpoints whose last response was good have no entry. Many never respond again: their names have other addresses by now.
    private var entries: RecentTable<Key, Entry>

    init(limit: Int = EndpointHealth.maximumEntries) { entries = RecentTable(limit: limit) }

    var isEmpty: Bool { entries.isEmpty }

    func isEjected(_ key: Key, at now: MonotonicTime) -> Bool {
        entries[key]?.until.map { now < $0 } ?? false
    }

    /// Notes the response to a request.
    mutating func answered(_ key: Key, status: Int, _ settings: HTTPDNSTransfer.OutlierEjection, at now: MonotonicTime)
    {
        guard settings.statuses.contains(status) else {
            // A response to a request from before the ejection says nothing about the present.
            if !isEmpty, !isEjected(key, at: now) { entries.remove(key) }
            return
        }
        var entry = entries[key] ?? Entry(errorAt: now)
        guard entry.until.map({ now >= $0 }) ?? true else { return }
        entry.errorAt = now
        entry.errors += 1
        if entry.errors >= max(1, settings.consecutive) {
            entry.errors = 0
            entry.ejections += 1
            entry.until = now + OutlierTable.rest(settings, ejections: entry.ejections)
        }
        entries.set(entry, for: key)
    }

    /// Removes the endpoints whose last error, and the end of whose ejection, is longer ago than `time`.
    mutating func forget(before now: MonotonicTime, after time: Duration) {
        for (key, entry) in entries.all where now - max(entry.errorAt, entry.until ?? entry.errorAt) >= time {
            entries.remove(key)
        }
    }

    static func rest(_ settings: HTTPDNSTransfer.OutlierEjection, ejections: Int) -> Duration {
        // 2^9 s is longer than any useful ejection.
        let factor = 1 << min(max(0, ejections - 1), 9)
        return min(max(settings.duration, .seconds(1)) * factor, max(settings.maximumDuration, settings.duration))
    }

    /// Returns the records of the ejected endpoints.
    func records(at now: MonotonicTime) -> [HTTPDNSTransfer.EndpointRecord] {
        entries.all.compactMap { key, entry in
            guard let until = entry.until, now < until else { return nil }
            return HTTPDNSTransfer.EndpointRecord(key, ejectedUntil: until, failures: entry.ejections)
        }
    }
}

extension HTTPDNSTransfer.EndpointRecord {
    init(_ key: EndpointHealth.Key, _ entry: EndpointHealth.Entry) {
        let state: State =
            switch entry.standing {
            case .healthy: .healthy
            case .suspect: .suspect
            case .ejected: .ejected
            case .cooling: .cooling
            }
        self.init(
            endpoint: key.endpoint,
            host: HTTPDNSTransfer.EndpointRecord.text(key.host),
            state: state,
            consecutiveFailures: entry.consecutiveFailures,
            until: entry.standing == .healthy ? nil : entry.until,
            connectedAt: entry.connectedAt,
            connectTime: entry.connectTime
        )
    }

    /// Creates the record of an ejected endpoint.
    init(_ key: EndpointHealth.Key, ejectedUntil end: MonotonicTime, failures: Int) {
        self.init(
            endpoint: key.endpoint,
            host: HTTPDNSTransfer.EndpointRecord.text(key.host),
            state: .ejected,
            consecutiveFailures: failures,
            until: end
        )
    }

    private static func text(_ host: ParsedURL.Host?) -> String? {
        switch host {
        case .name(let name): name
        case .address(let address): address.description
        case nil: nil
        }
    }
}
