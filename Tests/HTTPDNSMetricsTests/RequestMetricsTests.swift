// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

#if Metrics
import ClientRig
import HTTPDNSTesting
import Logging
import MetricsTestKit
import ServerRig
import Testing

@testable import HTTPDNS
@testable import HTTPDNSMetrics

struct RequestMetricsTests {
    private static let duration = "http.client.request.duration"

    @Test("A request has its method, route, status, version and type of error")
    func dimensions() async throws {
        let server = try RawServer(
            .repeatForever([
                .readHead, .respond("ok"), .readHead, .respond("no", status: "404 Not Found"), .readHead, .read(3),
                .respond(status: "204 No Content"), .readHead, .respond("ok"),
            ])
        )
        let gone = try RawServer(.hang)
        try await gone.refuse()
        let measured = try await MeasuredClient([
            "mapped.test": "127.0.0.1:\(server.port)", "gone.test": "127.0.0.1:\(gone.port)",
        ])
        try measured.resolve("a.shop.test")
        let url = "http://a.shop.test:\(server.port)/"
        #expect(await measured.get(url))
        #expect(await measured.get(url))
        #expect(await measured.call(HTTPDNSClient.Request(method: .post, url: url, body: .text("abc"))))
        let brew = try #require(HTTPRequest.Method("BREW"))
        #expect(await measured.call(HTTPDNSClient.Request(method: brew, url: url)))
        let query = try #require(HTTPRequest.Method("QUERY"))
        #expect(await measured.call(HTTPDNSClient.Request(method: query, url: url)))
        #expect(await measured.get("http://mapped.test/"))
        #expect(await !measured.get("http://gone.test/"))
        #expect(await !measured.get("http://nobody.shop.test/"))
        #expect(
            measured.counts(Self.duration) == [
                "GET *.shop.test 200 1.1": 1, "GET *.shop.test 404 1.1 404": 1, "POST *.shop.test 204 1.1": 1,
                "_OTHER *.shop.test 200 1.1": 1, "QUERY *.shop.test 200 1.1": 1, "GET none 200 1.1": 1,
                "GET none connect-failed": 1, "GET *.shop.test resolve-failed": 1,
            ]
        )
        #expect(measured.sizes("http.client.request.body.size") == ["POST *.shop.test 204 1.1": [3]])
        #expect(measured.sizes("http.client.response.body.size")["GET *.shop.test 404 1.1 404"] == [2])
        #expect(
            measured.counts("httpdns.call.duration") == [
                "finished": 6, "failed connect-failed": 1, "failed resolve-failed": 1,
            ]
        )
        try await measured.end()
    }

    @Test("Redirects and retries are requests of their own, and are counted")
    func hops() async throws {
        let server = try RawServer(
            .readHead,
            .respond(status: "302 Found", fields: "Location: /b\r\n"),
            .readHead,
            .respond(status: "503 Service Unavailable"),
            .readHead,
            .respond("ok")
        )
        let measured = try await MeasuredClient(["one.test": "127.0.0.1:\(server.port)"]) { configuration in
            configuration.retries = .standard
            configuration.random = { 0 }
        }
        #expect(await measured.get("http://one.test/a"))
        #expect(
            measured.counts(Self.duration) == ["GET none 302 1.1": 1, "GET none 503 1.1 503": 1, "GET none 200 1.1": 1]
        )
        #expect(measured.count("httpdns.request.redirects") == 1 && measured.count("httpdns.request.retries") == 1)
        #expect(measured.counts("httpdns.call.duration") == ["finished": 1])
        try await measured.end()
    }

    @Test("Failing bodies and canceled requests are counted, answers in process are not")
    func outcomes() async throws {
        let server = try RawServer(
            .readHead,
            .sendText("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nab")
        )
        let (asked, silent) = (Gate(), Gate())
        let slow = try RawServer(.readHead, .open(asked), .wait(silent))
        let measured = try await MeasuredClient([
            "short.test": "127.0.0.1:\(server.port)", "slow.test": "127.0.0.1:\(slow.port)",
        ]) {
            $0.schemeHandlers["app"] = { _ in HTTPDNSClient.Response(head: .init(status: .noContent), body: .bytes([]))
            }
        }
        #expect(await !measured.get("http://short.test/"))
        let canceled = Task { await measured.get("http://slow.test/") }
        await asked.passage()
        canceled.cancel()
        #expect(await !canceled.value)
        #expect(await measured.get("app:settings"))
        #expect(measured.count("httpdns.body.failures", "connection-lost") == 1)
        #expect(measured.counts(Self.duration) == ["GET none 200 1.1": 1, "GET none canceled": 1])
        #expect(
            measured.counts("httpdns.call.duration") == ["failed connection-lost": 1, "canceled": 1, "finished": 1]
        )
        silent.open()
        try await measured.end()
    }

    @Test("A hedge, a merged request and the cache's part are counted by the record")
    func record() async throws {
        let measured = try await MeasuredClient()
        let export = RequestExport(MetricHandles(factory: measured.backend), of: measured.client, hosts: [])
        var call = HTTPDNSClient.CallRecord(callID: 1, url: "http://one.test/", start: .now)
        func add(_ change: (inout HTTPDNSClient.CallRecord.Hop) -> Void) {
            var hop = HTTPDNSClient.CallRecord.Hop(url: call.url, start: call.start)
            (hop.status, hop.duration) = (.ok, .milliseconds(5))
            change(&hop)
            call.hops.append(hop)
        }
        add { $0.isHedged = true }
        add { $0.isMerged = true }
        add { ($0.cacheSource, $0.isAnsweredInProcess) = (.hit, true) }
        add { $0.cacheSource = .miss }
        export.callEnded(call)
        #expect(measured.count("httpdns.request.hedges") == 1 && measured.count("httpdns.request.merged") == 1)
        for source in ["hit", "miss"] { #expect(measured.count("httpdns.response_cache.responses", source) == 1) }
        #expect(measured.durations(Self.duration) == ["GET none 200": [0.005, 0.005]])
        try await measured.end()
    }

    @Test("Removals of the response cache and lost records are counted")
    func losses() async throws {
        let measured = try await MeasuredClient {
            $0.responseCaching = CountingCache(removals: ["evicted": 3, "damaged": 0])
        }
        let lost = Lock(0)
        let recording = measured.client.addObserver(Losing { lost.withLock { $0 } })
        let export = RequestExport(MetricHandles(factory: measured.backend), of: measured.client, hosts: [])
        export.add(measured.client)
        lost.withLock { $0 = 7 }
        for _ in 0..<2 { export.add(measured.client) }
        #expect(measured.count("httpdns.monitor.lost", "file") == 7)
        #expect(measured.count("httpdns.response_cache.removals", "evicted") >= 3)
        recording.stop()
        export.add(measured.client)
        #expect(measured.count("httpdns.monitor.lost", "file") == 7)
        try await measured.end()
    }

    /// Monitors of one client, one after the other, may have the same files or other ones.
    @Test("Lost records are counted from the start of each monitor to its end")
    func lossesOfSeveralMonitors() async throws {
        let measured = try await MeasuredClient()
        let export = RequestExport(MetricHandles(factory: measured.backend), of: measured.client, hosts: [])
        let lost = Lock(["first": 3])
        for (files, change, sum) in [("first", 4, 4), ("second", 2, 6), ("first", 0, 6), ("second", 1, 7)] {
            let recording = measured.client.addObserver(Losing { lost.withLock { $0[files, default: 0] } })
            lost.withLock { $0[files, default: 0] += change }
            export.add(measured.client)
            #expect(measured.count("httpdns.monitor.lost", "file") == Int64(sum))
            // Those before the next start are of no recorder.
            for _ in 0..<2 { recording.stop() }
            lost.withLock { $0[files, default: 0] += 10 }
        }
        try await measured.end()
    }

    /// An observer that loses records of a file.
    private struct Losing: DetailedObserver {
        let count: @Sendable () -> Int

        var bodyLimit: Int? { nil }
        var lost: [String: Int] { ["file": count()] }
    }

    /// A response cache that has only counts.
    private final class CountingCache: ResponseCaching {
        let removals: [String: Int]

        init(removals: [String: Int]) { self.removals = removals }

        var identity: any Hashable & Sendable { ObjectIdentifier(self) }
        func open(_ logger: Logger?) async throws -> any ResponseCaching { self }
        func respond(to hop: CacheableHop) async throws -> HTTPDNSClient.Response { throw CancellationError() }
        func removeResponse(to hop: CacheableHop) async {}
    }

    @Test("A status that no server should send has no series of its own")
    func statuses() async throws {
        let measured = try await MeasuredClient()
        let export = RequestExport(MetricHandles(factory: measured.backend), of: measured.client, hosts: [])
        var call = HTTPDNSClient.CallRecord(callID: 1, url: "http://one.test/", start: .now)
        for status in [99, 100, 599, 600, 999] {
            var hop = HTTPDNSClient.CallRecord.Hop(url: call.url, start: call.start)
            (hop.status, hop.duration) = (HTTPResponse.Status(code: status), .zero)
            call.hops.append(hop)
        }
        export.callEnded(call)
        #expect(
            measured.counts(Self.duration) == [
                "GET none _OTHER": 1, "GET none 100": 1, "GET none 599 599": 1, "GET none _OTHER _OTHER": 2,
            ]
        )
        try await measured.end()
    }

    @Test("A canceled request has its own time, and one that was not begun is no request")
    func cancellations() async throws {
        let measured = try await MeasuredClient()
        let export = RequestExport(MetricHandles(factory: measured.backend), of: measured.client, hosts: [])
        let start = ContinuousClock.now
        var call = HTTPDNSClient.CallRecord(callID: 1, url: "http://one.test/", start: start)
        call.duration = .seconds(9)
        for isUnsent in [false, true] {
            var hop = HTTPDNSClient.CallRecord.Hop(url: call.url, start: start)
            (hop.cancellation, hop.isUnsent) = (.milliseconds(5), isUnsent)
            call.hops.append(hop)
        }
        export.callEnded(call)
        #expect(measured.durations(Self.duration) == ["GET none canceled": [0.005]])
        try await measured.end()
    }

    @Test("A call that is canceled in an interceptor has no request")
    func unsent() async throws {
        let asked = Gate()
        let measured = try await MeasuredClient(["one.test": "127.0.0.1:9"]) {
            $0.networkInterceptors = [
                Around.before { _ in
                    asked.open()
                    try await Task.sleep(for: .seconds(600))
                }
            ]
        }
        let call = Task { await measured.get("http://one.test/") }
        await asked.passage()
        call.cancel()
        #expect(await !call.value)
        #expect(measured.counts(Self.duration).isEmpty)
        #expect(measured.counts("httpdns.call.duration") == ["canceled": 1])
        try await measured.end()
    }

    /// The floor is the time for which the server held the first request, and the ceiling ten times as much.
    @Test("Requests that wait for a connection are counted, and their wait is recorded")
    func queue() async throws {
        let (asked, release) = (Gate(), Gate())
        let server = try RawServer(.readHead, .open(asked), .wait(release), .respond("ok"), .readHead, .respond("ok"))
        let measured = try await MeasuredClient(["one.test": "127.0.0.1:\(server.port)"]) {
            $0.connections.maximumPerHost = 1
        }
        async let first = measured.get("http://one.test/")
        await asked.passage()
        let start = ContinuousClock.now
        async let second = measured.get("http://one.test/")
        while measured.client.requestsWaiting == 0 { await Task.yield() }
        let waiting = ContinuousClock.now
        await measured.export()
        #expect(measured.state("httpdns.queue.requests") == 1)
        #expect(measured.state("http.client.active_requests") == 1)
        try await Task.sleep(for: .milliseconds(50))
        let floor = (ContinuousClock.now - waiting).inSeconds
        release.open()
        let both = await (first, second)
        let ceiling = (ContinuousClock.now - start).inSeconds
        #expect(both.0 && both.1)
        let waits = measured.durations("httpdns.queue.wait")[""] ?? []
        #expect(waits.count == 1 && waits.allSatisfy { $0 >= floor && $0 <= ceiling }, "\(waits) \(floor) \(ceiling)")
        await measured.export()
        #expect(measured.state("httpdns.queue.requests") == 0)
        try await measured.end()
    }

    @Test("Connections are active or idle, and have a duration when they are closed")
    func connections() async throws {
        let (asked, release, closing) = (Gate(), Gate(), Gate())
        let server = try RawServer(.readHead, .open(asked), .wait(release), .respond("ok"), .wait(closing))
        let measured = try await MeasuredClient(["one.test": "127.0.0.1:\(server.port)"])
        func states() -> [Double?] {
            ["active", "idle"].map { measured.state("http.client.open_connections", $0) }
        }
        let start = ContinuousClock.now
        async let call = measured.get("http://one.test/")
        await asked.passage()
        await measured.export()
        #expect(states() == [1, 0])
        #expect(
            measured.state("httpdns.endpoints", "healthy") == 1 && measured.state("httpdns.endpoints", "cooling") == 0
        )
        release.open()
        #expect(await call)
        while measured.client.connectionPools.first?.connectionsInUse != 0 { await Task.yield() }
        await measured.export()
        #expect(states() == [0, 1])
        #expect(measured.counts("http.client.connection.duration").isEmpty)
        try await measured.end()
        let lasted = (ContinuousClock.now - start).inSeconds
        #expect(states() == [0, 0])
        let durations = measured.durations("http.client.connection.duration")
        #expect(durations["1.1"]?.count == 1 && durations["1.1"]?.allSatisfy { $0 > 0 && $0 <= lasted } == true)
        closing.open()
    }

    @Test("Nothing is recorded before the exporter runs, and after it is canceled")
    func inactive() async throws {
        let server = try RawServer(.serve("ok"))
        let measured = try await MeasuredClient(["one.test": "127.0.0.1:\(server.port)"])
        #expect(measured.client.pipeline.observers.isInUse)
        #expect(await measured.get("http://one.test/"))
        await measured.cancel()
        #expect(!measured.client.pipeline.observers.isInUse)
        #expect(await measured.get("http://one.test/"))
        #expect(measured.counts(Self.duration) == ["GET none 200 1.1": 1])
        try await measured.client.shutdown()
        let idle = try await HTTPDNSClient()
        _ = HTTPDNSClientMetrics(idle, factory: TestMetrics())
        #expect(!idle.pipeline.observers.isInUse)
        try await idle.shutdown()
    }

    @Test("Reloads and connection fallbacks are counted from one export to the next")
    func reloadsAndFallbacks() async throws {
        let source = CountedReloads()
        let measured = try await MeasuredClient { $0.source = source }
        func reloads(_ result: String) -> Int64 { measured.count("httpdns.reloads", result) }
        func fallbacks(_ result: String) -> Int64 { measured.count("httpdns.connect.fallbacks", result) }
        #expect(reloads("succeeded") == 0 && measured.state("httpdns.reload.failing") == 0)
        source.held.withLock { status in
            (status.successes, status.failures) = (2, 1)
            status.failure = .init(time: 0, message: "line 1")
        }
        for _ in 0..<3 { measured.client.pipeline.choice.count(\.fallbacks) }
        measured.client.pipeline.choice.count(\.fallbacksFailed)
        for _ in 0..<2 { measured.client.pipeline.choice.count(\.fallbacksShortCircuited) }
        for _ in 0..<2 {
            await measured.export()
            #expect(reloads("succeeded") == 2 && reloads("failed") == 1)
            #expect(measured.state("httpdns.reload.failing") == 1)
            #expect(fallbacks("served") == 3 && fallbacks("failed") == 1 && fallbacks("short-circuited") == 2)
            #expect(measured.state("httpdns.connect.fallen_back_hosts") == 0)
        }
        source.held.withLock { ($0.successes, $0.failure) = (3, nil) }
        try await measured.end()
        #expect(reloads("succeeded") == 3 && measured.state("httpdns.reload.failing") == 0)
    }

    /// A source whose results a test sets.
    private final class CountedReloads: ConfigurationSource, ConfigurationWatch {
        let held = Lock(HTTPDNSClient.ReloadStatus())
        var status: HTTPDNSClient.ReloadStatus { held.withLock { $0 } }

        func watch(
            for settings: HTTPDNSClient.Configuration,
            applying apply: @escaping ApplySettings
        ) -> any ConfigurationWatch { self }

        func reload() async throws -> HTTPDNSResolver.ReloadResult { throw ConfigurationWatchEnded() }
        func rebase(on settings: HTTPDNSClient.Configuration) {}
        func end() async {}
        func cancel() {}
    }

    @Test("The names and dimensions of requests are those of the list")
    func names() async throws {
        let server = try RawServer(.readHead, .read(3), .sendText("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nab"))
        let measured = try await MeasuredClient(["one.test": "127.0.0.1:\(server.port)"], labeling: ["one.test"]) {
            $0.connections.maximumPerHost = 9
        }
        #expect(await !measured.call(.init(method: .post, url: "http://one.test/", body: .text("abc"))))
        try await measured.end()
        let exported = Set(measured.series.map { String($0.prefix { $0 != " " }) })
        let known = Set(MetricName.allCases.map(\.rawValue))
        #expect(exported.isSubset(of: known))
        // A record of a unit test has these.
        let others: Set<MetricName> = [.responseCache, .responseCacheRemovals, .lostRecords, .queueWait]
        for name in MetricName.ofClients.subtracting(others) { #expect(exported.contains(name.rawValue), "\(name)") }
    }
}
#endif
