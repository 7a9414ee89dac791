#if Metrics
internal import HTTPDNSCore
internal import HTTPDNSPrimitives
internal import Metrics

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
