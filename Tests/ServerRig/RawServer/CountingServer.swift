// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import Glibc
internal import HTTPDNSPrimitives

/// An HTTP/1.1 server with several ports that counts its concurrent connections, and those with a request in progress.
///
/// A connection counts from `accept` until the client closes it, and a request from its head until its response is about to be
/// sent. Each connection has a thread.
public final class CountingServer: Sendable {
    /// The largest numbers at the same time, and the totals.
    public struct Counts: Sendable, Hashable {
        /// The connections that were open.
        public var mostOpen = 0
        /// The connections that had a request in progress.
        public var mostBusy = 0
        /// All connections.
        public var connections = 0
        /// All requests.
        public var requests = 0
        fileprivate var open = 0
        fileprivate var busy = 0

        fileprivate mutating func opened() {
            open += 1
            connections += 1
            mostOpen = max(mostOpen, open)
        }

        fileprivate mutating func began() {
            busy += 1
            requests += 1
            mostBusy = max(mostBusy, busy)
        }
    }

    /// The ports on which it listens, on 127.0.0.1.
    public let ports: [UInt16]
    private let listeners: [FileDescriptor]
    private let traffic: CountedTraffic

    /// Starts the server.
    /// - Parameters:
    ///   - ports: The number of ports.
    ///   - delay: The time between a request and its response.
    /// - Throws: ``SystemCallError`` when it cannot listen.
    public init(ports count: Int, delay: Duration = .zero) throws {
        listeners = try (0..<count).map { _ in try SocketAddress("127.0.0.1", 0).listeningSocket(backlog: 128) }
        ports = try listeners.map { try SocketAddress.port(of: $0) }
        traffic = CountedTraffic(pause: useconds_t(delay / .microseconds(1)))
        for (listener, port) in zip(listeners, ports) {
            startThread { [traffic] in traffic.accept(at: listener, port) }
        }
    }

    deinit { stop() }

    /// Ends all connections, and accepts no more.
    public func stop() {
        for listener in listeners { shutdown(listener.number, Int32(SHUT_RDWR)) }
        traffic.end()
    }

    /// The counts of all ports together.
    public var counts: Counts { traffic.counts }
    /// The counts by port.
    public var countsByPort: [UInt16: Counts] { traffic.countsByPort }
}

/// The connections of a ``CountingServer``.
private final class CountedTraffic: Sendable {
    private struct State {
        var total = CountingServer.Counts()
        var byPort: [UInt16: CountingServer.Counts] = [:]
        var clients: [Int32: FileDescriptor] = [:]
        var isEnded = false

        mutating func change(_ port: UInt16, _ change: (inout CountingServer.Counts) -> Void) {
            change(&total)
            change(&byPort[port, default: CountingServer.Counts()])
        }
    }

    private let state = Lock(State())
    private let pause: useconds_t

    init(pause: useconds_t) { self.pause = pause }

    var counts: CountingServer.Counts { state.withLock { $0.total } }
    var countsByPort: [UInt16: CountingServer.Counts] { state.withLock { $0.byPort } }

    func end() {
        state.withLock { state in
            state.isEnded = true
            for client in state.clients.values { shutdown(client.number, Int32(SHUT_RDWR)) }
        }
    }

    /// Accepts connections on the listener's thread, until the listener is shut down.
    func accept(at listener: FileDescriptor, _ port: UInt16) {
        while let client = listener.nextConnection() {
            let isOpen = state.withLock { state in
                if state.isEnded { return false }
                state.clients[client.number] = client
                state.change(port) { $0.opened() }
                return true
            }
            guard isOpen else { return }
            startThread { [self] in serve(client, port) }
        }
    }

    private func serve(_ client: FileDescriptor, _ port: UInt16) {
        let response = Array("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello".utf8)
        var one: Int32 = 1
        setsockopt(client.number, Int32(IPPROTO_TCP), TCP_NODELAY, &one, socklen_t(MemoryLayout<Int32>.size))
        var received: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 4096)
        while true {
            let count = recv(client.number, &buffer, buffer.count, 0)
            guard count > 0 else { break }
            received += buffer[..<count]
            guard received.suffix(4) == [13, 10, 13, 10] else { continue }
            received.removeAll(keepingCapacity: true)
            state.withLock { $0.change(port) { $0.began() } }
            if pause > 0 { usleep(pause) }
            // The client may send the next request as soon as it has the response.
            state.withLock { $0.change(port) { $0.busy -= 1 } }
            guard send(client.number, response, response.count, Int32(MSG_NOSIGNAL)) == response.count else { break }
        }
        state.withLock { state in
            state.change(port) { $0.open -= 1 }
            state.clients[client.number] = nil
        }
    }
}
