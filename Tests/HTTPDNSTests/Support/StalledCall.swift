// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNS
import ServerRig

/// A call that gets stuck in one phase of its way, on real sockets.
struct StalledCall: Sendable {
    /// The phases that a call can get stuck in.
    static let phases: [HTTPDNSClientError.Phase] = [.resolve, .connect, .tls, .send, .firstByte, .body]

    /// Where it gets stuck.
    let phase: HTTPDNSClientError.Phase
    /// Whether something of its request has gone out by then.
    var mayHaveBeenSent: Bool { [.send, .firstByte, .body].contains(phase) }

    private let endpoint: String
    private let request: HTTPDNSClient.Request
    /// What it gets stuck at, which is there for as long as this is.
    private let server: any Sendable

    init(in phase: HTTPDNSClientError.Phase) throws {
        self.phase = phase
        let half = "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhello"
        let steps: [RawServer.Step]
        switch phase {
        case .tls: (request, steps) = (HTTPDNSClient.Request(url: "https://one.test/"), [.hang])
        case .send:
            let body = HTTPDNSClient.Request.Body.bytes(Array(repeating: 7, count: 64 << 20))
            request = HTTPDNSClient.Request(method: .post, url: "http://one.test/", body: body)
            steps = [.hangWithoutReading]
        case .body:
            (request, steps) = (HTTPDNSClient.Request(url: "http://one.test/"), [.readHead, .sendText(half), .hang])
        // The provider is what does not answer.
        case .resolve: (request, steps) = (HTTPDNSClient.Request(url: "http://two.test/"), [.readHead, .hang])
        default: (request, steps) = (HTTPDNSClient.Request(url: "http://one.test/"), [.readHead, .hang])
        }
        if phase == .connect {
            // Connecting neither works nor fails.
            let hole = try BlackHole()
            (endpoint, server) = ("\(hole.address):\(hole.port)", hole)
        } else {
            let silent = try RawServer { _ in steps }
            (endpoint, server) = ("\(silent.address):\(silent.port)", silent)
        }
    }

    /// Settings of a client for it. Its limits are all a minute, for a test to lower one.
    func configuration() throws -> HTTPDNSClient.Configuration {
        var configuration = HTTPDNSClient.Configuration()
        if phase == .resolve {
            let url = "http://\(endpoint)/dns-query"
            configuration.resolver.providers = [try HTTPDNSDoHProvider(.init(name: "silent", url: url))]
            configuration.resolver.routes = [HTTPDNSRoute(.any, .providers(["silent"], fallback: .off))]
        } else {
            configuration.resolver.mappings = [try HTTPDNSMapping.Key("one.test"): .addresses([endpoint])]
        }
        configuration.resolver.timeLimit = .seconds(60)
        configuration.resolver.attemptLimit = .seconds(60)
        configuration.timeouts.connect = .seconds(60)
        configuration.timeouts.tls = .seconds(60)
        configuration.timeouts.firstByte = .seconds(60)
        configuration.timeouts.idle = .seconds(60)
        configuration.timeouts.total = .seconds(60)
        return configuration
    }

    /// Makes the call with a client of its own.
    /// - Returns: How it failed, if it did, and how long it took.
    func failure(
        _ configuration: HTTPDNSClient.Configuration
    ) async throws -> (error: HTTPDNSClientError?, time: Duration) {
        let client = try await HTTPDNSClient(configuration: configuration)
        let start = ContinuousClock.now
        let error = await clientError { try await client.execute(request).body.collect(upTo: .bytes(9)) }
        let time = ContinuousClock.now - start
        try await client.shutdown()
        return (error, time)
    }
}
