// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNS
import ServerRig
import Testing

/// A proxy that has a name, and more than one address.
struct ProxyAddressTests {
    private func settings(_ addresses: [String], port: UInt16, local: Bool) throws -> HTTPDNSClient.Configuration {
        var settings = HTTPDNSClient.Configuration()
        settings.makePatient()
        settings.connections.happyEyeballsDelay = .milliseconds(250)
        settings.resolver.mappings[try HTTPDNSMapping.Key("proxy.test")] = .addresses(addresses)
        settings.resolver.mappings[try HTTPDNSMapping.Key("one.test")] = .addresses(["192.0.2.7"])
        var proxy = try HTTPDNSClient.Proxy("http://proxy.test:\(port)")
        proxy.resolvesLocally = local
        settings.proxy = .through(proxy)
        return settings
    }

    /// A dead one costs the stagger once, for all hosts.
    @Test("The addresses of a proxy that gets names are raced")
    func race() async throws {
        let good = try RawServer(address: "127.0.0.3", .serve("ok"))
        let hole = try BlackHole()
        let settings = try settings(
            ["\(hole.address):\(hole.port)", "127.0.0.3:\(good.port)"],
            port: good.port,
            local: false
        )
        try await withClient(settings) { client async throws in
            let first = try await client.get("http://one.test/a")
            #expect(try await first.text() == "ok")
            #expect(first.exchanges.last?.timings.race.map { $0 >= .milliseconds(250) } == true)
            let second = try await client.get("http://another.test/b")
            #expect(try await second.text() == "ok")
            #expect(second.exchanges.last?.timings.race == nil)
        }
        withExtendedLifetime(hole) {}
        let text = good.text
        #expect(text.contains("GET http://one.test/a HTTP/1.1") && text.contains("GET http://another.test/b HTTP/1.1"))
    }

    /// The one that worked goes first from then on.
    @Test("The addresses of a proxy that gets addresses are tried in turn")
    func turn() async throws {
        let good = try RawServer(address: "127.0.0.3") { _ in
            [
                .readHead, .sendText("HTTP/1.1 200 OK\r\n\r\n"),
                .serve("ok"),
            ]
        }
        // Nobody listens on that address.
        let settings = try settings(["127.0.0.66", "127.0.0.3"], port: good.port, local: true)
        try await withClient(settings) { client async throws in
            for _ in 0..<2 {
                let response = try await client.post("http://one.test/", body: .text("x"))
                #expect(try await response.text() == "ok")
            }
            #expect(try await client.get("http://192.0.2.8/").text() == "ok")
        }
        #expect(good.connections.count == 2)
        #expect(good.connections.first?.text.hasPrefix("CONNECT 192.0.2.7:80 HTTP/1.1\r\n") == true)
    }

    /// Then the next one goes first.
    @Test("A silent first address of a proxy costs the connect limit once")
    func silent() async throws {
        let good = try RawServer(address: "127.0.0.3") { _ in
            [
                .readHead, .sendText("HTTP/1.1 200 OK\r\n\r\n"),
                .serve("ok"),
            ]
        }
        let hole = try BlackHole()
        var settings = try settings(
            ["\(hole.address):\(hole.port)", "127.0.0.3:\(good.port)"],
            port: good.port,
            local: true
        )
        settings.timeouts.connect = .seconds(5)
        try await withClient(settings) { client async throws in
            let response = try await client.post("http://one.test/", body: .text("x"))
            #expect(try await response.text() == "ok")
        }
        withExtendedLifetime(hole) {}
        #expect(good.connections.count == 1)
    }

    @Test("After a call ends at a silent proxy address, the next one begins with another")
    func silentWithDeadline() async throws {
        let good = try RawServer(address: "127.0.0.3") { _ in
            [
                .readHead, .sendText("HTTP/1.1 200 OK\r\n\r\n"),
                .serve("ok"),
            ]
        }
        let hole = try BlackHole()
        var settings = try settings(
            ["\(hole.address):\(hole.port)", "127.0.0.3:\(good.port)"],
            port: good.port,
            local: true
        )
        settings.timeouts.connect = .seconds(600)
        try await withClient(settings) { client async throws in
            var request = HTTPDNSClient.Request(url: "http://one.test/")
            request.changeOptions { $0.timeouts.total = .seconds(3) }
            let error = try await #require(throws: HTTPDNSClientError.self) { try await client.execute(request) }
            #expect(error.code == .timedOut && !error.requestMayHaveBeenSent, "\(error)")
            // Shorter than the limit for connecting: the silent address has no second turn in it.
            request.changeOptions {
                $0.timeouts.total = .seconds(300)
                $0.timeouts.responseHead = nil
            }
            #expect(try await client.execute(request).text() == "ok")
        }
        withExtendedLifetime(hole) {}
    }

    /// libcurl looks nothing up, either.
    @Test(
        "A mapped name of a proxy causes no system lookup",
        .enabled(if: ServerRig.isAvailable([.compiler]))
    )
    func tripwire() async throws {
        let server = try RawServer(.serve("ok"))
        let folder = try TemporaryFolder()
        func fetch(_ mappings: String) async throws -> (result: CommandResult, lookups: [String]) {
            let text =
                "version: 1\nmappings: { \(mappings) }\nclient: { proxy: \"http://proxy.test:\(server.port)\" }\n"
            let file = try folder.write(text, to: "proxy.yaml")
            // libcurl would use this one by itself, also for a proxy that is set.
            let command = try Command.resolveTest(
                ["fetch", "http://nobody-knows.test/", "--config", file, "-o", "-"],
                environment: ["no_proxy": "*", "NO_PROXY": "*"]
            )
            return try await Tripwire.shared().run(command)
        }
        let mapped = try await fetch("proxy.test: 127.0.0.1")
        #expect(mapped.result.status == 0 && mapped.result.output == "ok", "\(mapped.result)")
        #expect(mapped.lookups == [])
        #expect(server.text.contains("GET http://nobody-knows.test/ HTTP/1.1"))
        // Without a mapping it is the system resolver that is asked, about the proxy and nothing else.
        let unmapped = try await fetch("")
        #expect(unmapped.result.status == 5)
        #expect(Set(unmapped.lookups) == ["getaddrinfo proxy.test"])
        #expect(unmapped.result.error.contains("the proxy http://proxy.test:\(server.port) has no address"))
    }
}
