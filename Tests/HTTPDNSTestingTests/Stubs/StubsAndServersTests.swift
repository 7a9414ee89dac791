// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNS
import ServerRig
import Testing

@testable import HTTPDNSTesting

@Suite(
    "Stubs beside real servers",
    .enabled(if: ServerRig.isAvailable([.nginx, .compiler]))
)
struct StubsAndServersTests {
    @Test("A client without its stubs reaches nginx while another client is stubbed")
    func perClient() async throws {
        let rig = try await ServerRig.shared()
        let stubs = HTTPDNSStubs()
        let url = "https://stubs-client.wild.test:\(rig.tlsPort)/health"
        stubs.on(.get, url).respond(.reply("stub"))
        var configuration = HTTPDNSClient.Configuration()
        configuration.trustRoots = .file(rig.certificateAuthorityFile)
        configuration.resolver.mappings = [try HTTPDNSMapping.Key("stubs-client.wild.test"): .addresses(["127.0.0.2"])]
        configuration.use(stubs)
        try await withHTTPDNSClient(configuration: configuration) { stubbed async throws in
            try await withHTTPDNSClient(configuration: configuration) { other async throws in
                other.usesStubs = false
                #expect(!other.usesStubs && stubbed.usesStubs)
                // Both at the same time, in turn with other calls.
                for _ in 0..<10 {
                    async let real = other.text(url)
                    #expect(try await stubbed.text(url) == "stub")
                    #expect(try await real == "127.0.0.2\n")
                }
                #expect(stubs.requests.count == 10)
                other.usesStubs = true
                #expect(try await other.text(url) == "stub")
                // All clients of the set.
                stubs.isEnabled = false
                #expect(try await other.text(url) == "127.0.0.2\n")
                #expect(try await stubbed.text(url) == "127.0.0.2\n")
                #expect(!stubs.isEnabled && stubs.requests.count == 11)
                stubs.isEnabled = true
                #expect(try await stubbed.text(url) == "stub")
            }
        }
        let configured = try await HTTPDNSClient(configuration: HTTPDNSClient.Configuration())
        #expect(configured.usesStubs)
        try await configured.shutdown()
    }

    @Test("After a request to nginx on a kept connection, a stubbed one sends no byte there")
    func noLeak() async throws {
        let server = try RawServer(.serve("real"))
        let stubs = HTTPDNSStubs(allowing: ["real.test"])
        var configuration = HTTPDNSClient.Configuration()
        configuration.resolver.mappings = [
            try HTTPDNSMapping.Key("real.test"): .addresses(["127.0.0.1:\(server.port)"])
        ]
        configuration.use(stubs)
        try await withHTTPDNSClient(configuration: configuration) { client async throws in
            #expect(try await client.text("http://real.test/1") == "real")
            stubs.on(.get, "http://real.test/2").respond(.reply("stub"))
            #expect(try await client.text("http://real.test/2") == "stub")
            #expect(try await client.text("http://real.test/3") == "real")
            let text = server.text
            #expect(server.connections.count == 1 && !text.contains("/2 ") && text.contains("/3 "))
        }
    }

    @Test("A program with stubs looks nothing up and opens no socket in fail mode")
    func tripwire() async throws {
        let program = try BuiltProduct.path("httpdns-stub-probe")
        let urls = ["http://stubbed.test/", "http://unknown.test/", "http://127.0.0.1:9/"]
        let closed = try await Tripwire.shared().run(Command(program, ["fail"] + urls), recordsSockets: true)
        #expect(closed.result.status == 0, "\(closed.result)")
        #expect(
            closed.result.output.split(separator: "\n") == [
                "200 http://stubbed.test/", "unmatched-request/interceptor http://unknown.test/",
                "unmatched-request/interceptor http://127.0.0.1:9/", "resolve-failed/resolve http://resolved.test/",
            ]
        )
        #expect(closed.lookups == [])

        // The tripwire sees the same program when its requests pass; a name of no passed request is still not looked up.
        let open = try await Tripwire.shared().run(Command(program, ["pass"] + urls), recordsSockets: true)
        #expect(open.lookups.filter { $0.hasPrefix("getaddrinfo") } == ["getaddrinfo unknown.test"])
        #expect(open.lookups.contains("socket IPv4"), "\(open.lookups)")
    }
}
