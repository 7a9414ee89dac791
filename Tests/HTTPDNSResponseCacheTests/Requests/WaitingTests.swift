// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNS
import HTTPDNSCurl
import HTTPDNSTesting
import ServerRig
import Testing

@testable import HTTPDNSResponseCache

struct WaitingTests {
    private static let background = ["cache-control": "max-age=60, stale-while-revalidate=60"]

    /// `refreshWait` is far longer. The call's limit is that of the system's clock.
    @Test("A request waits for another one for half of its own time, and is then sent")
    func ownLimit() async throws {
        // On a busy machine a short time may be over before the request is sent: then the same with a longer one.
        for seconds in [6, 24, 120] where try await isSentInTime(.seconds(seconds)) { return }
        Issue.record("the request had no response within its time")
    }

    /// The whole limit would leave no time for a response.
    private func isSentInTime(_ time: Duration) async throws -> Bool {
        let (arrived, gate) = (Gate(), Gate())
        let sentAt = Lock<ContinuousClock.Instant?>(nil)
        let origin = ScriptedWire { request, number in
            if number == 0 {
                arrived.open()
                await gate.passage()
            } else {
                sentAt.withLock { $0 = .now }
            }
            return Scripted("v\(number)", CachingTests.maxAge).answer(to: request)
        }
        var settings = HTTPDNSClient.ResponseCache.Settings()
        settings.refreshWait = .seconds(3600)
        var configuration = HTTPDNSClient.Configuration()
        configuration.responseCache = .memory(settings)
        configuration.environment = { _ in nil }
        configuration.resolver.mappings = [try HTTPDNSMapping.Key("one.test"): .addresses(["203.0.113.1"])]
        let client = HTTPDNSClient(
            configuration: configuration,
            resolver: try HTTPDNSResolver(configuration.resolver, isEnabled: true),
            sender: origin
        )
        let leader = Task { try await client.get(CachedClient.url).body.collect(upTo: .kibibytes(1)) }
        await arrived.passage()
        let start = ContinuousClock.now
        let outcome: Result<[UInt8], any Error>
        do {
            let response = try await client.get(CachedClient.url) {
                $0.timeouts.total = time
                $0.timeouts.responseHead = nil
            }
            outcome = .success(try await response.body.collect(upTo: .kibibytes(1)))
        } catch {
            outcome = .failure(error)
        }
        gate.open()
        #expect(try await leader.value == Array("v0".utf8))
        if case .failure(let error as HTTPDNSClientError) = outcome, error.code == .timedOut { return false }
        #expect(try outcome.get() == Array("v1".utf8))
        let waited = try #require(sentAt.withLock { $0 }) - start
        #expect(waited >= time / 2 - .milliseconds(100), "\(waited)")
        return true
    }

    @Test("A refresh in the background has the client's limits, not those of its call")
    func backgroundLimit() async throws {
        let limits = Lock<[TransferLimits]>([])
        let origin = ScriptedWire { request, number in
            limits.withLock { $0.append(request.limits) }
            return Scripted("v\(number)", Self.background).answer(to: request)
        }
        let client = try await CachedClient(origin)
        // Not of the client's limit, and enough for any machine.
        let change: HTTPDNSClient.Request.Options.Change = {
            $0.timeouts.total = .seconds(3600)
            $0.timeouts.responseHead = nil
        }
        _ = try await client.get { $0.changeOptions(change) }
        client.time.move(seconds: 70)
        let before = SystemTimeSource().now()
        #expect(try await client.get { $0.changeOptions(change) }.source == .stale)
        try await until { origin.count == 2 && client.cache.counters.stored == 2 }
        let (first, refresh) = limits.withLock { ($0[0], $0[1]) }
        #expect(first.deadline != nil && first.headDeadline == nil)
        // Its own limit for the response head, 60 s by default.
        #expect(refresh.deadline == nil)
        let end = try #require(refresh.headDeadline) - before
        #expect(end > .seconds(30) && end < .seconds(600))
    }

    /// The stored body is on disk, and would have to be read within the time of the call, which has passed.
    @Test("A background 304 after the call's time renews the head, with one request")
    func backgroundNotModified() async throws {
        // On a busy machine a short time may end before the stored response is read: then a longer one.
        for seconds in [2, 10, 60] where try await isRenewed(afterCallOf: .seconds(seconds)) { return }
        Issue.record("no stored response came within the time of its call")
    }

    private func isRenewed(afterCallOf limit: Duration) async throws -> Bool {
        let (arrived, gate, folder) = (Gate(), Gate(), try TemporaryFolder())
        let origin = ScriptedWire { request, number in
            var fields = Self.background
            fields["etag"] = "\"1\""
            guard number > 0 else { return Scripted("v0", fields).answer(to: request) }
            arrived.open()
            await gate.passage()
            return Scripted("", status: .notModified, fields).answer(to: request)
        }
        let client = try await CachedClient(origin, folder: folder.path("cache"))
        _ = try await client.get()
        client.time.move(seconds: 70)
        let end = SystemTimeSource().now() + limit
        do {
            #expect(try await client.get { $0.changeOptions { $0.timeouts.total = limit } }.source == .stale)
        } catch let error as HTTPDNSClientError where error.code == .timedOut {
            gate.open()
            return false
        }
        await arrived.passage()
        try await SystemTimeSource().sleep(until: end + .milliseconds(500))
        gate.open()
        try await until { client.cache.reads.leadCount == 0 }
        #expect(origin.count == 2)
        #expect(texts([try await client.get()]) == ["hit v0"])
        #expect(origin.count == 2)
        return true
    }

    /// Its hop belongs to no call: the events and the exchanges of the call are complete without it.
    @Test("A refresh in the background is no part of the call that began it")
    func backgroundFrame() async throws {
        let (origin, arrived, gate) = ScriptedWire.holding(1, Self.background)
        let client = try await CachedClient(origin)
        _ = try await client.get()
        client.time.move(seconds: 70)
        let (records, recorder) = AsyncStream.makeStream(of: HTTPDNSClient.CallRecord.self)
        let recording = client.client.recordCalls { recorder.yield($0) }
        defer { recording.stop() }
        let response = try await client.client.get(CachedClient.url)
        await arrived.passage()
        #expect(response.cacheSource == .stale && response.exchanges.isEmpty)
        _ = try await response.body.collect(upTo: .kibibytes(1))
        let record = try #require(await records.first { _ in true })
        #expect(record.hops.map(\.cacheSource) == [.stale])
        gate.open()
        try await until { client.cache.counters.stored == 2 }
        #expect(recording.counters.calls == 1)
    }

    @Test("A refresh in the background reaches no more networks than the call that began it")
    func backgroundNetworks() async throws {
        let origin = ScriptedWire([Scripted("v0", Self.background), Scripted("v1", Self.background)])
        // Each hop but the first goes to an address inside, and asks for all networks.
        let hops = Journal<String>()
        let widening = Around.before { request in
            hops.write(request.url)
            guard hops.all.count > 1 else { return }
            request.url = "http://inside.test/page"
            request.changeOptions { $0.reachableNetworks = .any }
        }
        let client = try await CachedClient(origin, client: { $0.networkInterceptors = [widening] })
        let change: @Sendable (inout HTTPDNSClient.Request) -> Void = {
            $0.changeOptions { $0.reachableNetworks = .publicInternet }
        }
        _ = try await client.get(CachedClient.url, change)
        client.time.move(seconds: 70)
        #expect(try await client.get(CachedClient.url, change).source == .stale)
        try await until { client.cache.counters.backgroundRefreshes == 1 }
        try await client.client.shutdown(drainingFor: .seconds(60))
        #expect(origin.requests.count == 1)
    }

    /// A body that is longer than the cache stores is not read to its end.
    @Test("A refresh in the background reads no more of a body than the cache stores")
    func backgroundBody() async throws {
        let chunk = [UInt8](repeating: 1, count: 1000)
        let read = Lock(0)
        let origin = ScriptedWire { request, number in
            guard number > 0 else { return Scripted("v0", Self.background).answer(to: request) }
            var answer = Scripted("", Self.background).answer(to: request)
            let stream = AsyncThrowingStream<[UInt8], any Error> {
                read.withLock { $0 += 1 }
                return chunk
            }
            answer.body = .chunks(stream)
            return answer
        }
        let client = try await CachedClient(origin) { $0.maximumEntry = .kibibytes(64) }
        _ = try await client.get()
        client.time.move(seconds: 70)
        #expect(try await client.get().source == .stale)
        try await until { client.cache.counters.backgroundRefreshes == 1 && read.withLock { $0 } > 60 }
        try await client.client.shutdown()
        #expect(read.withLock { $0 } < 80)
    }

    /// A client that asks for parts only would get the old version until its time has passed. The stored response is of
    /// the variant without content codings, as a request for a part gets it.
    @Test(
        "A stale part or conditional response has the whole one refreshed",
        arguments: [
            ["range": "bytes=0-0"], ["range": "bytes=0-0", "if-range": "\"0\""], ["if-none-match": "\"0\""],
        ] as [[String: String]]
    )
    func backgroundWhole(_ fields: [String: String]) async throws {
        let origin = ScriptedWire { request, number in
            var fields = Self.background
            (fields["etag"], fields["vary"]) = ("\"\(number)\"", "accept-encoding")
            return Scripted("v\(number)", fields).answer(to: request)
        }
        let client = try await CachedClient(origin)
        _ = try await client.get { $0.changeOptions { $0.decodesBody = false } }
        client.time.move(seconds: 70)
        let stale = try await client.get(fields: fields) { request in
            request.changeOptions { $0.decodesBody = fields["range"] != nil }
        }
        #expect(stale.source == .stale && stale.status == (fields["range"] != nil ? 206 : 304))
        try await until { client.cache.counters.stored == 2 }
        let sent = origin.requests[1].headerFields
        #expect(sent[.ifNoneMatch] == "\"0\"" && !sent.contains(.range) && !sent.contains(.ifRange))
        #expect(texts([try await client.get { $0.changeOptions { $0.decodesBody = false } }]) == ["hit v1"])
        #expect(client.cache.entryCount == 1)
    }

    /// Only the request that began it counts.
    @Test(
        "A refresh in the background adds nothing to the counters of requests",
        arguments: [nil, 503, 304, 200] as [Int?]
    )
    func backgroundCounters(_ status: Int?) async throws {
        let control = "max-age=60, stale-while-revalidate=60, stale-if-error=600"
        let origin = ScriptedWire { request, number in
            let fields = ["cache-control": control, "etag": "\"1\""]
            guard number > 0 else { return Scripted("v0", fields).answer(to: request) }
            guard let status else { throw TransferFailureSample.refused }
            return Scripted("", status: HTTPResponse.Status(code: status), status == 503 ? [:] : fields).answer(
                to: request
            )
        }
        let client = try await CachedClient(origin)
        _ = try await client.get()
        client.time.move(seconds: 70)
        #expect(texts([try await client.get()]) == ["stale v0"])
        try await until { origin.count == 2 }
        // It ends when the refresh has ended.
        try await client.client.shutdown()
        let counters = client.cache.counters
        #expect(counters.requests == 2 && counters.misses == 1 && counters.stale == 1 && counters.validated == 0)
        #expect(counters.hits == 0 && counters.backgroundRefreshes == 1 && counters.unavailable == 0)
    }

    @Test("Another server under the same URL has stored responses of its own")
    func ownServers() async throws {
        let origin = ScriptedWire { request, _ in
            Scripted("x", CachingTests.maxAge).answer(to: request)
        }
        let client = try await CachedClient(origin)
        let changes: [@Sendable (inout HTTPDNSClient.Request) -> Void] = [
            { _ in },
            { $0.changeOptions { $0.addresses = .only(["203.0.113.8"]) } },
            { $0.changeOptions { $0.addresses = .only(["203.0.113.9"]) } },
            { $0.changeOptions { $0.hostHeader = "two.test" } },
            { $0.changeOptions { $0.unixSocket = "/run/one.sock" } },
            { $0.changeOptions { $0.unixSocket = "/run/two.sock" } },
        ]
        for source in [HTTPDNSClient.CacheSource.miss, .hit] {
            for (number, change) in changes.enumerated() {
                #expect(try await client.get { change(&$0) }.source == source, "\(number)")
            }
        }
        #expect(client.cache.entryCount == changes.count)
        // The system resolver's addresses are those of the name.
        #expect(try await client.get { $0.changeOptions { $0.addresses = .system } }.source == .hit)
    }
}
