// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNSCore
import HTTPDNSMessages
import ServerRig
import Testing

/// The provider over its own transport against a server that says what no real one would. Clear text, so that the test
/// sees each byte.
struct DoHTransportExchangeTests {
    private static let query = DNSQuestion.a("one.test")
    private static let message: [UInt8] = {
        var builder = DNSMessageBuilder(to: query)
        builder.address("one.test", [127, 0, 0, 2])
        return builder.octets
    }()

    private static func head(_ fields: String, status: String = "200 OK") -> RawServer.Step {
        .sendText("HTTP/1.1 \(status)\r\nContent-Type: application/dns-message\r\n\(fields)\r\n")
    }

    private func provider(_ server: RawServer, method: HTTPDNSDoHProvider.Method = .get) throws -> HTTPDNSDoHProvider {
        var configuration = HTTPDNSDoHProvider.Configuration(
            name: "raw",
            url: "http://127.0.0.1:\(server.port)/dns-query"
        )
        configuration.method = method
        return try HTTPDNSDoHProvider(configuration)
    }

    private func ask(_ provider: HTTPDNSDoHProvider, timeLimit: Duration = .seconds(120)) async throws
        -> HTTPDNSProviderAnswer
    {
        try await provider.resolve(
            HTTPDNSProviderQuery(host: try HTTPDNSName("one.test"), families: .v4, timeLimit: timeLimit)
        )
    }

    /// The code of the error that the steps lead to; nil when there is an answer.
    private func code(timeLimit: Duration = .seconds(120), _ steps: RawServer.Step...) async throws
        -> HTTPDNSProviderError
        .Code?
    {
        let server = try RawServer { _ in steps }
        defer { server.stop() }
        let provider = try provider(server)
        defer { Task { await provider.shutdown() } }
        do {
            _ = try await ask(provider, timeLimit: timeLimit)
            return nil
        } catch let error as HTTPDNSProviderError {
            return error.code
        }
    }

    @Test("A GET on the wire has the target and fields of RFC 8484, and no body")
    func get() async throws {
        let server = try RawServer(
            .readHead,
            Self.head("Content-Length: \(Self.message.count)\r\n"),
            .send(Self.message),
            .hang
        )
        let provider = try provider(server)
        let answer = try await ask(provider)
        #expect(
            answer.v4 == .addresses([HTTPDNSAddress(v4: 127, 0, 0, 2)], timeToLive: .seconds(60), canonicalName: nil)
        )
        let text = try #require(server.connections.first).text
        #expect(text.hasPrefix("GET /dns-query?dns=AAABAAABAAAAAAABA29uZQR0ZXN0AAABAAEAACkE0AAAAAAAWwAMAFcA"))
        #expect(text.lowercased().contains("\r\naccept: application/dns-message\r\n"))
        #expect(text.hasSuffix("\r\n\r\n"))
        await provider.shutdown()
    }

    @Test("A POST on the wire ends with the message, and has its type and length")
    func post() async throws {
        let octets = DNSQuery.encoded(Self.query)
        let server = try RawServer(
            .readHead,
            .read(octets.count),
            Self.head("Content-Length: \(Self.message.count)\r\n"),
            .send(Self.message),
            .hang
        )
        let provider = try provider(server, method: .post)
        #expect(try await ask(provider).v4 != nil)
        let connection = try #require(server.connections.first)
        #expect(connection.text.hasPrefix("POST /dns-query HTTP/1.1\r\n"))
        #expect(connection.text.lowercased().contains("\r\ncontent-type: application/dns-message\r\n"))
        #expect(connection.text.lowercased().contains("\r\ncontent-length: \(octets.count)\r\n"))
        #expect(Array(connection.received.suffix(octets.count)) == octets)
        await provider.shutdown()
    }

    @Test("A body beyond 65,535 octets is refused, by its length and by its chunks")
    func tooLong() async throws {
        let large = [UInt8](repeating: 0, count: 66_000)
        #expect(try await code(.readHead, Self.head("Content-Length: 66000\r\n"), .send(large), .hang) == .badResponse)
        let chunk = "ffff\r\n" + String(repeating: "x", count: 0xffff) + "\r\n"
        #expect(
            try await code(
                .readHead,
                Self.head("Transfer-Encoding: chunked\r\n"),
                .repeatForever([.sendText(chunk)])
            ) == .badResponse
        )
    }

    @Test("A body that ends early is no answer")
    func shortBody() async throws {
        #expect(
            try await code(
                .readHead,
                Self.head("Content-Length: \(Self.message.count)\r\n"),
                .send(Self.message.dropLast())
            ) != nil
        )
        #expect(
            try await code(
                .readHead,
                Self.head("Transfer-Encoding: chunked\r\n"),
                .sendText("\(String(Self.message.count, radix: 16))\r\n"),
                .send(Self.message),
                .sendText("\r\n")
            ) != nil
        )
    }

    @Test("The body of an error status is not awaited")
    func errorBody() async throws {
        let code = try await code(
            .readHead,
            Self.head("Content-Length: 1000\r\n", status: "500 Broken"),
            .hang
        )
        #expect(code == .httpStatus)
    }

    @Test("A redirect is not followed")
    func redirect() async throws {
        let target = try RawServer(.hang)
        let code = try await code(
            .readHead,
            Self.head("Location: http://127.0.0.1:\(target.port)/\r\nContent-Length: 0\r\n", status: "307 Elsewhere")
        )
        #expect(code == .httpStatus)
        #expect(target.connections.isEmpty)
        target.stop()
    }

    @Test("A response that is not HTTP is no answer")
    func notHTTP() async throws {
        #expect(try await code(.readHead, .sendText("220 mail.test ESMTP\r\n")) != nil)
        #expect(try await code(.readHead, .reset) == .unreachable)
        #expect(try await code(.reset) == .unreachable)
    }

    @Test("A service that accepts and stays silent ends at the time limit, in each phase")
    func silence() async throws {
        let limit = Duration.milliseconds(300)
        #expect(try await code(timeLimit: limit, .hang) == .timedOut)
        #expect(try await code(timeLimit: limit, .readHead, .sendText("HTTP/1.1 200 OK\r\n"), .hang) == .timedOut)
        #expect(
            try await code(
                timeLimit: limit,
                .readHead,
                Self.head("Content-Length: \(Self.message.count)\r\n"),
                .send(Array(Self.message.prefix(20))),
                .hang
            ) == .timedOut
        )
    }

    @Test("A kept connection that the service closed is opened again")
    func closedConnection() async throws {
        let server = try RawServer { connection in
            connection == 0
                ? [
                    .readHead, Self.head("Content-Length: \(Self.message.count)\r\n"), .send(Self.message), .readHead,
                    .reset,
                ]
                : [.readHead, Self.head("Content-Length: \(Self.message.count)\r\n"), .send(Self.message), .hang]
        }
        let provider = try provider(server)
        #expect(try await ask(provider).v4 != nil)
        #expect(try await ask(provider).v4 != nil)
        #expect(server.connections.count == 2)
        await provider.shutdown()
    }

    @Test("Canceling a query closes its connection")
    func cancellation() async throws {
        let server = try RawServer(.readHead, .hang)
        let provider = try provider(server)
        let task = Task { try await ask(provider) }
        try await server.awaitConnections { $0.first.map { !$0.received.isEmpty } ?? false }
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
        try await server.awaitConnections { $0.first?.isClosedByClient ?? false }
        await provider.shutdown()
    }

    @Test("Shutting down ends a query in flight with shutDown")
    func shutdown() async throws {
        let server = try RawServer(.readHead, .hang)
        let provider = try provider(server)
        let task = Task { try await ask(provider) }
        try await server.awaitConnections { $0.first.map { !$0.received.isEmpty } ?? false }
        await provider.shutdown()
        let error = await #expect(throws: HTTPDNSProviderError.self) { try await task.value }
        #expect(error?.code == .shutDown)
    }
}
