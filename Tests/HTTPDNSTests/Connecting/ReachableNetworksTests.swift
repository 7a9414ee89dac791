// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import Glibc
import HTTPDNSTesting
import ServerRig
import Testing

@testable import HTTPDNS

/// Requests to untrusted URLs, over real sockets: a listener on loopback stands for a service inside the network.
struct ReachableNetworksTests {
    /// A listener that must not be reached, and a client with all sources of addresses that could lead there.
    struct Inside {
        let server: RawServer
        let clock = HTTPDNSManualClock()
        let provider: HTTPDNSScriptedProvider
        let system = ScriptedSystemResolver()
        let client: HTTPDNSClient
        /// Has the connections.
        private let base: HTTPDNSClient

        init(
            _ networks: HTTPDNSClient.ReachableNetworks = .publicInternet,
            _ change: (inout HTTPDNSClient.Configuration) throws -> Void = { _ in }
        ) async throws {
            server = try RawServer(.readHead, .respond("in", fields: "Connection: close\r\n"))
            provider = HTTPDNSScriptedProvider(answerScope: .loopback, clock: clock)
            let loopback = HTTPDNSAddress(v4: 127, 0, 0, 1)
            provider.answer(.answer(.addresses([loopback], timeToLive: .zero)), for: try HTTPDNSName("provider.test"))
            for name in ["fallback.test", "resort.test"] {
                provider.answer(.failure(.unavailable), for: try HTTPDNSName(name))
            }
            for name in ["fallback.test", "system.test", "free.example"] {
                system.answer(.success([loopback]), for: try HTTPDNSName(name))
            }
            var configuration = HTTPDNSClient.Configuration()
            configuration.environment = { _ in nil }
            configuration.reachableNetworks = networks
            configuration.timeouts.connect = .milliseconds(500)
            configuration.resolver.timeSource = clock
            configuration.resolver.providers = [provider]
            configuration.resolver.routes = [
                HTTPDNSRoute(try .init("*.test"), .providers(["scripted"], fallback: .system)),
                HTTPDNSRoute(try .init("system.test"), .system),
            ]
            configuration.resolver.mappings = [
                try HTTPDNSMapping.Key("mapped.test"): .addresses(["127.0.0.1"]),
                try HTTPDNSMapping.Key("past.test"): .system,
                try HTTPDNSMapping.Key("via.test"): .via("system.test"),
                try HTTPDNSMapping.Key("resort.test"): .lastResort(["127.0.0.1"]),
                try HTTPDNSMapping.Key("metadata.test"): .addresses(["169.254.169.254"]),
            ]
            system.answer(.success([loopback]), for: try HTTPDNSName("past.test"))
            try change(&configuration)
            base = try await HTTPDNSClient(configuration: configuration)
            client = HTTPDNSClient(
                configuration: configuration,
                resolver: try HTTPDNSResolver(configuration.resolver, systemResolver: system, random: { _ in 0 }),
                sender: base.sender
            )
        }

        func get(_ url: String, _ change: HTTPDNSClient.Request.Options.Change? = nil) async throws
            -> HTTPDNSClient.Response
        {
            try await client.get(url, change)
        }

        func shutdown() async throws {
            try await client.shutdown()
            try await base.shutdown()
        }
    }

    private static let publicOnly: HTTPDNSClient.Request.Options.Change = { $0.reachableNetworks = .publicInternet }

    private static let table: [(name: String, url: String, isServed: Bool)] = [
        ("a literal", "http://127.0.0.1:PORT/", true),
        ("an IPv4-mapped literal", "http://[::ffff:127.0.0.1]:PORT/", false),
        ("a NAT64 literal", "http://[64:ff9b::127.0.0.1]:PORT/", false),
        ("a 6to4 literal", "http://[2002:7f00:1::1]:PORT/", false),
        ("a private literal", "http://10.0.0.1:PORT/", false),
        ("localhost", "http://localhost:PORT/", true),
        ("a mapping", "http://mapped.test:PORT/", true),
        ("a mapping to the system resolver", "http://past.test:PORT/", true),
        ("a mapping to another name", "http://via.test:PORT/", true),
        ("a last resort", "http://resort.test:PORT/", true),
        ("a provider", "http://provider.test:PORT/", true),
        ("the fallback of a route", "http://fallback.test:PORT/", true),
        ("a route to the system resolver", "http://system.test:PORT/", true),
        ("a name without a route", "http://free.example:PORT/", true),
    ]

    @Test("Nothing but the public internet is reached, from any source", arguments: table)
    func sources(source: (name: String, url: String, isServed: Bool)) async throws {
        let inside = try await Inside()
        let url = source.url.replacing("PORT", with: "\(inside.server.port)")
        // A request cannot widen them.
        let error = try #require(
            await clientError { try await inside.get(url) { $0.reachableNetworks = .any } },
            "\(source.name)"
        )
        #expect(error.code == .policyRefused && error.phase == .policy, "\(source.name): \(error)")
        #expect(!error.requestMayHaveBeenSent && error.attempts.isEmpty)
        #expect("\(error)".contains("reachable_networks"), "\(error)")
        #expect(await clientError { try await inside.client.rewrite(url) }?.code == .policyRefused)
        #expect(await clientError { try await inside.client.preconnect(to: url) }?.code == .policyRefused)
        // As the proxy for other clients connects.
        let host = String(source.url.dropFirst("http://".count).dropLast(":PORT/".count))
        let port = inside.server.port
        #expect(
            await clientError { _ = try await inside.client.connectedSocket(to: host, port: port) }?.code
                == .policyRefused
        )
        #expect(inside.server.connections.isEmpty)
        try await inside.shutdown()
        // Without the limit the same request arrives: the case is a real one.
        guard source.isServed else { return }
        let open = try await Inside(.any)
        let served = source.url.replacing("PORT", with: "\(open.server.port)")
        #expect(try await open.get(served).status == .ok, "\(source.name)")
        let socket = try await open.client.connectedSocket(to: host, port: open.server.port)
        let loopback = HTTPDNSAddress(v4: 127, 0, 0, 1)
        #expect(socket.endpoint == HTTPDNSEndpoint(address: loopback, port: open.server.port), "\(source.name)")
        close(socket.descriptor)
        try await open.shutdown()
    }

    /// Also addresses of the request, and names of the system resolver.
    @Test("A request's option limits the networks of a client without a limit")
    func option() async throws {
        let inside = try await Inside(.any)
        let port = inside.server.port
        var request = HTTPDNSClient.Request(url: "http://127.0.0.1:\(port)/", Self.publicOnly)
        #expect(await clientError { try await inside.client.execute(request) }?.code == .policyRefused)
        request.url = "http://past.test:\(port)/"
        request.changeOptions { $0.addresses = .system }
        #expect(await clientError { try await inside.client.execute(request) }?.code == .policyRefused)
        request.url = "http://x.example/"
        request.changeOptions { $0.addresses = .only(["127.0.0.1:\(port)", "[::1]:\(port)", "10.0.0.1:\(port)"]) }
        #expect(await clientError { try await inside.client.execute(request) }?.code == .policyRefused)
        #expect(inside.server.connections.isEmpty)
        try await inside.shutdown()
    }

    @Test("Of several addresses only the public ones are tried")
    func mixed() async throws {
        let inside = try await Inside()
        let name = try HTTPDNSName("mixed.test")
        let addresses = [
            HTTPDNSAddress(v4: 127, 0, 0, 1), HTTPDNSAddress(v4: 203, 0, 113, 9), HTTPDNSAddress(v4: 10, 0, 0, 1),
        ]
        inside.provider.answer(.answer(.addresses(addresses, timeToLive: .seconds(60))), for: name)
        let rewritten = try await inside.client.rewrite("http://mixed.test/")
        #expect(rewritten.addresses.map(\.address) == [addresses[1]])
        #expect(try await inside.client.resolve("mixed.test").endpoints.map(\.address) == [addresses[1]])
        try await inside.shutdown()
    }

    @Test("A rewritten request that is resolved again is checked again")
    func rebinding() async throws {
        let inside = try await Inside(.any)
        let name = try HTTPDNSName("rebound.test")
        let url = "http://rebound.test:\(inside.server.port)/"
        let answer = HTTPDNSProviderAnswer.addresses([HTTPDNSAddress(v4: 203, 0, 113, 9)], timeToLive: .zero)
        inside.provider.answer(.answer(answer), for: name)
        let rewritten = try await inside.client.rewrite(url, Self.publicOnly)
        #expect(rewritten.addresses.count == 1)
        let inner = HTTPDNSProviderAnswer.addresses([HTTPDNSAddress(v4: 127, 0, 0, 1)], timeToLive: .zero)
        inside.provider.answer(.answer(inner), for: name)
        inside.clock.advance(by: .seconds(2))
        let error = await clientError { try await inside.client.execute(rewritten) }
        #expect(error?.code == .policyRefused, "\(String(describing: error))")
        #expect(inside.server.connections.isEmpty)
        try await inside.shutdown()
    }

    @Test("A tag of another client does not widen what a client reaches")
    func foreignTag() async throws {
        let (first, second) = (try await Inside(.any), try await Inside())
        for host in ["mapped.test", "provider.test"] {
            let rewritten = try await first.client.rewrite("http://\(host):\(first.server.port)/")
            #expect(rewritten.tag?.isValid == true)
            #expect(await clientError { try await second.client.execute(rewritten) }?.code == .policyRefused)
        }
        #expect(first.server.connections.isEmpty)
        try await first.shutdown()
        try await second.shutdown()
    }

    @Test("A request that an interceptor sends instead is limited as its call is")
    func replacedRequests() async throws {
        let inner = Lock("")
        let inside = try await Inside(.any) {
            $0.networkInterceptors = [
                Around { request, context, next in
                    try await next(HTTPDNSClient.Request(url: inner.withLock { $0 }), context)
                }
            ]
        }
        inner.withLock { $0 = "http://127.0.0.1:\(inside.server.port)/" }
        let error = await clientError { try await inside.get("http://203.0.113.9/", Self.publicOnly) }
        #expect(error?.code == .policyRefused)
        #expect(inside.server.connections.isEmpty)
        try await inside.shutdown()
    }

    @Test("The fallback of a connection is limited too")
    func connectionFallback() async throws {
        let inside = try await Inside()
        let name = try HTTPDNSName("sick.test")
        let answer = HTTPDNSProviderAnswer.addresses([HTTPDNSAddress(v4: 203, 0, 113, 9)], timeToLive: .seconds(60))
        inside.provider.answer(.answer(answer), for: name)
        inside.system.answer(.success([HTTPDNSAddress(v4: 127, 0, 0, 1)]), for: name)
        let error = await clientError { try await inside.get("http://sick.test:\(inside.server.port)/") }
        #expect(error?.message.contains("reachable_networks") == true, "\(String(describing: error))")
        #expect(inside.server.connections.isEmpty)
        try await inside.shutdown()
    }

    @Test("A Unix socket is not reached")
    func unixSocket() async throws {
        let inside = try await Inside()
        // A name by the server's port would meet the socket of an earlier run.
        let folder = try TemporaryFolder()
        let path = "\(folder.path)/s"
        let server = try RawServer(unixSocket: path) { _ in [.hang] }
        let error = await clientError { try await inside.get("http://203.0.113.9/") { $0.unixSocket = path } }
        #expect(error?.code == .policyRefused)
        #expect(server.connections.isEmpty)
        #expect(try folder.names == ["s"])
        try await inside.shutdown()
    }

    // MARK: through proxies

    /// A proxy on loopback that answers for whatever it is asked for.
    private func proxy(tunnels: Bool = false) throws -> RawServer {
        try RawServer { _ in (tunnels ? [.readHead, .sendText("HTTP/1.1 200 OK\r\n\r\n")] : []) + [.serve("ok")] }
    }

    @Test(
        "A name that a proxy looks up is refused unless the proxy enforces the limit",
        arguments: [HTTPDNSClient.Proxy.Kind.http, .socks4a, .socks5h]
    )
    func resolvingProxy(kind: HTTPDNSClient.Proxy.Kind) async throws {
        let server = try proxy()
        var proxy = HTTPDNSClient.Proxy(kind, host: .address(HTTPDNSAddress(v4: 127, 0, 0, 1)), port: server.port)
        let inside = try await Inside { $0.proxy = .through(proxy) }
        let error = try #require(await clientError { try await inside.get("http://provider.test/") })
        #expect(error.code == .policyRefused && error.phase == .policy && error.proxy == "\(proxy)", "\(error)")
        #expect("\(error)".contains("enforces_reachable_networks"), "\(error)")
        #expect(await clientError { try await inside.client.rewrite("http://provider.test/") }?.code == .policyRefused)
        // An address is known without any lookup.
        #expect(await clientError { try await inside.get("http://10.0.0.1/") }?.code == .policyRefused)
        #expect(server.connections.isEmpty)
        try await inside.shutdown()

        guard kind == .http else { return }
        proxy.enforcesReachableNetworks = true
        let trusting = try await Inside { [proxy] in $0.proxy = .through(proxy) }
        #expect(try await trusting.get("http://provider.test/").status == .ok)
        #expect(await clientError { try await trusting.get("http://10.0.0.1/") }?.code == .policyRefused)
        try await trusting.shutdown()
    }

    @Test("A public address is reached, through a proxy that is itself on loopback")
    func publicTarget() async throws {
        let server = try proxy(tunnels: true)
        let inside = try await Inside {
            var proxy = HTTPDNSClient.Proxy(.http, host: .address(HTTPDNSAddress(v4: 127, 0, 0, 1)), port: server.port)
            proxy.resolvesLocally = true
            $0.proxy = .through(proxy)
        }
        let name = try HTTPDNSName("public.test")
        let answer = HTTPDNSProviderAnswer.addresses([HTTPDNSAddress(v4: 203, 0, 113, 9)], timeToLive: .seconds(60))
        inside.provider.answer(.answer(answer), for: name)
        #expect(try await inside.get("http://public.test/").status == .ok)
        #expect(try await inside.get("http://198.51.100.4/").status == .ok)
        #expect(await clientError { try await inside.get("http://provider.test/") }?.code == .policyRefused)
        let lines = server.connections.map { $0.text.prefix(while: { $0 != "\r\n" }) }
        #expect(lines == ["CONNECT 203.0.113.9:80 HTTP/1.1", "CONNECT 198.51.100.4:80 HTTP/1.1"])
        try await inside.shutdown()
    }

    /// A hook that replaces the request changes nothing about that.
    @Test("A redirect from a public server leads no further inside")
    func redirect() async throws {
        let inner = Lock("")
        let server = try RawServer { _ in
            [
                .readHead, .sendText("HTTP/1.1 200 OK\r\n\r\n"), .readHead,
                .respond(status: "302 Found", fields: "Location: http://mapped.test/\r\n"), .hang,
            ]
        }
        for replaces in [false, true] {
            let inside = try await Inside(.any) {
                var proxy = HTTPDNSClient.Proxy(
                    .http,
                    host: .address(HTTPDNSAddress(v4: 127, 0, 0, 1)),
                    port: server.port
                )
                proxy.resolvesLocally = true
                $0.proxy = .through(proxy)
                if replaces { $0.redirectHook = { _ in .change(HTTPDNSClient.Request(url: inner.withLock { $0 })) } }
            }
            // A mapping, which a redirect may lead to otherwise.
            inner.withLock { $0 = "http://mapped.test:\(inside.server.port)/" }
            let before = server.connections.count
            let error = await clientError { try await inside.get("http://203.0.113.9/", Self.publicOnly) }
            #expect(error?.code == .policyRefused, "\(String(describing: error))")
            #expect(error.map { "\($0)" }?.contains("reachable_networks") == true, "\(String(describing: error))")
            #expect(server.connections.count == before + 1 && inside.server.connections.isEmpty)
            try await inside.shutdown()
        }
    }

    @Test(
        "The public internet is what the classification of addresses calls public",
        arguments: [
            ("203.0.113.7", true), ("2001:db8::7", true), ("64:ff9b::203.0.113.7", true), ("2002:cb00:7107::1", true),
            ("::ffff:203.0.113.7", true), ("10.0.0.1", false), ("100.64.0.1", false), ("127.0.0.1", false),
            ("169.254.169.254", false), ("0.0.0.0", false), ("224.0.0.1", false), ("::1", false), ("fd00::1", false),
            ("fe80::1", false), ("::ffff:192.168.0.1", false), ("64:ff9b::10.0.0.1", false),
            ("64:ff9b:1::203.0.113.7", false), ("2002:a00:1::1", false), ("2001::1", false), ("::", false),
        ]
    )
    func classification(text: String, isPublic: Bool) throws {
        let address = try #require(HTTPDNSAddress(text))
        #expect(HTTPDNSClient.ReachableNetworks.publicInternet.contains(address) == isPublic)
        #expect(HTTPDNSClient.ReachableNetworks.any.contains(address))
    }
}

extension HTTPDNSProviderError {
    fileprivate static let unavailable = HTTPDNSProviderError(code: .httpStatus, message: "503")
}
