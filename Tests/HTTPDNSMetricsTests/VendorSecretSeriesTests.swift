// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

#if Metrics
import HTTPDNSCore
import HTTPDNSMetrics
import HTTPDNSVendors
import MetricsTestKit
import ServerRig
import Testing

struct VendorSecretSeriesTests {
    @Test("Answered queries leave neither a token nor an account number in a series")
    func series() async throws {
        let token = "ca0a57deadbeef00"
        let answer = "img.shop.test.:203.0.113.7,60-0|198.51.100.1"
        let server = try RawServer(.serve(answer, fields: "Content-Type: text/plain\r\n"))
        let credential = HTTPDNSVendorCredential(account: "987654321", secret: HTTPDNSSecret { token })
        var vendor = HTTPDNSTencentProvider.Configuration(name: "vendor", credential: credential)
        (vendor.url, vendor.discoversAddresses) = ("http://127.0.0.1:\(server.port)", false)
        var settings = HTTPDNSResolver.Configuration()
        settings.providers = [try HTTPDNSTencentProvider(vendor)]
        settings.routes = [HTTPDNSRoute(.any, .providers(["vendor"], fallback: .off))]
        settings.timeLimit = .seconds(60)
        settings.attemptLimit = .seconds(60)
        let resolver = try HTTPDNSResolver(settings)
        let backend = TestMetrics()
        let metrics = HTTPDNSResolverMetrics(resolver, factory: backend, interval: .seconds(3600))
        let work = Task { await metrics.run() }
        while resolver.listenerCount == 0, !Task.isCancelled { await Task.yield() }
        let question = HTTPDNSResolver.Query(.name(try HTTPDNSName("img.shop.test")), port: 443)
        #expect(try await resolver.resolve(question).provider == "vendor")
        await resolver.shutdown()
        await work.value
        var series: [String] = []
        for counter in backend.counters { series.append("\(counter.label) \(counter.dimensions)") }
        for meter in backend.meters { series.append("\(meter.label) \(meter.dimensions)") }
        for timer in backend.timers { series.append("\(timer.label) \(timer.dimensions)") }
        #expect(series.contains { $0.contains("vendor") })
        #expect(server.connections.contains { $0.text.contains("token=\(token)") })
        #expect(!series.contains { $0.contains(token) || $0.contains("987654321") || $0.contains("127.0.0.1") })
        server.stop()
    }
}
#endif
