// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import Glibc
internal import HTTPDNSPrimitives

/// A relay in front of a real server, for events on the path between client and server: lost packets and responses, and
/// connections that end. It does not interpret the data; TLS and HTTP/2 are the server's.
public final class TCPRelay: Sendable {
    /// The address on which it listens.
    public let address: String
    /// The port on which it listens.
    public let port: UInt16
    private let listener: FileDescriptor
    private let traffic: RelayedTraffic

    /// Starts the relay.
    /// - Parameters:
    ///   - server: The server's address.
    ///   - serverPort: The server's port.
    ///   - address: A loopback address to listen on.
    ///   - delay: The delay of data from the server, and of the end of its connection.
    ///   - delaysOnlyFirst: Whether only the first data of each connection is delayed: that of a TLS handshake.
    /// - Throws: ``SystemCallError`` when it cannot listen there.
    public init(
        to server: String,
        port serverPort: UInt16,
        address: String = "127.0.0.1",
        delay: Duration = .zero,
        delaysOnlyFirst: Bool = false
    ) throws {
        listener = try SocketAddress(address, 0).listeningSocket(backlog: 128)
        self.address = address
        port = try SocketAddress.port(of: listener)
        traffic = RelayedTraffic(
            server: try SocketAddress(server, serverPort),
            delay: delay,
            delaysOnlyFirst: delaysOnlyFirst
        )
        startThread { [listener, traffic] in traffic.accept(at: listener) }
    }

    deinit {
        shutdown(listener.number, Int32(SHUT_RDWR))
        traffic.end(resetting: false)
    }

    /// The number of connections so far.
    public var connectionCount: Int { traffic.count }

    /// The number of bytes that it has forwarded from servers so far.
    public var answeredBytes: Int { traffic.answeredBytes }

    /// Drops the packets of all clients from now on, like a host that disappeared silently. Nothing is read or acknowledged,
    /// and new connections neither succeed nor fail.
    public func swallow() {
        PacketFilter.dropEverything(sentTo: listener.number)
        traffic.swallow()
    }

    /// Forwards requests from now on, and no responses.
    public func loseAnswers() { traffic.loseAnswers() }

    /// Ends the open connections, with a reset (RST) or a regular close (FIN).
    public func endConnections(resetting: Bool) { traffic.end(resetting: resetting) }
}

/// The connections of a ``TCPRelay``. Each has a thread, which alone reads and writes; other threads end it.
private final class RelayedTraffic: Sendable {
    private struct RelayedConnection: Sendable {
        let client: FileDescriptor
        let server: FileDescriptor
    }

    private struct State {
        var connections: [Int: RelayedConnection] = [:]
        var count = 0
        var losesAnswers = false
        var answeredBytes = 0
    }

    private let server: SocketAddress
    private let state = Lock(State())

    private let delay: useconds_t
    private let delaysOnlyFirst: Bool

    init(server: SocketAddress, delay: Duration, delaysOnlyFirst: Bool) {
        self.delaysOnlyFirst = delaysOnlyFirst
        self.server = server
        self.delay = useconds_t(delay / .microseconds(1))
    }

    var count: Int { state.withLock { $0.count } }
    var answeredBytes: Int { state.withLock { $0.answeredBytes } }

    func swallow() {
        state.withLock { state in
            for connection in state.connections.values { PacketFilter.dropEverything(sentTo: connection.client.number) }
        }
    }

    func loseAnswers() { state.withLock { $0.losesAnswers = true } }

    func end(resetting: Bool) {
        state.withLock { state in
            for connection in state.connections.values {
                if resetting {
                    var linger = linger(l_onoff: 1, l_linger: 0)
                    let length = socklen_t(MemoryLayout.size(ofValue: linger))
                    setsockopt(connection.client.number, SOL_SOCKET, SO_LINGER, &linger, length)
                }
                // The connection's thread reads the end there, and closes both.
                shutdown(connection.server.number, Int32(SHUT_RDWR))
            }
        }
    }

    /// Accepts connections on the listener's thread, until the listener is shut down.
    func accept(at listener: FileDescriptor) {
        while let client = listener.nextConnection() {
            guard let upstream = try? server.connectingSocket() else { continue }
            let connection = RelayedConnection(client: client, server: upstream)
            let number = state.withLock { state in
                state.count += 1
                state.connections[state.count] = connection
                return state.count
            }
            startThread { [weak self] in
                self?.carry(connection)
                self?.state.withLock { $0.connections[number] = nil }
            }
        }
    }

    /// Forwards data until one side closes.
    private func carry(_ connection: RelayedConnection) {
        let (client, server) = (connection.client.number, connection.server.number)
        var connecting = [pollfd(fd: server, events: Int16(POLLOUT), revents: 0)]
        guard poll(&connecting, 1, 30_000) == 1, fcntl(server, F_SETFL, 0) == 0 else { return }
        for socket in [client, server] {
            var one: Int32 = 1
            setsockopt(socket, Int32(IPPROTO_TCP), TCP_NODELAY, &one, socklen_t(MemoryLayout.size(ofValue: one)))
        }
        var buffer = [UInt8](repeating: 0, count: 65536)
        var delay = delay
        while true {
            var descriptors = [client, server].map { pollfd(fd: $0, events: Int16(POLLIN), revents: 0) }
            guard poll(&descriptors, 2, -1) >= 0 || errno == EINTR else { return }
            for (from, to) in [(0, 1), (1, 0)] where descriptors[from].revents != 0 {
                if from == 1 {
                    usleep(delay)
                    if delaysOnlyFirst { delay = 0 }
                }
                let count = recv(descriptors[from].fd, &buffer, buffer.count, 0)
                guard count > 0 else { return }
                if from == 1, state.withLock({ $0.losesAnswers }) { continue }
                var sent = 0
                while sent < count {
                    let more = buffer.withUnsafeBytes {
                        send(descriptors[to].fd, $0.baseAddress?.advanced(by: sent), count - sent, Int32(MSG_NOSIGNAL))
                    }
                    guard more > 0 else { return }
                    sent += more
                    if from == 1 { state.withLock { $0.answeredBytes += more } }
                }
            }
        }
    }
}
