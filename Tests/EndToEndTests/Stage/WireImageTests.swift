// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNS
import HTTPDNSCurl
import HTTPDNSTesting
import ServerRig
import Testing

/// On sockets: a server that records every byte sees no difference.
struct WireImageTests {
    struct Case: Sendable, CustomTestStringConvertible {
        var testDescription: String
        /// With `PORT` for the server's port.
        var url: String
        var method = HTTPRequest.Method.get
        var fields: HTTPFields = [:]
        var body = HTTPDNSClient.Request.Body.none
        var bodyBytes = 0
        var hostHeader: String?

        init(_ description: String, _ url: String) {
            testDescription = description
            self.url = url
        }

        func with(_ change: (inout Case) -> Void) -> Case {
            var changed = self
            change(&changed)
            return changed
        }

        func request(to port: UInt16) -> HTTPDNSClient.Request {
            HTTPDNSClient.Request(
                method: method,
                url: url.replacing("PORT", with: "\(port)"),
                headerFields: fields,
                body: body
            ) { $0.hostHeader = hostHeader }
        }
    }

    static let cases: [Case] = [
        Case("plain GET", "http://wire.test:PORT/"),
        Case("odd spelling", "HTTP://Wire.TEST.:0PORT/a/../b//%7e?q=%20&x[]={1}#frag"),
        Case("user information", "http://user:s%65cret@wire.test:PORT/"),
        Case("no path, query only", "http://wire.test:PORT?a=b"),
        Case("letters outside ASCII", "http://ｗｉｒｅ.test:PORT/ü?ß"),
        Case("fields", "http://wire.test:PORT/").with {
            $0.fields = [.accept: "a/b", .userAgent: "me", .cookie: "a=1", .authorization: "Bearer x"]
        },
        Case("an empty and a repeated field", "http://wire.test:PORT/").with {
            $0.fields = HTTPFields([.acceptLanguage, .accept, .accept].map { HTTPField(name: $0, value: "") })
        },
        Case("a body of bytes", "http://wire.test:PORT/p").with {
            $0.method = .post
            $0.body = .text("hello")
            $0.bodyBytes = 5
        },
        Case("DELETE", "http://wire.test:PORT/p").with { $0.method = .delete },
        Case("PUT of nothing", "http://wire.test:PORT/p").with {
            $0.method = .put
            $0.body = .bytes([])
        },
        Case("a method of one's own", "http://wire.test:PORT/p").with { $0.method = HTTPRequest.Method("BREW")! },
        Case("another Host", "http://wire.test:PORT/").with { $0.hostHeader = "other.test:99" },
    ]

    /// Ways to one and the same address.
    enum Way: CaseIterable {
        case mapping, suffixMapping, pinned, tagged
        /// The stage is off, and the system resolver answers.
        case off
        /// The stage is on, and the request asks for the system resolver.
        case system
    }

    /// Its own: on a shared address a client of another test could take this server for one that has just gone.
    private static let address = "127.0.0.71"

    private func client(for way: Way) throws -> HTTPDNSClient {
        var configuration = HTTPDNSClient.Configuration()
        configuration.isEnabled = way != .off
        configuration.allowsCleartextCredentials = true
        let mapping = HTTPDNSMapping.addresses([Self.address])
        switch way {
        case .mapping, .tagged:
            configuration.resolver.mappings = [try HTTPDNSMapping.Key("wire.test"): mapping]
        case .suffixMapping: configuration.resolver.mappings = [try HTTPDNSMapping.Key("*.test"): mapping]
        case .off, .pinned, .system:
            configuration.resolver.mappings = [try HTTPDNSMapping.Key("wire.test"): .addresses(["127.0.0.9"])]
        }
        let system = ScriptedSystemResolver([
            try HTTPDNSName("wire.test"): .success([try #require(HTTPDNSAddress(Self.address))])
        ])
        return HTTPDNSClient(
            configuration: configuration,
            resolver: try HTTPDNSResolver(
                configuration.resolver,
                isEnabled: configuration.isEnabled,
                systemResolver: system
            ),
            sender: Transport(TransportConfiguration())
        )
    }

    /// Sends the case by one way, and gives what the server's next connection received.
    private func send(_ test: Case, by way: Way, to server: RawServer) async throws -> [UInt8] {
        let number = server.connections.count
        let client = try client(for: way)
        var request = test.request(to: server.port)
        let target = HTTPDNSClient.Request.Target(Self.address)
        if way == .pinned { request.changeOptions { $0.addresses = .only([target]) } }
        if way == .system { request.changeOptions { $0.addresses = .system } }
        let response: HTTPDNSClient.Response
        if way == .tagged {
            let rewritten = try await client.rewrite(request.url) { $0.hostHeader = test.hostHeader }
            response = try await client.execute(
                rewritten,
                method: request.method,
                headerFields: request.headerFields,
                body: request.body
            )
        } else {
            response = try await client.execute(request)
        }
        #expect(response.status == .ok)
        let source: HTTPDNSResolver.Resolution.Source =
            switch way {
            case .off, .system: .system
            case .pinned: .request
            default: .mapping
            }
        #expect(response.exchanges.first?.request.source == source)
        try await response.text()
        try await client.shutdown()
        let connections = try await server.awaitConnections { $0.count > number && $0[number].isClosedByClient }
        #expect(connections.count == number + 1)
        return connections[number].received
    }

    /// The bytes do not depend on the source of the address.
    @Test("A request has the same bytes with the rewriter on and off", arguments: cases)
    func onAndOff(test: Case) async throws {
        let server = try RawServer(
            address: Self.address,
            .readHead,
            .read(test.bodyBytes),
            .respond(),
            .hang
        )
        let off = try await send(test, by: .off, to: server)
        let text = String(decoding: off, as: UTF8.self)
        #expect(text.contains("\r\nHost: \(test.hostHeader ?? "wire.test:\(server.port)")\r\n"))
        for word in [".invalid", "127.0.0", "#", "frag"] { #expect(!text.contains(word), "\(text)") }
        for way in Way.allCases where way != .off {
            let on = try await send(test, by: way, to: server)
            #expect(on == off, "\(way): \(String(decoding: on, as: UTF8.self))")
        }
    }

    @Test("Nothing is added that the caller did not request")
    func nothingAdded() async throws {
        let server = try RawServer(address: Self.address, .readHead, .respond(), .hang)
        let test = Case("", "http://Wire.test.:PORT/a/../b?c#d").with { $0.fields = [.accept: "*/*"] }
        let text = String(decoding: try await send(test, by: .mapping, to: server), as: UTF8.self)
        let lines = text.split(separator: "\r\n").map(String.init)
        #expect(lines.prefix(2) == ["GET /a/../b?c HTTP/1.1", "Host: wire.test:\(server.port)"])
        let names = Set(lines.dropFirst().map { $0.prefix { $0 != ":" }.lowercased() })
        #expect(names.isSubset(of: ["host", "accept", "accept-encoding", "user-agent"]), "\(names)")
    }
}
