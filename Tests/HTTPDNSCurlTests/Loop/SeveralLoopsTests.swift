// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import Glibc
import HTTPDNSPrimitives
import HTTPTypes
import ServerRig
import Testing

@testable import HTTPDNSCurl

/// A transport whose requests go to its loops in turn, unless a test says otherwise.
struct SeveralLoopsTests {
    private func transport(_ loops: Int, _ change: (inout TransportConfiguration) -> Void = { _ in }) -> Transport {
        var configuration = TransportConfiguration()
        configuration.loops = loops
        configuration.takesLoopsInTurn = true
        change(&configuration)
        return Transport(configuration)
    }

    /// A request for one name with endpoints on 127.0.0.1.
    private func request(_ ports: UInt16..., order: EndpointOrder = .given) throws -> TransferRequest {
        var request = TransferRequest(
            url: try ParsedURL("http://one.test:\(ports[0])/"),
            endpoints: ports.map { HTTPDNSEndpoint(address: HTTPDNSAddress(v4: 127, 0, 0, 1), port: $0) },
            limits: .patient
        )
        request.order = order
        return request
    }

    /// Makes a loop look busy, which does not run yet and measures nothing itself.
    private func makeBusy(_ load: LoopLoad) {
        load.measured(100, at: SystemTimeSource().now().nanoseconds)
        load.publish(transfers: 64, connections: 0)
    }

    /// One loop has all that it needs: the first one, or the second.
    @Test(
        "The requests of a loop that cannot start go to one that works",
        arguments: [(false, 1), (true, 1), (true, 2)]
    )
    func failedStart(takesTurns: Bool, working: Int) async throws {
        let server = try RawServer(.serve("ok"))
        let made = Lock(0)
        let transport = transport(3) {
            $0.takesLoopsInTurn = takesTurns
            $0.system.makeWaker = { () throws(TransferFailure) in
                let works = made.withLock { made in
                    made += 1
                    return made == working
                }
                guard works else { throw TransferFailure.noDescriptor(EMFILE) }
                return try Waker()
            }
        }
        // With turns this is the first loop's, if that works.
        #expect(try await transport.fetch(try request(server.port)).head.status == .ok)
        if !takesTurns { makeBusy(transport.mailbox.load) }
        for _ in 0..<8 { #expect(try await transport.fetch(try request(server.port)).head.status == .ok) }
        #expect(server.connections.count == 1 && made.withLock { $0 } >= 2)
        if !takesTurns { #expect(transport.startedLoops == 1) }
        await transport.shutdown()
    }

    /// As at the limit of open files.
    @Test("A request without a socket asks for another loop where that has a connection")
    func withoutSockets() async throws {
        let servers = [try RawServer(.serve("ok")), try RawServer(.serve("ok"))]
        let hasSockets = Lock(true)
        let transport = transport(2) {
            $0.system.makeSocket = { family, type, number in
                hasSockets.withLock { $0 } ? openSocket(family, type, number) : (descriptor: -1, error: EMFILE)
            }
        }
        let failed = Lock<[Int]>([])
        transport.mailbox.shared.onFailure { loop, _ in failed.withLock { $0.append(loop) } }
        // The first loop has a connection to the first server, the second loop one to the second server.
        for server in servers { try await transport.fetch(request(server.port)) }
        hasSockets.withLock { $0 = false }
        for (port, isElsewhere) in [(servers[1].port, true), (servers[0].port, true), (9, false), (9, false)] {
            let request = try request(port)
            let failure = await #expect(throws: TransferFailure.self) { try await transport.fetch(request) }
            #expect(failure?.code == .connectFailed && failure?.lacksSocket == isElsewhere, "\(failure as Any)")
        }
        #expect(failed.withLock { $0 } == [0, 1, 0, 1])
        await transport.shutdown()
    }

    @Test("An endpoint that failed on one loop is tried last on the others", arguments: [2, 4])
    func health(loops: Int) async throws {
        let server = try RawServer(.serve("ok"))
        // Nobody listens at this address on a port that is taken elsewhere.
        let dead = HTTPDNSEndpoint(address: HTTPDNSAddress(v4: 127, 0, 0, UInt8(90 + loops)), port: server.port)
        let transport = transport(loops)
        for number in 0..<loops {
            var request = try request(server.port)
            request.endpoints.insert(dead, at: 0)
            let response = try await transport.fetch(request)
            #expect(response.endpoint.address == HTTPDNSAddress(v4: 127, 0, 0, 1))
            #expect(response.failedAttempts.count == (number == 0 ? 1 : 0), "request \(number)")
        }
        #expect(server.connections.count == loops)
        #expect(transport.endpointRecords.contains { $0.endpoint == dead && $0.consecutiveFailures >= 1 })
        await transport.shutdown()
    }

    @Test("Requests take endpoints in turn across loops", arguments: [1, 2, 4])
    func turns(loops: Int) async throws {
        let servers = [try RawServer(.serve("ok")), try RawServer(.serve("ok"))]
        let transport = transport(loops)
        var used: [UInt16] = []
        for _ in 0..<(4 * loops) {
            let request = try request(servers[0].port, servers[1].port, order: .roundRobin)
            used.append(try await transport.fetch(request).endpoint.port)
        }
        #expect(used == (0..<(4 * loops)).map { servers[$0 % 2].port })
        await transport.shutdown()
    }

    @Test("An endpoint is probed as often as with one loop", arguments: [1, 4])
    func probes(loops: Int) async throws {
        let servers = [try RawServer(.serve("ok")), try RawServer(.serve("ok"))]
        let transport = transport(loops) { configuration in
            configuration.activeProbing = HTTPDNSTransfer.ActiveProbing()
            configuration.activeProbing?.interval = .seconds(1)
            configuration.random = { 0 }
            configuration.attemptDelay = .seconds(60)
        }
        let start = ContinuousClock.now
        for _ in 0..<loops { try await transport.fetch(request(servers[0].port, servers[1].port)) }
        // The requests use the first one, so the second has probes alone.
        try await servers[1].awaitConnections { $0.count >= 3 }
        #expect(ContinuousClock.now - start > .milliseconds(2_900), "three probes take three intervals of a second")
        await transport.shutdown()
    }

    @Test("A busy loop's new requests go to the next loop, which then starts")
    func busy() async throws {
        let server = try RawServer(.serve("ok"))
        let transport = transport(2) { $0.takesLoopsInTurn = false }
        #expect(transport.startedLoops == 1)
        // On a busy machine the measurement may be too old by the time the request is sent.
        for _ in 0..<100 where transport.startedLoops == 1 {
            makeBusy(transport.mailbox.load)
            try await transport.fetch(request(server.port))
        }
        #expect(transport.startedLoops == 2)
        let second = try #require(transport.loopGroup?.mailboxes[1])
        #expect(second.pools.withLock { $0.records }.map(\.connections) == [1])
        // A loop that sleeps publishes nothing: 150 ms from now its measurement no longer counts.
        let later = SystemTimeSource().now() + .milliseconds(150)
        #expect(!transport.mailbox.load.activity.isBusy(at: later.nanoseconds))
        await transport.shutdown()
    }

    @Test("Few requests use one loop, however busy it is")
    func few() async throws {
        let server = try RawServer(.serve("ok"))
        let transport = transport(4) { $0.takesLoopsInTurn = false }
        try await concurrently(4) { _ in for _ in 0..<500 { try await transport.fetch(request(server.port)) } }
        #expect(transport.startedLoops == 1 && server.connections.count <= 4)
        await transport.shutdown()
    }

    @Test("Many requests to a busy loop spread, and each gets its response")
    func many() async throws {
        let server = try RawServer(.serve("ok"))
        let transport = transport(2) { $0.takesLoopsInTurn = false }
        let end = ContinuousClock.now + .seconds(2)
        try await concurrently(64) { _ in
            while ContinuousClock.now < end {
                let response = try await transport.fetch(request(server.port))
                #expect(response.head.status == .ok)
            }
        }
        print("measured: \(transport.startedLoops) loops, \(transport.connectionPools.map(\.connections)) connections")
        #expect(transport.connectionPools.map(\.requests).reduce(0, +) == server.count(of: "GET / "))
        await transport.shutdown()
    }

    @Test("Retired connections are used by no loop again", arguments: [2, 4])
    func retired(loops: Int) async throws {
        let server = try RawServer(.serve("ok"))
        let transport = transport(loops)
        for _ in 0..<loops { #expect(try await !transport.fetch(request(server.port)).reusedConnection) }
        for _ in 0..<loops { #expect(try await transport.fetch(request(server.port)).reusedConnection) }
        transport.retireConnections(host: "one.test")
        for _ in 0..<loops { #expect(try await !transport.fetch(request(server.port)).reusedConnection) }
        #expect(server.connections.count == 2 * loops)
        await transport.shutdown()
    }

    @Test("The limit of idle connections is one for all loops", arguments: [1, 2, 4])
    func idle(loops: Int) async throws {
        let servers = try (0..<24).map { _ in try RawServer(.serve("ok")) }
        let transport = transport(loops) { $0.maximumIdleConnections = 8 }
        for _ in 0..<3 { for server in servers { try await transport.fetch(request(server.port)) } }
        let open = transport.connectionPools.map(\.connections).reduce(0, +)
        // Each loop keeps one whatever the others have.
        #expect((7...(8 + loops)).contains(open), "\(open)")
        await transport.shutdown()
    }

    @Test(
        "Transfers on all loops finish after their transport is dropped",
        arguments: [2, 4]
    )
    func dropped(loops: Int) async throws {
        let gate = Gate()
        let server = try RawServer(.repeatForever([.readHead, .wait(gate), .respond("ok")]))
        var bodies: [Task<Void, any Error>] = []
        do {
            let transport = transport(loops)
            let request = try request(server.port)
            for _ in 0..<loops { bodies.append(Task { try await transport.fetch(request) }) }
            try await server.awaitConnections { $0.count { !$0.received.isEmpty } == loops }
        }
        gate.open()
        for body in bodies { try await body.value }
    }

    @Test("A shutdown waits for the transfers of all loops, and refuses others", arguments: [2, 4])
    func draining(loops: Int) async throws {
        let gate = Gate()
        let server = try RawServer(.repeatForever([.readHead, .wait(gate), .respond("ok")]))
        let transport = transport(loops)
        let request = try request(server.port)
        let transfers = (0..<loops).map { _ in Task { try await transport.fetch(request) } }
        try await server.awaitConnections { $0.count { !$0.received.isEmpty } == loops }
        async let end: Void = transport.shutdown(drainingFor: .seconds(60))
        // The loops refuse transfers one after the other.
        var refused = 0
        while refused < loops {
            let task = Task { try await transport.fetch(request) }
            try await Task.sleep(for: .milliseconds(5))
            task.cancel()
            if case .failure(let error as TransferFailure) = await task.result, error.code == .shutDown {
                refused += 1
            } else {
                refused = 0
            }
        }
        gate.open()
        for transfer in transfers { #expect(try await transfer.value.head.status == .ok) }
        await end
        #expect(transport.connectionPools.allSatisfy { $0.connections == 0 })
    }

    @Test("A canceled transfer ends on its loop", arguments: [2, 4])
    func canceled(loops: Int) async throws {
        let server = try RawServer(.repeatForever([.readHead, .hang]))
        let transport = transport(loops)
        let request = try request(server.port)
        let transfers = (0..<(2 * loops)).map { _ in Task { try await transport.fetch(request) } }
        try await server.awaitConnections { $0.count { !$0.received.isEmpty } == 2 * loops }
        for transfer in transfers { transfer.cancel() }
        for transfer in transfers { await #expect(throws: CancellationError.self) { try await transfer.value } }
        await transport.shutdown()
    }

    @Test("A POST arrives once at a server that ends connections", arguments: [1, 2, 4])
    func posts(loops: Int) async throws {
        let server = try RawServer { number in
            Array(repeating: [RawServer.Step.readHead, .read(1), .respond("ok")], count: number % 5).flatMap { $0 }
                + [.readHead, .read(1), .reset]
        }
        let transport = transport(loops)
        try await concurrently(16) { lane in
            for index in 0..<50 {
                var post = try request(server.port)
                post.url = try ParsedURL("http://one.test:\(server.port)/\(lane).\(index)")
                (post.method, post.body) = (.post, .bytes([1]))
                do {
                    try await transport.fetch(post)
                } catch let failure as TransferFailure {
                    #expect(failure.code == .connectionLost || failure.code == .connectFailed, "\(failure)")
                }
            }
        }
        var arrivals: [Substring: Int] = [:]
        for connection in server.connections {
            for line in connection.text.split(separator: "\r\n") {
                if let start = line.firstRange(of: "POST /") { arrivals[line[start.lowerBound...], default: 0] += 1 }
            }
        }
        #expect(arrivals.count > 400 && arrivals.values.max() == 1)
        await transport.shutdown()
    }
}

@Suite("TLS on several loops", .enabled(if: ServerRig.isAvailable([.nginx])))
struct TLSOnSeveralLoopsTests {
    private func once(_ rig: ServerRig, _ mark: String, at address: String = "127.0.0.2") throws -> TransferRequest {
        try TransportFixture.request(
            "https://one.test:\(rig.tlsPort)/once?\(mark)",
            at: address,
            versions: .http1Only
        )
    }

    private func handshakes(_ rig: ServerRig, _ count: Int, _ mark: String) async throws -> String {
        try await rig.awaitAccessLog(count: count) { $0.target == "/once?\(mark)" }.map(\.sessionReused).joined()
    }

    @Test("A new connection resumes a session that another loop made", arguments: [2, 4])
    func resumed(loops: Int) async throws {
        let rig = try await ServerRig.shared()
        let fixture = TransportFixture(trust: .file(rig.certificateAuthorityFile), loops: loops)
        let mark = "across-\(loops)"
        for _ in 0..<(2 * loops) { try await fixture.fetch(once(rig, mark)) }
        let expected = "." + String(repeating: "r", count: 2 * loops - 1)
        #expect(try await handshakes(rig, 2 * loops, mark) == expected)
        await fixture.transport.shutdown()
    }

    /// The loops share their sessions, and use each one for one connection at a time.
    @Test("Concurrent connections of several loops resume a session each", arguments: [2, 4])
    func together(loops: Int) async throws {
        let rig = try await ServerRig.shared()
        let fixture = TransportFixture(trust: .file(rig.certificateAuthorityFile), loops: loops)
        let mark = "across-together-\(loops)"
        let request = try once(rig, mark)
        for _ in 0..<20 {
            try await concurrently(8) { _ in try await fixture.fetch(request) }
        }
        let whole = try await handshakes(rig, 160, mark).count { $0 == "." }
        // Each of the eight handles of each loop makes one session at most.
        #expect(whole <= 8 * loops)
        print("measured: \(whole) whole handshakes of 160 on \(loops) loops")
        await fixture.transport.shutdown()
    }

    @Test("A session is never offered at another address by another loop")
    func otherAddress() async throws {
        let rig = try await ServerRig.shared()
        let fixture = TransportFixture(trust: .file(rig.certificateAuthorityFile), loops: 2)
        let mark = "across-address"
        try await fixture.fetch(once(rig, mark))
        fixture.transport.retireConnections()
        for _ in 0..<3 { try await fixture.fetch(once(rig, mark, at: "127.0.0.3")) }
        #expect(try await handshakes(rig, 4, mark) == "..rr")
        await fixture.transport.shutdown()
    }

    @Test("HTTP/2 keeps one connection for each loop", arguments: [1, 2, 4])
    func multiplexed(loops: Int) async throws {
        let rig = try await ServerRig.shared()
        let fixture = TransportFixture(trust: .file(rig.certificateAuthorityFile), loops: loops)
        let target = "/health?loops-\(loops)"
        let request = try TransportFixture.request("https://one.test:\(rig.tlsPort)\(target)", at: "127.0.0.2")
        for _ in 0..<4 {
            try await concurrently(32) { _ in try await fixture.fetch(request) }
        }
        let lines = try await rig.awaitAccessLog(count: 128) { $0.target == target }
        #expect(Set(lines.map(\.connection)).count == loops && lines.allSatisfy { $0.protocol == "HTTP/2.0" })
        await fixture.transport.shutdown()
    }
}

struct SharedPinNamesTests {
    private func key(_ port: UInt16) -> PinKey {
        let endpoint = HTTPDNSEndpoint(address: HTTPDNSAddress(v4: 192, 0, 2, 1), port: port)
        return PinKey(host: .name("one.test"), port: 443, endpoint: endpoint, versions: .automatic)
    }

    @Test("Loops use one name and one set of sessions for a key")
    func shared() {
        let names = SharedPinNames()
        let (first, second) = (names.take(for: key(1)), names.take(for: key(1)))
        #expect(first.number == second.number && first.sessions === second.sessions)
        #expect(names.take(for: key(2)).number != first.number)
    }

    @Test("A dropped name is given to no pin while a loop uses it")
    func dropped() {
        let names = SharedPinNames()
        let first = names.take(for: key(1))
        _ = names.take(for: key(1))
        names.dropped(key(1), first.number)
        let next = names.take(for: key(1))
        #expect(next.number != first.number && next.sessions !== first.sessions)
        names.giveBack(first.number)
        #expect(names.take(for: key(2)).number != first.number, "the other loop still has connections under it")
        names.giveBack(first.number)
        #expect(names.take(for: key(3)).number == first.number)
    }

    @Test("A late drop of an old name leaves the new one in use")
    func late() {
        let names = SharedPinNames()
        let first = names.take(for: key(1))
        names.dropped(key(1), first.number)
        let next = names.take(for: key(1))
        names.dropped(key(1), first.number)
        #expect(names.take(for: key(1)).number == next.number)
    }
}
