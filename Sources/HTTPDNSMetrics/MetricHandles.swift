// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

#if Metrics
internal import HTTPDNSPrimitives
internal import Metrics

/// A series: a metric with the values of its dimensions.
struct MetricSeries: Hashable, Sendable {
    var name: MetricName
    /// The values, in the order of the names; nil for a dimension that the series lacks. Those at the end may be missing.
    var values: [String?] = []

    /// The dimensions in the form of swift-metrics.
    var dimensions: [(String, String)] {
        zip(name.dimensions, values).compactMap { name, value in value.map { (name, $0) } }
    }

    /// The series that takes its place when there are too many: with no route, no host and no status of its own. A type of error
    /// that is a status is its class then, such as `4xx`.
    var folded: MetricSeries {
        var folded = self
        for (index, dimension) in name.dimensions.enumerated() where index < values.count && values[index] != nil {
            switch dimension {
            case MetricName.Dimension.route, MetricName.Dimension.server, MetricName.Dimension.status:
                folded.values[index] = MetricName.others
            case MetricName.Dimension.port:
                folded.values[index] = nil
            case MetricName.Dimension.errorType:
                if let status = values[index], Int(status) != nil { folded.values[index] = "\(status.prefix(1))xx" }
            default: break
            }
        }
        return folded
    }
}

/// The metrics created so far, so that each is requested from the factory once. For any number of tasks.
final class MetricHandles: Sendable {
    private let factory: any MetricsFactory
    /// The dimension that all series have; empty without a name.
    private let client: [(String, String)]
    // The resolver's counters bound the number of their routes themselves.
    private let counters = HandleTable<Counter>(limit: .max)
    private let floatingPointCounters = HandleTable<FloatingPointCounter>(limit: .max)
    private let meters = HandleTable<Meter>(limit: .max)
    private let recorders = HandleTable<Recorder>(limit: MetricHandles.maximumSeries)
    private let timers = HandleTable<Metrics.Timer>(limit: MetricHandles.maximumSeries)

    /// The limit of each metric, because the settings may have thousands of routes.
    static let maximumSeries = 4096

    /// - Parameter client: The name of the client; nil for none.
    init(factory: any MetricsFactory, client: String? = nil) {
        self.factory = factory
        self.client = client.map { [(MetricName.Dimension.client, $0)] } ?? []
    }

    /// Adds to a counter. A counter without counts is created nevertheless, so that its series begins at zero.
    func add(_ reading: CounterReading) {
        let (label, client, factory) = (reading.series.name.rawValue, client, factory)
        if reading.series.name.kind == .floatingPointCounter {
            let counter = floatingPointCounters.handle(for: reading.series) { series in
                FloatingPointCounter(label: label, dimensions: client + series.dimensions, factory: factory)
            }
            if reading.value > 0 { counter.increment(by: reading.value) }
        } else {
            let counter = counters.handle(for: reading.series) { series in
                Counter(label: label, dimensions: client + series.dimensions, factory: factory)
            }
            if reading.value > 0 { counter.increment(by: Int64(reading.value)) }
        }
    }

    /// Adds to a counter of whole numbers.
    func add(_ count: Int, to name: MetricName, _ values: String?...) {
        add(CounterReading(series: MetricSeries(name: name, values: values), value: Double(count)))
    }

    func set(_ reading: CounterReading) {
        let (label, client, factory) = (reading.series.name.rawValue, client, factory)
        let meter = meters.handle(for: reading.series) { series in
            Meter(label: label, dimensions: client + series.dimensions, factory: factory)
        }
        meter.set(reading.value)
    }

    /// Sets a meter.
    func set(_ name: MetricName, _ values: String?..., to value: Int) {
        set(CounterReading(series: MetricSeries(name: name, values: values), value: Double(value)))
    }

    func record(_ elapsed: Duration, as series: MetricSeries) {
        let (label, client, factory) = (series.name.rawValue, client, factory)
        let timer = timers.handle(for: series) { series in
            Metrics.Timer(
                label: label,
                dimensions: client + series.dimensions,
                preferredDisplayUnit: .seconds,
                factory: factory
            )
        }
        timer.recordNanoseconds(elapsed.wholeNanoseconds)
    }

    /// Records a size in bytes.
    func record(bytes: Int64, as series: MetricSeries) {
        let (label, client, factory) = (series.name.rawValue, client, factory)
        let recorder = recorders.handle(for: series) { series in
            Recorder(label: label, dimensions: client + series.dimensions, factory: factory)
        }
        recorder.record(bytes)
    }
}

/// The metrics of one kind, by their names and series.
final class HandleTable<Handle: Sendable>: Sendable {
    private let handles = Lock<[MetricName: [MetricSeries: Handle]]>([:])
    private let limit: Int

    init(limit: Int) { self.limit = limit }

    /// Returns the handle of a series; beyond the limit of its metric, that of the folded series.
    /// - Parameter make: Makes a handle. It is not called under the lock, because a metrics factory is user code.
    func handle(for series: MetricSeries, _ make: (MetricSeries) -> Handle) -> Handle {
        let (known, isFull) = handles.withLock { handles in
            let known = handles[series.name]
            return (known?[series], known.map { $0.count >= limit } ?? false)
        }
        if let known { return known }
        let series = isFull ? series.folded : series
        if isFull, let known = handles.withLock({ $0[series.name]?[series] }) { return known }
        let made = make(series)
        return handles.withLock { handles in
            if let known = handles[series.name]?[series] { return known }
            handles[series.name, default: [:]][series] = made
            return made
        }
    }
}
#endif
