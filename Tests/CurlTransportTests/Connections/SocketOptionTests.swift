import CurlTransport
import Glibc
import HTTPDNSPrimitives
import ServerRig
import Testing

/// What the kernel is told about the transport's sockets, as it says itself.
@Suite("Socket options", .timeLimit(.minutes(10)))
struct SocketOptionTests {
    typealias Driver = TransportConfiguration.Driver

    private func option(_ level: Int32, _ name: Int32, of descriptor: Int32) throws -> Int32 {
        var value: Int32 = -1
        var length = socklen_t(MemoryLayout<Int32>.size)
        try #require(getsockopt(descriptor, level, name, &value, &length) == 0)
        return value
    }

    @Test(
        "the kernel gives up what is not acknowledged in time, in ms, and asks after peers that are silent for 30 s",
        arguments: [
            (.seconds(30), 30_000), (.milliseconds(1_500), 1_500), (.microseconds(1), 1), (nil, 0),
        ] as [(Duration?, Int32)],
        Driver.allCases
    )
    func unacknowledged(limit: (set: Duration?, milliseconds: Int32), driver: Driver) async throws {
        let server = try RawServer(.readHead, .sendText("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"), .hang)
        var configuration = TransportConfiguration()
        configuration.driver = driver
        configuration.unacknowledgedLimit = limit.set
        let fixture = TransportFixture(Transport(configuration))
        try await fixture.fetch(try TransportFixture.request("http://one.test:\(server.port)/", at: "127.0.0.1"))
        let sockets = SocketCount.descriptors(connectedTo: server.port)
        let socket = try #require(sockets.first)
        #expect(sockets.count == 1)
        #expect(try option(Int32(IPPROTO_TCP), TCP_USER_TIMEOUT, of: socket) == limit.milliseconds)
        #expect(try option(SOL_SOCKET, SO_KEEPALIVE, of: socket) == 1)
        #expect(try option(Int32(IPPROTO_TCP), TCP_KEEPIDLE, of: socket) == 30)
        #expect(try option(Int32(IPPROTO_TCP), TCP_KEEPINTVL, of: socket) == 10)
        #expect(try option(Int32(IPPROTO_TCP), TCP_NODELAY, of: socket) == 1)
        #expect(fcntl(socket, F_GETFD) & FD_CLOEXEC == FD_CLOEXEC)
        await fixture.transport.shutdown()
    }
}
