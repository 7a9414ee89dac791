// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import Foundation
internal import HTTPDNS

/// A watched host: the present result of a request for it, and its changes since the watch began.
struct WatchRow: Sendable {
    /// The last result.
    enum State: Sendable {
        /// There is no answer yet.
        case asking
        case resolved(HTTPDNSResolver.Resolution)
        case failed(CommandFailure)
    }

    /// The last change of the host's addresses.
    struct Change: Sendable {
        var date: Date
        /// The removed addresses.
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
