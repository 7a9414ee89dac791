// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNS
import HTTPDNSTesting
import Testing

struct DestinationTests {
    @Test("The destination prints address, source, lifetime and connection on one line")
    func line() async throws {
        let rig = try Rig { configuration in
            configuration.resolver.mappings[try HTTPDNSMapping.Key("file.test")] = HTTPDNSMapping(
                .addresses([.init(HTTPDNSAddress(v4: 203, 0, 113, 8), port: 8443)]),
                timeToLive: .seconds(30),
                location: HTTPDNSSourceLocation(file: "httpdns.yaml", line: 12)
            )
        }
        func line(_ url: String, _ change: HTTPDNSClient.Request.Options.Change? = nil) async throws -> String {
            try await rig.client.get(url, change).destination
        }
        #expect(
            try await line("https://one.test/")
                == "203.0.113.1 · provider \"scripted\" · fresh, 30 s left · new connection"
        )
        #expect(try await line("https://map.test/") == "203.0.113.7 · mapping map.test · no expiry · new connection")
        #expect(
            try await line("https://file.test/")
                == "203.0.113.8:8443 · mapping httpdns.yaml:12 · 30 s left · new connection"
        )
        #expect(
            try await line("https://one.test/", { $0.addresses = .only(["2001:db8::9"]) })
                == "2001:db8::9 · pinned by the request · new connection"
        )
        #expect(try await line("http://203.0.113.70/") == "203.0.113.70 · address in the URL · new connection")
        #expect(try await line("http://localhost/") == "127.0.0.1 · loopback of this machine · new connection")
        #expect(try await line("http://sys.test/").hasPrefix("203.0.113.50 · system resolver · fresh"))
    }

    @Test("A provider's answer has the provider, its age and the time left")
    func provider() async throws {
        let rig = try Rig()
        _ = try await rig.client.get("https://one.test/")
        rig.clock.advance(by: .seconds(10))
        let last = try await rig.client.get("https://one.test/").exchange
        let destination = try #require(last)
        #expect(destination.endpoint == HTTPDNSEndpoint(address: HTTPDNSAddress(v4: 203, 0, 113, 1), port: 443))
        #expect(destination.source == .provider && destination.provider == "scripted")
        #expect(destination.age == .seconds(10) && destination.timeLeft == .seconds(20))
        #expect(destination.mapping == nil && destination.proxy == nil)
        #expect(!destination.isStale && !destination.reusedConnection)
    }

    @Test("A mapping has its rule, and no provider and no age")
    func mapping() async throws {
        let last = try await Rig().client.get("https://map.test/").exchange
        let destination = try #require(last)
        #expect(destination.source == .mapping && destination.mapping?.key.description == "map.test")
        #expect(destination.endpoint?.description == "203.0.113.7:443")
        #expect(destination.provider == nil && destination.age == nil && destination.timeLeft == nil)
    }

    @Test("The system resolver has an age, and an address of the request has none")
    func others() async throws {
        let rig = try Rig()
        let last = try await rig.client.get("http://sys.test/").exchange
        let system = try #require(last)
        #expect(system.source == .system && system.age == .zero && system.timeLeft == .seconds(30))
        #expect(system.provider == nil && system.mapping == nil)
        let pinned = try await rig.client.get("https://one.test/") { $0.addresses = .only(["203.0.113.9:8443"]) }
        let given = try #require(pinned.exchange)
        #expect(given.source == .request && given.age == nil && given.timeLeft == nil)
        #expect(given.endpoint?.description == "203.0.113.9:8443")
    }

    @Test("A response from an interceptor has no endpoint and no source")
    func interceptor() async throws {
        let rig = try Rig {
            $0.applicationInterceptors = [
                Around { _, _, _ in HTTPDNSClient.Response(head: HTTPResponse(status: .ok), body: .bytes([])) }
            ]
        }
        let response = try await rig.client.get("https://one.test/")
        #expect(response.exchange == nil && response.destination == "answered by an interceptor")
    }
}
