// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

#if CommandLine
internal import Foundation
internal import HTTPDNS

/// The state of `watch`, for every source. A value: changes go in, rows and notices come out; it neither queries nor writes.
struct WatchModel: Sendable {
    static let shownNotices = 6

    private(set) var rows: [WatchRow]
    private(set) var providerKinds: [String: String]
    /// The last notices, the newest at the end.
    private(set) var notices: [WatchNotice] = []
    /// The status of the client, or of a running service; nil before the first one.
    var status: HTTPDNSClient.Status?
    /// The number of times that a running service was read.
    private var reads = 0

    init(_ questions: [HostArgument] = [], providerKinds: [String: String] = [:]) {
        rows = questions.map(WatchRow.init)
        self.providerKinds = providerKinds
    }

    /// The status of a running service; nil for a client of the program's own.
    var service: HTTPDNSClient.Status? { reads > 0 ? status : nil }

    /// Processes a change of the source.
    /// - Returns: The notices to report.
    mutating func take(_ change: WatchChange, at date: Date) -> [WatchNotice] {
        var contents: [WatchNotice.Content] = []
        switch change {
        case .asked: break
        case .answer(let index, let outcome):
            if rows[index].take(outcome, at: date) { contents.append(.state(rows[index])) }
        case .event(let event):
            for index in rows.indices { rows[index].take(event) }
            contents.append(.event(event))
        case .service(let status):
            // The names of the service become the rows, and names that it no longer has are removed.
            var old = Dictionary(rows.map { ($0.question.text, $0) }, uniquingKeysWith: { first, _ in first })
            rows = status.outcomes.compactMap { name, outcome in
                guard var row = old.removeValue(forKey: name) ?? (try? HostArgument(name)).map(WatchRow.init) else {
                    return nil
                }
                row.take(requests: status.requests(for: row.question))
                if row.take(outcome, at: date) { contents.append(.state(row)) }
                return row
            }
            let known = status.providers.filter { $0.kind != "provider" }.map { ($0.name, $0.kind) }
            providerKinds = Dictionary(known, uniquingKeysWith: { first, _ in first })
            self.status = status
            reads += 1
        }
        let new = contents.map { WatchNotice(date: date, content: $0) }
        notices = (notices + new.filter(\.isWorthShowing)).suffix(Self.shownNotices)
        return new
    }

    /// Returns whether each host has at least that many answers, or a service was read that often.
    func isAnswered(times count: Int) -> Bool {
        guard reads == 0, !rows.isEmpty else { return reads >= count }
        return rows.allSatisfy { $0.answers >= count }
    }
}

/// A watched host: the present result of a request for it, and its changes since the watch began.
struct WatchRow: Sendable {
    enum State: Sendable {
        /// There is no answer yet.
        case asking
        case resolved(HTTPDNSResolver.Resolution)
        case failed(CommandFailure)
    }

    /// The last change of the host's addresses.
    struct Change: Sendable {
        var date: Date
        var previous: [HTTPDNSAddress]
    }

    let question: HostArgument
    private(set) var state = State.asking
    /// The number of answers, with addresses or without.
    private(set) var answers = 0
    /// The number of answers past their time to live.
    private(set) var staleAnswers = 0
    /// Whether the last lookup of the name failed.
    private(set) var lookUpFailed = false
    private(set) var changes = 0
    private(set) var lastChange: Change?
    /// The number of requests that the service sent to each endpoint since the watching began; nil without a service.
    private(set) var requests: [HTTPDNSEndpoint: Int]?
    /// The service's own counts in the previous snapshot.
    private var requestsBefore: [HTTPDNSEndpoint: Int] = [:]
    /// The number of answers with each endpoint first, without a service.
    private(set) var firsts: [HTTPDNSEndpoint: Int] = [:]
    /// The addresses of the last answer that had some; a failure in between is no change.
    private var known: [HTTPDNSAddress]?
    /// The name itself, and the names that its mappings lead to: events concern these.
    private var names: Set<HTTPDNSName> = []

    init(_ question: HostArgument) {
        self.question = question
        if case .name(let name) = question.host { names = [name] }
    }

    var resolution: HTTPDNSResolver.Resolution? {
        if case .resolved(let resolution) = state { resolution } else { nil }
    }

    /// Processes an answer to a query that was just sent.
    /// - Returns: Whether a request would now get another result than before, or the same from another source.
    mutating func take(_ outcome: Result<HTTPDNSResolver.Resolution, CommandFailure>, at date: Date) -> Bool {
        let before = state
        answers += 1
        switch outcome {
        case .success(let resolution):
            state = .resolved(resolution)
            if resolution.isStale { staleAnswers += 1 } else if !resolution.isCached { lookUpFailed = false }
            names.formUnion(resolution.mapping?.via ?? [])
            if let first = resolution.endpoints.first { firsts[first, default: 0] += 1 }
            noteAddresses(resolution.endpoints.map(\.address), at: date)
        case .failure(let failure):
            state = .failed(failure)
        }
        return differs(from: before)
    }

    /// Processes the service's counts of requests by endpoint.
    mutating func take(requests counts: [HTTPDNSEndpoint: Int]) {
        defer { requestsBefore = counts }
        guard var requests else { return self.requests = [:] }
        for (endpoint, count) in counts {
            // A count that is lower than before was reset.
            let before = requestsBefore[endpoint] ?? 0
            requests[endpoint, default: 0] += count < before ? count : count - before
        }
        self.requests = requests
    }

    /// Returns `96 requests`, or without a service `first in 12 of 24 answers`.
    func useText(of endpoint: HTTPDNSEndpoint) -> String {
        guard let requests else {
            return
                "first in \(Figures.count(firsts[endpoint] ?? 0)) of \(Figures.count(firsts.values.reduce(0, +))) answers"
        }
        // A name without a port may be requested on any port; a target without its own port uses the URL's.
        let isAnyPort = endpoint.port == question.port
        let count = requests.filter { $0.key == endpoint || isAnyPort && $0.key.address == endpoint.address }
            .values.reduce(0, +)
        return Figures.count(count, "request")
    }

    /// Records the end of a lookup, if it concerns this host.
    mutating func take(_ event: HTTPDNSResolver.Event) {
        guard let host = event.host, names.contains(host) else { return }
        switch event.kind {
        case .answered, .refreshed: lookUpFailed = false
        case .failed, .refreshFailed: lookUpFailed = true
        default: break
        }
    }

    /// Records the addresses. Their order is ignored: it follows weights and families.
    private mutating func noteAddresses(_ addresses: [HTTPDNSAddress], at date: Date) {
        if let known, Set(known) != Set(addresses) {
            changes += 1
            lastChange = Change(date: date, previous: known.filter { !addresses.contains($0) })
        }
        known = addresses
    }

    private func differs(from before: State) -> Bool {
        switch (before, state) {
        case (.resolved(let old), .resolved(let new)):
            Set(old.endpoints) != Set(new.endpoints) || old.isStale != new.isStale || old.source != new.source
                || old.provider != new.provider
        case (.failed(let old), .failed(let new)): old.code != new.code || old.reason != new.reason
        case (.asking, .asking): false
        default: true
        }
    }
}
#endif
