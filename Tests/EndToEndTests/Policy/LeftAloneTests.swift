// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import ClientRig
import HTTPDNS
import ServerRig
import Testing

/// What no provider hears of, and what of the library's own traffic never comes back.
@Suite("Names left alone, against BIND and nginx", .enabled(if: ServerRig.isAvailable([.nginx, .bind])))
struct LeftAloneTests {
    @Test("Literals and localhost are pinned, and no provider is asked about them")
    func literals() async throws {
        let rig = try await ServerRig.shared()
        let mark = rig.bindLogMark()
        let server = try RawServer(.serve())
        try await withClient(rig.settings()) { client in
            for host in ["127.0.0.1", "localhost", "LOCALHOST.", "left-alone.localhost", "[::ffff:127.0.0.1]"] {
                let response = try await client.get("http://\(host):\(server.port)/")
                let request = try #require(response.exchanges.first?.request)
                #expect(request.source == .literal && request.tag == nil, "\(host)")
                try await response.text()
            }
            let echo = try await Echo(try await client.get("http://127.0.0.3:\(rig.httpPort)/echo"))
            #expect(echo.address == "127.0.0.3" && echo.host == "127.0.0.3:\(rig.httpPort)")
            if rig.hasIPv6 {
                let six = try await Echo(try await client.get("http://[::1]:\(rig.httpPort)/echo"))
                #expect(six.address == "::1" && six.host == "[::1]:\(rig.httpPort)")
            }
            // A certificate for names proves no address.
            let error = try await refusal { _ = try await client.get("https://127.0.0.2:\(rig.tlsPort)/") }
            #expect(error.code == .certificateRefused && error.requestMayHaveBeenSent == false, "\(error)")
        }
        // One question that BIND surely logs stands behind all those that it must not have got.
        try await withClient(rig.settings()) { _ = try await $0.resolve("left-alone.wild.test") }
        try await rig.awaitBindLog(contains: "left-alone.wild.test", since: mark)
        for word in ["localhost", "127.0.0", "::"] {
            #expect(try !rig.bindQueryLog(since: mark).contains { $0.contains(": query: \(word)") })
        }
    }

    @Test("An excluded name takes the system path, and BIND sees no query for it")
    func excluded() async throws {
        let rig = try await ServerRig.shared()
        let mark = rig.bindLogMark()
        var configuration = try rig.settings()
        configuration.resolver.routes.append(HTTPDNSRoute(try .init("*.excluded.wild.test"), .system))
        configuration.resolver.mappings[try HTTPDNSMapping.Key("mapped-out.wild.test")] = HTTPDNSMapping(.system)
        try await withClient(configuration) { client in
            for host in [
                "a.excluded.wild.test", "mapped-out.wild.test", "single-label-excluded", "x.svc.cluster.local",
            ] {
                let error = try await refusal { _ = try await client.get("https://\(host)/") }
                #expect(error.code == .resolveFailed && error.phase == .resolve && error.host == host, "\(error)")
            }
            let error = try await refusal {
                _ = try await client.get("https://once-out.wild.test/") { $0.addresses = .system }
            }
            #expect(error.code == .resolveFailed, "\(error)")
            #expect(try await client.resolve("excluded.wild.test").source == .provider)
        }
        try await rig.awaitBindLog(contains: "query: excluded.wild.test", since: mark)
        for word in ["a.excluded", "mapped-out", "single-label-excluded", "cluster", "once-out"] {
            #expect(try !rig.bindQueryLog(since: mark).contains { $0.contains(": query: \(word)") }, "\(word)")
        }
    }

    /// The name is also routed to the provider itself. A hundred lookups succeed.
    @Test("A wrong mapping of the provider's own name stops neither start nor lookups")
    func providersOwnName() async throws {
        let rig = try await ServerRig.shared()
        let mark = rig.bindLogMark()
        let journal = Journal<String>()
        var configuration = try rig.settings()
        configuration.resolver.routes.append(
            HTTPDNSRoute(.exact(try HTTPDNSName("doh.test")), .providers(["bind"], fallback: .off))
        )
        // Were the provider's traffic to pass the stage, it would end at an origin that knows no /dns-query.
        configuration.resolver.mappings[try HTTPDNSMapping.Key("doh.test")] = .addresses(["127.0.0.2"])
        configuration.applicationInterceptors = [Around.recorder("application", journal)]
        configuration.networkInterceptors = [
            Around { request, context, next in
                journal.write("depth \(context.depth)")
                return try await next(request, context)
            }
        ]
        try await withClient(configuration) { client in
            for number in 0..<100 {
                let resolution = try await client.resolve("own-\(number).wild.test")
                #expect(resolution.source == .provider)
            }
            #expect(journal.all == [])
            let echo = try await Echo(try await client.get("https://own-100.wild.test:\(rig.tlsPort)/echo"))
            #expect(echo.address == "127.0.0.4")
            #expect(journal.all.filter { $0.hasPrefix("depth") } == ["depth 0"])
            #expect(try await client.resolve("doh.test").endpoints.map(\.address.description) == ["127.0.0.2"])
            try client.mappings.apply { $0["doh.test"] = HTTPDNSMapping.addresses(["127.0.0.9"]) }
            #expect(try await client.resolve("own-101.wild.test").source == .provider)
            try client.mappings.apply { $0.hide("doh.test") }
            #expect(try await client.resolve("doh.test").endpoints.map(\.address.description) == ["127.0.0.1"])
        }
        let asked = try rig.bindQueryLog(since: mark).filter { $0.contains(": query: own-") && $0.contains(" IN A ") }
        #expect(asked.count == 102)
        #expect(try rig.queryCount(of: "doh.test", type: "A", since: mark) == 1)
    }
}
