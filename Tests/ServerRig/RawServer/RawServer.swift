// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import Glibc
internal import HTTPDNSPrimitives

/// A TCP server that follows a script on each connection and records every byte it gets. It serves tests of wire images, of
/// stalls in each phase, and of responses that no real server sends.
///
/// One thread serves all connections. It stops with ``stop()`` or its last reference.
public final class RawServer: Sendable {
    /// The server's next action on a connection. After the last step it closes.
    public indirect enum Step: Sendable {
        /// Reads until the end of a request head (CR LF CR LF).
        case readHead
        /// Reads until the given number of further bytes has arrived.
        case read(Int)
        /// Reads until the client closes its side.
        case readToEnd
        /// Sends bytes.
        case send([UInt8])
        /// Sends text in UTF-8, unchanged: the text must contain its CR LF.
        case sendText(String)
        /// Continues when the test opens the gate.
        case wait(Gate)
        /// Continues after a time, for responses in small pieces.
        case pause(Duration)
        /// Opens a gate, to notify the test that this point was reached.
        case open(Gate)
        /// Closes its own side (FIN) and continues reading.
        case shutdownSending
        /// Closes with a reset (RST).
        case reset
        /// Drops the client's data from now on: it is not read, and not acknowledged.
        case swallow
        /// Does nothing more except reading, until the client closes.
        case hang
        /// Does nothing more without reading, so that the client's sending stalls.
        case hangWithoutReading
        /// Stops reading until the test opens the gate, so that the client's sending stalls.
        case waitWithoutReading(Gate)
        /// Repeats these steps without end.
        case repeatForever([Step])
    }

    /// The record of one connection.
    public struct Connection: Sendable, Hashable {
        /// The number of the connection, from 0.
        public let number: Int
        /// Everything that the client sent.
        public internal(set) var received: [UInt8] = []
        /// The number of bytes that the kernel has accepted for the client.
        public internal(set) var sent = 0
        /// Whether the client has closed its side or reset the connection.
        public internal(set) var isClosedByClient = false
        /// Whether the server has closed it.
        public internal(set) var isClosed = false

        /// Everything that the client sent, as text.
        public var text: String { String(decoding: received, as: UTF8.self) }
    }

    /// The kernel's name of each server's thread.
    public static let threadName = "rig-raw-server"

    /// The address on which it listens.
    public let address: String
    /// The port on which it listens.
    public let port: UInt16
    private let inbox: RawServerInbox

    /// Starts listening.
    /// - Parameters:
    ///   - address: An IPv4 or IPv6 loopback address.
    ///   - port: The port; 0 lets the system choose.
    ///   - script: The steps for each connection, by its number from 0. It runs on the server's thread.
    /// - Throws: ``SystemCallError`` when it cannot listen on the address.
    public convenience init(
        address: String = "127.0.0.1",
        port: UInt16 = 0,
        script: @escaping @Sendable (_ connection: Int) -> [Step]
    ) throws {
        let listener = try SocketAddress(address, port).listeningSocket(backlog: 128)
        try self.init(listener, address: address, port: try SocketAddress.port(of: listener), script: script)
    }

    /// Starts a server on a Unix socket; its address is the path, and it has no port. The file stays.
    /// - Throws: ``SystemCallError`` when it cannot listen on the path.
    public convenience init(
        unixSocket path: String,
        script: @escaping @Sendable (_ connection: Int) -> [Step]
    ) throws {
        let listener = try SocketAddress(unixSocket: path).listeningSocket(backlog: 128)
        try self.init(listener, address: path, port: 0, script: script)
    }

    private init(
        _ listener: FileDescriptor,
        address: String,
        port: UInt16,
        script: @escaping @Sendable (_ connection: Int) -> [Step]
    ) throws {
        self.address = address
        self.port = port
        let (reading, writing) = try FileDescriptor.pipe()
        inbox = RawServerInbox(bell: writing)
        let loop = RawServerLoop(listener: listener, bell: reading, inbox: inbox, script: script)
        startThread {
            nameThread(RawServer.threadName)
            var loop = loop
            loop.run()
        }
    }

    /// Starts a server with the same steps on each connection.
    /// - Throws: ``SystemCallError`` when it cannot listen on the address.
    public convenience init(address: String = "127.0.0.1", port: UInt16 = 0, _ steps: Step...) throws {
        try self.init(address: address, port: port) { _ in steps }
    }

    deinit { inbox.post(.stop) }

    /// Closes everything. Idempotent.
    public func stop() { inbox.post(.stop) }

    /// The packets that are lost.
    public enum Packets: Sendable {
        /// The packets of new connections: connecting neither succeeds nor fails.
        case ofNewConnections
        /// Also the packets of open connections: the server reads and acknowledges nothing any more.
        case all
    }

    /// Refuses new connections; open ones stay. Returns once this is in effect.
    public func refuse() async throws {
        inbox.post(.refuse)
        try await awaitConnections { _ in true }
    }

    /// Drops packets from now on, like a host that disappeared silently. Returns once this is in effect.
    public func swallow(_ packets: Packets) async throws {
        inbox.post(.swallow(packets))
        try await awaitConnections { _ in true }
    }

    /// Accepts packets of new connections again after ``swallow(_:)``. Returns once this is in effect.
    public func restore() async throws {
        inbox.post(.restore)
        try await awaitConnections { _ in true }
    }

    /// The current connections.
    public var connections: [Connection] { inbox.connections }

    /// Waits until `condition` holds for the connections.
    /// - Returns: The connections at that time.
    /// - Throws: ``RigError`` with the actual connections, after `limit` or when the server stops.
    @discardableResult
    public func awaitConnections(
        within limit: Duration = .seconds(120),
        where condition: @escaping @Sendable ([Connection]) -> Bool
    ) async throws -> [Connection] {
        try await withCheckedThrowingContinuation { continuation in
            inbox.post(
                .wait(RawServerWaiter(deadline: .now + limit, condition: condition, continuation: continuation))
            )
        }
    }
}
