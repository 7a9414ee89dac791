internal import Foundation
internal import HTTPDNS

/// One watched host: what a request for it would get now, and what became of it since the watching began.
struct WatchRow: Sendable {
    /// The last result.
    enum State: Sendable {
        /// Nothing was answered yet.
        case asking
        case resolved(HTTPDNSResolver.Resolution)
        case failed(CommandFailure)
    }

    /// The last time that the host moved.
    struct Change: Sendable {
        var date: Date
        /// The addresses that are gone.
        var previous: [HTTPDNSAddress]
    }

    let question: HostArgument
    private(set) var state = State.asking
    /// The number of questions that were answered, with addresses or without.
    private(set) var answers = 0
    /// The number of answers past their time to live.
    private(set) var staleAnswers = 0
    /// Whether the last lookup of the name failed.
    private(set) var lookUpFailed = false
    private(set) var changes = 0
    private(set) var lastChange: Change?
    /// The number of requests that the service sent to each endpoint since the watching began; nil without a service.
    private(set) var requests: [HTTPDNSEndpoint: Int]?
    /// The service's own counts at its last look.
    private var requestsBefore: [HTTPDNSEndpoint: Int] = [:]
    /// Without a service: how many answers had each endpoint first.
    private(set) var firsts: [HTTPDNSEndpoint: Int] = [:]
    /// The addresses of the last answer that had some; a failure in between is no change.
    private var known: [HTTPDNSAddress]?
    /// The name itself, and those that mappings lead it through: events tell of these.
    private var names: Set<HTTPDNSName> = []

    init(_ question: HostArgument) {
        self.question = question
        if case .name(let name) = question.host { names = [name] }
    }

    var resolution: HTTPDNSResolver.Resolution? {
        if case .resolved(let resolution) = state { resolution } else { nil }
    }

    /// Takes an answer to a question that was just asked.
    /// - Returns: Whether a request would now get something else than before, or the same from somebody else.
    mutating func take(_ outcome: Result<HTTPDNSResolver.Resolution, CommandFailure>, at date: Date) -> Bool {
        let before = state
        answers += 1
        switch outcome {
        case .success(let resolution):
            state = .resolved(resolution)
            if resolution.isStale { staleAnswers += 1 } else if !resolution.isCached { lookUpFailed = false }
            names.formUnion(resolution.rule?.via ?? [])
            if let first = resolution.endpoints.first { firsts[first, default: 0] += 1 }
            noteAddresses(resolution.endpoints.map(\.address), at: date)
        case .failure(let failure):
            state = .failed(failure)
        }
        return differs(from: before)
    }

    /// Takes the service's counts of requests by endpoint.
    mutating func take(requests counts: [HTTPDNSEndpoint: Int]) {
        defer { requestsBefore = counts }
        guard var requests else { return self.requests = [:] }
        for (endpoint, count) in counts {
            // A count that is lower than before has begun again.
            let before = requestsBefore[endpoint] ?? 0
            requests[endpoint, default: 0] += count < before ? count : count - before
        }
        self.requests = requests
    }

    /// `96 requests`, or without a service `first in 12 of 24 answers`.
    func useText(of endpoint: HTTPDNSEndpoint) -> String {
        guard let requests else {
            return
                "first in \(Figures.count(firsts[endpoint] ?? 0)) of \(Figures.count(firsts.values.reduce(0, +))) answers"
        }
        // A name without a port may be requested on any; the port of a target without one of its own is the URL's.
        let isAnyPort = endpoint.port == question.port
        let count = requests.filter { $0.key == endpoint || isAnyPort && $0.key.address == endpoint.address }
            .values.reduce(0, +)
        return "\(Figures.count(count)) request\(count == 1 ? "" : "s")"
    }

    /// Takes note of a lookup that ended, where it is about this host.
    mutating func take(_ event: HTTPDNSResolver.Event) {
        guard let host = event.host, names.contains(host) else { return }
        switch event.kind {
        case .answered, .refreshed: lookUpFailed = false
        case .failed, .refreshFailed: lookUpFailed = true
        default: break
        }
    }

    /// The order does not matter: it follows weights and families.
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
