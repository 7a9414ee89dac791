// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import Foundation
import HTTPDNS
import ServerRig
import Testing

/// Item 7 of the client: Unix sockets, interfaces and local addresses.
struct LocalWayTests {
    private static let script: @Sendable (Int) -> [RawServer.Step] = { _ in [.serve("ok")] }

    /// It keeps its connection.
    @Test("A request to a Unix socket has its URL's Host and looks nothing up")
    func unixSocket() async throws {
        let folder = try TemporaryFolder()
        let path = folder.path("s")
        let server = try RawServer(unixSocket: path, script: Self.script)
        let request = HTTPDNSClient.Request(url: "http://nobody-knows.test/a") { $0.unixSocket = path }
        try await withClient(HTTPDNSClient.Configuration()) { client async throws in
            let response = try await client.execute(request)
            #expect(try await response.text() == "ok")
            #expect(
                response.exchanges.last?.request.source == .unixSocket
                    && response.destination.hasPrefix("Unix socket")
            )
            let second = try await client.execute(request)
            #expect(try await second.text() == "ok" && second.exchanges.last?.reusedConnection == true)
        }
        #expect(server.connections.count == 1)
        #expect(server.connections[0].text.contains("GET /a HTTP/1.1\r\nHost: nobody-knows.test\r\n"))
    }

    @Test("Retiring connections does not affect a transfer over a Unix socket")
    func retiring() async throws {
        let folder = try TemporaryFolder()
        let end = Gate()
        let server = try RawServer(unixSocket: folder.path("s")) { _ in
            [
                .readHead, .respond("ok"), .readHead,
                .sendText("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nab"),
                .wait(end), .sendText("cd"), .hang,
            ]
        }
        var settings = HTTPDNSClient.Configuration()
        settings.unixSocket = folder.path("s")
        try await withClient(settings) { client async throws in
            try await client.get("http://one.test/a").text()
            let response = try await client.get("http://one.test/b")
            client.retireConnections()
            // It has gone through the loop once something else has.
            #expect(try await client.get("http://one.test/c").text() == "ok")
            end.open()
            #expect(try await response.text() == "abcd")
        }
        #expect(server.connections.count == 2)
    }

    /// The error is typed.
    @Test("All requests of a client go to its Unix socket, and a missing one is an error")
    func client() async throws {
        let folder = try TemporaryFolder()
        var settings = HTTPDNSClient.Configuration()
        settings.unixSocket = folder.path("s")
        try await withClient(settings) { client async throws in
            let error = try await #require(throws: HTTPDNSClientError.self) { try await client.get("http://one.test/") }
            #expect(error.code == .connectFailed && error.message.contains("Unix socket"), "\(error)")
            let server = try RawServer(unixSocket: folder.path("s"), script: Self.script)
            #expect(try await client.get("http://one.test/").text() == "ok")
            #expect(server.connections.count == 1)
        }
    }

    @Test("A redirect to another origin does not use the Unix socket that a request named")
    func redirect() async throws {
        let folder = try TemporaryFolder()
        let other = try RawServer(.serve("ok"))
        let server = try RawServer(unixSocket: folder.path("s")) { _ in
            [
                .readHead,
                .respond(status: "302 Found", fields: "Location: http://two.test/\r\n"), .hang,
            ]
        }
        var settings = HTTPDNSClient.Configuration()
        settings.resolver.mappings[try HTTPDNSMapping.Key("two.test")] = .addresses(["127.0.0.1:\(other.port)"])
        try await withClient(settings) { client async throws in
            let response = try await client.get("http://one.test/") { $0.unixSocket = folder.path("s") }
            #expect(try await response.text() == "ok")
        }
        #expect(server.connections.count == 1 && other.connections.count == 1)
    }

    @Test("Connections begin at the address that is asked for", .enabled(if: ServerRig.isAvailable([.nginx])))
    func address() async throws {
        let rig = try await ServerRig.shared()
        let host = "source-address.wild.test"
        var settings = try rig.settings(mappings: [host: .addresses(["127.0.0.2"])])
        settings.localSource = .address(HTTPDNSAddress(v4: 127, 0, 0, 77))
        let mark = rig.accessLogMark()
        try await withClient(settings) { client async throws in
            for _ in 0..<2 {
                #expect(try await client.get("https://\(host):\(rig.tlsPort)/health").text() == "127.0.0.2\n")
            }
        }
        let lines = try await rig.awaitAccessLog(since: mark, count: 2) { $0.sni == host }
        #expect(Set(lines.map(\.connection)).count == 1)
        #expect(Set(lines.map(\.client)) == ["127.0.0.77"])
    }

    /// The server is its own: the kernel may give a socket of an interface and one of none the same two addresses and ports,
    /// and then one of them is never connected.
    @Test("Connections begin at the interface that is asked for")
    func interface() async throws {
        let server = try RawServer { _ in [.readHead, .respond("ok"), .readHead, .respond("ok"), .hang] }
        var settings = HTTPDNSClient.Configuration()
        settings.resolver.mappings[try HTTPDNSMapping.Key("one.test")] = .addresses(["127.0.0.1:\(server.port)"])
        settings.localSource = .interface("lo")
        try await withClient(settings) { client async throws in
            for _ in 0..<2 { #expect(try await client.get("http://one.test/").text() == "ok") }
        }
        #expect(server.connections.count == 1)
    }

    @Test(
        "A local address or interface that does not exist is an error before sending",
        arguments: [
            HTTPDNSClient.Configuration.LocalSource.address(HTTPDNSAddress(v4: 192, 0, 2, 77)), .interface("nowhere0"),
        ]
    )
    func missing(source: HTTPDNSClient.Configuration.LocalSource) async throws {
        let server = try RawServer(.serve("ok"))
        var settings = HTTPDNSClient.Configuration()
        settings.resolver.mappings[try HTTPDNSMapping.Key("one.test")] = .addresses(["127.0.0.1:\(server.port)"])
        settings.localSource = source
        try await withClient(settings) { client async throws in
            let error = try await #require(throws: HTTPDNSClientError.self) { try await client.get("http://one.test/") }
            #expect(error.code == .localSourceUnusable && error.message.contains("\(source)"), "\(error)")
            #expect(!error.requestMayHaveBeenSent)
        }
        #expect(server.connections.isEmpty)
    }
}
