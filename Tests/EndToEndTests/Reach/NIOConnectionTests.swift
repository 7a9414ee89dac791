// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

#if NIO
import Foundation
import HTTPDNS
import HTTPDNSNIO
import NIOCore
import NIOPosix
import NIOSSL
import ServerRig
import Testing

@Suite("Connections of SwiftNIO", .enabled(if: ServerRig.isAvailable([.nginx, .bind])))
struct NIOConnectionTests {
    private static let group = MultiThreadedEventLoopGroup.singleton

    /// Returns what an origin says about a request over a channel with TLS, which verifies the name.
    private func echo(
        _ host: String,
        _ rig: ServerRig,
        _ connect: (ClientBootstrap) async throws -> any Channel
    ) async throws -> Echo {
        var tls = TLSConfiguration.makeClientConfiguration()
        tls.trustRoots = .file(rig.certificateAuthorityFile)
        let context = try NIOSSLContext(configuration: tls)
        let whole = Self.group.next().makePromise(of: String.self)
        let bootstrap = ClientBootstrap(group: Self.group).channelInitializer { channel in
            channel.eventLoop.makeCompletedFuture {
                let handler = try NIOSSLClientHandler(context: context, serverHostname: host)
                try channel.pipeline.syncOperations.addHandlers(handler, ResponseText(whole))
            }
        }
        do {
            let channel = try await connect(bootstrap)
            try await channel.writeAndFlush(ByteBuffer(string: "GET /echo HTTP/1.0\r\nHost: \(host)\r\n\r\n"))
        } catch {
            whole.fail(error)
        }
        let text = try await whole.futureResult.get()
        let body = try #require(text.firstRange(of: "\r\n\r\n").map { text[$0.upperBound...] })
        return try JSONDecoder().decode(Echo.self, from: Data(body.utf8))
    }

    @Test("A bootstrap reaches mappings, their ports, and names that only HTTP-DNS knows")
    func reaches() async throws {
        let rig = try await ServerRig.shared()
        let port = Int(rig.tlsPort)
        let mapped: [String: HTTPDNSMapping] = [
            "one.test": .addresses(["127.0.0.4"]), "three.test": .addresses(["127.0.0.3:\(rig.tlsPort)"]),
        ]
        try await withClient(try rig.settings(besides: mapped)) { client in
            let resolver = HTTPDNSNIOResolver(client.resolver)
            let cases = [
                ("one.test", port, "127.0.0.4"), ("three.test", 443, "127.0.0.3"), ("two.test", port, "127.0.0.3"),
            ]
            for (host, port, address) in cases {
                let echo = try await echo(host, rig) { bootstrap in
                    try await bootstrap.resolver(resolver).connect(host: host, port: port).get()
                }
                #expect(echo.address == address && echo.sni == host, "\(echo)")
                let own = try await self.echo(host, rig) {
                    try await $0.connect(host: host, port: port, through: client)
                }
                #expect(own.address == address && own.sni == host, "\(own)")
            }
            // A move holds for the next connection.
            try client.mappings.apply { $0["one.test"] = .addresses(["127.0.0.2"]) }
            let moved = try await echo("one.test", rig) { bootstrap in
                try await bootstrap.resolver(resolver).connect(host: "one.test", port: port).get()
            }
            #expect(moved.address == "127.0.0.2")
        }
    }

    @Test("A name with IPv6 addresses alone is reached")
    func v6() async throws {
        let rig = try await ServerRig.shared()
        guard rig.hasIPv6 else { return }
        try await withClient(try rig.settings()) { client in
            let resolver = HTTPDNSNIOResolver(client.resolver)
            let echo = try await echo("v6only.test", rig) { bootstrap in
                try await bootstrap.resolver(resolver).connect(host: "v6only.test", port: Int(rig.tlsPort)).get()
            }
            #expect(echo.address == "::1")
        }
    }

    @Test("A name without addresses, and a refused literal, fail with the resolver's error")
    func fails() async throws {
        let rig = try await ServerRig.shared()
        var settings = try rig.settings()
        settings.resolver.policy.denied = [try #require(HTTPDNSAddressBlock("127.0.0.5/32"))]
        try await withClient(settings) { client in
            let resolver = HTTPDNSNIOResolver(client.resolver)
            for host in ["gone.test", "127.0.0.5", "not a host"] {
                let error = await #expect(throws: NIOConnectionError.self) {
                    _ = try await ClientBootstrap(group: Self.group).resolver(resolver).connect(host: host, port: 443)
                        .get()
                }
                let cause = try #require(error?.dnsAError)
                #expect(cause is HTTPDNSResolver.Error || cause is HTTPDNSName.Error, "\(cause)")
                await #expect(throws: (any Error).self) {
                    _ = try await ClientBootstrap(group: Self.group).connect(host: host, port: 443, through: client)
                }
            }
        }
    }

    /// 127.0.0.9 listens nowhere.
    @Test("A refused address is remembered for requests and later connections")
    func feedsHealth() async throws {
        let rig = try await ServerRig.shared()
        let mapped = ["one.test": HTTPDNSMapping.addresses(["127.0.0.9", "127.0.0.2"])]
        try await withClient(try rig.settings(besides: mapped)) { client in
            for _ in 0..<2 {
                let echo = try await echo("one.test", rig) { bootstrap in
                    try await bootstrap.connect(host: "one.test", port: Int(rig.tlsPort), through: client)
                }
                #expect(echo.address == "127.0.0.2")
            }
            let records = client.endpointRecords.filter { $0.endpoint.address.description == "127.0.0.9" }
            // Beside a connection it is probed again after its pause.
            #expect(records.count == 1 && records.allSatisfy { $0.consecutiveFailures >= 1 })
            let response = try await client.get("https://one.test:\(rig.tlsPort)/health")
            #expect(response.exchanges.last?.failedAttempts.isEmpty == true)
        }
    }

    @Test("Many concurrent connects through one resolver all succeed")
    func many() async throws {
        let rig = try await ServerRig.shared()
        let mapped = ["many.wild.test": HTTPDNSMapping.addresses(["127.0.0.2"])]
        try await withClient(try rig.settings(besides: mapped)) { client in
            let resolver = HTTPDNSNIOResolver(client.resolver)
            try await withThrowingTaskGroup(of: Void.self) { tasks in
                for _ in 0..<200 {
                    tasks.addTask {
                        let channel = try await ClientBootstrap(group: Self.group).resolver(resolver)
                            .connect(host: "many.wild.test", port: Int(rig.httpPort)).get()
                        try await channel.close()
                    }
                }
                try await tasks.waitForAll()
            }
        }
    }
}
#endif
