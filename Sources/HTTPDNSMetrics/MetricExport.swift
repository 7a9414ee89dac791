// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

#if Metrics
internal import HTTPDNSCore
internal import HTTPDNSPrimitives

/// The export of snapshots and events as metrics, one after the other.
///
/// An actor and no lock, because a metrics factory is user code.
actor MetricExport {
    private let handles: MetricHandles
    private var exported = HTTPDNSResolver.Counters()
    /// The series of meters in the last status.
    private var exportedMeters: Set<MetricSeries> = []

    init(_ handles: MetricHandles) { self.handles = handles }

    /// Exports the counts since the last snapshot.
    func add(_ counters: HTTPDNSResolver.Counters) {
        for reading in (counters - exported).readings where reading.series.name.kind != .meter { handles.add(reading) }
        for reading in counters.readings where reading.series.name.kind == .meter { handles.set(reading) }
        exported = counters
    }

    /// Exports the status of the resolver. A meter that it no longer has, such as that of a provider that a reload removed,
    /// becomes 0.
    func add(_ status: HTTPDNSResolver.Status) {
        let readings = status.readings
        let meters = Set(readings.map(\.series))
        for series in exportedMeters.subtracting(meters) { handles.set(CounterReading(series: series, value: 0)) }
        exportedMeters = meters
        for reading in readings { handles.set(reading) }
    }

    /// Exports data without a counter: durations, quarantines, and the number of missed events.
    func add(_ event: HTTPDNSResolver.Event) {
        if event.missedBefore > 0 { count(.eventsMissed, [], by: event.missedBefore) }
        switch event.kind {
        case .answered, .failed: record(event, cause: "query")
        case .refreshed, .refreshFailed: record(event, cause: "refresh")
        case .providerQuarantined: count(.providerQuarantines, [event.provider ?? MetricName.none], by: 1)
        default: break
        }
    }

    private func count(_ name: MetricName, _ values: [String], by amount: Int) {
        handles.add(CounterReading(series: MetricSeries(name: name, values: values), value: Double(amount)))
    }

    private func record(_ event: HTTPDNSResolver.Event, cause: String) {
        guard let elapsed = event.elapsed else { return }
        let hasFailed = event.kind == .failed || event.kind == .refreshFailed
        let values = [
            cause, event.route ?? MetricName.none, event.source?.description ?? MetricName.none,
            event.provider ?? MetricName.none, hasFailed ? event.code ?? MetricName.others : nil,
        ]
        handles.record(elapsed, as: MetricSeries(name: .lookupDuration, values: values))
    }
}
#endif
