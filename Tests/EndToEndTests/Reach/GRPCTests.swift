// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

#if GRPC
import GRPCCore
import GRPCNIOTransportHTTP2Posix
import HTTPDNS
import HTTPDNSGRPC
import ServerRig
import Testing

@Suite("Channels of gRPC", .enabled(if: ServerRig.isAvailable([.nginx, .bind])))
struct GRPCTests {
    private static let method = MethodDescriptor(fullyQualifiedService: "test.Place", method: "where")

    private struct Bytes: MessageSerializer, MessageDeserializer {
        func serialize<Buffer: GRPCContiguousBytes>(_ message: [UInt8]) throws -> Buffer { Buffer(message) }
        func deserialize<Buffer: GRPCContiguousBytes>(_ bytes: Buffer) throws -> [UInt8] {
            bytes.withUnsafeBytes { Array($0) }
        }
    }

    /// Answers with its address.
    private struct Place: RegistrableRPCService {
        let address: String

        func registerMethods<Transport: ServerTransport>(with router: inout RPCRouter<Transport>) {
            router.registerHandler(forMethod: method, deserializer: Bytes(), serializer: Bytes()) { _, _ in
                StreamingServerResponse { writer in
                    try await writer.write(Array(address.utf8))
                    return [:]
                }
            }
        }
    }

    private typealias Server = GRPCServer<HTTP2ServerTransport.Posix>

    private func server(_ address: String, port: Int, _ rig: ServerRig) -> Server {
        let transport = HTTP2ServerTransport.Posix(
            address: .ipv4(host: address, port: port),
            transportSecurity: .tls(
                certificateChain: [.file(path: rig.certificateFile("good.pem"), format: .pem)],
                privateKey: .file(path: rig.certificateFile("good.key"), format: .pem)
            )
        )
        return GRPCServer(transport: transport, services: [Place(address: address)])
    }

    /// Runs `body` with a channel to a target by a client's resolver, and with servers of one port at some addresses, which
    /// the SRV record of a service may name.
    private func withChannel(
        to host: String,
        _ settings: HTTPDNSClient.Configuration,
        addresses: [String],
        service: (name: String, target: String)? = nil,
        _ rig: ServerRig,
        _ body: (GRPCClient<HTTP2ClientTransport.Posix>, HTTPDNSClient) async throws -> Void
    ) async throws {
        try await withClient(settings) { client in
            // The first one chooses the port.
            let first = server(addresses[0], port: 0, rig)
            try await withThrowingDiscardingTaskGroup { tasks in
                tasks.addTask { try? await first.serve() }
                let port = try #require(await first.listeningAddress?.ipv4?.port)
                let servers = [first] + addresses.dropFirst().map { server($0, port: port, rig) }
                for server in servers.dropFirst() { tasks.addTask { try? await server.serve() } }
                for server in servers { _ = try await server.listeningAddress }
                if let service {
                    try await rig.setRecords(service.name, type: "SRV", ["0 0 \(port) \(service.target)."])
                }
                let transport = try HTTP2ClientTransport.Posix(
                    target: .dns(host: host, port: service == nil ? port : 1),
                    transportSecurity: .tls {
                        $0.trustRoots = .certificates([.file(path: rig.certificateAuthorityFile, format: .pem)])
                    },
                    resolverRegistry: .httpDNS(client.resolver)
                )
                let channel = GRPCClient(transport: transport)
                // A channel that never had an address does not end by itself (grpc-swift-nio-transport 2.9.2).
                tasks.addTask { try? await channel.runConnections() }
                let result: Result<Void, any Error>
                do {
                    try await body(channel, client)
                    result = .success(())
                } catch {
                    result = .failure(error)
                }
                channel.beginGracefulShutdown()
                for server in servers { server.beginGracefulShutdown() }
                tasks.cancelAll()
                try result.get()
            }
        }
    }

    private func place(_ channel: GRPCClient<HTTP2ClientTransport.Posix>) async throws -> String {
        var options = CallOptions.defaults
        options.timeout = .seconds(60)
        return try await channel.unary(
            request: ClientRequest(message: []),
            descriptor: Self.method,
            serializer: Bytes(),
            deserializer: Bytes(),
            options: options
        ) { String(decoding: try $0.message, as: UTF8.self) }
    }

    private func placeOrUnavailable(_ channel: GRPCClient<HTTP2ClientTransport.Posix>) async throws -> String {
        do {
            return try await place(channel)
        } catch let error as RPCError where error.code == .unavailable {
            return "unavailable"
        }
    }

    @Test("Calls follow a move of the name")
    func moves() async throws {
        let rig = try await ServerRig.shared()
        let settings = try rig.settings(besides: ["one.test": .addresses(["127.0.0.2"])])
        try await withChannel(to: "one.test", settings, addresses: ["127.0.0.2", "127.0.0.3"], rig) { channel, client in
            #expect(try await place(channel) == "127.0.0.2")
            try client.mappings.apply { $0["one.test"] = .addresses(["127.0.0.3"]) }
            let clock = ContinuousClock()
            let start = clock.now
            // Ten times the interval and a connection.
            // A call that begins while its connection is given up is refused without having reached a server (UNAVAILABLE).
            while try await placeOrUnavailable(channel) != "127.0.0.3", clock.now - start < .seconds(10) {}
            #expect(clock.now - start < .seconds(10))
        }
    }

    @Test("A name that is mapped to a service is reached at the port of its SRV record")
    func service() async throws {
        let rig = try await ServerRig.shared()
        let service = "_grpc._tcp.orders.wild.test"
        let settings = try rig.settings(besides: ["two.test": .via(service)])
        try await withChannel(
            to: "two.test",
            settings,
            addresses: ["127.0.0.4"],
            service: (service, "three.test"),
            rig
        ) { channel, _ async throws in
            #expect(try await place(channel) == "127.0.0.4")
        }
    }

    @Test("A channel reaches a name that only HTTP-DNS knows, certificate verified")
    func provider() async throws {
        let rig = try await ServerRig.shared()
        try await withChannel(to: "two.test", try rig.settings(), addresses: ["127.0.0.3"], rig) {
            channel,
            _ async throws in
            #expect(try await place(channel) == "127.0.0.3")
        }
    }

    @Test("Beside targets of DNS, a target that names HTTP-DNS is resolved by it", arguments: [true, false])
    func ownTarget(_ isOwn: Bool) async throws {
        let rig = try await ServerRig.shared()
        try await withClient(try rig.settings()) { client in
            let server = server("127.0.0.3", port: 0, rig)
            try await withThrowingDiscardingTaskGroup { tasks in
                tasks.addTask { try? await server.serve() }
                let port = try #require(await server.listeningAddress?.ipv4?.port)
                let registry = NameResolverRegistry.httpDNS(client.resolver, replacingDNS: false)
                let target: any ResolvableTarget =
                    isOwn ? .httpDNS(host: "two.test", port: port) : .dns(host: "two.test", port: port)
                let transport = try HTTP2ClientTransport.Posix(
                    target: target,
                    transportSecurity: .tls {
                        $0.trustRoots = .certificates([.file(path: rig.certificateAuthorityFile, format: .pem)])
                    },
                    resolverRegistry: registry
                )
                let channel = GRPCClient(transport: transport)
                tasks.addTask { try? await channel.runConnections() }
                let answer = try await placeOrUnavailable(channel)
                // DNS does not know the name.
                #expect(answer == (isOwn ? "127.0.0.3" : "unavailable"))
                channel.beginGracefulShutdown()
                server.beginGracefulShutdown()
                tasks.cancelAll()
            }
        }
    }

    @Test("A name without addresses fails a call as unavailable, with the reason")
    func fails() async throws {
        let rig = try await ServerRig.shared()
        try await withChannel(to: "gone.test", try rig.settings(), addresses: ["127.0.0.3"], rig) { channel, _ in
            let error = await #expect(throws: RPCError.self) { _ = try await place(channel) }
            let cause = error.map { "\($0)" } ?? "-"
            #expect(error?.code == .unavailable && cause.contains("gone.test"), "\(cause)")
        }
    }
}
#endif
