// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import Glibc
import HTTPDNSPrimitives
import ServerRig
import Testing

@testable import HTTPDNSCurl

/// What the kernel is told about the transport's sockets, as it says itself.
struct SocketOptionTests {
    private func option(_ level: Int32, _ name: Int32, of descriptor: Int32) throws -> Int32 {
        var value: Int32 = -1
        var length = socklen_t(MemoryLayout<Int32>.size)
        try #require(getsockopt(descriptor, level, name, &value, &length) == 0)
        return value
    }

    /// - Parameter limits: The transport's own bound, the idle limit and the limit of the response head.
    @Test(
        "The kernel's unacknowledged limit is the largest limit of a slow transfer",
        arguments: [
            ([.seconds(30), .seconds(1), .seconds(1)], 30_000), ([.seconds(30), .seconds(300), .seconds(60)], 300_000),
            ([.milliseconds(1_500), .seconds(1), .seconds(2)], 2_000),
            ([nil, .seconds(1), .seconds(1)], 0), ([.seconds(30), nil, .seconds(1)], 0),
        ] as [([Duration?], Int32)]
    )
    func unacknowledged(limit: (set: [Duration?], milliseconds: Int32)) async throws {
        let server = try RawServer(.readHead, .respond(), .hang)
        var configuration = TransportConfiguration()
        configuration.unacknowledgedLimit = limit.set[0]
        let fixture = TransportFixture(Transport(configuration))
        let request = try TransportFixture.request(to: server) {
            ($0.idle, $0.firstByte) = (limit.set[1], limit.set[2])
        }
        // Dead sockets of another test whose server had this port before are none of this test's.
        let others = Set(SocketCount.descriptors(connectedTo: server.port))
        try await fixture.fetch(request)
        let sockets = SocketCount.descriptors(connectedTo: server.port).filter { !others.contains($0) }
        let socket = try #require(sockets.first)
        #expect(sockets.count == 1)
        #expect(try option(Int32(IPPROTO_TCP), TCP_USER_TIMEOUT, of: socket) == limit.milliseconds)
        #expect(try option(SOL_SOCKET, SO_KEEPALIVE, of: socket) == 1)
        #expect(try option(Int32(IPPROTO_TCP), TCP_KEEPIDLE, of: socket) == 30)
        #expect(try option(Int32(IPPROTO_TCP), TCP_KEEPINTVL, of: socket) == 10)
        #expect(try option(Int32(IPPROTO_TCP), TCP_KEEPCNT, of: socket) == 9)
        #expect(try option(Int32(IPPROTO_TCP), TCP_NODELAY, of: socket) == 1)
        #expect(fcntl(socket, F_GETFD) & FD_CLOEXEC == FD_CLOEXEC)
        await fixture.transport.shutdown()
    }

    @Test("The kernel has the settings of keepalive", arguments: [false, true])
    func keepalive(isNever: Bool) async throws {
        let server = try RawServer(.serve())
        var configuration = TransportConfiguration()
        var keepalive = HTTPDNSTransfer.TCPKeepalive()
        (keepalive.idle, keepalive.interval, keepalive.count) = (.seconds(75), .milliseconds(7_900), 3)
        configuration.tcpKeepalive = isNever ? .off : keepalive
        let fixture = TransportFixture(Transport(configuration))
        let others = Set(SocketCount.descriptors(connectedTo: server.port))
        try await fixture.fetch(try TransportFixture.request(to: server))
        let sockets = SocketCount.descriptors(connectedTo: server.port).filter { !others.contains($0) }
        let socket = try #require(sockets.first)
        #expect(try option(SOL_SOCKET, SO_KEEPALIVE, of: socket) == (isNever ? 0 : 1))
        if !isNever {
            #expect(try option(Int32(IPPROTO_TCP), TCP_KEEPIDLE, of: socket) == 75)
            #expect(try option(Int32(IPPROTO_TCP), TCP_KEEPINTVL, of: socket) == 7)
            #expect(try option(Int32(IPPROTO_TCP), TCP_KEEPCNT, of: socket) == 3)
        }
        await fixture.transport.shutdown()
    }

    @Test("A kept connection takes the larger bound of a later transfer, and keeps it")
    func raised() async throws {
        let server = try RawServer(.serve())
        let fixture = TransportFixture()
        for (idle, expected) in [(60, 60_000), (300, 300_000), (60, 300_000)] as [(Int, Int32)] {
            let request = try TransportFixture.request(to: server) { $0.idle = .seconds(idle) }
            try await fixture.fetch(request)
            let socket = try #require(SocketCount.descriptors(connectedTo: server.port).first)
            #expect(try option(Int32(IPPROTO_TCP), TCP_USER_TIMEOUT, of: socket) == expected)
        }
        #expect(server.connections.count == 1)
        await fixture.transport.shutdown()
    }

    /// The kernel does so itself when nothing listens on a port of its ephemeral range, once in some thousand attempts.
    @Test(
        "A socket connected with itself is recognized, and a reset frees its port",
        arguments: ["127.0.0.1", "::1"]
    )
    func connectedToItself(address: String) throws {
        let isIPv6 = address.contains(":")
        let family = isIPv6 ? AF_INET6 : AF_INET
        func with<Result>(port: UInt16, _ body: (UnsafePointer<sockaddr>, socklen_t) -> Result) -> Result {
            var six = sockaddr_in6()
            (six.sin6_family, six.sin6_port, six.sin6_addr) = (sa_family_t(AF_INET6), port.bigEndian, in6addr_loopback)
            var four = sockaddr_in()
            (four.sin_family, four.sin_port) = (sa_family_t(AF_INET), port.bigEndian)
            four.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
            let length = socklen_t(isIPv6 ? MemoryLayout<sockaddr_in6>.size : MemoryLayout<sockaddr_in>.size)
            return withUnsafePointer(to: &six) { six in
                withUnsafePointer(to: &four) { four in
                    body(
                        UnsafeRawPointer(isIPv6 ? UnsafeRawPointer(six) : UnsafeRawPointer(four))
                            .assumingMemoryBound(to: sockaddr.self),
                        length
                    )
                }
            }
        }
        let (socket, _) = openSocket(family, Int32(SOCK_STREAM.rawValue), 0)
        try #require(with(port: 0) { bind(socket, $0, $1) } == 0)
        let port = UInt16(localPort(of: socket))
        #expect(!isConnectedToItself(socket))
        try #require(with(port: port) { connect(socket, $0, $1) } == 0)
        #expect(isConnectedToItself(socket))
        resetAtClose(socket)
        _ = closeSocket(socket)
        let (next, _) = openSocket(family, Int32(SOCK_STREAM.rawValue), 0)
        #expect(with(port: port) { bind(next, $0, $1) } == 0, "a closed connection still has the port")
        _ = closeSocket(next)
    }

    @Test("A socket that is connected with a server is not connected with itself")
    func connectedToServer() async throws {
        let server = try RawServer(.serve())
        let fixture = TransportFixture()
        let others = Set(SocketCount.descriptors(connectedTo: server.port))
        try await fixture.fetch(try TransportFixture.request(to: server))
        let socket = try #require(SocketCount.descriptors(connectedTo: server.port).first { !others.contains($0) })
        #expect(!isConnectedToItself(socket))
        await fixture.transport.shutdown()
    }
}
