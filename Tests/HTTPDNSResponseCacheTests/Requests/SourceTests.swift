// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNS
import HTTPDNSCurl
import HTTPDNSResponseCache
import ServerRig
import Testing

struct SourceTests {
    /// One call with the facts that its observers got.
    struct Observed {
        var response: HTTPDNSClient.Response
        /// The sources of its response heads, such as `304 miss`.
        var heads: [String]
        var record: HTTPDNSClient.CallRecord
    }

    private static func observed(
        _ client: CachedClient,
        _ change: (inout HTTPDNSClient.Request) -> Void = { _ in }
    ) async throws -> Observed {
        let (events, continuation) = AsyncStream.makeStream(of: HTTPDNSClient.RequestEvent.self)
        let (records, recorder) = AsyncStream.makeStream(of: HTTPDNSClient.CallRecord.self)
        let recording = client.client.recordCalls { recorder.yield($0) }
        var request = HTTPDNSClient.Request(url: CachedClient.url)
        change(&request)
        request.observer = { event in
            continuation.yield(event)
            if event.kind.isTerminal { continuation.finish() }
        }
        let response = try await client.client.execute(request)
        _ = try await response.body.collect(upTo: .kibibytes(1))
        var heads: [String] = []
        for await event in events where event.kind == .responseHead {
            heads.append("\(event.status?.code ?? 0) \(event.cacheSource?.description ?? "-")")
        }
        let record = try #require(await records.first { _ in true })
        recording.stop()
        return Observed(response: response, heads: heads, record: record)
    }

    private static func origin() -> ScriptedWire {
        ScriptedWire([
            Scripted("one", ["cache-control": "max-age=60", "etag": "\"1\""]),
            Scripted("", status: .notModified, ["cache-control": "max-age=60"]),
            Scripted("down", status: .serviceUnavailable),
        ])
    }

    @Test("Response, exchanges, events and the record of a call agree on the source")
    func sources() async throws {
        let client = try await CachedClient(Self.origin())
        func check(
            _ source: HTTPDNSClient.CacheSource,
            exchanges: [HTTPDNSClient.CacheSource],
            heads: [String],
            hop status: Int,
            _ change: (inout HTTPDNSClient.Request) -> Void = { _ in }
        ) async throws {
            let call = try await Self.observed(client, change)
            #expect(call.response.cacheSource == source)
            #expect(call.response.exchanges.map(\.cacheSource) == exchanges)
            #expect(call.heads == heads)
            #expect(call.record.cacheSource == source && call.record.hops.map(\.cacheSource) == [source])
            #expect(call.record.hops.map { $0.status?.code } == [status])
            #expect(call.record.hops[0].isAnsweredInProcess == exchanges.isEmpty)
        }
        try await check(.miss, exchanges: [.miss], heads: ["200 miss"], hop: 200)
        try await check(.hit, exchanges: [], heads: ["200 hit"], hop: 200)
        client.time.move(seconds: 61)
        try await check(.validated, exchanges: [.validated], heads: ["304 miss", "200 validated"], hop: 304)
        client.time.move(seconds: 61)
        try await check(.stale, exchanges: [.stale], heads: ["503 miss", "200 stale"], hop: 503) {
            $0.cache.policy = .fallBackToStored
        }
        try await check(.stale, exchanges: [], heads: ["200 stale"], hop: 200) { $0.cache.policy = .preferStored }
        try await check(.unavailable, exchanges: [], heads: ["504 unavailable"], hop: 504) {
            $0.url = "http://one.test/other"
            $0.cache.policy = .onlyStored
        }
        client.cache.isOffline = true
        try await check(.offline, exchanges: [], heads: ["200 offline"], hop: 200)
        let counters = client.cache.counters
        #expect(counters.requests == 7 && counters.hits == 1 && counters.validated == 1 && counters.misses == 1)
        #expect(counters.stale == 2 && counters.offline == 1 && counters.unavailable == 1)
    }

    @Test("A call without a cache, and a method that is not stored, have no source")
    func none() async throws {
        let client = try await CachedClient(Self.origin())
        let call = try await Self.observed(client) { $0.method = .post }
        #expect(call.response.cacheSource == nil && call.response.exchanges.map(\.cacheSource) == [nil])
        #expect(call.heads == ["200 -"] && call.record.cacheSource == nil)
    }

    @Test("A hit names the cache as the destination, and a validated response the server")
    func destination() async throws {
        let client = try await CachedClient(Self.origin())
        _ = try await client.get()
        let hit = try await client.client.get(CachedClient.url)
        #expect(hit.destination == "response cache, hit" && hit.exchange == nil)
        client.time.move(seconds: 61)
        let validated = try await client.client.get(CachedClient.url)
        #expect(validated.exchange?.endpoint?.address.description == "203.0.113.1")
    }

    /// A retry would get the same response again.
    @Test("A response of the cache is not sent again by a retry policy")
    func retries() async throws {
        let origin = ScriptedWire { request, _ in
            let fields = request.url.target == "/page" ? CachingTests.maxAge : [:]
            return Scripted("down", status: .serviceUnavailable, fields).answer(to: request)
        }
        let client = try await CachedClient(origin) { _ in
        } client: {
            $0.retries = .standard
            $0.retries.delay = .zero
        }
        #expect(try await client.get { $0.changeOptions { $0.retries = .off } }.source == .miss)
        let hit = try await client.get()
        #expect(hit.source == .hit && hit.status == 503)
        #expect(try await client.get("http://one.test/other") { $0.cache.policy = .onlyStored }.source == .unavailable)
        #expect(client.cache.counters.hits == 1 && client.cache.counters.unavailable == 1)
        #expect(origin.count == 1)
        // A response of the server is.
        #expect(try await client.get("http://one.test/third").status == 503)
        #expect(origin.count == 4)
    }
}
