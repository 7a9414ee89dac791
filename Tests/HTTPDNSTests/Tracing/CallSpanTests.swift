// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

#if Tracing
import HTTPDNSTesting
import Foundation
import InMemoryTracing
import Logging
import ServerRig
import Testing
import Tracing

@testable import HTTPDNS
@testable import HTTPDNSCurl

struct CallSpanTests {
    private typealias Request = HTTPDNSClient.Request
    private struct Refused: Error {}

    private static let traceparent = HTTPField.Name("traceparent")
    private static let failure = TransferFailure(code: .connectFailed, phase: .connect, message: "scripted")

    private static func answer() -> HTTPDNSClient.Response {
        HTTPDNSClient.Response(head: HTTPResponse(status: .ok), body: .bytes(Array("in process".utf8)))
    }

    private func rig(
        _ tracer: FieldTracer,
        wire: ScriptedWire = ScriptedWire(),
        _ configure: (inout HTTPDNSClient.Configuration) throws -> Void = { _ in }
    ) throws -> Rig {
        try Rig(wire: wire) { configuration in
            configuration.tracing.tracer = tracer
            try configure(&configuration)
        }
    }

    // MARK: outcomes

    /// A call, and the spans that it must have.
    struct Scenario: Sendable, CustomTestStringConvertible {
        var testDescription: String
        var url = "https://map.test/"
        /// The types of the errors of the requests on the wire; empty for none.
        var requests = [""]
        /// The type of the error of the call; nil for none.
        var error: String?
        var configure: @Sendable (inout HTTPDNSClient.Configuration) -> Void = { _ in }
        var script: ScriptedWire.Script = { request, _ in .ok(from: request) }
    }

    private static let scenarios = [
        Scenario(testDescription: "success"),
        Scenario(
            testDescription: "client error",
            requests: ["404"],
            script: { request, _ in .ok(from: request, status: .notFound) }
        ),
        Scenario(
            testDescription: "server error",
            requests: ["503"],
            script: { request, _ in .ok(from: request, status: .serviceUnavailable) }
        ),
        Scenario(
            testDescription: "failure",
            requests: ["connect-failed"],
            error: "connect-failed",
            script: { _, _ in throw failure }
        ),
        Scenario(
            testDescription: "failure of the body",
            error: "connect-failed",
            script: { request, _ in .ok(from: request, endingWith: failure) }
        ),
        Scenario(
            testDescription: "cancellation of the request",
            requests: ["canceled"],
            error: "canceled",
            script: { _, _ in throw CancellationError() }
        ),
        Scenario(
            testDescription: "name without an address",
            url: "https://none.test/",
            requests: [],
            error: "resolve-failed"
        ),
        Scenario(testDescription: "unreadable URL", url: "no URL", requests: [], error: "invalid-url"),
        Scenario(
            testDescription: "answer of an application interceptor",
            requests: [],
            configure: { $0.applicationInterceptors = [Around { _, _, _ in answer() }] }
        ),
        Scenario(
            testDescription: "answer of a network interceptor",
            requests: [],
            configure: { $0.networkInterceptors = [Around { _, _, _ in answer() }] }
        ),
        Scenario(
            testDescription: "error of an interceptor",
            requests: [],
            error: "interceptor-failed",
            configure: { $0.networkInterceptors = [Around { _, _, _ in throw Refused() }] }
        ),
        Scenario(
            testDescription: "two requests of an interceptor",
            requests: ["", ""],
            configure: {
                $0.networkInterceptors = [
                    Around { request, context, next in
                        _ = try await next(request, context)
                        return try await next(request, context)
                    }
                ]
            }
        ),
        Scenario(
            testDescription: "stored response",
            requests: [],
            configure: { $0.responseCaching = StoredAnswer(response: answer()) }
        ),
    ]

    @Test("Every outcome of a call ends its span and those of its requests", arguments: scenarios)
    func outcomes(_ scenario: Scenario) async throws {
        let tracer = FieldTracer()
        let rig = try rig(tracer, wire: ScriptedWire(scenario.script), scenario.configure)
        _ = await rig.client.outcome(of: Request(url: scenario.url))
        #expect(tracer.spans.activeSpans.isEmpty)
        let call = try #require(tracer.calls.first)
        #expect(tracer.calls.count == 1 && call.kind == .internal && call.parentSpanID == nil)
        #expect(call.texts["error.type"] == scenario.error && call.isError == (scenario.error != nil))
        #expect(tracer.requests.map { $0.texts["error.type"] ?? "" } == scenario.requests)
        #expect(tracer.requests.map(\.isError) == scenario.requests.map { !$0.isEmpty })
        #expect(tracer.requests.allSatisfy { $0.isNested(in: call) })
        #expect(rig.wire.requests.count == scenario.requests.count)
    }

    @Test("A request canceled in flight ends its span and that of the call")
    func canceled() async throws {
        let tracer = FieldTracer()
        let sent = Gate()
        let wire = ScriptedWire { request, _ in
            sent.open()
            try await SystemTimeSource().sleep(until: SystemTimeSource().now() + .seconds(600))
            return .ok(from: request)
        }
        let rig = try rig(tracer, wire: wire)
        let call = Task { await rig.client.outcome(of: Request(url: "https://map.test/")) }
        await sent.passage()
        #expect(tracer.spans.activeSpans.count == 2)
        call.cancel()
        #expect(await call.value is CancellationError)
        #expect(tracer.spans.activeSpans.isEmpty)
        #expect((tracer.calls + tracer.requests).map { $0.texts["error.type"] } == ["canceled", "canceled"])
    }

    @Test("The span of a request ends at the response head, that of the call with the body", arguments: [true, false])
    func bodyReleased(isRead: Bool) async throws {
        let tracer = FieldTracer()
        let rig = try rig(tracer)
        var response: HTTPDNSClient.Response? = try await rig.client.get("https://map.test/")
        #expect(tracer.requests.count == 1 && tracer.calls.isEmpty)
        if isRead { _ = try await response?.body.collect(upTo: .bytes(5)) }
        response = nil
        #expect(tracer.calls.count == 1 && tracer.spans.activeSpans.isEmpty)
        #expect(tracer.calls.first?.isError == false && tracer.calls.first?.texts["http.response.status_code"] == "200")
    }

    @Test("A call that gets the response of another call has no span of a request")
    func merged() async throws {
        let tracer = FieldTracer()
        let gate = Gate()
        let rig = try rig(tracer, wire: .held(gate)) { $0.mergesIdenticalReads = true }
        let tasks = try await rig.calls(3, to: "https://map.test/a")
        gate.open()
        for task in tasks { _ = try await task.value.text() }
        #expect(tracer.calls.count == 3 && tracer.requests.count == 1 && tracer.spans.activeSpans.isEmpty)
        #expect(rig.wire.requests.count == 1)
    }

    @Test("A request whose addresses are replaced by the system resolver's has one span")
    func fallback() async throws {
        let tracer = FieldTracer()
        let wire = ScriptedWire(.failure(CallSpanTests.failure))
        let rig = try rig(tracer, wire: wire) { configuration in
            configuration.resolver.routes = [
                HTTPDNSRoute(try .init("*.test"), .providers(["scripted"], fallback: .system))
            ]
        }
        rig.system.answer(.success([HTTPDNSAddress(v4: 203, 0, 113, 51)]), for: try HTTPDNSName("one.test"))
        #expect(await rig.client.outcome(of: Request(url: "https://one.test/")) == nil)
        #expect(tracer.requests.count == 1 && tracer.requests.first?.isError == false)
        #expect(tracer.requests.first?.texts["network.peer.address"] == "203.0.113.51")
        let name = try #require(CallSpanTests.traceparent)
        #expect(
            rig.wire.requests.map { $0.headerFields[name] } == [
                tracer.requests[0].traceparent, tracer.requests[0].traceparent,
            ]
        )
    }

    @Test("Each connection made for a request has a span, also for an earlier transfer")
    func connections() async throws {
        let tracer = FieldTracer()
        let wire = ScriptedWire { request, number in
            var index = -1
            request.notes?.note(Self.attempt(at: request.endpoints[0]), at: &index)
            guard number > 0 else { throw CallSpanTests.failure }
            return .ok(from: request)
        }
        let rig = try rig(tracer, wire: wire) { configuration in
            configuration.resolver.routes = [
                HTTPDNSRoute(try .init("*.test"), .providers(["scripted"], fallback: .system))
            ]
        }
        rig.system.answer(.success([HTTPDNSAddress(v4: 203, 0, 113, 51)]), for: try HTTPDNSName("one.test"))
        #expect(await rig.client.outcome(of: Request(url: "https://one.test/")) == nil)
        let connections = tracer.ended(named: "HTTP connection setup")
        #expect(connections.map { $0.texts["network.peer.address"] } == ["203.0.113.1", "203.0.113.51"])
        #expect(connections.allSatisfy { $0.parentSpanID == tracer.requests.first?.spanID })
    }

    /// An attempt that has made a connection.
    private static func attempt(at endpoint: HTTPDNSEndpoint) -> TransferNotes.Attempt {
        TransferNotes.Attempt(
            endpoint: endpoint,
            startedAt: SystemTimeSource().now(),
            phase: .send,
            opensConnection: true,
            sentAt: nil,
            timings: HTTPDNSTransfer.Timings(connect: .milliseconds(1), tls: .milliseconds(1)),
            peerCertificates: [],
            requestHeadBytes: 0,
            requestBodyBytes: 0,
            responseHeadBytes: 0,
            responseBodyBytes: 0
        )
    }

    // MARK: no tracer

    @Test("With a tracer alone the progress of bodies is not noted")
    func progress() throws {
        var tracing = HTTPDNSClient.Configuration().tracing
        tracing.tracer = FieldTracer()
        let observers = CallObservers(tracing: tracing)
        let request = Request(url: "https://one.test/")
        let start = MonotonicTime(nanoseconds: 0)
        let traced = try #require(observers.begin(request, id: 1, at: start))
        #expect(traced.trace != nil && !traced.notesBodies)
        let recording = observers.add(Silent())
        #expect(try #require(observers.begin(request, id: 2, at: start)).notesBodies)
        recording.stop()
        let subscription = observers.subscribe(limit: 8)
        let subscribed = try #require(observers.begin(request, id: 3, at: start))
        withExtendedLifetime(subscription) { #expect(subscribed.notesBodies) }
        observers.end()
    }

    @Test("Without a tracer a call has no span and no field, and is not observed")
    func noTracer() async throws {
        let rig = try Rig()
        #expect(rig.configuration.tracing.tracer == nil)
        let tracer = FieldTracer()
        #expect(await withTracer(tracer) { await rig.client.outcome(of: Request(url: "https://map.test/")) } == nil)
        #expect(tracer.ended.isEmpty && rig.wire.requests.first?.headerFields.isEmpty == true)
        #expect(!rig.client.pipeline.observers.isInUse)
    }

    @Test("Settings take the tracer that is there when they are created")
    func defaultTracer() async throws {
        let tracer = FieldTracer()
        let configuration = withTracer(tracer) { HTTPDNSClient.Configuration() }
        #expect(configuration.tracing.tracer is FieldTracer)
        #expect(HTTPDNSClient.Configuration().tracing.tracer == nil)
    }

    // MARK: parents

    @Test("A call is a child of the caller's span, and interceptors' spans of the call's")
    func parents() async throws {
        let tracer = FieldTracer()
        let rig = try rig(tracer) { configuration in
            configuration.applicationInterceptors = [
                Around.before { _ in
                    tracer.withSpan("token") { _ in }
                }
            ]
        }
        await tracer.withSpan("caller") { _ in
            _ = await rig.client.outcome(of: Request(url: "https://map.test/"))
        }
        let (caller, call) = (try #require(tracer.ended(named: "caller").first), try #require(tracer.calls.first))
        #expect(call.isNested(in: caller))
        #expect(tracer.ended(named: "token").first?.isNested(in: call) == true)
        #expect(tracer.requests.first?.isNested(in: call) == true)
    }

    @Test("Callback calls and blocking calls are children of the caller's span", arguments: [false, true])
    func otherCalls(isBlocking: Bool) async throws {
        let tracer = FieldTracer()
        let client = try rig(tracer).client
        let request = Request(url: "https://map.test/")
        let (answered, left) = (Gate(), Gate())
        // A thread of its own: a blocking call must not take one of the concurrency pool.
        Thread.detachNewThread {
            tracer.withSpan("caller") { _ in
                guard isBlocking else {
                    client.execute(request) { _ in answered.open() }
                    return
                }
                _ = try? client.executeAndWait(request)
                answered.open()
            }
            left.open()
        }
        await answered.passage()
        await left.passage()
        let caller = try #require(tracer.ended(named: "caller").first)
        #expect(tracer.calls.map(\.parentSpanID) == [caller.spanID])
    }

    @Test("A lookup that a call waited for has a span, and a cached answer has none")
    func lookups() async throws {
        let tracer = FieldTracer()
        let rig = try rig(tracer)
        for _ in 0..<2 { #expect(await rig.client.outcome(of: Request(url: "https://one.test/")) == nil) }
        #expect(await rig.client.outcome(of: Request(url: "https://none.test/")) != nil)
        let lookups = tracer.ended(named: "DNS lookup")
        #expect(lookups.map { $0.texts["dns.question.name"] } == ["one.test", "none.test"])
        #expect(lookups.map { $0.texts["dns.answers"] } == ["203.0.113.1", nil])
        #expect(lookups.map(\.isError) == [false, true] && lookups[1].texts["error.type"] != nil)
        #expect(lookups[0].isNested(in: tracer.calls[0]) && lookups[1].isNested(in: tracer.calls[2]))
    }

    // MARK: attributes

    @Test(
        "A span of a request is named by its method, and by HTTP for an unknown one",
        arguments: [("GET", "GET", "GET"), ("PATCH", "PATCH", "PATCH"), ("BREW", "HTTP", "_OTHER")]
    )
    func names(method: String, name: String, attribute: String) async throws {
        let tracer = FieldTracer()
        let rig = try rig(tracer)
        let request = Request(method: try #require(HTTPRequest.Method(method)), url: "https://map.test/")
        #expect(await rig.client.outcome(of: request) == nil)
        let span = try #require(tracer.requests.first)
        #expect(span.operationName == name && span.texts["http.request.method"] == attribute)
        #expect(span.texts["http.request.method_original"] == (attribute == "_OTHER" ? method : nil))
    }

    @Test("The attributes of a request are those of the conventions")
    func attributes() async throws {
        let tracer = FieldTracer()
        let rig = try rig(tracer)
        #expect(await rig.client.outcome(of: Request(url: "https://MAP.test:8443/a/b?c=d#e")) == nil)
        #expect(
            tracer.requests.first?.texts == [
                "http.request.method": "GET", "url.full": "https://map.test:8443/a/b?c=REDACTED",
                "server.address": "map.test", "server.port": "8443", "http.response.status_code": "200",
                "network.protocol.version": "1.1", "network.peer.address": "203.0.113.7", "network.peer.port": "8443",
                "httpdns.source": "mapping",
            ]
        )
        #expect(
            tracer.calls.first?.texts == [
                "http.request.method": "GET", "url.full": "https://map.test:8443/a/b?c=REDACTED",
                "server.address": "map.test", "server.port": "8443", "http.response.status_code": "200",
            ]
        )
    }

    @Test(
        "Secrets of a URL are in no span",
        arguments: [
            "https://user:CANARY@map.test/", "https://CANARY@map.test/a", "https://map.test/?token=CANARY",
            "https://map.test/?a=b&CANARY", "https://map.test/?CANARY", "https://map.test/a;jsessionid=CANARY/b",
            "https://map.test/a#CANARY", "https://map.test/?a=b=CANARY&c=CANARY",
            "https://user:CANARY@none.test/?CANARY",
            "https://user:CANARY@map.test:99999/?CANARY", "ftp://user:CANARY@map.test/?x=CANARY#CANARY",
            "https://map.test/redirect", "https://map.test/?m=a@b&CANARY", "https://map.test/#m=a@b&CANARY",
            "https://map.test:99999/?m=a@b&CANARY", "https://map.test:99999/#CANARY",
            "https://map.test:99999/#m=a@b&CANARY", "https://user:x?CANARY@map.test/",
        ]
    )
    func secrets(url: String) async throws {
        let tracer = FieldTracer()
        let wire = ScriptedWire { request, _ in
            guard request.url.target == "/redirect" else { return .ok(from: request) }
            let location = "https://user:CANARY@one.test/?next=CANARY#CANARY"
            return .ok(from: request, status: .found, fields: [.location: location], chunks: [])
        }
        let rig = try rig(tracer, wire: wire) { configuration in
            configuration.networkInterceptors = [Around.before { $0.headerFields[.authorization] = "Bearer CANARY" }]
        }
        _ = await rig.client.outcome(of: Request(url: url))
        #expect(!tracer.ended.isEmpty && tracer.spans.activeSpans.isEmpty)
        for span in tracer.ended {
            let texts = span.texts.map { "\($0.key)=\($0.value)" } + [span.operationName, span.status?.message ?? ""]
            for text in texts { #expect(!text.contains("CANARY"), "\(span.operationName): \(text)") }
        }
    }

    // MARK: fields

    @Test("Fields of a span replace the caller's fields, and never the client's own")
    func fields() async throws {
        var tracer = FieldTracer()
        tracer.fields = ["Host": "other.test", "content-length": "7", "not a name": "x", "x-vendor": "y"]
        let rig = try rig(tracer)
        let name = try #require(CallSpanTests.traceparent)
        let request = Request(url: "https://map.test/", headerFields: [name: "00-by-hand-01"])
        #expect(await rig.client.outcome(of: request) == nil)
        let sent = try #require(rig.wire.requests.first).headerFields
        #expect(sent[values: name] == [try #require(tracer.requests.first).traceparent])
        #expect(Set(sent.map(\.name.canonicalName)) == ["traceparent", "x-vendor"])
    }

    @Test(
        "Baggage does not follow an interceptor to another origin",
        arguments: [false, true],
        [false, true]
    )
    func redirectedBaggage(isPerCall: Bool, isAllowed: Bool) async throws {
        let tracer = FieldTracer()
        let elsewhere = Around.before { $0.url = "https://two.test/" }
        let rig = try rig(tracer) { configuration in
            configuration.tracing.sendsBaggageToOtherOrigins = isAllowed
            if isPerCall {
                configuration.applicationInterceptors = [elsewhere]
            } else {
                configuration.networkInterceptors = [elsewhere]
            }
        }
        var context = ServiceContext.topLevel
        context.tenant = "a"
        await ServiceContext.withValue(context) {
            #expect(await rig.client.outcome(of: Request(url: "https://one.test/")) == nil)
            #expect(await rig.client.outcome(of: Request(url: "https://TWO.test:443/a")) == nil)
        }
        #expect(rig.wire.requests.map { $0.url.description } == ["https://two.test/", "https://two.test/"])
        let sent = rig.wire.requests.map { Set($0.headerFields.map(\.name.canonicalName)) }
        #expect(sent == [isAllowed ? ["traceparent", "baggage"] : ["traceparent"], ["traceparent", "baggage"]])
    }

    @Test("Baggage goes to another origin only where the settings allow it", arguments: [false, true])
    func baggage(isAllowed: Bool) async throws {
        var tracer = FieldTracer()
        tracer.fields = ["x-b3-traceid": "1", "uberctx-tenant": "a"]
        let wire = ScriptedWire { request, number in
            guard number < 2 else { return .ok(from: request) }
            let location = number == 0 ? "https://two.test/" : "https://one.test/back"
            return .ok(from: request, status: .found, fields: [.location: location], chunks: [])
        }
        let rig = try rig(tracer, wire: wire) { $0.tracing.sendsBaggageToOtherOrigins = isAllowed }
        var context = ServiceContext.topLevel
        context.tenant = "a"
        await ServiceContext.withValue(context) {
            #expect(await rig.client.outcome(of: Request(url: "https://one.test/")) == nil)
        }
        let all: Set<String> = ["traceparent", "x-b3-traceid", "uberctx-tenant", "baggage"]
        let identity: Set<String> = ["traceparent", "x-b3-traceid"]
        let sent = rig.wire.requests.map { Set($0.headerFields.map(\.name.canonicalName)) }
        #expect(sent == [all, isAllowed ? all : identity, all])
        #expect(tracer.requests.map { $0.texts["http.request.resend_count"] } == [nil, "1", "2"])
    }
}

/// An observer that wants the records alone.
private struct Silent: HTTPDNSObserver {}

/// A response cache that has one response to everything.
private final class StoredAnswer: ResponseCaching {
    let response: HTTPDNSClient.Response

    init(response: HTTPDNSClient.Response) { self.response = response }

    var identity: any Hashable & Sendable { ObjectIdentifier(self) }
    var removals: [String: Int] { [:] }
    func open(_ logger: Logger?) async throws -> any ResponseCaching { self }
    func respond(to hop: CacheableHop) async throws -> HTTPDNSClient.Response { response }
    func removeResponse(to hop: CacheableHop) async {}
}
#endif
