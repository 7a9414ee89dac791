// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNS
import HTTPDNSConfiguration
import ServerRig
import Testing

/// An error for each phase, provoked on real servers; its text names host and addresses.
@Suite("Named errors, on the rig", .enabled(if: ServerRig.isAvailable([.nginx, .bind])))
struct NamedErrorTests {
    /// What holds for every error that a caller sees.
    private func expectPresentable(_ error: HTTPDNSClientError, naming words: String...) {
        let text = "\(error)"
        for word in words { #expect(text.contains(word), "\(word) is not in: \(text)") }
        #expect(!text.contains { $0.isNewline } && !text.contains(".invalid") && !text.contains("Optional("), "\(text)")
        #expect(error.hint?.isEmpty != true)
        for attempt in error.attempts { #expect(text.contains("\(attempt.endpoint)"), "\(text)") }
    }

    /// A file, a client's settings, a missing authority.
    @Test("A configuration error names its cause")
    func configuration() async throws {
        #expect(throws: HTTPDNSConfigurationFileError.self) {
            try HTTPDNSConfigurationFile.read("/nonexistent/httpdns.yaml")
        }
        var configuration = HTTPDNSClient.Configuration()
        configuration.trustRoots = .file("/nonexistent/ca.pem")
        let authority = try await refusal { _ = try await HTTPDNSClient(configuration: configuration) }
        #expect(authority.code == .configuration && authority.phase == .configuration)
        expectPresentable(authority, naming: "/nonexistent/ca.pem")

        configuration = .init()
        configuration.resolver.routes = [HTTPDNSRoute(.any, .providers(["nobody"], fallback: .off))]
        let route = try await refusal { _ = try await HTTPDNSClient(configuration: configuration) }
        #expect(route.code == .configuration)
        expectPresentable(route, naming: "nobody")
    }

    /// An unknown name, a name without addresses, a broken zone.
    @Test("A resolving error names its cause")
    func resolve() async throws {
        let rig = try await ServerRig.shared()
        try await withClient(rig.settings()) { client in
            for (host, reason) in [
                ("gone.one.test", "does not exist"), ("nodata.test", "has no IPv4"), ("broken.test", "SERVFAIL"),
                ("dangling.test", "gone.test"),
            ] {
                let error = try await refusal { _ = try await client.get("https://\(host)/") }
                #expect(error.code == .resolveFailed && error.phase == .resolve && error.host == host, "\(error)")
                #expect(error.requestMayHaveBeenSent == false && error.attempts.isEmpty)
                expectPresentable(error, naming: host, "bind")
                if host != "dangling.test" { expectPresentable(error, naming: reason) }
            }
        }
    }

    @Test("A policy error names the address that was refused and how to allow it")
    func policy() async throws {
        let rig = try await ServerRig.shared()
        try await withClient(rig.settings()) { client in
            let error = try await refusal { _ = try await client.get("https://special.test/") }
            #expect(error.code == .policyRefused && error.phase == .policy && error.host == "special.test")
            expectPresentable(error, naming: "special.test", "169.254.169.254", "allow")
        }
    }

    @Test("A connect error names every address that was tried")
    func connect() async throws {
        let rig = try await ServerRig.shared()
        try await rig.setRecords("connect-error.wild.test", ["127.0.0.9"])
        try await withClient(rig.settings()) { client in
            let url = "https://connect-error.wild.test:\(rig.tlsPort)/"
            let error = try await refusal { _ = try await client.post(url, body: .text("once")) }
            #expect(
                error.code == .connectFailed && error.phase == .connect && !error.requestMayHaveBeenSent,
                "\(error)"
            )
            #expect(error.attempts.map(\.endpoint.description) == ["127.0.0.9:\(rig.tlsPort)"])
            expectPresentable(error, naming: "connect-error.wild.test", "127.0.0.9:\(rig.tlsPort)", "refused")
        }
    }

    @Test("A connect error for two addresses names both")
    func connectTwo() async throws {
        let rig = try await ServerRig.shared()
        try await rig.setRecords("connect-error-two.wild.test", ["127.0.0.8", "127.0.0.9"])
        try await withClient(rig.settings()) { client in
            let url = "https://connect-error-two.wild.test:\(rig.tlsPort)/"
            let error = try await refusal { _ = try await client.post(url, body: .text("once")) }
            #expect(error.code == .connectFailed && error.phase == .connect && !error.requestMayHaveBeenSent)
            let addresses = ["127.0.0.8:\(rig.tlsPort)", "127.0.0.9:\(rig.tlsPort)"]
            #expect(error.attempts.map(\.endpoint.description).sorted() == addresses)
            expectPresentable(error, naming: "connect-error-two.wild.test", addresses[0], addresses[1], "refused")
        }
    }

    /// Nothing is saved.
    @Test("An unsuccessful status is an error where a success is needed")
    func unexpectedStatus() async throws {
        let rig = try await ServerRig.shared()
        let folder = try TemporaryFolder()
        try folder.replace("file", with: "old")
        try await withClient(rig.settings()) { client in
            let error = try await refusal {
                _ = try await client.download("https://one.test:\(rig.tlsPort)/not-there", to: folder.path("file"))
            }
            #expect(
                error.code == .unexpectedStatus && error.phase == .firstByte && error.host == "one.test",
                "\(error)"
            )
            #expect(error.requestMayHaveBeenSent)
            expectPresentable(error, naming: "one.test", "127.0.0.2:\(rig.tlsPort)", "404", "nothing was saved")
        }
        #expect(folder.read("file") == "old")
    }

    /// A certificate that proves nothing, and a port without TLS.
    @Test("A TLS error names its cause, and the request is not sent")
    func tls() async throws {
        let rig = try await ServerRig.shared()
        let mark = rig.accessLogMark()
        try await withClient(rig.settings()) { client in
            for (host, word) in [
                ("expired.test", "expired"), ("wrong.test", "someone-else.test"), ("selfsigned.test", "self-signed"),
                ("untrusted.test", "issuer"), ("liar.test", "other.test"),
            ] {
                let error = try await refusal { _ = try await client.get("https://\(host):\(rig.tlsPort)/named-error") }
                #expect(error.code == .certificateRefused && error.phase == .tls && error.host == host, "\(error)")
                #expect(error.requestMayHaveBeenSent == false && error.attempts.count == 1)
                expectPresentable(error, naming: host, word, "127.0.0.")
            }
            let clear = try await refusal { _ = try await client.get("https://two.test:\(rig.httpPort)/named-error") }
            #expect(clear.code == .connectFailed && clear.phase == .tls && !clear.requestMayHaveBeenSent, "\(clear)")
            expectPresentable(clear, naming: "two.test", "127.0.0.3:\(rig.httpPort)", "TLS")
        }
        #expect(try !rig.accessLog(since: mark).contains { $0.target == "/named-error" })
    }

    @Test("A time-out names the phase and its limit")
    func timeout() async throws {
        // On a busy machine a short limit may be over before its phase: then the same with a longer one.
        for seconds in [3, 12, 50] where try await isNamed(seconds) { return }
        Issue.record("no phase began within its limit")
    }

    private func isNamed(_ seconds: Int) async throws -> Bool {
        let rig = try await ServerRig.shared()
        let hole = try BlackHole()
        var configuration = try rig.settings(mappings: [
            "hole.test": .addresses(["\(hole.address):\(hole.port)"]), "one.test": .addresses(["127.0.0.2"]),
        ])
        configuration.timeouts.connect = .seconds(seconds)
        configuration.timeouts.firstByte = .seconds(seconds)
        return try await withClient(configuration) { client in
            let connect = try await refusal { _ = try await client.get("http://hole.test/") }
            #expect(connect.code == .timedOut && connect.phase == .connect, "\(connect)")
            #expect(connect.limit == .seconds(seconds) && !connect.requestMayHaveBeenSent)
            expectPresentable(connect, naming: "hole.test", "127.0.0.1:\(hole.port)", "\(seconds)000 ms")

            let stalled = "https://one.test:\(rig.tlsPort)/stall/60"
            func warm() async throws -> Bool {
                do {
                    try await client.get("https://one.test:\(rig.tlsPort)/health").text()
                } catch let error as HTTPDNSClientError where error.code == .timedOut {
                    return false
                }
                return true
            }
            guard try await warm() else { return false }
            let firstByte = try await refusal { _ = try await client.get(stalled) }
            #expect(firstByte.code == .timedOut && firstByte.phase == .firstByte, "\(firstByte)")
            #expect(firstByte.requestMayHaveBeenSent)
            expectPresentable(firstByte, naming: "one.test", "127.0.0.2:\(rig.tlsPort)", "\(seconds)000 ms")

            // The time limit has retired the connection, and a new one could take longer than what is meant here.
            guard try await warm() else { return false }
            let limit = seconds - 1
            let total = try await refusal { _ = try await client.get(stalled) { $0.timeouts.total = .seconds(limit) } }
            if total.code == .timedOut, total.phase != .firstByte { return false }
            #expect(total.code == .timedOut && total.phase == .firstByte && total.isCallDeadline, "\(total)")
            #expect(total.limit == .seconds(limit))
            expectPresentable(total, naming: "one.test", "\(limit) s")
            return true
        }
    }

    @Test(
        "A response that is no HTTP is a protocol error",
        arguments: [
            "SSH-2.0-OpenSSH\r\n", "HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n", "HTTP/1.1 abc\r\n\r\n",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", "HTTP/1.1 200 OK\r\nbad header\r\n\r\n",
            "HTTP/1.1 200 OK\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\nabcd",
        ]
    )
    func protocolViolation(answer: String) async throws {
        let server = try RawServer(.readHead, .sendText(answer))
        var configuration = HTTPDNSClient.Configuration()
        configuration.resolver.mappings[try HTTPDNSMapping.Key("raw.test")] = .addresses(["127.0.0.1:\(server.port)"])
        try await withClient(configuration) { client in
            let error = try await refusal { try await client.get("http://raw.test/").text() }
            #expect(error.code == .protocolViolation && error.requestMayHaveBeenSent, "\(error.code): \(error)")
            expectPresentable(error, naming: "raw.test", "127.0.0.1:\(server.port)")
        }
    }

    @Test("A connection that ends early is lost, before the head and inside the body")
    func connectionLost() async throws {
        let rig = try await ServerRig.shared()
        try await withClient(rig.settings()) { client in
            for port in [rig.tlsPort, rig.http1Port] {
                for path in ["close", "truncated"] {
                    let url = "https://two.test:\(port)/\(path)"
                    let error = try await refusal { try await client.get(url).text() }
                    #expect(
                        error.code == .connectionLost && error.requestMayHaveBeenSent,
                        "\(url): \(error.code) \(error)"
                    )
                    expectPresentable(error, naming: "two.test", "127.0.0.3:\(port)")
                }
            }
        }
    }

    /// While resolving, connecting, waiting and reading.
    @Test("A canceled call ends with CancellationError in every phase")
    func canceled() async throws {
        let rig = try await ServerRig.shared()
        let hole = try BlackHole()
        let provider = try RawServer(.readHead, .hang)
        let (asked, begun) = (Gate(), Gate())
        let silent = try RawServer(.readHead, .open(asked), .hang)
        let slow = try RawServer(
            .readHead,
            .sendText("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf"),
            .open(begun),
            .hang
        )
        var configuration = try rig.settings(mappings: [
            "hole.test": .addresses(["\(hole.address):\(hole.port)"]),
            "silent.test": .addresses(["127.0.0.1:\(silent.port)"]),
            "slow.test": .addresses(["127.0.0.1:\(slow.port)"]),
        ])
        let url = "http://127.0.0.1:\(provider.port)/dns-query"
        configuration.resolver.providers = [try HTTPDNSDoHProvider(.init(name: "silent", url: url))]
        configuration.resolver.routes = [HTTPDNSRoute(.any, .providers(["silent"], fallback: .off))]
        configuration.resolver.timeLimit = .seconds(30)
        try await withClient(configuration) { client in
            func cancel(_ host: String, when isThere: () async throws -> Void) async throws {
                let call = Task { try await client.get("http://\(host)/").text() }
                try await isThere()
                call.cancel()
                await #expect(throws: CancellationError.self, "\(host)") { try await call.value }
            }
            try await cancel("unknown.test") { try await provider.awaitConnections { !$0.isEmpty } }
            try await cancel("hole.test") { await Task.yield() }
            try await cancel("silent.test") { await asked.passage() }
            try await cancel("slow.test") { await begun.passage() }
            // Canceled means gone, not forgotten.
            try await silent.awaitConnections { $0.allSatisfy(\.isClosedByClient) }
            try await slow.awaitConnections { $0.allSatisfy(\.isClosedByClient) }
        }
    }
}
