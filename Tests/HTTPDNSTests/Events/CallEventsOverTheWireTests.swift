// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNS
import ServerRig
import Testing

struct CallEventsOverTheWireTests {
    private typealias Request = HTTPDNSClient.Request
    /// The time in which a canceled call must be over. The rule is 100 ms; beside other tests a task waits long for its turn.
    private static let promptly: Duration = ServerRig.hasTime ? .seconds(1) : .seconds(30)
    private static let sent = "started resolved connecting connected request-sent"

    /// A client whose calls do not end by a limit of a phase.
    private func patientClient(_ port: UInt16) async throws -> HTTPDNSClient {
        try await mappedClient(port) { configuration in
            configuration.timeouts.connect = .seconds(300)
            configuration.timeouts.tls = .seconds(300)
            configuration.timeouts.responseHead = .seconds(300)
            configuration.timeouts.firstByte = .seconds(300)
            configuration.timeouts.idle = .seconds(300)
            // All transfers use the handles of one loop.
            configuration.connections.loops = 1
        }
    }

    @Test("A new connection has its events, and a kept one has none")
    func connections() async throws {
        let server = try RawServer(.serve("hello"))
        let client = try await mappedClient(server.port)
        var (texts, records): ([String], [HTTPDNSClient.CallRecord]) = ([], [])
        for _ in 0..<2 {
            let observed = ObservedEvents()
            var request = Request(url: "http://one.test/a?b")
            observed.observe(&request, of: client)
            #expect(await client.outcome(of: request) == nil)
            let events = await observed.all()
            #expect(events.map(\.time) == events.map(\.time).sorted())
            #expect(events.compactMap(\.endpoint).allSatisfy { $0.port == server.port })
            texts.append(events.text)
            records.append(try #require(observed.record))
        }
        #expect(texts[0] == "\(CallEventsOverTheWireTests.sent) response-head body-progress finished")
        #expect(texts[1] == "started resolved request-sent response-head body-progress finished")
        #expect(records.map { $0.hops[0].exchange?.reusedConnection } == [false, true])
        #expect(records[0].hops[0].timings.connect != nil && records[1].hops[0].timings.connect == nil)
        #expect(records.allSatisfy { $0.hops[0].timings.total != nil })
        try await client.shutdown()
    }

    @Test("The bytes of heads and bodies are those on the wire", arguments: [nil, "some text"])
    func bytes(body: String?) async throws {
        // The first head is that of an interim response.
        let head =
            "HTTP/1.1 103 Early Hints\r\nX-B: c\r\n\r\nHTTP/1.1 200 OK\r\nX-A: b\r\nContent-Length: 5\r\n\r\n"
        let server = try RawServer(.readHead, .read(body?.utf8.count ?? 0), .sendText(head + "hello"), .hang)
        let client = try await mappedClient(server.port)
        let recording = client.recordCalls { _ in }
        let observed = ObservedEvents()
        var request = Request(method: .post, url: "http://one.test/")
        if let body { request.body = .text(body) }
        observed.observe(&request, of: client)
        #expect(await client.outcome(of: request) == nil)
        let hop = try #require(observed.record?.hops.first)
        let received = Int64(server.connections[0].received.count)
        let sent = Int64(body?.utf8.count ?? 0)
        #expect(hop.requestHeadBytes == received - sent && hop.requestBodyBytes == sent)
        #expect(hop.responseHeadBytes == Int64(head.utf8.count) && hop.responseBodyBytes == 5)
        #expect(hop.decodedBodyBytes == 5)
        #expect(recording.counters.requestHeadBytes == received - sent && recording.counters.responseBodyBytes == 5)
        try await client.shutdown()
    }

    @Test("A streamed request body reports its progress before the response head")
    func requestBody() async throws {
        let server = try RawServer(.readHead, .read(8), .respond("x"), .hang)
        let client = try await mappedClient(server.port)
        let observed = ObservedEvents()
        var request = Request(method: .put, url: "http://one.test/")
        let (chunks, source) = AsyncStream<[UInt8]>.makeStream()
        for _ in 0..<2 { source.yield([1, 2, 3, 4]) }
        source.finish()
        request.body = .stream(length: 8, chunks)
        observed.observe(&request, of: client)
        #expect(await client.outcome(of: request) == nil)
        let events = await observed.all()
        let progress = events.compactMap { $0.kind == .requestBodyProgress ? $0.progress : nil }
        #expect(progress.last?.bytes == 8 && progress.map(\.bytes) == progress.map(\.bytes).sorted())
        #expect(observed.record?.requestBodyBytes == 8)
        try await client.shutdown()
    }

    /// The handle of a transfer that waits for room on a connection is one that was used before.
    @Test("A call that libcurl never got has no bytes of the call before it")
    func neverBegun() async throws {
        let gate = Gate()
        let server = try RawServer { number in
            number < 2 ? [.repeatForever([.readHead, .wait(gate), .respond("hello")])] : [.hang]
        }
        let client = try await patientClient(server.port)
        // Two handles are used, and kept.
        let both = (0..<2).map { _ in Task { await client.outcome(of: Request(url: "http://one.test/")) } }
        try await server.awaitConnections { $0.count { $0.text.hasSuffix("\r\n\r\n") } == 2 }
        gate.open()
        for call in both { #expect(await call.value == nil) }
        // One of them waits for a handshake that never ends, and the other one for the connection of the first.
        let first = Task { await client.outcome(of: Request(url: "https://one.test/")) }
        try await server.awaitConnections { $0.count == 3 && !$0[2].received.isEmpty }
        let observed = ObservedEvents()
        var request = Request(url: "https://one.test/")
        observed.observe(&request, of: client)
        let waiting = Task { [request] in await client.outcome(of: request) }
        while client.status(limit: 0).connections.requestsInFlight < 2 { await Task.yield() }
        // The loop begins transfers in their order.
        #expect(await client.outcome(of: Request(url: "http://one.test/")) == nil)
        waiting.cancel()
        #expect(await waiting.value is CancellationError)
        #expect(await observed.text() == "started resolved canceled")
        let hop = try #require(observed.record(of: .canceled)?.hops.first)
        #expect(hop.requestHeadBytes == nil && hop.responseHeadBytes == nil && hop.responseBodyBytes == nil)
        #expect(hop.timings == HTTPDNSClient.Exchange.Timings())

        let next = ObservedEvents()
        var nextRequest = Request(url: "http://one.test/next")
        next.observe(&nextRequest, of: client)
        let before = server.connections.reduce(0) { $0 + $1.received.count }
        #expect(await client.outcome(of: nextRequest) == nil)
        #expect(await next.text() == "started resolved request-sent response-head body-progress finished")
        let sent = server.connections.reduce(0) { $0 + $1.received.count } - before
        #expect(next.record?.hops.first?.requestHeadBytes == Int64(sent))
        #expect(next.record?.hops.first?.responseBodyBytes == 5)
        first.cancel()
        #expect(await first.value is CancellationError)
        try await client.shutdown()
    }

    @Test("A refused connection is begun, and never connected")
    func refused() async throws {
        let gone = try RawServer(.hang)
        try await gone.refuse()
        let client = try await mappedClient(gone.port)
        let observed = ObservedEvents()
        var request = Request(url: "http://one.test/")
        observed.observe(&request, of: client)
        #expect(await client.outcome(of: request) is HTTPDNSClientError)
        #expect(await observed.text() == "started resolved connecting failed")
        let hop = try #require(observed.record?.hops.first)
        #expect(hop.attempts.count == 1 && hop.error?.code == .connectFailed && hop.status == nil)
        try await client.shutdown()
    }

    /// A phase in which a call is canceled, with the events that it must have.
    struct Phase: Sendable, CustomTestStringConvertible {
        var testDescription: String
        var steps: [RawServer.Step]
        var url = "http://one.test/"
        var events: String
        var readsBody = false
    }

    private static let half = "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhello"
    private static let phases = [
        Phase(
            testDescription: "TLS handshake",
            steps: [.hang],
            url: "https://one.test/",
            events: "started resolved connecting canceled"
        ),
        Phase(testDescription: "response head", steps: [.readHead, .hang], events: "\(sent) canceled"),
        Phase(
            testDescription: "response body",
            steps: [.readHead, .sendText(half), .hang],
            events: "\(sent) response-head body-progress canceled",
            readsBody: true
        ),
    ]

    @Test("A canceled call has its last event and no socket soon, whatever its phase", arguments: phases)
    func canceled(_ phase: Phase) async throws {
        let server = try RawServer { _ in phase.steps }
        let client = try await patientClient(server.port)
        let observed = ObservedEvents()
        var request = Request(url: phase.url)
        observed.observe(&request, of: client)
        let reading = Gate()
        let call = Task { [request] in
            var body = try await client.execute(request).body.makeAsyncIterator()
            while try await body.next() != nil { reading.open() }
        }
        if phase.readsBody { await reading.passage() }
        try await server.awaitConnections { $0.first?.received.isEmpty == false }
        let start = ContinuousClock.now
        call.cancel()
        await #expect(throws: CancellationError.self) { try await call.value }
        let text = await observed.text()
        try await server.awaitConnections { $0[0].isClosedByClient }
        #expect(ContinuousClock.now - start < CallEventsOverTheWireTests.promptly)
        #expect(text == phase.events)
        #expect(observed.record?.outcome == .canceled)
        try await client.shutdown()
    }

    @Test("A call that is canceled while it connects has begun a connection only")
    func canceledConnecting() async throws {
        let hole = try BlackHole()
        let client = try await patientClient(hole.port)
        let observed = ObservedEvents()
        var request = Request(url: "http://one.test/")
        observed.observe(&request, of: client)
        let call = Task { [request] in await client.outcome(of: request) }
        // One more than the black hole's own.
        try await SocketTable.awaitConnecting(to: hole.port, count: 2)
        let start = ContinuousClock.now
        call.cancel()
        #expect(await call.value is CancellationError)
        #expect(await observed.text() == "started resolved connecting canceled")
        try await SocketTable.awaitConnecting(to: hole.port, count: 1)
        #expect(ContinuousClock.now - start < CallEventsOverTheWireTests.promptly)
        try await client.shutdown()
    }
}
