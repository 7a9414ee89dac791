// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

package import HTTPDNSPrimitives
package import Logging

/// The counters, events and log of a resolver.
package final class ResolverObservation: Sendable {
    /// The counters.
    package let counting: ResolverCounting
    /// The events.
    package let broadcast = EventBroadcast()

    private let timeSource: any TimeSource
    private let log: EventLog?
    private let logger: Logger?
    private let unknownDomains = SeenCauses()

    /// - Parameters:
    ///   - providers: The names of the providers, in the order of their numbers.
    ///   - logger: The logger; nil disables logging.
    package init(providers: [String], timeSource: any TimeSource, logger: Logger?) {
        counting = ResolverCounting(providers: providers)
        self.timeSource = timeSource
        log = logger.map(EventLog.init)
        self.logger = logger
    }

    /// The public sequence of events.
    package var events: HTTPDNSResolver.Events { HTTPDNSResolver.Events(broadcast) }

    /// Returns whether a listener or the log would receive such an event.
    package func wants(_ kind: HTTPDNSResolver.Event.Kind) -> Bool {
        broadcast.hasListeners || log?.wants(kind) == true
    }

    /// Sends an event to listeners and log, and creates it only when one of them needs it.
    ///
    /// Never under a lock: the log handler is user code.
    /// - Parameter fill: Sets the fields of the event.
    package func tell(_ kind: HTTPDNSResolver.Event.Kind, _ fill: (inout HTTPDNSResolver.Event) -> Void = { _ in }) {
        guard wants(kind) else { return }
        var event = HTTPDNSResolver.Event(kind, at: .init(timeSource.now()))
        fill(&event)
        broadcast.send(event)
        log?.write(event)
    }

    /// Logs, once for each domain, that the route for all names does not cover a name, because its top-level domain is not in the
    /// list. Never under a lock.
    func noteUnknown(topLevelDomain domain: Substring, of host: HTTPDNSName) {
        guard let logger, logger.logLevel <= .info, unknownDomains.insert(String(domain)) else { return }
        logger.info(
            "names below an unknown top-level domain go to the system resolver",
            metadata: ["domain": "\(domain)", "host": "\(host)", "list": "\(RootZone.version)"]
        )
    }

    /// Ends the iterations of all listeners. Idempotent.
    package func end() { broadcast.end() }
}

/// An observer that counts queries to providers and sends their events, also when a quarantine begins or ends.
final class AttemptObserver: Sendable {
    private let observation: ResolverObservation
    private let timeSource: any TimeSource
    /// The quarantined providers, as far as an event was sent.
    private let resting = Lock<Set<String>>([])

    init(_ observation: ResolverObservation, timeSource: any TimeSource) {
        self.observation = observation
        self.timeSource = timeSource
    }

    /// Records a query that is sent. Called outside of all locks.
    func noteSending(_ query: PoolQuery, to provider: any HTTPDNSProvider) {
        let number = observation.counting.number(ofProvider: provider.name)
        observation.counting.count(.query, provider: number)
        if query.purpose == .hedge { observation.counting.count(.hedge, provider: number) }
        if query.isProbe { observation.counting.count(.probe, provider: number) }
    }

    /// Records the end of a query. Called outside of all locks.
    func note(_ report: AttemptReport) {
        let counting = observation.counting
        let number = counting.number(ofProvider: report.provider)
        // A query that failed before it was sent counts as both sent and failed, so that the difference is the number in
        // flight.
        if !report.wasSent { counting.count(.query, provider: number) }
        switch report.outcome {
        case .addresses, .batch: counting.count(.answer, provider: number, elapsed: report.elapsed)
        case .nothing: counting.count(.negative, provider: number, elapsed: report.elapsed)
        case .canceled: counting.count(.canceled, provider: number)
        case .failed(let error):
            counting.countFailure(error, provider: number)
            observation.tell(.providerFailed) { event in
                event.host = report.host
                event.provider = report.provider
                event.elapsed = report.elapsed
                event.code = error.code.description
                event.message = error.message
            }
        }
        noteState(of: report)
    }

    /// Removes providers that are no longer in use: a later one of the same name starts without a quarantine.
    func forget(_ providers: [String]) { resting.withLock { $0.subtract(providers) } }

    private func noteState(of report: AttemptReport) {
        switch report.state {
        case .quarantined(let until, let why):
            guard resting.withLock({ $0.insert(report.provider).inserted }) else { return }
            observation.tell(.providerQuarantined) { event in
                event.provider = report.provider
                event.duration = max(MonotonicTime(until) - self.timeSource.now(), .zero)
                event.message = why
                if case .failed(let error) = report.outcome { event.code = error.code.description }
            }
        case .healthy:
            guard resting.withLock({ $0.remove(report.provider) != nil }) else { return }
            observation.tell(.providerRecovered) { $0.provider = report.provider }
        case .suspect:
            break
        }
    }
}

/// The outcome of one query to one provider, for logs and metrics.
struct AttemptReport: Sendable, Equatable {
    enum Outcome: Sendable, Equatable {
        /// The answer had addresses.
        case addresses
        /// The name does not exist, or has no addresses.
        case nothing
        /// At least one name of a batch had a definite answer.
        case batch(answered: Int)
        /// The provider gave no usable answer.
        case failed(HTTPDNSProviderError)
        /// The answer was not needed any more.
        case canceled
    }

    var provider: String
    /// The queried name; the first one of a batch.
    var host: HTTPDNSName
    /// The number of queried names.
    var names: Int
    var outcome: Outcome
    /// The time from sending to the outcome; zero for a query that was not sent.
    var elapsed: Duration
    /// The time in the queue.
    var queued: Duration
    /// Whether it was sent because an earlier provider had not answered.
    var isHedge: Bool
    /// Whether it was sent to check whether the provider has recovered.
    var isProbe: Bool
    /// Whether its request had already ended or continued without it.
    var isLate: Bool
    /// Whether it was sent, and did not fail before that.
    var wasSent: Bool
    /// The state of the provider after it.
    var state: HTTPDNSResolver.Status.Provider.State
}
