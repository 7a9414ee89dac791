internal import HTTPDNSPrimitives

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
    func noteSending(_ sending: QuerySending) {
        let number = observation.counting.number(ofProvider: sending.provider)
        observation.counting.count(.query, provider: number)
        if sending.isHedge { observation.counting.count(.hedge, provider: number) }
        if sending.isProbe { observation.counting.count(.probe, provider: number) }
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
        case .cancelled: counting.count(.cancelled, provider: number)
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
                event.duration = max(until - self.timeSource.now(), .zero)
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
