// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

// Needs Hummingbird, and the trait Metrics, which is on by default. Only this repository compiles it without them.
#if !HTTPDNS_REPOSITORY || (Metrics && LocalProvider)
import HTTPDNS
import HTTPDNSMetrics
import Hummingbird

/// Serves the metrics of a client at http://127.0.0.1:9464/metrics until the task is canceled.
public func serveMetrics(
    of client: HTTPDNSClient,
    port: Int = 9464,
    interval: Duration = .seconds(10)
) async throws {
    let metrics = PrometheusMetrics()
    let router = Router()
    router.get("metrics") { _, _ in
        Response(
            status: .ok,
            headers: [.contentType: "text/plain; version=0.0.4; charset=utf-8"],
            body: ResponseBody(byteBuffer: ByteBuffer(string: metrics.text))
        )
    }
    let server = Application(router: router, configuration: .init(address: .hostname("127.0.0.1", port: port)))
    try await withThrowingTaskGroup(of: Void.self) { group in
        group.addTask { await HTTPDNSClientMetrics(client, factory: metrics, interval: interval).run() }
        group.addTask { try await server.run() }
        for try await _ in group {}
    }
}
#endif
