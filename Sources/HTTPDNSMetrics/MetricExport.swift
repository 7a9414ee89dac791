// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

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
    private var exportedStatus: [MetricSeries: Double] = [:]

    init(factory: any MetricsFactory) { handles = MetricHandles(factory: factory) }

    /// Exports the counts since the last snapshot.
    func add(_ counters: HTTPDNSResolver.Counters) {
        for reading in (counters - exported).readings where reading.series.name.kind != .meter { handles.add(reading) }
        for reading in counters.readings where reading.series.name.kind == .meter { handles.set(reading) }
        exported = counters
    }

    /// Exports the status of the resolver; for its counters, the counts since the last time.
    func add(_ status: HTTPDNSResolver.Status) {
        for reading in status.readings {
            guard reading.series.name.kind == .counter else {
                handles.set(reading)
                continue
            }
            var difference = reading
            difference.value -= exportedStatus[reading.series] ?? 0
            exportedStatus[reading.series] = reading.value
            handles.add(difference)
        }
    }

    /// Exports data without a counter: durations, quarantines, and the number of missed events.
    func add(_ event: HTTPDNSResolver.Event) {
        if event.missedBefore > 0 { count(.eventsMissed, [], by: event.missedBefore) }
        switch event.kind {
        case .answered, .failed: record(event, cause: "query")
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

/// The metrics created so far, so that each is requested from the factory once. For one task at a time.
struct MetricHandles {
    private let factory: any MetricsFactory
    private var counters: [MetricSeries: Counter] = [:]
    private var floatingPointCounters: [MetricSeries: FloatingPointCounter] = [:]
    private var meters: [MetricSeries: Meter] = [:]
    private var timers: [LookUpSeries: Metrics.Timer] = [:]

    /// A limit, because the settings may have thousands of routes.
    static let maximumTimers = 4096

    /// A timer's series; a lookup without a failure has no `error.type`.
    struct LookUpSeries: Hashable, Sendable {
        var cause: String
        var route: String
        var source: String
        var provider: String
        var errorType: String?

        var dimensions: [(String, String)] {
            let names = MetricName.lookupDuration.dimensions
            let values = [cause, route, source, provider] + (errorType.map { [$0] } ?? [])
            return Array(zip(names, values))
        }
    }

    init(factory: any MetricsFactory) { self.factory = factory }

    /// Adds to a counter. A counter without counts is created nevertheless, so that its series begins at zero.
    mutating func add(_ reading: CounterReading) {
        let series = reading.series
        if series.name.kind == .floatingPointCounter {
            let counter =
                floatingPointCounters[series]
                ?? FloatingPointCounter(label: series.name.rawValue, dimensions: series.dimensions, factory: factory)
            floatingPointCounters[series] = counter
            if reading.value > 0 { counter.increment(by: reading.value) }
        } else {
            let counter =
                counters[series]
                ?? Counter(label: series.name.rawValue, dimensions: series.dimensions, factory: factory)
            counters[series] = counter
            if reading.value > 0 { counter.increment(by: Int64(reading.value)) }
        }
    }

    mutating func set(_ reading: CounterReading) {
        let series = reading.series
        let meter =
            meters[series] ?? Meter(label: series.name.rawValue, dimensions: series.dimensions, factory: factory)
        meters[series] = meter
        meter.set(reading.value)
    }

    mutating func record(_ elapsed: Duration, as series: LookUpSeries) {
        var series = series
        if timers[series] == nil, timers.count >= MetricHandles.maximumTimers { series.route = "_OTHER" }
        let timer =
            timers[series]
            ?? Metrics.Timer(
                label: MetricName.lookupDuration.rawValue,
                dimensions: series.dimensions,
                preferredDisplayUnit: .seconds,
                factory: factory
            )
        timers[series] = timer
        timer.recordNanoseconds(elapsed.wholeNanoseconds)
    }
}
#endif
