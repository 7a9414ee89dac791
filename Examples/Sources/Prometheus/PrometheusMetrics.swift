// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

// Needs the product CoreMetrics of swift-metrics. Only this repository compiles it without the trait.
#if !HTTPDNS_REPOSITORY || Metrics
import CoreMetrics
import Synchronization

/// A metrics factory that keeps all values in memory and writes them in Prometheus' text format.
///
/// Dots in names are underscores, and counters end in `_total`. Timers and recorders are histograms.
final class PrometheusMetrics: MetricsFactory {
    private enum Kind: String { case counter, gauge, histogram }

    private struct Family {
        let label: String
        let kind: Kind
        /// The series by their labels: `a="b",c="d"`.
        var series: [String: PrometheusSeries] = [:]
    }

    private let families = Mutex<[String: Family]>([:])

    init() {}

    /// The upper bounds of buckets for durations, in seconds.
    static let seconds = [0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10]
    /// The upper bounds of buckets for sizes, in bytes.
    static let bytes = [100, 1_000, 10_000, 100_000, 1_000_000, 10_000_000, 100_000_000].map { Double($0) }

    /// All metrics, in the order of their names.
    var text: String {
        var text = ""
        for (name, family) in families.withLock({ $0 }).sorted(by: { $0.key < $1.key }) {
            text += "# HELP \(name) \(family.label)\n# TYPE \(name) \(family.kind.rawValue)\n"
            for (labels, series) in family.series.sorted(by: { $0.key < $1.key }) {
                for (suffix, le, value) in series.samples {
                    let all = [labels, le.map { "le=\"\($0)\"" } ?? ""].filter { !$0.isEmpty }.joined(separator: ",")
                    text += "\(name)\(suffix)\(all.isEmpty ? "" : "{\(all)}") \(value)\n"
                }
            }
        }
        return text
    }

    /// Returns the series, which is made at its first use.
    private func series(
        _ label: String,
        _ kind: Kind,
        _ dimensions: [(String, String)],
        buckets: [Double] = []
    ) -> PrometheusSeries {
        let labels = dimensions.map { "\(Self.name($0.0))=\"\(Self.escaped($0.1))\"" }.joined(separator: ",")
        let name = Self.name(label) + (kind == .counter ? "_total" : "")
        return families.withLock { families in
            var family = families[name] ?? Family(label: label, kind: kind)
            let series = family.series[labels] ?? PrometheusSeries(buckets: buckets)
            family.series[labels] = series
            families[name] = family
            return series
        }
    }

    private static func name(_ label: String) -> String {
        String(label.map { $0.isASCII && ($0.isLetter || $0.isNumber) ? $0 : "_" })
    }

    private static func escaped(_ value: String) -> String {
        value.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"").replacing("\n", with: "\\n")
    }

    // MARK: MetricsFactory

    func makeCounter(label: String, dimensions: [(String, String)]) -> any CounterHandler {
        series(label, .counter, dimensions)
    }

    func makeFloatingPointCounter(
        label: String,
        dimensions: [(String, String)]
    ) -> any FloatingPointCounterHandler {
        series(label, .counter, dimensions)
    }

    func makeMeter(label: String, dimensions: [(String, String)]) -> any MeterHandler {
        series(label, .gauge, dimensions)
    }

    func makeRecorder(
        label: String,
        dimensions: [(String, String)],
        aggregate: Bool
    ) -> any RecorderHandler {
        aggregate ? series(label, .histogram, dimensions, buckets: Self.bytes) : series(label, .gauge, dimensions)
    }

    func makeTimer(label: String, dimensions: [(String, String)]) -> any TimerHandler {
        series(label, .histogram, dimensions, buckets: Self.seconds)
    }

    // The series stay: a counter that begins again at zero would be read as a restart.
    func destroyCounter(_ handler: any CounterHandler) {}
    func destroyFloatingPointCounter(_ handler: any FloatingPointCounterHandler) {}
    func destroyMeter(_ handler: any MeterHandler) {}
    func destroyRecorder(_ handler: any RecorderHandler) {}
    func destroyTimer(_ handler: any TimerHandler) {}
}

/// The value of one series: a number, or a histogram.
final class PrometheusSeries: Sendable {
    private struct State {
        var value = 0.0
        var count = 0
        var countByBucket: [Int]
    }

    private let bounds: [Double]
    private let state: Mutex<State>

    init(buckets: [Double]) {
        bounds = buckets
        state = Mutex(State(countByBucket: Array(repeating: 0, count: buckets.count)))
    }

    /// The lines of the series: what is added to the name, the bound of a bucket, and the value.
    var samples: [(suffix: String, le: String?, value: String)] {
        let state = state.withLock { $0 }
        if bounds.isEmpty { return [("", nil, "\(state.value)")] }
        var samples: [(String, String?, String)] = []
        var sum = 0
        for (bound, count) in zip(bounds, state.countByBucket) {
            sum += count
            samples.append(("_bucket", "\(bound)", "\(sum)"))
        }
        return samples + [
            ("_bucket", "+Inf", "\(state.count)"), ("_sum", nil, "\(state.value)"), ("_count", nil, "\(state.count)"),
        ]
    }
}

extension PrometheusSeries: CounterHandler, FloatingPointCounterHandler, MeterHandler, RecorderHandler, TimerHandler {
    func increment(by amount: Int64) { increment(by: Double(amount)) }
    func increment(by amount: Double) { state.withLock { $0.value += amount } }
    func decrement(by amount: Double) { increment(by: -amount) }
    func set(_ value: Int64) { set(Double(value)) }
    func set(_ value: Double) { state.withLock { $0.value = value } }
    func reset() { set(0.0) }
    func record(_ value: Int64) { record(Double(value)) }

    func record(_ value: Double) {
        guard !bounds.isEmpty else { return set(value) }
        state.withLock { state in
            state.value += value
            state.count += 1
            if let index = bounds.firstIndex(where: { value <= $0 }) { state.countByBucket[index] += 1 }
        }
    }

    func recordNanoseconds(_ duration: Int64) { record(Double(duration) / 1_000_000_000) }
}
#endif
