// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import Foundation
import HTTPDNS
import HTTPDNSResponseCache
import HTTPDNSTesting
import ServerRig
import Testing

@Suite("The cache before nginx", .enabled(if: ServerRig.isAvailable([.nginx])))
struct RealServerTests {
    /// A request without a stored response fails at once. One that waited would end with the limit for its head.
    private static let limit = Duration.seconds(60)

    private static func client(
        _ cache: HTTPDNSClient.ResponseCache,
        _ rig: ServerRig,
        host: String,
        at address: String = "127.0.0.2"
    ) async throws -> HTTPDNSClient {
        var configuration = HTTPDNSClient.Configuration()
        configuration.responseCache = cache
        configuration.resolver.mappings = [
            try HTTPDNSMapping.Key(host): .addresses([.init("\(address):\(rig.httpPort)")])
        ]
        return try await HTTPDNSClient(configuration: configuration)
    }

    /// nginx gives a file `Last-Modified` and no lifetime: it is old, so a tenth of its age counts.
    @Test("A file is fetched once, and after its mapping changed it is a hit")
    func mapping() async throws {
        let rig = try await ServerRig.shared()
        let host = "moved-cache.wild.test"
        let cache = HTTPDNSClient.ResponseCache.memory()
        let client = try await Self.client(cache, rig, host: host)
        let mark = rig.accessLogMark()
        let url = "http://\(host):\(rig.httpPort)/text.txt"
        let first = try await client.get(url)
        let body = try await first.body.collect(upTo: .mebibytes(1))
        #expect(first.cacheSource == .miss && !body.isEmpty)
        var request = HTTPDNSClient.Request(url: url)
        request.cache.policy = .alwaysRevalidate
        let validated = try await client.execute(request)
        #expect(validated.cacheSource == .validated && validated.status == .ok)
        #expect(validated.exchanges.map(\.cacheSource) == [.validated])
        #expect(try await validated.body.collect(upTo: .mebibytes(1)) == body)
        let fresh = "http://\(host):\(rig.httpPort)/fields?f=Cache-Control:%20max-age=600"
        let number = try await client.get(fresh).body.collect(upTo: .kibibytes(1))
        try client.mappings.apply { $0[try HTTPDNSMapping.Key(host)] = .addresses(["127.0.0.3:\(rig.httpPort)"]) }
        for change in 0..<3 {
            if change == 1 { client.resolver.killSwitch.turnOff(.everything) }
            if change == 2 { client.resolver.killSwitch.turnOn(.everything) }
            let hit = try await client.get(fresh)
            #expect(hit.cacheSource == .hit && hit.exchanges.isEmpty)
            #expect(try await hit.body.collect(upTo: .kibibytes(1)) == number)
        }
        request.cache.policy = .preferStored
        let moved = try await client.execute(request)
        #expect(moved.cacheSource != .miss && moved.exchanges.isEmpty)
        #expect(try await moved.body.collect(upTo: .mebibytes(1)) == body)
        let lines = try await rig.awaitAccessLog(since: mark, count: 3) { $0.host.hasPrefix(host) }
        #expect(lines.map(\.status) == [200, 304, 200] && lines.allSatisfy { $0.address == "127.0.0.2" })
        try await client.shutdown()
    }

    /// The first body has no length, so that close_notify alone would tell its end. The server behind TLS has one
    /// connection for all of the client.
    @Test("A TLS body without a length that is cut off is not stored")
    func cutOff() async throws {
        let rig = try await ServerRig.shared()
        let head = "HTTP/1.1 200 OK\r\nCache-Control: max-age=600\r\n"
        let server = try RawServer(
            .readHead,
            .sendText(head + "\r\nhel"),
            .readHead,
            .sendText(head + "Content-Length: 5\r\n\r\nhello"),
            .hang
        )
        let tls = try await TLSRelay(to: server.port, protocols: "http/1.1")
        let relay = try TCPRelay(to: "127.0.0.1", port: tls.port)
        let cache = HTTPDNSClient.ResponseCache.memory()
        var configuration = HTTPDNSClient.Configuration()
        configuration.responseCache = cache
        configuration.trustRoots = .file(rig.certificateAuthorityFile)
        configuration.resolver.mappings = [try HTTPDNSMapping.Key("cut-cache.wild.test"): .addresses(["127.0.0.1"])]
        let client = try await HTTPDNSClient(configuration: configuration)
        let url = "https://cut-cache.wild.test:\(relay.port)/"
        let cut = try await client.get(url)
        let error = await #expect(throws: HTTPDNSClientError.self) {
            for try await _ in cut.body { relay.endConnections(resetting: false) }
        }
        #expect(error?.code == .connectionLost && error?.phase == .body, "\(error as Any)")
        for source in [HTTPDNSClient.CacheSource.miss, .hit] {
            let response = try await client.get(url)
            #expect(response.cacheSource == source)
            #expect(try await response.body.collect(upTo: .kibibytes(1)) == Array("hello".utf8))
        }
        try await client.shutdown()
    }

    @Test("A coded body is stored as received, and decoded for each reader")
    func coding() async throws {
        let rig = try await ServerRig.shared()
        let host = "coded-cache.wild.test"
        let cache = HTTPDNSClient.ResponseCache.memory()
        let client = try await Self.client(cache, rig, host: host)
        let url = "http://\(host):\(rig.httpPort)/gzip/text.txt"
        var bodies: [[UInt8]] = []
        for _ in 0..<2 {
            var request = HTTPDNSClient.Request(url: url)
            request.cache.policy = .preferStored
            let response = try await client.execute(request)
            #expect(response.headerFields[.contentEncoding] == "gzip")
            bodies.append(try await response.body.collect(upTo: .mebibytes(1)))
        }
        #expect(cache.counters.misses == 1 && bodies[0] == bodies[1])
        let plain = try await client.get("http://\(host):\(rig.httpPort)/text.txt").body.collect(upTo: .mebibytes(1))
        #expect(bodies[0] == plain)
        #expect(await cache.storedResponses.contains { $0.bodyLength < Int64(plain.count) || plain.count < 200 })
        try await client.shutdown()
    }

    @Test("With the server stopped, stored pages and redirects are served and flagged")
    func offline() async throws {
        let rig = try await ServerRig.start()
        let host = "offline-cache.wild.test"
        var settings = HTTPDNSClient.ResponseCache.Settings()
        settings.servesWhenUnreachable = true
        let cache = HTTPDNSClient.ResponseCache.memory(settings)
        let client = try await Self.client(cache, rig, host: host)
        let base = "http://\(host):\(rig.httpPort)"
        let paths = ["/text.txt", "/redirect/301?to=\(base)/text.txt"]
        for path in paths { _ = try await client.get(base + path).body.collect(upTo: .mebibytes(1)) }
        try await rig.stop()
        for path in paths {
            var request = HTTPDNSClient.Request(url: base + path)
            request.cache.policy = .alwaysRevalidate
            let response = try await client.execute(request)
            #expect(response.cacheSource == .offline && response.status == .ok)
            #expect(!(try await response.body.collect(upTo: .mebibytes(1)).isEmpty))
        }
        for method in [HTTPRequest.Method.get, .post] {
            let start = ContinuousClock.now
            await #expect(throws: HTTPDNSClientError.self) {
                try await client.execute(
                    HTTPDNSClient.Request(method: method, url: base + (method == .get ? "/unknown" : "/text.txt"))
                )
            }
            #expect(ContinuousClock.now - start < Self.limit)
        }
        try await client.shutdown()
        // The same cache for clients whose name has no address, and whose server does not answer.
        let hole = try BlackHole()
        for (address, code) in [
            (nil, HTTPDNSClientError.Code.resolveFailed), ("\(hole.address):\(hole.port)", .timedOut),
        ] as [(String?, HTTPDNSClientError.Code)] {
            var configuration = HTTPDNSClient.Configuration()
            configuration.responseCache = cache
            configuration.timeouts.connect = .milliseconds(200)
            configuration.resolver.providers = [HTTPDNSScriptedProvider()]
            configuration.resolver.routes = [HTTPDNSRoute(try .init(host), .providers(["scripted"], fallback: .off))]
            if let address {
                configuration.resolver.mappings = [try HTTPDNSMapping.Key(host): .addresses([address])]
            }
            let client = try await HTTPDNSClient(configuration: configuration)
            for path in paths {
                var request = HTTPDNSClient.Request(url: base + path)
                request.cache.policy = .alwaysRevalidate
                let response = try await client.execute(request)
                #expect(response.cacheSource == .offline && response.status == .ok, "\(code)")
                #expect(!(try await response.body.collect(upTo: .mebibytes(1)).isEmpty))
            }
            let start = ContinuousClock.now
            let error = await #expect(throws: HTTPDNSClientError.self) { try await client.get(base + "/unknown") }
            #expect(error?.code == code)
            #expect(ContinuousClock.now - start < Self.limit)
            try await client.shutdown()
        }
    }
}
