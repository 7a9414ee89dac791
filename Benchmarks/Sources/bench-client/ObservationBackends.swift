// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNS
internal import HTTPDNSMetrics
internal import InMemoryTracing
internal import Synchronization
internal import Workload

/// Metrics and spans in memory. The metrics are those of the example for Prometheus; spans are dropped as those of an exporter are,
/// batch by batch.
final class ObservationBackends: Sendable {
    let tracer = InMemoryTracer(recordInjections: false)
    private let metrics = PrometheusMetrics()
    private let exportedSpans = Atomic(0)

    /// Exports until the task is canceled or the client is shut down.
    func start(on client: HTTPDNSClient) -> Task<Void, Never> {
        Task {
            async let export: Void = HTTPDNSClientMetrics(client, factory: metrics).run()
            while (try? await Task.sleep(for: .milliseconds(100))) != nil { exportSpans() }
            await export
        }
    }

    private func exportSpans() {
        exportedSpans.wrappingAdd(tracer.popFinishedSpans().count, ordering: .relaxed)
    }

    /// - Throws: ``UnexpectedAnswer`` without the metrics or the spans of the requests: each has one of its call and one of its
    ///   sending.
    func check(_ orders: Orders) throws {
        exportSpans()
        let spans = exportedSpans.load(ordering: .relaxed)
        guard metrics.text.contains("http_client_request_duration_count"), spans >= 2 * orders.requests else {
            throw UnexpectedAnswer("\(orders.requests) requests had \(spans) spans, or no metrics")
        }
    }
}
