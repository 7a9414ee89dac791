// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import Dispatch
import HTTPDNSTesting
import ServerRig
import Testing

@testable import HTTPDNS

/// Identical reads over real sockets; the server counts the requests.
struct MergedReadsOverTheWireTests {
    private static let url = "http://one.test/list?page=1"

    /// A server that holds its responses until a gate opens.
    private func server(_ gate: Gate, _ response: RawServer.Step) throws -> RawServer {
        try RawServer(.repeatForever([.readHead, .wait(gate), response]))
    }

    /// Starts calls, and returns when all of them wait for shared requests.
    private func calls(
        _ requests: [HTTPDNSClient.Request],
        _ client: HTTPDNSClient
    ) async -> [Task<HTTPDNSClient.Response, any Error>] {
        let tasks = requests.map { request in Task { try await client.execute(request) } }
        while client.pipeline.reads.waiting < requests.count { await Task.yield() }
        return tasks
    }

    @Test("50 identical GETs are one request at the server, and 50 without the setting", arguments: [true, false])
    func fifty(isMerged: Bool) async throws {
        let gate = Gate()
        let server = try server(gate, .respond("hello", fields: "X-A: 1\r\n"))
        let client = try await mappedClient(server.port) { $0.mergesIdenticalReads = isMerged }
        let request = HTTPDNSClient.Request(url: Self.url, headerFields: [.authorization: "Bearer 1"])
        let tasks: [Task<HTTPDNSClient.Response, any Error>]
        if isMerged {
            tasks = await calls(Array(repeating: request, count: 50), client)
        } else {
            tasks = (0..<50).map { _ in Task { try await client.execute(request) } }
            try await server.awaitConnections { $0.count { $0.text.hasSuffix("\r\n\r\n") } == 50 }
        }
        gate.open()
        var merged = 0
        for task in tasks {
            let response = try await task.value
            #expect(response.status == .ok && response.headerFields[HTTPField.Name("X-A")!] == "1")
            #expect(try await response.text() == "hello")
            if response.exchanges.allSatisfy(\.isMerged) { merged += 1 }
        }
        #expect(server.count(of: "GET /list?page=1 ") == (isMerged ? 1 : 50))
        #expect(merged == (isMerged ? 49 : 0) && client.sharedReads == 0)
        #expect(client.status().connections.requestsInFlight == 0)
        try await client.shutdown()
    }

    @Test("Identical GETs with two values of Authorization are two requests at the server")
    func authorization() async throws {
        let gate = Gate()
        let server = try server(gate, .respond("hello"))
        let client = try await mappedClient(server.port) { $0.mergesIdenticalReads = true }
        let requests = (0..<50).map { number in
            HTTPDNSClient.Request(url: Self.url, headerFields: [.authorization: "Bearer \(number % 2)"])
        }
        let tasks = await calls(requests, client)
        gate.open()
        for task in tasks { #expect(try await task.value.text() == "hello") }
        #expect(server.count(of: "GET /") == 2)
        #expect(server.count(of: "Bearer 0\r\n") == 1 && server.count(of: "Bearer 1\r\n") == 1)
        try await client.shutdown()
    }

    /// A server that lets each request wait, a client, and calls that cannot wait for each other: the server gets them all.
    private func requests(
        ofCalls count: Int,
        _ change: (inout HTTPDNSClient.Request) -> Void = { _ in },
        arriving expected: Int,
        _ configure: (inout HTTPDNSClient.Configuration) -> Void
    ) async throws -> Int {
        let gate = Gate()
        let server = try server(gate, .respond("hello"))
        let client = try await mappedClient(server.port) { configuration in
            configuration.mergesIdenticalReads = true
            configure(&configuration)
        }
        var request = HTTPDNSClient.Request(url: Self.url)
        change(&request)
        let tasks = (0..<count).map { [request] _ in Task { try await client.execute(request).text() } }
        // All calls that share a request have joined it, and the requests are there.
        while client.pipeline.reads.waiting < (expected == count ? 0 : count) { await Task.yield() }
        try await server.awaitConnections { $0.count { $0.text.hasSuffix("\r\n\r\n") } >= expected }
        gate.open()
        for task in tasks { #expect(try await task.value == "hello") }
        try await client.shutdown()
        return server.count(of: "GET /list?page=1 ")
    }

    @Test("Calls with the cookie jar share no request, and those without it do", arguments: [true, false])
    func cookieJar(isUsed: Bool) async throws {
        let expected = isUsed ? 10 : 1
        let count = try await requests(
            ofCalls: 10,
            { $0.changeOptions { $0.usesCookies = isUsed } },
            arriving: expected,
            { $0.cookies = .memory() }
        )
        #expect(count == expected)
    }

    @Test("Calls in a scope of stubs share no request, and those outside it do", arguments: [true, false])
    func scope(isUsed: Bool) async throws {
        let stubs = HTTPDNSStubs(unmatched: .pass)
        let expected = isUsed ? 10 : 1
        let send = { try await requests(ofCalls: 10, arriving: expected, { $0.use(stubs) }) }
        #expect(try await (isUsed ? stubs.scope { try await send() } : send()) == expected)
    }

    @Test("A long body is sent to each call, and an unread one stops no other")
    func large() async throws {
        let gate = Gate()
        let body = String(repeating: "0123456789abcdef", count: 1 << 17)
        let server = try server(gate, .respond(body))
        let client = try await mappedClient(server.port) { $0.mergesIdenticalReads = true }
        let tasks = await calls(Array(repeating: HTTPDNSClient.Request(url: Self.url), count: 3), client)
        gate.open()
        var responses: [HTTPDNSClient.Response] = []
        for task in tasks { responses.append(try await task.value) }
        // The first one is kept unread meanwhile.
        for response in responses.reversed() { #expect(try await response.text() == body) }
        #expect(server.count(of: "GET /") == 3 && client.sharedReads == 0)
        try await client.shutdown()
    }

    @Test("A body in chunks that comes with its head is shared, with its trailers")
    func chunked() async throws {
        let gate = Gate()
        let text = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\nX-End: 1\r\n\r\n"
        let server = try server(gate, .sendText(text))
        let client = try await mappedClient(server.port) { $0.mergesIdenticalReads = true }
        let tasks = await calls(Array(repeating: HTTPDNSClient.Request(url: Self.url), count: 3), client)
        gate.open()
        for task in tasks {
            let response = try await task.value
            #expect(try await response.text() == "hello")
            #expect(response.body.trailers?[HTTPField.Name("X-End")!] == "1")
        }
        #expect((1...3).contains(server.count(of: "GET /")))
        try await client.shutdown()
    }

    @Test("A shutdown ends all calls that wait for one request")
    func shutdown() async throws {
        let server = try RawServer(.readHead, .hang)
        let client = try await mappedClient(server.port) { $0.mergesIdenticalReads = true }
        let tasks = await calls(Array(repeating: HTTPDNSClient.Request(url: Self.url), count: 5), client)
        try await server.awaitConnections { $0.contains { $0.text.hasSuffix("\r\n\r\n") } }
        try await client.shutdown()
        for task in tasks { await #expect(throws: (any Error).self) { try await task.value } }
        #expect(client.pipeline.reads.waiting == 0)
    }

    @Test("A blocking call and an async one each end, whichever sends the request")
    func blocking() async throws {
        let gate = Gate()
        let server = try server(gate, .respond("hello"))
        let client = try await mappedClient(server.port) { $0.mergesIdenticalReads = true }
        let tasks = await calls([HTTPDNSClient.Request(url: Self.url)], client)
        let blocking = Task {
            try await withCheckedThrowingContinuation { continuation in
                DispatchQueue.global().async {
                    continuation.resume(
                        with: Result { try client.executeAndWait(HTTPDNSClient.Request(url: Self.url)) }
                    )
                }
            }
        }
        while client.pipeline.reads.waiting < 2 { await Task.yield() }
        gate.open()
        #expect(try await tasks[0].value.text() == "hello")
        #expect(try await blocking.value.status == .ok)
        try await client.shutdown()
    }
}
