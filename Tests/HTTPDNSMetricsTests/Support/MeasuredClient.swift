// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

#if Metrics
import HTTPDNS
import HTTPDNSMetrics
import HTTPDNSTesting
import MetricsTestKit

/// A client with a running exporter, whose interval a clock of the test decides.
struct MeasuredClient: Sendable {
    let client: HTTPDNSClient
    let backend: TestMetrics
    let time = HTTPDNSManualClock()
    let provider = HTTPDNSScriptedProvider(answerScope: .loopback)
    private let work: Task<Void, Never>

    static let interval = Duration.seconds(10)

    /// - Parameters:
    ///   - mappings: Names that have a mapping. Other names below `shop.test` are answered by ``provider``.
    ///   - name: The name of the exporter.
    ///   - backend: The destination of the exporter.
    ///   - transport: The transport, if it is shared.
    ///   - labeling: The hosts with labels.
    init(
        _ mappings: [String: String] = [:],
        named name: String? = nil,
        to backend: TestMetrics = TestMetrics(),
        on transport: HTTPDNSLibcurlTransport? = nil,
        labeling hosts: [String] = [],
        _ change: (inout HTTPDNSClient.Configuration) throws -> Void = { _ in }
    ) async throws {
        self.backend = backend
        var configuration = HTTPDNSClient.Configuration()
        for (name, address) in mappings {
            configuration.resolver.mappings[try HTTPDNSMapping.Key(name)] = .addresses([.init(address)])
        }
        configuration.resolver.providers = [provider]
        configuration.resolver.routes = [
            HTTPDNSRoute(try .init("*.shop.test"), .providers(["scripted"], fallback: .off))
        ]
        configuration.resolver.families = .v4
        // A busy machine may need longer than the defaults.
        (configuration.timeouts.connect, configuration.timeouts.tls) = (.seconds(60), .seconds(60))
        try change(&configuration)
        if let transport {
            client = try await HTTPDNSClient(configuration: configuration, on: transport)
        } else {
            client = try await HTTPDNSClient(configuration: configuration)
        }
        let metrics = HTTPDNSClientMetrics(
            client,
            name: name,
            factory: backend,
            hosts: Set(try hosts.map { try HTTPDNSName($0) }),
            interval: MeasuredClient.interval,
            timeSource: time
        )
        work = Task { await metrics.run() }
        await time.sleepers(atLeast: 1)
    }

    /// Lets the provider answer for a name with 127.0.0.1.
    func resolve(_ name: String) throws {
        let address = HTTPDNSAddress(v4: 127, 0, 0, 1)
        provider.answer(.answer(.addresses([address], timeToLive: .seconds(60))), for: try HTTPDNSName(name))
    }

    /// Makes a call, and reads its body.
    /// - Returns: Whether both succeeded.
    @discardableResult
    func call(_ request: HTTPDNSClient.Request) async -> Bool {
        guard let response = try? await client.execute(request) else { return false }
        return (try? await response.body.collect(upTo: .mebibytes(64))) != nil
    }

    @discardableResult
    func get(_ url: String) async -> Bool { await call(HTTPDNSClient.Request(url: url)) }

    /// Lets an interval pass, and waits for the end of its export.
    func export() async {
        time.advance(by: MeasuredClient.interval)
        await time.sleepers(atLeast: 1)
    }

    /// Cancels the exporter, and waits for its end.
    func cancel() async {
        work.cancel()
        await work.value
    }

    /// Shuts the client down, and waits for the last export.
    func end() async throws {
        try await client.shutdown()
        await work.value
    }

    // MARK: series

    /// The recorded durations in seconds by series, in the form `GET none 200`: the values of the dimensions, in their order.
    func durations(_ label: String) -> [String: [Double]] {
        var durations: [String: [Double]] = [:]
        for timer in backend.timers(label: label) {
            durations[text(timer.dimensions), default: []] += timer.values.map { Double($0) / 1e9 }
        }
        return durations
    }

    /// The numbers of recorded durations.
    func counts(_ label: String) -> [String: Int] { durations(label).mapValues(\.count) }

    /// The recorded sizes by series.
    func sizes(_ label: String) -> [String: [Double]] {
        var sizes: [String: [Double]] = [:]
        for recorder in backend.recorders(label: label) {
            sizes[text(recorder.dimensions), default: []] += recorder.values
        }
        return sizes
    }

    func count(_ label: String, _ values: String = "") -> Int64 {
        backend.counters(label: label).reduce(0) { $0 + (text($1.dimensions) == values ? $1.totalValue : 0) }
    }

    /// The last value of a meter.
    func state(_ label: String, _ values: String = "") -> Double? {
        backend.meters(label: label).first { text($0.dimensions) == values }?.lastValue
    }

    /// Every series with its dimensions.
    var series: Set<String> {
        var series: Set<String> = []
        for counter in backend.counters { series.insert("\(counter.label) \(counter.dimensions)") }
        for meter in backend.meters { series.insert("\(meter.label) \(meter.dimensions)") }
        for timer in backend.timers { series.insert("\(timer.label) \(timer.dimensions)") }
        for recorder in backend.recorders { series.insert("\(recorder.label) \(recorder.dimensions)") }
        return series
    }

    private func text(_ dimensions: [(String, String)]) -> String { dimensions.map(\.1).joined(separator: " ") }
}
#endif
