import HTTPDNS
import HTTPDNSCore
import HTTPDNSPrimitives
import Testing

@Suite("Route line")
struct RouteLineTests {
    @Test("The route line names address, source, lifetime and connection")
    func sources() async throws {
        let rig = try Rig { configuration in
            configuration.resolver.mappings[try HTTPDNSMapping.Key("file.test")] = HTTPDNSMapping(
                .addresses([.init(HTTPDNSAddress(v4: 203, 0, 113, 8), port: 8443)]),
                timeToLive: .seconds(30),
                location: HTTPDNSSourceLocation(file: "httpdns.yaml", line: 12)
            )
        }
        func route(_ url: String, connectTo: [HTTPDNSClient.Request.Target] = []) async throws -> String {
            try await rig.client.get(url, connectTo: connectTo).route
        }
        #expect(
            try await route("https://one.test/")
                == "203.0.113.1 · provider \"scripted\" · fresh, 30 s left · new connection"
        )
        #expect(try await route("https://map.test/") == "203.0.113.7 · mapping map.test · no expiry · new connection")
        #expect(
            try await route("https://file.test/")
                == "203.0.113.8:8443 · mapping httpdns.yaml:12 · 30 s left · new connection"
        )
        #expect(
            try await route("https://one.test/", connectTo: ["2001:db8::9"])
                == "2001:db8::9 · pinned by the request · new connection"
        )
        #expect(try await route("http://203.0.113.70/") == "203.0.113.70 · address in the URL · new connection")
        #expect(try await route("http://localhost/") == "127.0.0.1 · loopback of this machine · new connection")
        #expect(try await route("http://sys.test/").hasPrefix("203.0.113.50 · system resolver · fresh"))
    }
}
