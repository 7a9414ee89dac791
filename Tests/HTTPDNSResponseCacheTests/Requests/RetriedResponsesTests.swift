// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNS
import HTTPDNSCurl
import HTTPDNSResponseCache
import ServerRig
import Testing

struct RetriedResponsesTests {
    private static let long = [[UInt8]](repeating: [UInt8](repeating: 1, count: 5000), count: 4)

    private static func client(_ origin: ScriptedWire, folder: String? = nil) async throws -> CachedClient {
        try await CachedClient(origin, folder: folder) { _ in
        } client: {
            $0.retries = .standard
            $0.retries.delay = .zero
        }
    }

    private static func long(_ status: HTTPResponse.Status, _ fields: [String: String]) -> Scripted {
        var response = Scripted("", status: status, fields)
        response.chunks = long
        return response
    }

    /// Each may be stored, and is fresh or may replace an error.
    private static let controls: [[String: String]] = [
        ["cache-control": "max-age=60"], ["expires": "Sun, 06 Nov 1994 08:50:37 GMT"],
        ["cache-control": "max-age=0, stale-if-error=60"], ["cache-control": "no-cache", "etag": "\"1\""],
    ]

    @Test("A retry is not answered by the stored error of an earlier try", arguments: controls, [false, true])
    func ownError(_ fields: [String: String], isOnDisk: Bool) async throws {
        let folder = try TemporaryFolder()
        let responses = [
            Scripted("down", status: .serviceUnavailable, fields), Scripted("down", status: .badGateway),
            Scripted("up", fields),
        ]
        let client = try await Self.client(ScriptedWire(responses), folder: isOnDisk ? folder.path("cache") : nil)
        let response = try await client.client.get(CachedClient.url)
        #expect(response.status == .ok && response.cacheSource == .miss)
        #expect(response.exchanges.map(\.status) == [.serviceUnavailable, .badGateway, .ok])
        #expect(try await response.body.collect(upTo: .kibibytes(1)) == Array("up".utf8))
        // No retry validates the error.
        #expect(client.origin.requests.allSatisfy { !$0.headerFields.contains(.ifNoneMatch) })
        // The newer response has replaced it.
        #expect(await client.cache.storedResponses.map(\.head.status) == [.ok])
    }

    @Test("A stored error stays for later calls when its retries fail")
    func laterCalls() async throws {
        let stored = Scripted("stored", status: .serviceUnavailable, ["cache-control": "max-age=60"])
        let client = try await Self.client(ScriptedWire([stored, Scripted("", status: .serviceUnavailable)]))
        let failed = try await client.get()
        #expect(failed.status == 503 && failed.source == .miss && failed.body.isEmpty)
        #expect(client.origin.count == 3)
        #expect(texts([try await client.get()]) == ["hit stored"])
        #expect(client.origin.count == 3)
    }

    /// Waits for others are on the test's clock, which does not move.
    @Test("A retry does not wait for the unread body of its own first try", arguments: [nil, "20000"] as [String?])
    func ownBody(_ length: String?) async throws {
        var fields = ["cache-control": "max-age=60"]
        fields["content-length"] = length
        let origin = ScriptedWire([Self.long(.serviceUnavailable, fields), Scripted("up")])
        let client = try await Self.client(origin)
        #expect(try await client.get().body == "up")
        #expect(origin.count == 2)
    }

    @Test("The body of a followed redirect keeps no other request waiting")
    func redirect() async throws {
        let (arrived, gate) = (Gate(), Gate())
        let origin = ScriptedWire { request, _ in
            guard request.url.target == "/page" else {
                arrived.open()
                await gate.passage()
                return Scripted("end").answer(to: request)
            }
            let fields = ["cache-control": "max-age=60", "location": "/end"]
            return Self.long(.movedPermanently, fields).answer(to: request)
        }
        let client = try await CachedClient(origin)
        let first = Task { try await client.get() }
        await arrived.passage()
        let second = Task { try await client.get() }
        defer { second.cancel() }
        try await until { origin.requests.count { $0.url.target == "/page" } == 2 }
        gate.open()
        #expect(try await first.value.body == "end")
        #expect(try await second.value.body == "end")
    }

    @Test("A body that is no longer read keeps no other request waiting")
    func abandoned() async throws {
        let origin = ScriptedWire([Self.long(.ok, CachingTests.maxAge), Scripted("two", CachingTests.maxAge)])
        let client = try await CachedClient(origin)
        let response = try await client.client.get(CachedClient.url)
        for try await chunk in response.body {
            #expect(chunk.count == 5000)
            break
        }
        let second = Task { try await client.get() }
        defer { second.cancel() }
        try await until { origin.count == 2 }
        #expect(texts([try await second.value]) == ["miss two"])
        #expect(response.cacheSource == .miss)
    }

    /// `fetch --raw` asks for it.
    @Test("A body with its chunk framing is neither stored nor taken from the cache")
    func framing() async throws {
        let origin = ScriptedWire { request, _ in
            Scripted(request.keepsChunks ? "3\r\none\r\n0\r\n\r\n" : "one", CachingTests.maxAge).answer(to: request)
        }
        let client = try await CachedClient(origin)
        let raw: @Sendable (inout HTTPDNSClient.Request) -> Void = { $0.changeOptions { $0.keepsChunks = true } }
        #expect(try await client.get(CachedClient.url, method: .get, fields: [:], raw).body.hasPrefix("3\r\n"))
        #expect(texts([try await client.get(), try await client.get()]) == ["miss one", "hit one"])
        #expect(try await client.get(CachedClient.url, method: .get, fields: [:], raw).body.hasPrefix("3\r\n"))
        #expect(texts([try await client.get()]) == ["hit one"])
        client.cache.isOffline = true
        let error = await #expect(throws: HTTPDNSClientError.self) {
            try await client.get(CachedClient.url, method: .get, fields: [:], raw)
        }
        #expect(error?.code == .offline)
        #expect(origin.count == 3)
    }

    /// Whether a body is decodable shows only at its end, when it is stored.
    @Test(
        "A body that cannot be decoded to its end does not stay in the cache",
        arguments: [false, true],
        [false, true]
    )
    func cutCoding(isOnDisk: Bool, isStoredAsReceived: Bool) async throws {
        let folder = try TemporaryFolder()
        let fields = ["content-encoding": "gzip", "cache-control": "max-age=60"]
        let whole = try ContentEncoder.encoded(Array("one".utf8), "gzip")
        let origin = ScriptedWire { request, number in
            var response = Scripted("", fields)
            response.chunks = [number == 0 ? whole.dropLast(4) : whole]
            return response.answer(to: request)
        }
        let client = try await CachedClient(origin, folder: isOnDisk ? folder.path("cache") : nil)
        if isStoredAsReceived {
            #expect(try await client.get { $0.changeOptions { $0.decodesBody = false } }.source == .miss)
        }
        let error = await #expect(throws: HTTPDNSClientError.self) { try await client.get() }
        #expect(error?.code == .decodingFailed)
        #expect(client.cache.entryCount == 0)
        #expect(texts([try await client.get(), try await client.get()]) == ["miss one", "hit one"])
        #expect(origin.count == 2)
    }
}
