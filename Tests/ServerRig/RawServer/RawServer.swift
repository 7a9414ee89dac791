internal import Glibc
internal import HTTPDNSPrimitives

/// A TCP server that follows a script on each connection and records every byte it gets: for wire images, for stalls in
/// each phase, for answers that no real server would send.
///
/// One thread serves all connections. It stops with ``stop()`` or its last reference.
public final class RawServer: Sendable {
    /// What the server does next on a connection. After the last step it closes.
    public indirect enum Step: Sendable {
        /// Reads on until the end of a request head (CR LF CR LF).
        case readHead
        /// Reads on until this many more bytes came.
        case read(Int)
        /// Reads on until the client closes its side.
        case readToEnd
        /// Sends bytes.
        case send([UInt8])
        /// Sends text in UTF-8, as written: give CR LF yourself.
        case sendText(String)
        /// Goes on when the test opens the gate.
        case wait(Gate)
        /// Goes on after a time, for answers that come in drops.
        case pause(Duration)
        /// Opens a gate, to tell the test that this point was reached.
        case open(Gate)
        /// Closes its own side (FIN) and goes on reading.
        case shutdownSending
        /// Closes with a reset (RST).
        case reset
        /// Loses what the client sends from now on: it is not read, and not acknowledged.
        case swallow
        /// Does nothing more, still reading, until the client closes.
        case hang
        /// Does nothing more and reads nothing, so that the client's sending stalls.
        case hangWithoutReading
        /// Reads nothing until the test opens the gate, so that the client's sending stalls.
        case waitWithoutReading(Gate)
        /// These steps over and over.
        case repeatForever([Step])
    }

    /// What is known of one connection.
    public struct Connection: Sendable, Hashable {
        /// Which connection it is, from 0.
        public let number: Int
        /// Everything that the client sent.
        public internal(set) var received: [UInt8] = []
        /// How many bytes the kernel has taken for the client.
        public internal(set) var sent = 0
        /// Whether the client has closed its side or reset the connection.
        public internal(set) var isClosedByClient = false
        /// Whether the server has closed it.
        public internal(set) var isClosed = false

        /// Everything that the client sent, as text.
        public var text: String { String(decoding: received, as: UTF8.self) }
    }

    /// What the kernel calls the thread of each server.
    public static let threadName = "rig-raw-server"

    /// The address that it listens on.
    public let address: String
    /// The port that it listens on.
    public let port: UInt16
    private let inbox: RawServerInbox

    /// Starts listening.
    /// - Parameters:
    ///   - address: An IPv4 or IPv6 loopback address.
    ///   - port: The port; 0 lets the system choose.
    ///   - script: The steps for each connection, by its number from 0. It runs on the server's thread.
    /// - Throws: ``SystemCallError`` when the address cannot be listened on.
    public convenience init(
        address: String = "127.0.0.1",
        port: UInt16 = 0,
        script: @escaping @Sendable (_ connection: Int) -> [Step]
    ) throws {
        let listener = try SocketAddress(address, port).listeningSocket(backlog: 128)
        try self.init(listener, address: address, port: try SocketAddress.port(of: listener), script: script)
    }

    /// Starts a server on a Unix socket; its address is the path, and it has no port. The file stays.
    /// - Throws: ``SystemCallError`` when the path cannot be listened on.
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

    /// Starts a server that does the same on each connection.
    /// - Throws: ``SystemCallError`` when the address cannot be listened on.
    public convenience init(address: String = "127.0.0.1", port: UInt16 = 0, _ steps: Step...) throws {
        try self.init(address: address, port: port) { _ in steps }
    }

    deinit { inbox.post(.stop) }

    /// Closes everything. Idempotent.
    public func stop() { inbox.post(.stop) }

    /// Which packets are lost.
    public enum Packets: Sendable {
        /// Those of connections to come: they neither stand nor fail.
        case ofNewConnections
        /// Those of open connections too: nothing is read and nothing acknowledged any more.
        case all
    }

    /// Refuses connections from now on; those that are open stay. Returns when it does.
    public func refuse() async throws {
        inbox.post(.refuse)
        try await awaitConnections { _ in true }
    }

    /// Drops packets from now on, as a host does that has gone without a word. Returns when it does.
    public func swallow(_ packets: Packets) async throws {
        inbox.post(.swallow(packets))
        try await awaitConnections { _ in true }
    }

    /// Lets packets of new connections through again after ``swallow(_:)``. Returns when it does.
    public func restore() async throws {
        inbox.post(.restore)
        try await awaitConnections { _ in true }
    }

    /// All connections as they are now.
    public var connections: [Connection] { inbox.connections }

    /// Waits until `condition` holds for the connections.
    /// - Returns: The connections at that moment.
    /// - Throws: ``RigError`` with what there was, after `limit` or when the server stops.
    @discardableResult
    public func awaitConnections(
        within limit: Duration = .seconds(60),
        where condition: @escaping @Sendable ([Connection]) -> Bool
    ) async throws -> [Connection] {
        try await withCheckedThrowingContinuation { continuation in
            inbox.post(
                .wait(RawServerWaiter(deadline: .now + limit, condition: condition, continuation: continuation))
            )
        }
    }
}
