// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import Glibc
import HTTPDNSTesting
import ServerRig
import Testing

@testable import HTTPDNS

/// TCP connections that a client makes for other protocols, over real sockets.
struct ConnectedSocketTests {
    private static let loopback = HTTPDNSAddress(v4: 127, 0, 0, 1)

    /// Returns as many bytes as were sent, from a socket that does not block.
    private static func read(_ count: Int, from socket: Int32) -> String {
        var (bytes, total) = ([UInt8](repeating: 0, count: count), 0)
        while total < count {
            var polled = pollfd(fd: socket, events: Int16(POLLIN), revents: 0)
            guard poll(&polled, 1, 60_000) == 1 else { break }
            let received = Glibc.read(socket, &bytes[total], count - total)
            guard received > 0 else { break }
            total += received
        }
        return String(decoding: bytes[..<total], as: UTF8.self)
    }

    /// Sends a greeting at once, as servers of mail and databases do, and repeats a line.
    private static let greeting: [RawServer.Step] = [.sendText("220 hello\r\n"), .read(6), .sendText("again!")]

    @Test("Nothing is sent or read on a handed socket, which outlives the client")
    func hands() async throws {
        let server = try RawServer { _ in Self.greeting }
        let port = server.port
        let socket = try await withHTTPDNSClient(configuration: Self.settings()) { client in
            try await client.connectedSocket(to: "mail.test", port: port)
        }
        #expect(socket.endpoint == HTTPDNSEndpoint(address: Self.loopback, port: port))
        let (greeting, reply) = try await onBlockingThread {
            let greeting = Self.read(11, from: socket.descriptor)
            send(socket.descriptor, "line\r\n", 6, Int32(MSG_NOSIGNAL))
            return (greeting, Self.read(6, from: socket.descriptor))
        }
        #expect(greeting == "220 hello\r\n" && reply == "again!")
        #expect(fcntl(socket.descriptor, F_GETFD) & FD_CLOEXEC != 0)
        close(socket.descriptor)
        #expect(server.connections.map { String(decoding: $0.received, as: UTF8.self) } == ["line\r\n"])
    }

    private static func settings() throws -> HTTPDNSClient.Configuration {
        var settings = HTTPDNSClient.Configuration()
        settings.environment = { _ in nil }
        settings.resolver.mappings[try HTTPDNSMapping.Key("mail.test")] = .addresses(["127.0.0.1"])
        return settings
    }

    @Test("A kept connection of the client's requests is not handed over, and stays theirs")
    func keepsOwn() async throws {
        let server = try RawServer { _ in [.repeatForever([.readHead, .respond("ok")])] }
        let url = "http://mail.test:\(server.port)/"
        try await withHTTPDNSClient(configuration: Self.settings()) { client in
            #expect(try await client.get(url).text() == "ok")
            let socket = try await client.connectedSocket(to: "mail.test", port: server.port)
            try await server.awaitConnections { $0.count == 2 }
            close(socket.descriptor)
            let second = try await client.get(url)
            #expect(second.exchanges.last?.reusedConnection == true)
        }
    }

    @Test("A client with a Unix socket for its requests hands sockets of other hosts over")
    func besideUnixSocket() async throws {
        let server = try RawServer { _ in Self.greeting }
        var settings = try Self.settings()
        settings.options.unixSocket = "/nonexistent/socket"
        let port = server.port
        let socket = try await withHTTPDNSClient(configuration: settings) { client in
            try await client.connectedSocket(to: "mail.test", port: port)
        }
        #expect(socket.endpoint == HTTPDNSEndpoint(address: Self.loopback, port: port))
        close(socket.descriptor)
    }

    /// 127.0.0.9 listens nowhere.
    @Test("After refused addresses of a provider those of the system follow")
    func fallsBack() async throws {
        let server = try RawServer { _ in [.hang] }
        let (provider, system) = (HTTPDNSScriptedProvider(answerScope: .loopback), ScriptedSystemResolver())
        let name = try HTTPDNSName("mail.test")
        let refusing = HTTPDNSAddress(v4: 127, 0, 0, 9)
        provider.answer(.answer(.addresses([refusing], timeToLive: .seconds(600))), for: name)
        system.answer(.success([Self.loopback]), for: name)
        var settings = HTTPDNSClient.Configuration()
        settings.environment = { _ in nil }
        settings.resolver.providers = [provider]
        settings.resolver.routes = [HTTPDNSRoute(.any, .providers(["scripted"], fallback: .system))]
        let base = try await HTTPDNSClient(configuration: settings)
        let client = HTTPDNSClient(
            configuration: settings,
            resolver: try HTTPDNSResolver(settings.resolver, systemResolver: system, random: { _ in 0 }),
            sender: base.sender
        )
        for _ in 0..<2 {
            let socket = try await client.connectedSocket(to: "mail.test", port: server.port)
            #expect(socket.endpoint.address == Self.loopback)
            close(socket.descriptor)
        }
        #expect(client.connectionCounters.fallbacks == 1 && client.connectionCounters.fallbacksShortCircuited == 1)
        try await client.shutdown()
        try await base.shutdown()
    }

    @Test("Through an HTTP proxy the socket is the end of a tunnel, also on port 80")
    func tunnels() async throws {
        let proxy = try RawServer { _ in
            [.readHead, .sendText("HTTP/1.1 200 OK\r\n\r\n220 hello\r\n"), .hang]
        }
        var settings = try Self.settings()
        settings.proxy = .through(try HTTPDNSClient.Proxy("http://127.0.0.1:\(proxy.port)"))
        try await withHTTPDNSClient(configuration: settings) { client in
            let socket = try await client.connectedSocket(to: "mail.test", port: 80)
            #expect(try await onBlockingThread { Self.read(11, from: socket.descriptor) } == "220 hello\r\n")
            close(socket.descriptor)
        }
        let head = String(decoding: try #require(proxy.connections.first).received, as: UTF8.self)
        #expect(head.hasPrefix("CONNECT "), "\(head)")
    }

    @Test("A refused connection has the error and the attempts of a request")
    func refused() async throws {
        var settings = try Self.settings()
        settings.resolver.mappings[try HTTPDNSMapping.Key("dead.test")] = .addresses(["127.0.0.9", "127.0.0.8"])
        try await withHTTPDNSClient(configuration: settings) { client in
            let error = await #expect(throws: HTTPDNSClientError.self) {
                _ = try await client.connectedSocket(to: "dead.test", port: 1)
            }
            #expect(error?.code == .connectFailed && error?.attempts.count == 2)
        }
    }
}
