// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

#if Tracing
import HTTPDNS
import InMemoryTracing
import ServerRig
import Testing
import Tracing

struct TraceOverTheWireTests {
    private typealias Request = HTTPDNSClient.Request

    /// one.test redirects to two.test, which redirects back; the request there is sent twice.
    @Test(
        "Two redirects and a retry are four nested spans, which nginx gets in traceparent",
        .enabled(if: ServerRig.isAvailable([.nginx]))
    )
    func redirectsAndRetry() async throws {
        let rig = try await ServerRig.shared()
        let port = rig.httpPort
        let tracer = FieldTracer()
        var configuration = HTTPDNSClient.Configuration()
        for (name, address) in [("trace-one.wild.test", "127.0.0.2"), ("trace-two.wild.test", "127.0.0.3")] {
            configuration.resolver.mappings[try HTTPDNSMapping.Key(name)] = .addresses(["\(address):\(port)"])
        }
        configuration.tracing.tracer = tracer
        configuration.retries = .standard
        configuration.retries.limit = 1
        configuration.retries.delay = .zero
        let client = try await HTTPDNSClient(configuration: configuration)
        let (one, two) = ("http://trace-one.wild.test:\(port)", "http://trace-two.wild.test:\(port)")
        let mark = rig.accessLogMark()
        var context = ServiceContext.topLevel
        context.tenant = "a"
        try await ServiceContext.withValue(context) {
            let response = try await client.get("\(one)/redirect/302?to=\(two)/redirect/307?to=\(one)/status/503")
            #expect(response.status == .serviceUnavailable)
            _ = try await response.body.collect(upTo: .mebibytes(1))
        }
        try await client.shutdown()
        #expect(tracer.spans.activeSpans.isEmpty)
        let (call, requests) = (try #require(tracer.calls.first), tracer.requests)
        #expect(tracer.calls.count == 1 && requests.count == 4)
        #expect(requests.allSatisfy { $0.isNested(in: call) && $0.operationName == "GET" })
        func values(_ key: String) -> [String?] { requests.map { $0.texts[key] } }
        #expect(values("http.response.status_code") == ["302", "307", "503", "503"])
        #expect(values("http.request.resend_count") == [nil, "1", "2", "3"])
        #expect(values("server.address").map { $0?.prefix(9) } == ["trace-one", "trace-two", "trace-one", "trace-one"])
        #expect(values("network.peer.address") == ["127.0.0.2", "127.0.0.3", "127.0.0.2", "127.0.0.2"])
        #expect(values("network.peer.port") == Array(repeating: "\(port)", count: 4))
        #expect(values("server.port") == Array(repeating: "\(port)", count: 4))
        #expect(values("network.protocol.version") == ["1.1", "1.1", "1.1", "1.1"])
        #expect(values("error.type") == [nil, nil, "503", "503"])
        #expect(requests.map(\.isError) == [false, false, true, true] && !call.isError)
        #expect(
            values("url.full")[0] == "\(one)/redirect/302?to=REDACTED" && values("url.full")[3] == "\(one)/status/503"
        )
        let lines = try await rig.awaitAccessLog(since: mark, count: 4) { $0.host.hasPrefix("trace-") }
        #expect(lines.map(\.status) == [302, 307, 503, 503])
        #expect(lines.map(\.traceparent) == requests.map(\.traceparent))
        #expect(lines.map(\.baggage) == ["tenant=a", "", "tenant=a", "tenant=a"])
    }

    @Test("A connection made for a request has a span, and a kept one has none")
    func connections() async throws {
        let server = try RawServer(.serve("hello"))
        let tracer = FieldTracer()
        let client = try await mappedClient(server.port) { $0.tracing.tracer = tracer }
        for _ in 0..<2 { #expect(await client.outcome(of: Request(url: "http://one.test/")) == nil) }
        try await client.shutdown()
        #expect(server.connections.count == 1 && tracer.requests.count == 2)
        let connections = tracer.ended(named: "HTTP connection setup")
        #expect(connections.count == 1 && connections.first?.isNested(in: tracer.requests[0]) == true)
        #expect(
            connections.first?.texts == [
                "server.address": "one.test", "server.port": "80", "url.scheme": "http",
                "network.peer.address": "127.0.0.1", "network.peer.port": "\(server.port)",
            ]
        )
    }

    @Test("A deadline that ends a call in any phase ends its spans", arguments: StalledCall.phases)
    func deadlines(phase: HTTPDNSClientError.Phase) async throws {
        // On a busy machine a short time may be over before a call comes to its phase: then the same with a longer one.
        for seconds in [2, 10, 50] where try await isReached(phase, within: .seconds(seconds)) { return }
        Issue.record("no call came to its phase before its deadline")
    }

    private func isReached(_ phase: HTTPDNSClientError.Phase, within total: Duration) async throws -> Bool {
        let tracer = FieldTracer()
        let call = try StalledCall(in: phase)
        var configuration = try call.configuration()
        configuration.tracing.tracer = tracer
        configuration.timeouts.total = total
        let error = try #require(await call.failure(configuration).error)
        #expect(error.code == .timedOut)
        if error.phase != phase { return false }
        #expect(tracer.spans.activeSpans.isEmpty)
        #expect(tracer.calls.map { $0.texts["error.type"] } == ["timed-out"])
        let lookup = tracer.ended(named: "DNS lookup")
        switch phase {
        case .resolve: #expect(tracer.requests.isEmpty && lookup.count == 1 && lookup[0].isError)
        // The response head has ended the span of the request.
        case .body: #expect(tracer.requests.map(\.isError) == [false])
        default: #expect(tracer.requests.map { $0.texts["error.type"] } == ["timed-out"])
        }
        return true
    }
}
#endif
