// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNS
internal import HTTPDNSMetrics
internal import InMemoryTracing
internal import Workload

/// Metrics and spans in memory. The metrics are those of the example for Prometheus; spans are dropped as those of an exporter are,
/// batch by batch.
struct ObservationBackends: Sendable {
    let tracer = InMemoryTracer(recordInjections: false)
    private let metrics = PrometheusMetrics()

    /// Exports until the task is canceled or the client is shut down.
    func start(on client: HTTPDNSClient) -> Task<Void, Never> {
        Task {
            async let export: Void = HTTPDNSClientMetrics(client, factory: metrics).run()
            while (try? await Task.sleep(for: .milliseconds(100))) != nil { tracer.clearFinishedSpans() }
            await export
        }
    }

    /// - Throws: ``UnexpectedAnswer`` without the metrics or the spans of the requests.
    func check(_ orders: Orders) throws {
        guard metrics.text.contains("http_client_request_duration_count"), !tracer.finishedSpans.isEmpty else {
            throw UnexpectedAnswer("\(orders.requests) requests had no metrics or spans")
        }
    }
}
