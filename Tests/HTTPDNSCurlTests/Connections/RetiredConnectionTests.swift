// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNSCurl
import HTTPDNSPrimitives
import HTTPTypes
import ServerRig
import Testing

/// Which connections are used again, and which are closed, as the servers see it.
struct RetiredConnectionTests {
    private func transport(_ change: (inout TransportConfiguration) -> Void = { _ in }) -> Transport {
        var configuration = TransportConfiguration()
        change(&configuration)
        return Transport(configuration)
    }

    @Test("Retired idle connections are closed soon, and new requests get new ones")
    func idle() async throws {
        let server = try RawServer(.serve("ok"))
        let transport = transport()
        transport.retireConnections()
        let one = try TransportFixture.request(to: server)
        let two = try TransportFixture.request("http://two.test:\(server.port)/", at: "127.0.0.1")
        for request in [one, two] { try await transport.fetch(request) }
        transport.retireConnections(host: "one.test")
        try await server.awaitConnections { $0.filter(\.isClosedByClient).count == 1 }
        #expect(try await transport.fetch(two).reusedConnection)
        #expect(try await transport.fetch(one).reusedConnection == false)
        transport.retireConnections()
        try await server.awaitConnections { $0.count == 3 && $0.allSatisfy(\.isClosedByClient) }
        #expect(try await transport.fetch(two).reusedConnection == false)
        await transport.shutdown()
    }

    @Test("Requests that wait for their responses leave room for idle connections")
    func room() async throws {
        let gate = Gate()
        let silent = try RawServer(.readHead, .wait(gate), .respond("ok"), .readToEnd)
        let server = try RawServer(.serve("ok"))
        let transport = transport { $0.maximumIdleConnections = 2 }
        let held = try TransportFixture.request("http://silent.test:\(silent.port)/", at: "127.0.0.1")
        let request = try TransportFixture.request(to: server)
        try await withThrowingTaskGroup(of: Void.self) { tasks in
            for _ in 0..<8 { tasks.addTask { try await transport.fetch(held) } }
            try await silent.awaitConnections { $0.count { $0.text.hasSuffix("\r\n\r\n") } == 8 }
            for number in 0..<5 {
                #expect(try await transport.fetch(request).reusedConnection == (number > 0))
            }
            gate.open()
            try await tasks.waitForAll()
        }
        // The limit is for those that are idle, and it holds.
        try await transport.fetch(request)
        try await silent.awaitConnections { $0.count(where: \.isClosedByClient) >= 6 }
        await transport.shutdown()
    }

    @Test("Descriptors of retired connections are closed without another request")
    func descriptors() async throws {
        let server = try RawServer(.serve("ok"))
        let transport = transport()
        try await transport.fetch(TransportFixture.request(to: server))
        #expect(SocketCount.connected(to: server.port) == 1)
        transport.retireConnections()
        // No event tells of a closed descriptor.
        while SocketCount.connected(to: server.port) > 0 { try await Task.sleep(for: .milliseconds(20)) }
        await transport.shutdown()
    }

    @Test("A transfer in flight finishes normally, and its connection closes afterwards")
    func inFlight() async throws {
        let reached = Gate()
        let rest = Gate()
        let server = try RawServer { number in
            number == 0
                ? [
                    .readHead, .sendText("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nab"), .open(reached), .wait(rest),
                    .sendText("cd"), .readHead, .respond("ok"),
                ]
                : [.serve("ok")]
        }
        let transport = transport()
        let request = try TransportFixture.request(to: server)
        let response = try await transport.execute(request)
        await reached.passage()
        transport.retireConnections()
        #expect(try await transport.fetch(request).reusedConnection == false)
        #expect(!server.connections[0].isClosedByClient)
        rest.open()
        var body: [UInt8] = []
        for try await chunk in response.body { body += chunk }
        #expect(body == Array("abcd".utf8))
        try await server.awaitConnections { $0[0].isClosedByClient }
        #expect(try await transport.fetch(request).reusedConnection)
        await transport.shutdown()
    }

    @Test("An unused connection is closed at its idle limit, without another request")
    func idleLimit() async throws {
        let server = try RawServer(.serve("ok"))
        let transport = transport { $0.idleLimit = .seconds(1) }
        try await transport.fetch(TransportFixture.request(to: server))
        try await server.awaitConnections { $0[0].isClosedByClient }
        await transport.shutdown()
    }

    @Test("A connection that is never idle is left at its maximum age")
    func maximumAge() async throws {
        let server = try RawServer(.serve("ok"))
        let transport = transport { $0.maximumAge = .seconds(2) }
        let request = try TransportFixture.request(to: server)
        while server.connections.count < 2 { try await transport.fetch(request) }
        await transport.shutdown()
    }

    /// A silent new connection is blamed for itself only.
    @Test("A silent kept connection is left, and its endpoint is tried last")
    func silence() async throws {
        let silent = try RawServer(address: "127.0.0.2", .readHead, .respond("ok"), .readHead, .hang)
        let good = try RawServer(address: "127.0.0.3", .serve("ok"))
        let transport = transport { $0.attemptDelay = .seconds(60) }
        var request = try TransportFixture.request(to: silent)
        request.endpoints.append(HTTPDNSEndpoint(address: HTTPDNSAddress(v4: 127, 0, 0, 3), port: good.port))
        try await transport.fetch(request)
        var impatient = request
        impatient.limits.firstByte = .seconds(2)
        let failure = try #require(
            await #expect(throws: TransferFailure.self) { try await transport.fetch(impatient) }
        )
        #expect(failure.code == .timedOut && failure.phase == .firstByte && failure.requestMayHaveBeenSent)
        #expect(transport.endpointRecords.first { $0.endpoint == request.endpoints[0] }?.state == .suspect)
        #expect(try await transport.fetch(request).endpoint == request.endpoints[1])

        let fresh = try RawServer(address: "127.0.0.4", .readHead, .hang)
        let slow = try TransportFixture.request(to: fresh) { $0.firstByte = .seconds(1) }
        await #expect(throws: TransferFailure.self) { try await transport.fetch(slow) }
        #expect(transport.endpointRecords.first { $0.endpoint == slow.endpoints[0] }?.state == .healthy)
        await transport.shutdown()
    }
}

/// Retired connections that many requests share.
@Suite("Retired HTTP/2 connections", .enabled(if: ServerRig.isAvailable([.nginx])))
struct RetiredSharedConnectionTests {
    private func fixture(_ rig: ServerRig, maximumAge: Duration) -> TransportFixture {
        var configuration = TransportConfiguration()
        configuration.trustRoots = .file(rig.certificateAuthorityFile)
        configuration.maximumAge = maximumAge
        return TransportFixture(Transport(configuration))
    }

    @Test("A retired connection gets no new request")
    func retired() async throws {
        let rig = try await ServerRig.shared()
        let fixture = fixture(rig, maximumAge: .seconds(600))
        let request = try TransportFixture.request("https://img.shop.test:\(rig.tlsPort)/a.jpg", at: "127.0.0.2")
        #expect(try await fixture.fetch(request).response.version == .http2)
        #expect(try await fixture.fetch(request).response.reusedConnection)
        fixture.transport.retireConnections()
        #expect(try await fixture.fetch(request).response.reusedConnection == false)
        await fixture.transport.shutdown()
    }

    @Test("An HTTP/2 connection that is always in use is left at its maximum age")
    func maximumAge() async throws {
        let rig = try await ServerRig.shared()
        let fixture = fixture(rig, maximumAge: .seconds(2))
        let request = try TransportFixture.request("https://img.shop.test:\(rig.tlsPort)/a.jpg", at: "127.0.0.2")
        try await fixture.fetch(request)
        // libcurl looks at the age of idle connections only: this answer keeps it from that.
        let slow = try TransportFixture.request("https://img.shop.test:\(rig.tlsPort)/stall/60", at: "127.0.0.2")
        let held = Task { try await fixture.fetch(slow) }
        while try await fixture.fetch(request).response.reusedConnection {}
        held.cancel()
        await fixture.transport.shutdown()
    }

    @Test("A connection that was made ahead is left when it is too old")
    func ageOfPreconnected() async throws {
        let rig = try await ServerRig.shared()
        let fixture = fixture(rig, maximumAge: .seconds(2))
        let url = "https://age.wild.test:\(rig.tlsPort)"
        let request = try TransportFixture.request("\(url)/a.jpg", at: "127.0.0.2")
        var ahead = request
        (ahead.method, ahead.stopsBeforeSending, ahead.keepsConnection) = (.head, true, true)
        #expect(await fixture.failure(of: ahead)?.code == .connectOnly)
        // libcurl looks at the age of idle connections only: this response keeps it from that.
        let slow = try TransportFixture.request("\(url)/stall/60", at: "127.0.0.2")
        let held = Task { try await fixture.fetch(slow) }
        let end = ContinuousClock.now + .seconds(300)
        while try await fixture.fetch(request).response.reusedConnection, .now < end {}
        #expect(.now < end)
        held.cancel()
        await fixture.transport.shutdown()
    }

    @Test("A connection is left at its maximum age although its maker gave up")
    func ageAfterMaker() async throws {
        let rig = try await ServerRig.shared()
        let (began, age) = (ContinuousClock.now, Duration.seconds(3))
        let fixture = fixture(rig, maximumAge: age)
        let url = "https://maker.wild.test:\(rig.tlsPort)"
        let maker = try TransportFixture.request("\(url)/stall/60", at: "127.0.0.2") {
            $0.firstByte = .milliseconds(200)
        }
        #expect(await fixture.failure(of: maker)?.phase == .firstByte)
        // libcurl looks at the age of idle connections only: this response keeps it from that.
        let held = Task { try await fixture.fetch(TransportFixture.request("\(url)/stall/60", at: "127.0.0.2")) }
        let request = try TransportFixture.request("\(url)/a.jpg", at: "127.0.0.2")
        let isKept = try await fixture.fetch(request).response.reusedConnection
        #expect(isKept || began.duration(to: .now) >= age)
        let end = ContinuousClock.now + .seconds(300)
        while try await fixture.fetch(request).response.reusedConnection, .now < end {}
        #expect(.now < end)
        held.cancel()
        await fixture.transport.shutdown()
    }
}
