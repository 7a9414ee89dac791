// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNS
import HTTPDNSCurl
import HTTPDNSTesting
import Testing

struct RewrittenRequestTests {
    @Test("A rewritten request shows every field of a mapped name")
    func fields() async throws {
        let rig = try Rig()
        let rewritten = try await rig.client.rewrite("https://u:p@Map.Test.:8443/v1?q=1#top")
        #expect(rewritten.originalURL == "https://Map.Test.:8443/v1?q=1#top")
        #expect(rewritten.canonicalURL == "https://map.test:8443/v1?q=1")
        #expect(rewritten.addressURL == "https://203.0.113.7:8443/v1?q=1")
        #expect(rewritten.host == "map.test:8443")
        #expect(rewritten.serverName == "map.test")
        #expect(rewritten.resolveEntry == "map.test:8443:203.0.113.7,[2001:db8::7]")
        #expect(rewritten.connectToEntry == "map.test:8443:203.0.113.7:8443")
        #expect(rewritten.addresses.map(\.description) == ["203.0.113.7:8443", "[2001:db8::7]:8443"])
        #expect(rewritten.source == .mapping)
        #expect(rewritten.age == .zero && rewritten.timeToLive == nil)
        #expect(rewritten.generation == rig.client.mappings.generation)
        #expect(rig.wire.requests.isEmpty)
    }

    @Test("A provider's answer has an age and a time left by the clock")
    func lifetime() async throws {
        let rig = try Rig()
        _ = try await rig.client.rewrite("http://one.test/")
        rig.clock.advance(by: .seconds(10))
        let rewritten = try await rig.client.rewrite("http://one.test/")
        #expect(rewritten.age == .seconds(10) && rewritten.timeToLive == .seconds(20))
        #expect(rewritten.resolution.isCached)
        #expect(rewritten.serverName == nil)
        #expect(rewritten.host == "one.test")
        #expect(rig.provider.queries.count == 1)
    }

    @Test("A port other than the URL's is in the address form and the connect-to entry")
    func otherPort() async throws {
        let rig = try Rig()
        let rewritten = try await rig.client.rewrite("https://one.test/x") {
            $0.addresses = .only(["203.0.113.9:8443", "[2001:db8::9]"])
        }
        #expect(rewritten.addressURL == "https://203.0.113.9:8443/x")
        #expect(rewritten.canonicalURL == "https://one.test/x")
        #expect(rewritten.host == "one.test")
        #expect(rewritten.resolveEntry == "one.test:443:203.0.113.9,[2001:db8::9]")
        #expect(rewritten.connectToEntry == "one.test:443:203.0.113.9:8443")
    }

    @Test("Literals send no server name", arguments: ["https://203.0.113.7/", "https://[2001:db8::7]/"])
    func literals(url: String) async throws {
        let rewritten = try await Rig().client.rewrite(url)
        #expect(rewritten.serverName == nil && rewritten.addressURL == url && rewritten.canonicalURL == url)
    }

    @Test("A via rule keeps URL, SNI and Host, and with keep: [host] only Host")
    func via() async throws {
        let rig = try Rig()
        let edge = HTTPDNSMapping(.via(try HTTPDNSName("one.test"), usesTargetIdentity: true))
        try rig.client.mappings.apply { draft in
            draft["cdn.test"] = .via("one.test")
            draft["old.test"] = edge
        }
        _ = try await rig.client.get("https://cdn.test:8443/x")
        let response = try await rig.client.get("https://old.test:8443/x")
        let sent = rig.wire.requests
        #expect(sent[0].url.description == "https://cdn.test:8443/x" && sent[0].hostHeader == nil)
        #expect(sent[1].url.description == "https://one.test:8443/x" && sent[1].hostHeader == "old.test:8443")
        #expect(sent.map { $0.endpoints.map(\.description) } == [["203.0.113.1:8443"], ["203.0.113.1:8443"]])
        let rewritten = try #require(response.exchanges.first?.request)
        #expect(rewritten.host == "old.test:8443" && rewritten.serverName == "one.test")
        #expect(rewritten.originalURL == "https://old.test:8443/x")
        #expect(rewritten.canonicalURL == "https://one.test:8443/x")
        #expect(rewritten.resolveEntry == "one.test:8443:203.0.113.1")
    }

    @Test("An explicit hostHeader is sent and shown, and goes with the rewritten request")
    func hostHeader() async throws {
        let rig = try Rig()
        let rewritten = try await rig.client.rewrite("https://one.test/") { $0.hostHeader = "front.test:81" }
        #expect(rewritten.host == "front.test:81" && rewritten.serverName == "one.test")
        _ = try await rig.client.execute(rewritten)
        #expect(rig.wire.requests.first?.hostHeader == "front.test:81")
        #expect(rig.wire.requests.first?.url.description == "https://one.test/")
    }

    @Test("A request for the system resolver and the kill switch lead there", arguments: [true, false])
    func system(byOption: Bool) async throws {
        let rig = try Rig { $0.isEnabled = byOption }
        rig.system.answer(.success([HTTPDNSAddress(v4: 203, 0, 113, 61)]), for: try HTTPDNSName("map.test"))
        var request = HTTPDNSClient.Request(url: "http://map.test/")
        if byOption { request.changeOptions { $0.addresses = .system } }
        let response = try await rig.client.execute(request)
        #expect(response.exchanges.first?.request.source == .system)
        #expect(rig.wire.requests.first?.endpoints.map(\.description) == ["203.0.113.61:80"])
        #expect(rig.system.questions.count == 1 && rig.provider.queries.isEmpty)
    }

    @Test("A host alone is resolved as the rewriter would", arguments: ["ONE.test.", "one.test"])
    func resolve(host: String) async throws {
        let rig = try Rig()
        #expect(try await rig.client.resolve(host, port: 8443).endpoints.map(\.description) == ["203.0.113.1:8443"])
        #expect(try await rig.client.resolve("[::1]").source == .literal)
        #expect(await clientError { try await rig.client.resolve("a b") }?.code == .invalidURL)
    }
}
