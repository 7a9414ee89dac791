// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNS
import ServerRig
import Testing

/// Requests to a server that starts late. `make test` runs it apart from other suites.
struct NetworkWaitTests {
    private func settings() throws -> HTTPDNSClient.Configuration {
        var configuration = HTTPDNSClient.Configuration()
        configuration.resolver.mappings[try HTTPDNSMapping.Key("one.test")] = .addresses(["127.0.0.9"])
        configuration.makePatient()
        return configuration
    }

    /// Refuses connections at a port of 127.0.0.9, which it keeps.
    private func refusing() async throws -> RawServer {
        let server = try RawServer(address: "127.0.0.9")
        try await server.refuse()
        return server
    }

    private func request(_ port: UInt16, wait: Duration, method: HTTPRequest.Method = .get) -> HTTPDNSClient.Request {
        HTTPDNSClient.Request(method: method, url: "http://one.test:\(port)/") {
            $0.retries = .off
            $0.retries.networkWait = wait
            $0.retries.delay = .milliseconds(10)
            $0.retries.maximumDelay = .milliseconds(100)
        }
    }

    /// The server starts after the second failed try.
    @Test("A request waits for a server that starts late", arguments: [HTTPRequest.Method.get, .post])
    func late(method: HTTPRequest.Method) async throws {
        let refusing = try await refusing()
        let failed = Gate()
        let tries = Lock(0)
        var request = request(refusing.port, wait: .seconds(60), method: method)
        request.observer = { event in
            if event.kind == .failed { failed.open() }
            guard event.kind == .retry else { return }
            if tries.withLock({ tries in
                tries += 1
                return tries == 2
            }) {
                failed.open()
            }
        }
        let sent = request
        try await withClient(settings()) { client in
            async let response = client.execute(sent)
            await failed.passage()
            let server = try RawServer(address: "127.0.0.9", port: refusing.port, .serve("ok"))
            let status = try await response.status
            #expect(status == .ok)
            #expect(server.connections.count >= 1 && server.count(of: "\(method.rawValue) / HTTP/1.1") == 1)
        }
    }

    @Test("Without a wait, a request to a missing server is tried once")
    func without() async throws {
        let refusing = try await refusing()
        try await withClient(settings()) { client in
            let error = try await refusal { _ = try await client.execute(request(refusing.port, wait: .zero)) }
            #expect(error.code == .connectFailed && error.retries == 0 && error.attempts.count == 1)
        }
    }

    @Test("The wait ends with its time, and with the call's deadline", arguments: [false, true])
    func bounded(byDeadline: Bool) async throws {
        let refusing = try await refusing()
        var request = request(refusing.port, wait: byDeadline ? .seconds(600) : .seconds(2))
        if byDeadline { request.changeOptions { $0.timeouts.total = .seconds(2) } }
        let sent = request
        try await withClient(settings()) { client in
            let clock = ContinuousClock()
            var failure: HTTPDNSClientError?
            let elapsed = try await clock.measure { failure = try await refusal { _ = try await client.execute(sent) } }
            let error = try #require(failure)
            #expect(error.retries >= 1 && !error.requestMayHaveBeenSent)
            #expect(error.code == .connectFailed || byDeadline && error.code == .timedOut)
            #expect(elapsed < .seconds(20) && (byDeadline || elapsed >= .seconds(2)), "\(elapsed)")
        }
        withExtendedLifetime(refusing) {}
    }

    @Test("A request that may have been sent does not wait for the network")
    func sent() async throws {
        let server = try RawServer(.readHead, .reset)
        try await withClient(settings()) { client in
            var request = request(server.port, wait: .seconds(60), method: .post)
            request.changeOptions { $0.addresses = .only(["127.0.0.1"]) }
            let sent = request
            let error = try await refusal { _ = try await client.execute(sent) }
            #expect(error.code == .connectionLost && error.retries == 0)
        }
        #expect(server.connections.count == 1)
    }
}
