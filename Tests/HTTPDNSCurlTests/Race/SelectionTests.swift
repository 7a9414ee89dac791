// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNSCurl
import HTTPDNSPrimitives
import ServerRig
import Testing

/// What moves requests: statuses and probes. Servers count.
struct SelectionTests {
    private struct Three {
        let servers: [RawServer]
        var request: TransferRequest
        let transport: Transport

        func fetch(_ count: Int) async throws -> [HTTPDNSEndpoint] {
            var endpoints: [HTTPDNSEndpoint] = []
            for _ in 0..<count {
                endpoints.append(try await transport.fetch(request).endpoint)
            }
            return endpoints
        }

        /// How many requests each server got.
        var counts: [Int] { servers.map { $0.count(of: "GET ") } }
    }

    private func three(
        _ order: EndpointOrder,
        first: [RawServer.Step] = [.readHead, .respond("ok")],
        _ change: (inout TransportConfiguration) -> Void = { _ in }
    ) throws -> Three {
        let servers = try (2...4).map { number in
            try RawServer(
                address: "127.0.0.\(number)",
                .repeatForever(number == 2 ? first : [.readHead, .respond("ok")])
            )
        }
        return try three(order, on: servers, change)
    }

    private func three(
        _ order: EndpointOrder,
        on servers: [RawServer],
        _ change: (inout TransportConfiguration) -> Void = { _ in }
    ) throws -> Three {
        var configuration = TransportConfiguration()
        configuration.attemptDelay = .seconds(60)
        change(&configuration)
        var request = TransferRequest(
            url: try ParsedURL("http://one.test/"),
            endpoints: try servers.map {
                HTTPDNSEndpoint(address: try #require(HTTPDNSAddress($0.address)), port: $0.port)
            },
            limits: .patient
        )
        request.order = order
        return Three(servers: servers, request: request, transport: Transport(configuration))
    }

    @Test("By turns, ninety requests over three addresses are thirty for each")
    func turns() async throws {
        let three = try three(.roundRobin)
        _ = try await three.fetch(90)
        #expect(three.counts == [30, 30, 30])
        await three.transport.shutdown()
    }

    @Test("Random selection uses every endpoint, and the given order only the first")
    func lots() async throws {
        let random = try three(.random)
        _ = try await random.fetch(90)
        // Fewer than 10 of 90 come once in a hundred million times.
        #expect(random.counts.reduce(0, +) == 90 && random.counts.allSatisfy { $0 >= 10 }, "\(random.counts)")
        let given = try three(.given)
        _ = try await given.fetch(30)
        #expect(given.counts == [30, 0, 0])
        for three in [random, given] { await three.transport.shutdown() }
    }

    /// A dead address would cost the attempt delay, and an answer of the other one is better than none.
    @Test("A retry avoids the address that failed, but not for one that cools down")
    func avoided() async throws {
        var three = try three(.given)
        three.request.avoided = three.request.endpoints[0]
        _ = try await three.fetch(2)
        #expect(three.counts == [0, 2, 0])
        three.request.endpoints.removeLast(2)
        _ = try await three.fetch(1)
        #expect(three.counts == [1, 2, 0], "there is no other one")
        await three.transport.shutdown()

        let dead = try self.three(.given)
        var request = dead.request
        // Nothing listens there.
        let address = HTTPDNSAddress(v4: 127, 0, 0, 9)
        request.endpoints = [
            HTTPDNSEndpoint(address: address, port: request.endpoints[0].port), request.endpoints[1],
        ]
        #expect(try await dead.transport.fetch(request).endpoint == request.endpoints[1])
        request.avoided = request.endpoints[1]
        let answer = try await dead.transport.fetch(request)
        #expect(answer.endpoint == request.endpoints[1] && answer.failedAttempts.isEmpty)
        await dead.transport.shutdown()
    }

    @Test(
        "The fastest selection hardly uses an address that is 50 or 500 ms slower",
        arguments: [50, 500]
    )
    func fastest(milliseconds: Int) async throws {
        let first: [RawServer.Step] = [.readHead, .pause(.milliseconds(milliseconds)), .respond("ok")]
        let three = try three(.fastest, first: first)
        _ = try await three.fetch(90)
        // A busy machine may make another one slow for a while, and 50 ms is not much there.
        let most = ServerRig.hasProcessForItself ? 1 : milliseconds == 50 ? 20 : 9
        #expect(three.counts.reduce(0, +) == 90 && three.counts[0] <= most, "\(three.counts)")
        await three.transport.shutdown()
    }

    @Test("The fastest selection sends no other request after one that hangs")
    func hanging() async throws {
        let three = try three(.fastest, first: [.readHead, .hang])
        let first = Task { try await three.fetch(1) }
        try await three.servers[0].awaitConnections { $0.first?.text.isEmpty == false }
        _ = try await three.fetch(6)
        #expect(three.counts[0] == 1, "\(three.counts)")
        first.cancel()
        await three.transport.shutdown()
    }

    /// A hedge or a time limit ends the wait.
    @Test(
        "The fastest selection leaves an address that no longer responds",
        arguments: [true, false]
    )
    func falling(isHedged: Bool) async throws {
        let closing = RawServer.Step.respond("ok", fields: "Connection: close\r\n")
        let slow: [RawServer.Step] = [.readHead, .pause(.milliseconds(20)), .respond("ok")]
        let servers = try (2...4).map { number in
            try RawServer(address: "127.0.0.\(number)") { connection in
                guard number == 2 else { return [.repeatForever(slow)] }
                // A kept connection that falls silent would make its endpoint suspect, and that is not meant here.
                return connection == 0 ? [.readHead, closing] : [.readHead, .hang]
            }
        }
        var three = try three(.fastest, on: servers)
        if isHedged {
            three.request.hedgeAfter = .seconds(1)
        } else {
            three.request.limits.firstByte = .seconds(1)
        }
        var answered = 0
        for _ in 0..<24 where await (try? three.fetch(1)) != nil { answered += 1 }
        // Two waits in vain are enough; a busy machine may make the others slow for a while.
        #expect(three.counts[0] <= 12, "\(three.counts)")
        #expect(isHedged ? answered == 24 : answered >= 12)
        await three.transport.shutdown()
    }

    @Test("An address that responds with errors is left for the others, and is recorded")
    func ejection() async throws {
        var ejection = HTTPDNSTransfer.OutlierEjection()
        ejection.consecutive = 3
        let three = try three(.given, first: [.readHead, .respond(status: "503 Service Unavailable")]) { [ejection] in
            $0.ejection = ejection
        }
        let endpoints = three.request.endpoints
        #expect(try await three.fetch(5) == Array(repeating: endpoints[0], count: 3) + [endpoints[1], endpoints[1]])
        let record = try #require(three.transport.endpointRecords.first { $0.state == .ejected })
        #expect(record.endpoint == endpoints[0] && record.host == "one.test" && record.until != nil)
        let without = try self.three(.given, first: [.readHead, .respond(status: "503 Service Unavailable")])
        #expect(Set(try await without.fetch(9)) == [without.request.endpoints[0]], "only when asked for")
        for three in [three, without] { await three.transport.shutdown() }
    }

    @Test("An address that refuses a request is last for the next one", arguments: [421, 502, 503, 504])
    func refusing(status: Int) async throws {
        let three = try three(.adaptive(first: nil), first: [.readHead, .respond(status: "\(status) No")])
        let endpoints = three.request.endpoints
        #expect(try await three.fetch(3) == [endpoints[0], endpoints[1], endpoints[1]])
        await three.transport.shutdown()
    }

    @Test("An error of the application keeps requests on their address", arguments: [404, 429, 500])
    func answering(status: Int) async throws {
        let three = try three(.adaptive(first: nil), first: [.readHead, .respond(status: "\(status) No")])
        let first = three.request.endpoints[0]
        #expect(try await three.fetch(3) == [first, first, first])
        await three.transport.shutdown()
    }

    @Test("While all addresses refuse, requests go to each in turn")
    func allRefuse() async throws {
        let servers = try (2...4).map { number in
            try RawServer(address: "127.0.0.\(number)", .serve(status: "503 Service Unavailable"))
        }
        let three = try three(.adaptive(first: nil), on: servers)
        let endpoints = three.request.endpoints
        #expect(try await three.fetch(4) == endpoints + [endpoints[0]])
        await three.transport.shutdown()
    }

    /// It resets the connection, does not answer in HTTP, or cuts the body.
    @Test(
        "An address that fails a request after it was sent is last for the next one",
        arguments: [
            [.readHead, .reset], [.readHead, .sendText("no HTTP\r\n\r\n")],
            [.readHead, .sendText("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nab")],
        ] as [[RawServer.Step]]
    )
    func failing(steps: [RawServer.Step]) async throws {
        let servers = try (2...4).map { number in
            try RawServer(address: "127.0.0.\(number)") { _ in number == 2 ? steps : [.serve("ok")] }
        }
        let three = try three(.adaptive(first: nil), on: servers)
        let second = three.request.endpoints[1]
        await #expect(throws: (any Error).self) { try await three.fetch(1) }
        #expect(three.servers[0].count(of: "GET ") > 0)
        #expect(try await three.fetch(2) == [second, second])
        await three.transport.shutdown()
    }

    @Test("An address without a response in time is last for the next request")
    func silent() async throws {
        let three = try three(.adaptive(first: nil), first: [.readHead, .hang])
        var impatient = three
        impatient.request.limits.firstByte = .milliseconds(200)
        let answers = try? await impatient.fetch(1)
        let second = three.request.endpoints[1]
        #expect(answers == nil && three.counts[0] == 1)
        #expect(try await three.fetch(2) == [second, second])
        await three.transport.shutdown()
    }

    @Test("A canceled request leaves its address first")
    func canceled() async throws {
        let servers = try (2...4).map { number in
            try RawServer(address: "127.0.0.\(number)") { connection in
                number == 2 && connection == 0 ? [.readHead, .hang] : [.serve("ok")]
            }
        }
        let three = try three(.adaptive(first: nil), on: servers)
        let task = Task { try await three.fetch(1) }
        try await three.servers[0].awaitConnections { $0.first?.text.isEmpty == false }
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
        #expect(try await three.fetch(1) == [three.request.endpoints[0]])
        await three.transport.shutdown()
    }

    /// No other request is needed for that.
    @Test("A probe makes a recovered address healthy and sends it nothing")
    func probes() async throws {
        let three = try three(.given) { configuration in
            var probing = HTTPDNSTransfer.ActiveProbing()
            probing.interval = .seconds(1)
            configuration.activeProbing = probing
        }
        let first = three.request.endpoints[0]
        // Refused first: a request must not meet the end of a connection that was let in.
        try await three.servers[0].refuse()
        #expect(try await three.fetch(1) != [first])
        #expect(three.transport.endpointRecords.first { $0.endpoint == first }?.state == .cooling)
        let back = try RawServer(address: "127.0.0.2", port: three.servers[0].port, .serve("ok"))
        // The others are connected to as well.
        try await back.awaitConnections { $0.contains { $0.isClosedByClient && $0.received.isEmpty } }
        // What the probe showed is written down in the loop's turn after the server saw it.
        while three.transport.endpointRecords.first(where: { $0.endpoint == first })?.state != .healthy {
            try await Task.sleep(for: .milliseconds(20))
        }
        #expect(try await three.fetch(1) == [first])
        await three.transport.shutdown()
    }
}
