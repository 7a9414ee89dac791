// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNSCurl
import HTTPDNSPrimitives
import HTTPTypes
import ServerRig
import Testing

/// Many requests at once to a server that limits the streams of a connection (RFC 9113 section 5.1.2).
@Suite("Stream limits", .enabled(if: ServerRig.isAvailable([.nginx])))
struct StreamLimitTests {
    private func load(_ origin: NginxOrigin, maximumStreams: Int = 1_000) async throws -> RequestLoad {
        var configuration = TransportConfiguration()
        configuration.trustRoots = .file(try await ServerRig.shared().certificateAuthorityFile)
        configuration.maximumStreams = maximumStreams
        var load = RequestLoad(origin: origin, transport: Transport(configuration))
        load.inFlight = 1_000
        load.methods = [.get, .post]
        return load
    }

    @Test(
        "1,000 concurrent requests make at most one connection more than they need",
        arguments: [10, 128, 2_000],
        [true, false]
    )
    func connections(streams: Int, isWarm: Bool) async throws {
        let origin = try await NginxOrigin(try await ServerRig.shared(), streams: streams, milliseconds: 500)
        let load = try await load(origin)
        if isWarm { #expect(try await load.run(1, from: 1_000).failures.isEmpty) }
        let outcome = try await load.run(1_000)
        let needed = (1_000 + min(streams, 1_000) - 1) / min(streams, 1_000)
        #expect(outcome.failures.isEmpty && outcome.processedTwice.isEmpty, "\(outcome)")
        #expect(outcome.connections <= needed + 1, "\(outcome)")
        await load.transport.shutdown()
    }

    @Test("The transport's own limit bounds the requests of a connection")
    func ownLimit() async throws {
        let origin = try await NginxOrigin(try await ServerRig.shared(), milliseconds: 500)
        let load = try await load(origin, maximumStreams: 20)
        let outcome = try await load.run(200)
        #expect(outcome.failures.isEmpty && (2...11).contains(outcome.connections), "\(outcome)")
        await load.transport.shutdown()
    }

    @Test("Requests over HTTP/1.1 do not wait for each other")
    func http1() async throws {
        let origin = try await NginxOrigin(try await ServerRig.shared(), milliseconds: 2_000, speaksHTTP2: false)
        let load = try await load(origin)
        let began = ContinuousClock.now
        let outcome = try await load.run(50)
        #expect(outcome.failures.isEmpty && outcome.connections == 50, "\(outcome)")
        // 2 s, and 100 s one after the other.
        #expect(began.duration(to: .now) < .seconds(100))
        await load.transport.shutdown()
    }

    @Test("Requests that wait for a stream can be canceled, and the others go on")
    func cancellation() async throws {
        let origin = try await NginxOrigin(try await ServerRig.shared(), milliseconds: 500)
        let load = try await load(origin, maximumStreams: 1)
        async let others = load.run(100)
        let canceled = Task { try await load.run(100) }
        while try origin.requests().isEmpty { await Task.yield() }
        canceled.cancel()
        _ = await canceled.result
        let outcome = try await others
        #expect(outcome.failures.isEmpty, "\(outcome)")
        await load.transport.shutdown()
    }

    @Test("Requests that wait for a stream of connections that are retired go on other ones")
    func retirement() async throws {
        let origin = try await NginxOrigin(try await ServerRig.shared(), milliseconds: 500)
        let load = try await load(origin, maximumStreams: 1)
        async let others = load.run(200)
        while try origin.requests().isEmpty { await Task.yield() }
        load.transport.retireConnections()
        let outcome = try await others
        #expect(outcome.failures.isEmpty && outcome.processedTwice.isEmpty, "\(outcome)")
        await load.transport.shutdown()
    }
}
