internal import Foundation
internal import HTTPDNSClient

/// One watched host: what a request for it would get now, and what became of it since the watching began.
struct WatchRow: Sendable {
    /// What asking brought last.
    enum State: Sendable {
        /// Nothing was answered yet.
        case asking
        case resolved(Resolution)
        case failed(CommandFailure)
    }

    /// The last time that the host moved.
    struct Change: Sendable {
        var date: Date
        /// The addresses that are gone.
        var previous: [IPAddress]
    }

    let question: HostArgument
    private(set) var state = State.asking
    /// How many questions were answered, with addresses or without.
    private(set) var answers = 0
    /// How many of the answers were past their time to live.
    private(set) var staleAnswers = 0
    /// Whether the last look-up of the name failed.
    private(set) var lookUpFailed = false
    private(set) var changes = 0
    private(set) var lastChange: Change?
    /// The addresses of the last answer that had some; a failure in between is no change.
    private var known: [IPAddress]?
    /// The name itself, and those that mappings lead it through: events tell of these.
    private var names: Set<HostName> = []

    init(_ question: HostArgument) {
        self.question = question
        if case .name(let name) = question.host { names = [name] }
    }

    var resolution: Resolution? {
        if case .resolved(let resolution) = state { resolution } else { nil }
    }

    /// Takes an answer to a question that was just asked.
    /// - Returns: Whether a request would now get something else than before, or the same from somebody else.
    mutating func take(_ outcome: Result<Resolution, CommandFailure>, at date: Date) -> Bool {
        let before = state
        answers += 1
        switch outcome {
        case .success(let resolution):
            state = .resolved(resolution)
            if resolution.isStale { staleAnswers += 1 } else if !resolution.isCached { lookUpFailed = false }
            names.formUnion(resolution.rule?.via ?? [])
            noteAddresses(resolution.endpoints.map(\.address), at: date)
        case .failure(let failure):
            state = .failed(failure)
        }
        return differs(from: before)
    }

    /// Takes note of a look-up that ended, where it is about this host.
    mutating func take(_ event: ResolverEvent) {
        guard let host = event.host, names.contains(host) else { return }
        switch event.kind {
        case .answered, .refreshed: lookUpFailed = false
        case .failed, .refreshFailed: lookUpFailed = true
        default: break
        }
    }

    /// The order does not matter: it follows weights and families.
    private mutating func noteAddresses(_ addresses: [IPAddress], at date: Date) {
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
