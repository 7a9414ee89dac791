// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import Foundation
internal import HTTPDNS
internal import HTTPDNSPrimitives

/// The state of `watch`, for every source. A value: changes go in, rows and notices come out; it neither queries nor writes.
struct WatchModel: Sendable {
    /// The number of notices in the details.
    static let shownNotices = 6

    private(set) var rows: [WatchRow]
    /// The kinds of the providers by their names.
    private(set) var providerKinds: [String: String]
    /// The health of the providers, in the order of the settings.
    private(set) var health: [HTTPDNSResolver.Status.Provider] = []
    /// The time of ``health``, on the resolver's clock.
    private(set) var healthTime: MonotonicTime?
    private(set) var counters = HTTPDNSResolver.Counters()
    /// The last notices, the newest at the end.
    private(set) var notices: [WatchNotice] = []

    /// The status of a running service; nil before the first one, and for a resolver of the program's own.
    private(set) var service: HTTPDNSClient.Status?
    /// The number of times that the service was read.
    private var reads = 0

    init(_ questions: [HostArgument] = [], providerKinds: [String: String] = [:]) {
        rows = questions.map(WatchRow.init)
        self.providerKinds = providerKinds
    }

    /// Processes a change of the source.
    /// - Returns: The notices to report.
    mutating func take(_ change: WatchChange, at date: Date) -> [WatchNotice] {
        switch change {
        case .asked: []
        case .answer(let index, let outcome): take(outcome, about: index, at: date)
        case .event(let event): take(event, at: date)
        case .look(let look): take(look, at: date)
        }
    }

    /// Processes an answer for the host at `index`.
    /// - Returns: The notices to report.
    mutating func take(_ outcome: Result<HTTPDNSResolver.Resolution, CommandFailure>, about index: Int, at date: Date)
        -> [WatchNotice]
    {
        guard rows[index].take(outcome, at: date) else { return [] }
        return keep(WatchNotice(date: date, content: .state(rows[index])))
    }

    /// Processes an event of the resolver.
    /// - Returns: The notices to report.
    mutating func take(_ event: HTTPDNSResolver.Event, at date: Date) -> [WatchNotice] {
        for index in rows.indices { rows[index].take(event) }
        return keep(WatchNotice(date: date, content: .event(event)))
    }

    /// Processes a snapshot of the resolver.
    mutating func take(
        _ health: [HTTPDNSResolver.Status.Provider],
        _ counters: HTTPDNSResolver.Counters,
        at time: MonotonicTime
    ) {
        self.health = health
        self.counters = counters
        healthTime = time
    }

    /// Processes a snapshot of a running service: its names become the rows, and names that it no longer has are removed.
    /// - Returns: The notices to report.
    mutating func take(_ look: ServiceLook, at date: Date) -> [WatchNotice] {
        var notices: [WatchNotice] = []
        var old = Dictionary(rows.map { ($0.question.text, $0) }, uniquingKeysWith: { first, _ in first })
        rows = look.outcomes.compactMap { name, outcome in
            guard var row = old.removeValue(forKey: name) ?? (try? HostArgument(name)).map(WatchRow.init) else {
                return nil
            }
            row.take(requests: look.requests(for: row.question))
            if row.take(outcome, at: date) { notices += keep(WatchNotice(date: date, content: .state(row))) }
            return row
        }
        take(look.health, look.counters, at: look.time)
        providerKinds = look.providerKinds
        service = look.diagnostics
        reads += 1
        return notices
    }

    /// Returns whether each host has at least that many answers, or a service was read that often.
    func isAnswered(times count: Int) -> Bool {
        guard service == nil, !rows.isEmpty else { return reads >= count }
        return rows.allSatisfy { $0.answers >= count }
    }

    /// Returns the health of a provider as text: `healthy 1.4 ms`, `suspect 1.4 ms`, `quarantined 9 s`.
    func healthText(of provider: String) -> (text: String, isGood: Bool)? {
        guard let health = health.first(where: { $0.name == provider }) else { return nil }
        let latency = health.latency.map { " \(Figures.phase($0))" } ?? ""
        switch health.state {
        case .healthy: return ("healthy\(latency)", true)
        case .suspect: return ("suspect\(latency)", false)
        case .quarantined(let until, reason: _):
            return ("quarantined \(Figures.lifetime(backOff(until: until)))", false)
        }
    }

    /// Returns the remaining time of a quarantine.
    func backOff(until end: MonotonicTime) -> Duration { healthTime.map { max(end - $0, .zero) } ?? .zero }

    private mutating func keep(_ notice: WatchNotice) -> [WatchNotice] {
        if notice.isWorthShowing { notices = notices.suffix(Self.shownNotices - 1) + [notice] }
        return [notice]
    }
}
