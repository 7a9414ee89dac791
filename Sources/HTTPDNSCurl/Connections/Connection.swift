internal import HTTPDNSPrimitives

/// A connection of a pin, from the moment when libcurl gets its socket until libcurl closes it. Loop thread only.
///
/// A transfer refers to the connection that carries it, see ``EasyHandle/connection``. It may hold the record for longer than
/// libcurl has the connection.
final class Connection {
    /// The pin that the connection was made for; nil once it is closed.
    fileprivate(set) var pin: Pin?
    /// The number of the socket; -1 once it is closed.
    fileprivate(set) var descriptor: Int32
    /// Tells the socket from a later one with the same number, see ``socketIdentity(_:)``.
    let inode: UInt64
    /// The moment on the loop's clock when its socket was opened.
    let openedAt: Int64
    /// Its local port, which no other connection of its pin has; 0 until a request reaches the pre-request callback on it,
    /// and for a Unix socket.
    fileprivate(set) var localPort: Int32 = 0
    /// The version that TLS negotiated or a response head named; nil while neither is known.
    fileprivate(set) var version: HTTPDNSTransfer.HTTPVersion?
    /// The certificates that its server showed, as far as they are kept.
    fileprivate(set) var chain: [HTTPDNSTransfer.PeerCertificate] = []
    /// Whether it was shut down. libcurl finds it dead when it looks at it next, and closes it.
    var isShut = false
    /// The bound of unacknowledged time that its socket was given (TCP_USER_TIMEOUT); nil for the kernel's own.
    var userTimeout: Duration?
    /// The moment since which the peer has answered neither bytes nor probes, as far as the loop has asked; `Int64.max` when
    /// it did.
    private(set) var unansweredSince = Int64.max
    /// The last time that the loop asked and everything was acknowledged.
    private var answeredAt = Int64.min
    /// The number of transfers that it carries or is being made for. Streams that wait for it are not among them.
    var transfers = 0
    /// The last stream that its server processes, once it has said GOAWAY (RFC 9113 section 6.8).
    var lastStream: UInt32?
    /// The number of streams that its server kept when it refused others; nil while it has refused none. libcurl sends no
    /// other request on it then (7.88.1).
    private(set) var acceptedStreams: Int?
    /// Whether its server's settings have come, which tell how many streams it allows: they come before the first bytes of a
    /// response (RFC 9113 section 3.4), and in less time than it takes to make another connection.
    var hasSettings = false
    /// Whether libcurl may use it for one more request.
    var takesRequests: Bool { !isShut && lastStream == nil && acceptedStreams == nil }
    /// The number of requests on it that must not be repeated unless they were certainly not processed. While there are any,
    /// libcurl traces all requests on it.
    var unrepeatable = 0
    /// The number of bytes that may lie unread on it when a request is about to go out. Over TLS 1.3 a connection that was
    /// made ahead has session tickets there; nil until they are counted. After a response there are none.
    var expectedBytes: Int32? = 0
    /// Its index among the connections of its pin.
    fileprivate var index = 0

    init(_ descriptor: Int32, inode: UInt64, openedAt: Int64, pin: Pin) {
        self.descriptor = descriptor
        self.inode = inode
        self.openedAt = openedAt
        self.pin = pin
    }

    /// Its server refused a stream of those that it carries.
    func refusedStream() { acceptedStreams = (acceptedStreams ?? transfers) - 1 }

    /// The kernel's times are in ticks of up to 10 ms.
    private static let granularity: Int64 = 20_000_000

    /// Takes what the kernel reports of it.
    /// - Parameter sentAt: The moment when the request was sent that is waited for. Before that the connection may have been
    ///   idle.
    func note(_ state: SendingState, sentAt: Int64, at now: Int64) {
        guard state.isUnanswered else {
            unansweredSince = .max
            if !state.hasUnacknowledged { answeredAt = now }
            return
        }
        let acknowledgedAt = now - state.sinceAcknowledgment
        guard unansweredSince == .max || acknowledgedAt > unansweredSince + Connection.granularity else { return }
        // One probe without an answer may have been sent just now.
        unansweredSince = state.retransmissions > 0 ? max(sentAt, acknowledgedAt, answeredAt) : now
    }
}

/// The open connections of one pin.
struct PinConnections {
    private(set) var all: [Connection] = []
    private var byPort: [Int32: Connection] = [:]
    /// The moment when the oldest of those that speak HTTP/2 was opened; `Int64.max` when none does. A connection that serves
    /// a request at a time is left to libcurl, which looks at the age of those that are idle: one that many requests share
    /// may never be.
    private(set) var multiplexedSince = Int64.max
    /// The version of the connection whose version became known last: what the next one will speak, as a rule.
    private(set) var lastVersion: HTTPDNSTransfer.HTTPVersion?
    /// That connection.
    private var newest: Connection?
    /// Nearly always the next connection shows the same certificates, and shares their memory.
    private var lastChain: [HTTPDNSTransfer.PeerCertificate] = []

    var isEmpty: Bool { all.isEmpty }

    mutating func opened(_ connection: Connection) {
        connection.index = all.count
        all.append(connection)
    }

    mutating func closed(_ connection: Connection) {
        connection.descriptor = -1
        connection.pin = nil
        let last = all.removeLast()
        if last !== connection {
            all[connection.index] = last
            last.index = connection.index
        }
        if byPort[connection.localPort] === connection { byPort[connection.localPort] = nil }
        if newest === connection { newest = nil }
        if connection.version == .http2 {
            multiplexedSince = all.reduce(.max) { $1.version == .http2 ? min($0, $1.openedAt) : $0 }
        }
    }

    /// The connection with a local port, as far as a request has reached the pre-request callback on it.
    func connection(at localPort: Int32) -> Connection? { byPort[localPort] }

    /// The local port of a connection is known.
    mutating func identified(_ connection: Connection, at localPort: Int32) {
        connection.localPort = localPort
        byPort[localPort] = connection
    }

    /// The version that a connection speaks is known.
    mutating func negotiated(_ version: HTTPDNSTransfer.HTTPVersion, on connection: Connection) {
        connection.version = version
        lastVersion = version
        newest?.hasSettings = true
        newest = connection
        if version == .http2 { multiplexedSince = min(multiplexedSince, connection.openedAt) }
    }

    /// The certificates of a connection's server are known.
    mutating func showed(_ chain: [HTTPDNSTransfer.PeerCertificate], on connection: Connection) {
        if lastChain != chain { lastChain = chain }
        connection.chain = lastChain
    }
}
