internal import Foundation
internal import HTTPDNS
internal import HTTPDNSPrimitives

/// All that `watch` knows. A value: answers, events and snapshots go in, rows and notices come out; nothing is asked or
/// written here.
struct WatchModel: Sendable {
    /// How many notices the details show.
    static let shownNotices = 6

    private(set) var rows: [WatchRow]
    /// How the providers do, in the order of the settings.
    private(set) var health: [HTTPDNSResolver.Status.Provider] = []
    /// When ``health`` was read, on the resolver's clock.
    private(set) var healthTime: MonotonicTime?
    private(set) var counters = HTTPDNSResolver.Counters()
    /// What was noticed last, the newest at the end.
    private(set) var notices: [WatchNotice] = []

    /// What a running service says of itself; nil while ``Watch`` runs a resolver of its own.
    private(set) var service: HTTPDNSClient.Status?

    init(_ questions: [HostArgument]) { rows = questions.map(WatchRow.init) }

    /// Takes an answer about the host at `index`.
    /// - Returns: What is to be told.
    mutating func take(_ outcome: Result<HTTPDNSResolver.Resolution, CommandFailure>, about index: Int, at date: Date)
        -> [WatchNotice]
    {
        guard rows[index].take(outcome, at: date) else { return [] }
        return keep(WatchNotice(date: date, content: .state(rows[index])))
    }

    /// Takes an event of the resolver.
    /// - Returns: What is to be told.
    mutating func take(_ event: HTTPDNSResolver.Event, at date: Date) -> [WatchNotice] {
        for index in rows.indices { rows[index].take(event) }
        return keep(WatchNotice(date: date, content: .event(event)))
    }

    /// Takes a look at the resolver.
    mutating func take(
        _ health: [HTTPDNSResolver.Status.Provider],
        _ counters: HTTPDNSResolver.Counters,
        at time: MonotonicTime
    ) {
        self.health = health
        self.counters = counters
        healthTime = time
    }

    /// Takes a look at a running service: its names become the rows, and those that it knows no more go.
    /// - Returns: What is to be told.
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
        service = look.diagnostics
        return notices
    }

    /// Whether each host was answered about that often.
    func isAnswered(times count: Int) -> Bool { rows.allSatisfy { $0.answers >= count } }

    /// How a provider does, in words: `ok 1.4 ms`, `suspect 1.4 ms`, `resting 9 s`.
    func healthText(of provider: String) -> (text: String, isGood: Bool)? {
        guard let health = health.first(where: { $0.name == provider }) else { return nil }
        let latency = health.latency.map { " \(Figures.phase($0))" } ?? ""
        switch health.state {
        case .healthy: return ("ok\(latency)", true)
        case .suspect: return ("suspect\(latency)", false)
        case .quarantined(let until, why: _): return ("resting \(Figures.lifetime(rest(until: until)))", false)
        }
    }

    /// How long a quarantine still lasts.
    func rest(until end: MonotonicTime) -> Duration { healthTime.map { max(end - $0, .zero) } ?? .zero }

    private mutating func keep(_ notice: WatchNotice) -> [WatchNotice] {
        if notice.isWorthShowing { notices = notices.suffix(Self.shownNotices - 1) + [notice] }
        return [notice]
    }
}
