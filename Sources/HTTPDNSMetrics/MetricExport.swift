#if Metrics
internal import HTTPDNSCore
internal import HTTPDNSPrimitives
internal import Metrics

/// The export of snapshots and events as metrics, one after the other.
///
/// An actor and no lock, because a metrics factory is user code.
actor MetricExport {
    private var handles: MetricHandles
    private var exported = HTTPDNSResolver.Counters()
    private var exportedCondition: [MetricSeries: Double] = [:]

    init(factory: any MetricsFactory) { handles = MetricHandles(factory: factory) }

    /// Exports the counts since the last snapshot.
    func add(_ counters: HTTPDNSResolver.Counters) {
        for reading in (counters - exported).readings where reading.series.name.kind != .meter { handles.add(reading) }
        for reading in counters.readings where reading.series.name.kind == .meter { handles.set(reading) }
        exported = counters
    }

    /// Exports the status of the resolver; for its counters, the counts since the last time.
    func add(_ condition: HTTPDNSResolver.Status) {
        for reading in condition.readings {
            guard reading.series.name.kind == .counter else {
                handles.set(reading)
                continue
            }
            var difference = reading
            difference.value -= exportedCondition[reading.series] ?? 0
            exportedCondition[reading.series] = reading.value
            handles.add(difference)
        }
    }

    /// Exports data without a counter: durations, quarantines, and the number of missed events.
    func add(_ event: HTTPDNSResolver.Event) {
        if event.missedBefore > 0 { count(.eventsMissed, [], by: event.missedBefore) }
        switch event.kind {
        case .answered, .failed: record(event, cause: "question")
        case .refreshed, .refreshFailed: record(event, cause: "refresh")
        case .providerQuarantined: count(.providerQuarantines, [event.provider ?? MetricExport.none], by: 1)
        default: break
        }
    }

    private func count(_ name: MetricName, _ values: [String], by amount: Int) {
        handles.add(CounterReading(series: MetricSeries(name: name, values: values), value: Double(amount)))
    }

    private func record(_ event: HTTPDNSResolver.Event, cause: String) {
        guard let elapsed = event.elapsed else { return }
        let hasFailed = event.kind == .failed || event.kind == .refreshFailed
        let series = MetricHandles.LookUpSeries(
            cause: cause,
            route: event.route ?? MetricExport.none,
            source: event.source?.description ?? MetricExport.none,
            provider: event.provider ?? MetricExport.none,
            // The conventions' value for an error without a name of its own.
            errorType: hasFailed ? event.code ?? "_OTHER" : nil
        )
        handles.record(elapsed, as: series)
    }

    /// The value of a dimension that does not apply: a series has all its dimensions, or some backends refuse it.
    private static let none = "none"
}
#endif
