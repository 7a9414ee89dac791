// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

#if NIO
import HTTPDNS
import HTTPDNSNIO
import HTTPDNSPrimitives
import ServerRig
import Testing

@Suite("The proxy for other clients", .enabled(if: ServerRig.isAvailable([.nginx, .bind])))
struct ReachProxyTests {
    /// Runs `body` with a proxy through a client of these settings.
    private func withProxy(
        _ settings: HTTPDNSClient.Configuration,
        _ configuration: HTTPDNSProxy.Configuration = .init(),
        _ body: (HTTPDNSProxy, HTTPDNSClient) async throws -> Void
    ) async throws {
        try await withClient(settings) { client in
            let proxy = try await HTTPDNSProxy(client, configuration: configuration)
            do {
                try await body(proxy, client)
            } catch {
                await proxy.shutdown()
                throw error
            }
            await proxy.shutdown()
        }
    }

    /// Settings of another client, which knows nothing but the proxy. With a kind that names the proxy alone it resolves nothing.
    private func other(_ kind: String, _ proxy: HTTPDNSProxy, _ rig: ServerRig) throws -> HTTPDNSClient.Configuration {
        var settings = HTTPDNSClient.Configuration()
        settings.trustRoots = .file(rig.certificateAuthorityFile)
        settings.adaptToTests()
        let listener = proxy.listener
        let url = "\(kind)://\(listener.user):\(listener.password)@\(listener.host):\(listener.port)"
        settings.proxy = .through(try HTTPDNSClient.Proxy(url))
        return settings
    }

    @Test("Another client reaches mappings, their ports and HTTP-DNS names", arguments: ["socks5h", "http"])
    func reaches(_ kind: String) async throws {
        let rig = try await ServerRig.shared()
        let mapped: [String: HTTPDNSMapping] = [
            "one.test": .addresses(["127.0.0.4"]), "three.test": .addresses(["127.0.0.3:\(rig.tlsPort)"]),
        ]
        try await withProxy(try rig.settings(besides: mapped)) { proxy, client in
            try await withClient(try other(kind, proxy, rig)) { other in
                for (origin, address) in [
                    ("one.test:\(rig.tlsPort)", "127.0.0.4"), ("three.test", "127.0.0.3"),
                    ("two.test:\(rig.tlsPort)", "127.0.0.3"),
                ] {
                    let echo = try await Echo(other.get("https://\(origin)/echo"))
                    #expect(echo.address == address && "\(origin):".hasPrefix("\(echo.sni ?? ""):"), "\(echo)")
                }
                let open = proxy.tunnels.map { "\($0.host) \($0.endpoint)" }.sorted()
                #expect(
                    open == [
                        "one.test 127.0.0.4:\(rig.tlsPort)", "three.test 127.0.0.3:\(rig.tlsPort)",
                        "two.test 127.0.0.3:\(rig.tlsPort)",
                    ]
                )
                #expect(proxy.tunnels.allSatisfy { $0.bytesSent > 300 && $0.bytesReceived > 1_000 })
                #expect(proxy.counters.opened == 3)
            }
        }
    }

    @Test("A child process reaches mappings by the variables of the listener", arguments: ["https", "http"])
    func children(_ scheme: String) async throws {
        let rig = try await ServerRig.shared()
        let port = scheme == "https" ? rig.tlsPort : rig.httpPort
        try await withProxy(try rig.settings(besides: ["one.test": .addresses(["127.0.0.4"])])) { proxy, _ in
            let arguments = ["-sS", "--cacert", rig.certificateAuthorityFile, "\(scheme)://one.test:\(port)/health"]
            var variables = proxy.listener.environment
            (variables["no_proxy"], variables["NO_PROXY"], variables["http_proxy"]) = ("", "", "")
            let result = try await Command("curl", arguments, environment: variables).run()
            #expect(result.output == "127.0.0.4\n", "\(result.error)")
            #expect(proxy.counters.opened == 1)
        }
    }

    @Test("Bodies of many megabytes pass unchanged in both directions", arguments: ["socks5h", "http"])
    func bodies(_ kind: String) async throws {
        let rig = try await ServerRig.shared()
        try await withProxy(try rig.settings()) { proxy, _ async throws in
            try await withClient(try other(kind, proxy, rig)) { other in
                let body = (0..<8 << 20).map { UInt8(truncatingIfNeeded: $0 ^ $0 >> 8) }
                let url = "https://two.test:\(rig.tlsPort)/stored/reach-\(kind)"
                let stored = try await other.execute(.init(method: .put, url: url, body: .bytes(body)))
                #expect(stored.status.kind == .successful)
                let read = try await other.get(url)
                #expect(try await read.body.collect(upTo: .mebibytes(16)) == body)
            }
        }
    }

    @Test("A failed destination has the status of its reason")
    func failures() async throws {
        let rig = try await ServerRig.shared()
        var settings = try rig.settings(besides: ["dead.test": .addresses(["127.0.0.9:1"])])
        settings.resolver.policy.denied = [try #require(HTTPDNSAddressBlock("127.0.0.5/32"))]
        try await withProxy(settings) { proxy, _ async throws in
            let cases = [
                ("http://gone.test/", "502"), ("http://127.0.0.5/", "403"), ("http://dead.test/", "502"),
                ("http://127.0.0.1:\(proxy.listener.port)/", "403"),
            ]
            for (url, status) in cases {
                let text = try await connect(url.split(separator: "/")[1], proxy)
                #expect(text.hasPrefix("HTTP/1.1 \(status) "), "\(url): \(text)")
                #expect(!text.contains(proxy.listener.password))
            }
            #expect(proxy.counters.opened == 0 && proxy.tunnels.isEmpty)
        }
    }

    /// Returns the answer to CONNECT, and what comes through the tunnel.
    private func connect(
        _ authority: Substring,
        _ proxy: HTTPDNSProxy,
        sending text: String = "",
        endsInput: Bool = false
    ) async throws -> String {
        let authority = authority.contains(":") ? String(authority) : "\(authority):80"
        let credential = Base64.text(Array("\(proxy.listener.user):\(proxy.listener.password)".utf8))
        return try await answer(
            to: "CONNECT \(authority) HTTP/1.1\r\nProxy-Authorization: Basic \(credential)\r\n\r\n\(text)",
            port: proxy.listener.port,
            endsInput: endsInput
        )
    }

    private static let established = "HTTP/1.1 200 Connection established\r\n\r\n"

    @Test("What a server sends arrives when it closes at once, as a full one does", .timeLimit(.minutes(1)))
    func speaksFirst() async throws {
        let rig = try await ServerRig.shared()
        let server = try RawServer { _ in [.sendText("554 full\r\n")] }
        try await withProxy(try rig.settings()) { proxy, _ async throws in
            try await withThrowingTaskGroup(of: String.self) { tasks in
                for _ in 0..<50 { tasks.addTask { try await connect("127.0.0.1:\(server.port)", proxy) } }
                for try await answer in tasks { #expect(answer == Self.established + "554 full\r\n") }
            }
        }
    }

    @Test("Early data and the end of a client's input reach the server, which still answers", .timeLimit(.minutes(1)))
    func halfCloses() async throws {
        let rig = try await ServerRig.shared()
        let server = try RawServer { _ in [.readToEnd, .sendText("bye")] }
        try await withProxy(try rig.settings()) { proxy, _ async throws in
            let authority: Substring = "127.0.0.1:\(server.port)"
            let answer = try await connect(authority, proxy, sending: "hello", endsInput: true)
            #expect(answer == Self.established + "bye")
            #expect(server.connections.map { String(decoding: $0.received, as: UTF8.self) } == ["hello"])
            while !proxy.tunnels.isEmpty { try await Task.sleep(for: .milliseconds(5)) }
        }
    }

    @Test("A shutdown ends tunnels and handshakes", .timeLimit(.minutes(1)))
    func shutsDown() async throws {
        let rig = try await ServerRig.shared()
        let server = try RawServer { _ in [.sendText("220 hello\r\n"), .hang] }
        try await withProxy(try rig.settings()) { proxy, _ async throws in
            async let tunnel = connect("127.0.0.1:\(server.port)", proxy)
            async let handshake = answer(to: "CONN", port: proxy.listener.port)
            while proxy.tunnels.first?.bytesReceived != 11 { try await Task.sleep(for: .milliseconds(5)) }
            await proxy.shutdown()
            #expect(try await tunnel == Self.established + "220 hello\r\n")
            // It may not have been accepted before.
            _ = try? await handshake
            #expect(proxy.tunnels.isEmpty)
        }
    }

    @Test("A connection that asks for nothing is closed", .timeLimit(.minutes(1)))
    func waitsNoLonger() async throws {
        let rig = try await ServerRig.shared()
        var configuration = HTTPDNSProxy.Configuration()
        configuration.handshakeTimeout = .milliseconds(100)
        try await withProxy(try rig.settings(), configuration) { proxy, _ async throws in
            #expect(try await answer(to: "", port: proxy.listener.port) == "")
            #expect(proxy.counters.handshakesRefused == 1)
        }
    }

    @Test("A proxy refuses a client that goes through it")
    func circle() async throws {
        let rig = try await ServerRig.shared()
        let listener = try HTTPDNSProxy.Listener()
        var settings = try rig.settings()
        settings.environment = { listener.environment[$0] }
        settings.proxy = .environment
        try await withClient(settings) { client async throws in
            let error = await #expect(throws: HTTPDNSProxy.Error.self) {
                _ = try await HTTPDNSProxy(client, on: listener)
            }
            #expect(error?.code == .circle)
        }
    }

    @Test("Without the password nothing is reached, and nothing is resolved", arguments: ["socks5h", "http"])
    func password(_ kind: String) async throws {
        let rig = try await ServerRig.shared()
        try await withProxy(try rig.settings()) { proxy, client in
            var settings = try other(kind, proxy, rig)
            settings.proxy = .through(
                try HTTPDNSClient.Proxy("\(kind)://httpdns:wrong@127.0.0.1:\(proxy.listener.port)")
            )
            try await withClient(settings) { other in
                let error = try await refusal { _ = try await other.get("https://two.test:\(rig.tlsPort)/echo") }
                #expect(error.code == .proxyLoginRefused, "\(error)")
            }
            #expect(proxy.counters.loginsRefused >= 1 && proxy.counters.opened == 0)
            #expect(client.resolver.counters.providers.values.allSatisfy { $0.queries == 0 })
        }
    }

    @Test("A quiet tunnel ends after a move, and the next request reaches the new address", .timeLimit(.minutes(1)))
    func drains() async throws {
        let rig = try await ServerRig.shared()
        var configuration = HTTPDNSProxy.Configuration()
        configuration.drainDeadline = .seconds(600)
        try await withProxy(try rig.settings(besides: ["one.test": .addresses(["127.0.0.2"])]), configuration) {
            proxy,
            client in
            try await withClient(try other("socks5h", proxy, rig)) { other in
                let url = "https://one.test:\(rig.tlsPort)/echo"
                #expect(try await Echo(other.get(url)).address == "127.0.0.2")
                try client.mappings.apply { $0["one.test"] = .addresses(["127.0.0.3"]) }
                while proxy.counters.endedQuiet == 0 { try await Task.sleep(for: .milliseconds(20)) }
                #expect(proxy.tunnels.isEmpty)
                #expect(try await Echo(other.get(url)).address == "127.0.0.3")
            }
        }
    }

    /// Nothing listens where the hosts move to.
    @Test(
        "Tunnels whose host moves while they are made end as others do",
        .timeLimit(.minutes(1)),
        arguments: [1, 20, 200]
    )
    func movesWhileMade(_ before: Int) async throws {
        let rig = try await ServerRig.shared()
        let server = try RawServer { _ in [.hang] }
        var configuration = HTTPDNSProxy.Configuration()
        configuration.drainDeadline = .seconds(600)
        let settings = try rig.settings(besides: ["*.moved.test": .addresses(["127.0.0.1"])])
        try await withProxy(settings, configuration) { proxy, client in
            try await withThrowingTaskGroup(of: String.self) { tasks in
                for number in 0..<200 {
                    tasks.addTask { try await connect("\(number).moved.test:\(server.port)", proxy) }
                }
                do {
                    while proxy.counters.opened < before { try await Task.sleep(for: .milliseconds(1)) }
                    try client.mappings.apply { $0["*.moved.test"] = .addresses(["127.0.0.2"]) }
                    while proxy.counters.opened + proxy.counters.failed < 200 || !proxy.tunnels.isEmpty {
                        try await Task.sleep(for: .milliseconds(20))
                    }
                } catch {
                    // Else the tasks would wait for ever.
                    await proxy.shutdown()
                    throw error
                }
                for try await answer in tasks {
                    #expect(answer == Self.established || answer.hasPrefix("HTTP/1.1 502"))
                }
            }
            #expect(proxy.counters.endedQuiet == proxy.counters.opened && proxy.counters.opened >= before)
        }
    }

    @Test(
        "A move under load fails no request but those in flight at the deadline",
        .enabled(if: ServerRig.hasProcessForItself, "it waits in real time"),
        .timeLimit(.minutes(2)),
        arguments: [1, 50, 500],
        [HTTPDNSClient.AllowedVersions.http1Only, .http2Only]
    )
    func movesUnderLoad(_ rate: Int, _ versions: HTTPDNSClient.AllowedVersions) async throws {
        guard rate == 50 || ServerRig.hasTime else { return }
        let rig = try await ServerRig.shared()
        var configuration = HTTPDNSProxy.Configuration()
        configuration.drainDeadline = .seconds(4)
        try await withProxy(try rig.settings(besides: ["one.test": .addresses(["127.0.0.2"])]), configuration) {
            proxy,
            client in
            var settings = try other("socks5h", proxy, rig)
            settings.options.versions = versions
            try await withClient(settings) { other in
                let url = "https://one.test:\(rig.tlsPort)/echo"
                let begin = ContinuousClock.now
                // POST: the client itself repeats none.
                let results = try await withThrowingTaskGroup(of: (Int, String).self) { group in
                    for number in 0..<(rate * 9) {
                        try await Task.sleep(until: begin + .seconds(1) / rate * number, clock: .continuous)
                        if number == rate * 2 {
                            try client.mappings.apply { $0["one.test"] = .addresses(["127.0.0.3"]) }
                        }
                        group.addTask {
                            do {
                                return (number, try await Echo(other.post(url, body: .text("a"))).address)
                            } catch {
                                return (number, "failed")
                            }
                        }
                    }
                    return try await group.reduce(into: [Int: String]()) { $0[$1.0] = $1.1 }
                }
                let failed = results.values.count { $0 == "failed" }
                let ended = proxy.counters
                print(
                    "moves at \(rate)/s over \(versions): \(failed) of \(results.count) failed, ended quiet",
                    ended.endedQuiet,
                    "after a response",
                    ended.endedAfterServer,
                    "at the deadline",
                    ended.endedAtDeadline
                )
                // Streams share a connection over HTTP/2, so more than one can be in flight at the deadline.
                #expect(failed <= ended.endedAtDeadline * (versions == .http2Only ? 16 : 1), "\(ended)")
                #expect(ended.endedQuiet + ended.endedAfterServer + ended.endedAtDeadline >= 1)
                // Two seconds after the deadline at the latest.
                for number in (rate * 8)..<(rate * 9) { #expect(results[number] == "127.0.0.3") }
            }
        }
    }

    @Test("A full proxy refuses further tunnels, and takes them when there is room", .timeLimit(.minutes(1)))
    func full() async throws {
        let rig = try await ServerRig.shared()
        var configuration = HTTPDNSProxy.Configuration()
        configuration.maximumTunnels = 1
        try await withProxy(try rig.settings(), configuration) { proxy, _ async throws in
            let settings = try other("http", proxy, rig)
            try await withClient(settings) { first in
                #expect(try await first.get("https://two.test:\(rig.tlsPort)/health").status == .ok)
                try await withClient(settings) { second in
                    let error = try await refusal { _ = try await second.get("https://two.test:\(rig.tlsPort)/health") }
                    #expect(error.code == .proxyRefused, "\(error)")
                }
            }
            while !proxy.tunnels.isEmpty { try await Task.sleep(for: .milliseconds(5)) }
            try await withClient(settings) { third async throws in
                #expect(try await third.get("https://two.test:\(rig.tlsPort)/health").status == .ok)
            }
        }
    }
}
#endif
