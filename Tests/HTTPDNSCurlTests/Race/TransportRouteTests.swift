// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNSCurl
import HTTPDNSPrimitives
import ServerRig
import Testing

/// Which addresses are tried on machines with and without routes for IPv6, on real sockets.
struct TransportRouteTests {
    private func server(_ address: String) throws -> RawServer {
        try RawServer(address: address, .serve("ok"))
    }

    private func request(
        _ endpoints: [(String, UInt16)],
        order: EndpointOrder,
        connect: Duration = .seconds(60)
    ) throws -> TransferRequest {
        var request = TransferRequest(
            url: try ParsedURL("http://one.test/"),
            endpoints: try endpoints.map { HTTPDNSEndpoint(address: try #require(HTTPDNSAddress($0.0)), port: $0.1) }
        )
        request.order = order
        request.limits.connect = connect
        return request
    }

    /// The caller may name another first family.
    @Test("Families alternate, and IPv6 goes first on a machine with a route for it")
    func families() async throws {
        let four = try server("127.0.0.2")
        let six = try server("::1")
        for (hasRoute, first, port) in [
            (true, nil, six.port), (false, nil, four.port), (true, HTTPDNSAddress.Family.v4, four.port),
        ] {
            var configuration = TransportConfiguration()
            configuration.attemptDelay = .seconds(60)
            configuration.hasRoute = { _ in hasRoute }
            let request = try request(
                [(four.address, four.port), (six.address, six.port)],
                order: .adaptive(first: first)
            )
            #expect(try await Transport(configuration).fetch(request).endpoint.port == port)
        }
    }

    /// The other addresses refuse several times.
    @Test(
        "IPv6 addresses are not tried without a route for IPv6",
        arguments: [.adaptive(first: nil), .adaptive(first: .v6), .roundRobin, .random, .fastest] as [EndpointOrder]
    )
    func withoutRoute(order: EndpointOrder) async throws {
        let holder = try server("127.0.0.2")
        var configuration = TransportConfiguration()
        configuration.attemptDelay = .seconds(60)
        configuration.hasRoute = { _ in false }
        let transport = Transport(configuration)
        // The latter is an address of RFC 3849, which is nobody's.
        let refusing = [("127.0.0.71", holder.port), ("2001:db8::1", holder.port)]
        let request = try request(refusing, order: order, connect: .seconds(60))
        for _ in 0..<3 {
            let failure = try #require(
                await #expect(throws: TransferFailure.self) { try await transport.fetch(request) }
            )
            #expect(failure.code == .connectFailed && failure.attempts.map(\.endpoint) == [request.endpoints[0]])
        }
        await transport.shutdown()
    }

    /// The machine has a route to the neighbor.
    @Test(
        "A neighbor's IPv6 address is tried without a route for IPv6",
        arguments: [.adaptive(first: nil), .roundRobin, .random, .fastest] as [EndpointOrder]
    )
    func neighbour(order: EndpointOrder) async throws {
        let holder = try server("127.0.0.2")
        var configuration = TransportConfiguration()
        let neighbour = try #require(HTTPDNSAddress("2001:db8::2"))
        configuration.hasRoute = { $0 == neighbour }
        let transport = Transport(configuration)
        let refusing = [("127.0.0.71", holder.port), ("2001:db8::1", holder.port), ("2001:db8::2", holder.port)]
        let request = try request(refusing, order: order, connect: .milliseconds(500))
        let failure = try #require(
            await #expect(throws: TransferFailure.self) { try await transport.fetch(request) }
        )
        #expect(Set(failure.attempts.map(\.endpoint)) == [request.endpoints[0], request.endpoints[2]])
        await transport.shutdown()
    }

    @Test("A proxy that gets addresses connects to them without a route on this machine")
    func routeOfProxy() async throws {
        let proxy = try RawServer(.readHead, .sendText("HTTP/1.1 200 OK\r\n\r\n"), .readHead, .respond("ok"))
        var configuration = TransportConfiguration()
        configuration.attemptDelay = .seconds(60)
        configuration.hasRoute = { _ in false }
        let transport = Transport(configuration)
        var request = try request([("127.0.0.71", 80), ("2001:db8::1", 80)], order: .adaptive(first: .v6))
        let loopback = HTTPDNSAddress(v4: 127, 0, 0, 1)
        request.egressPath = EgressPath(
            proxy: EgressProxy(
                kind: .http,
                host: .address(loopback),
                port: proxy.port,
                addresses: [loopback],
                endpoint: HTTPDNSEndpoint(address: loopback, port: proxy.port)
            )
        )
        try await transport.fetch(request)
        #expect(proxy.connections.first?.text.hasPrefix("CONNECT [2001:db8::1]:80 HTTP/1.1\r\n") == true)
        await transport.shutdown()
    }
}
