// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNS
import HTTPDNSCurl
import HTTPDNSResponseCache
import HTTPDNSTesting
import ServerRig
import Testing

struct PolicyTests {
    struct Case: Sendable, CustomTestStringConvertible {
        let policy: HTTPDNSClient.CachePolicy
        /// The replies to this policy without a stored response, with a fresh and with a stale one.
        let empty: String
        let fresh: String
        let stale: String
        /// The reply to the default policy after the first one.
        let then: String
        var testDescription: String { "policy \(policy.rawValue)" }
    }

    /// The server answers `v1`, `v2` and so on; a validation finds a new version.
    @Test(
        "Each policy reads, validates and stores as it says",
        arguments: [
            Case(policy: .revalidateWhenStale, empty: "miss v1", fresh: "hit v1", stale: "miss v2", then: "hit v1"),
            Case(policy: .doNotRead, empty: "miss v1", fresh: "miss v2", stale: "miss v2", then: "hit v1"),
            Case(policy: .doNotWrite, empty: "miss v1", fresh: "hit v1", stale: "miss v2", then: "miss v2"),
            Case(policy: .alwaysRevalidate, empty: "miss v1", fresh: "miss v2", stale: "miss v2", then: "hit v1"),
            Case(policy: .preferStored, empty: "miss v1", fresh: "hit v1", stale: "stale v1", then: "hit v1"),
            Case(policy: .onlyStored, empty: "unavailable ", fresh: "hit v1", stale: "stale v1", then: "miss v1"),
            Case(policy: .fallBackToStored, empty: "miss v1", fresh: "hit v1", stale: "miss v2", then: "hit v1"),
            Case(
                policy: [.doNotRead, .doNotWrite],
                empty: "miss v1",
                fresh: "miss v2",
                stale: "miss v2",
                then: "miss v2"
            ),
        ]
    )
    func policies(_ row: Case) async throws {
        func newClient() async throws -> CachedClient {
            try await CachedClient(
                ScriptedWire { request, number in
                    Scripted("v\(number + 1)", ["cache-control": "max-age=60", "etag": "\"\(number)\""])
                        .answer(to: request)
                }
            )
        }
        let first = try await newClient()
        #expect(texts([try await first.get { $0.cache.policy = row.policy }]) == [row.empty])
        #expect(texts([try await first.get()]) == [row.then])
        for (seconds, expected) in [(Int64(1), row.fresh), (61, row.stale)] {
            let client = try await newClient()
            _ = try await client.get()
            client.time.move(seconds: seconds)
            #expect(texts([try await client.get { $0.cache.policy = row.policy }]) == [expected])
        }
    }

    @Test("Without a stored response, only-if-cached and its policy answer 504")
    func onlyIfCached() async throws {
        let client = try await CachedClient(ScriptedWire([Scripted("one", CachingTests.maxAge)]))
        #expect(try await client.get(fields: ["cache-control": "only-if-cached"]).status == 504)
        #expect(try await client.get { $0.cache.policy = .onlyStored }.status == 504)
        #expect(client.origin.count == 0)
        _ = try await client.get()
        #expect(try await client.get(fields: ["cache-control": "only-if-cached"]).body == "one")
    }

    @Test("A response for the session is gone after a restart, a permanent one is not")
    func lifetimes() async throws {
        let folder = try TemporaryFolder()
        let time = TestTime()
        do {
            let client = try await CachedClient(
                ScriptedWire([Scripted("x", CachingTests.maxAge)]),
                folder: folder.path("cache"),
                time: time
            )
            _ = try await client.get("http://one.test/a") { $0.cache.lifetime = .session }
            _ = try await client.get("http://one.test/b")
            #expect(client.cache.entryCount == 2)
            #expect(try await client.get("http://one.test/a").source == .hit)
        }
        let again = try await CachedClient(ScriptedWire([Scripted("new")]), folder: folder.path("cache"), time: time)
        #expect(await again.cache.storedResponses.map(\.url) == ["http://one.test/b"])
        #expect(texts([try await again.get("http://one.test/b")]) == ["hit x"])
    }
}

struct OfflineTests {
    private static func unreachable(after count: Int, _ response: Scripted) -> ScriptedWire {
        ScriptedWire { request, number in
            guard number < count else { throw TransferFailureSample.refused }
            return response.answer(to: request)
        }
    }

    @Test("Without a network, stored GET and HEAD responses are served, redirects included")
    func unreachable() async throws {
        let origin = ScriptedWire { request, number in
            guard number < 3 else { throw TransferFailureSample.refused }
            return switch request.url.target {
            case "/page":
                Scripted("", status: .found, ["cache-control": "max-age=1", "location": "/new"]).answer(to: request)
            case "/new": Scripted("new").answer(to: request)
            default: Scripted("strict", ["cache-control": "max-age=1, must-revalidate"]).answer(to: request)
            }
        }
        let client = try await CachedClient(origin) { $0.servesWhenUnreachable = true }
        _ = try await client.get()
        _ = try await client.get("http://one.test/strict")
        client.time.move(seconds: 3600)
        #expect(texts([try await client.get()]) == ["offline new"])
        #expect(try await client.get("http://one.test/new", method: .head).source == .offline)
        for (url, method) in [
            ("http://one.test/strict", HTTPRequest.Method.get), ("http://one.test/unknown", .get),
            ("http://one.test/new", .post),
        ] {
            let error = await #expect(throws: HTTPDNSClientError.self) { try await client.get(url, method: method) }
            #expect(error?.code == .connectFailed)
        }
    }

    @Test("The switch serves stored responses without a request, and fails all others")
    func byHand() async throws {
        let client = try await CachedClient(ScriptedWire([Scripted("one", CachingTests.maxAge)]))
        _ = try await client.get()
        client.time.move(seconds: 100)
        client.cache.isOffline = true
        #expect(texts([try await client.get()]) == ["offline one"])
        for (url, method, body) in [
            ("http://one.test/other", HTTPRequest.Method.get, ""), ("http://one.test/other", .head, ""),
            (CachedClient.url, .post, ""), (CachedClient.url, .get, "query"), (CachedClient.url, .head, "query"),
        ] {
            let error = await #expect(throws: HTTPDNSClientError.self) {
                try await client.get(url, method: method) { if !body.isEmpty { $0.body = .bytes(Array(body.utf8)) } }
            }
            #expect(error?.code == .offline, "\(method) \(body)")
        }
        #expect(client.origin.count == 1)
        client.cache.isOffline = false
        #expect(try await client.get().source == .miss)
    }

    @Test("The offline mode serves a response that must be validated only when asked to", arguments: [false, true])
    func mustRevalidate(_ isAsked: Bool) async throws {
        let origin = Self.unreachable(after: 1, Scripted("one", ["cache-control": "max-age=1, must-revalidate"]))
        let client = try await CachedClient(origin) {
            $0.servesWhenUnreachable = true
            $0.offlineIgnoresValidation = isAsked
        }
        _ = try await client.get()
        client.time.move(seconds: 10)
        let reply = try? await client.get()
        #expect(reply?.source == (isAsked ? .offline : nil))
    }

    @Test("A failing server is replaced by a stale response within stale-if-error")
    func staleIfError() async throws {
        let origin = ScriptedWire([
            Scripted("one", ["cache-control": "max-age=60, stale-if-error=60"]), Scripted("down", status: .badGateway),
        ])
        let client = try await CachedClient(origin)
        _ = try await client.get()
        client.time.move(seconds: 100)
        #expect(texts([try await client.get()]) == ["stale one"])
        client.time.move(seconds: 100)
        #expect(texts([try await client.get()]) == ["miss down"])
    }

    @Test("A stale response is served while one request in the background renews it")
    func staleWhileRevalidate() async throws {
        let (gate, arrived) = (Gate(), Gate())
        let origin = ScriptedWire { request, number in
            if number == 1 {
                arrived.open()
                await gate.passage()
            }
            return Scripted("v\(number)", ["cache-control": "max-age=60, stale-while-revalidate=60"]).answer(
                to: request
            )
        }
        let client = try await CachedClient(origin)
        _ = try await client.get()
        client.time.move(seconds: 70)
        #expect(
            texts([try await client.get(), try await client.get(), try await client.get()]) == [
                "stale v0", "stale v0", "stale v0",
            ]
        )
        await arrived.passage()
        #expect(origin.count == 2)
        gate.open()
        try await until { try await client.get().source == .hit }
        #expect(try await client.get().body == "v1")
        #expect(origin.count == 2 && client.cache.counters.backgroundRefreshes == 1)
    }
}

/// Returns when a condition holds, within two minutes: beside all other tests a task may wait for a thread for long.
func until(_ condition: () async throws -> Bool) async throws {
    let end = ContinuousClock.now + .seconds(120)
    while try await !condition() {
        try #require(ContinuousClock.now < end)
        // A task that only yields would take a thread from the tests that it waits for.
        try await Task.sleep(for: .milliseconds(1))
    }
}
