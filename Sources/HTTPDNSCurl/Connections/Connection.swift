// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNSPrimitives

/// A connection of a pin, from the creation of its socket until libcurl closes it. Loop thread only.
///
/// A transfer refers to the connection that carries it, see ``EasyHandle/connection``. It may hold the record longer than
/// libcurl has the connection.
final class Connection: HeapMember {
    /// The pin that the connection was made for; `nil` once it is closed.
    fileprivate(set) var pin: Pin?
    /// The socket's descriptor; -1 once it is closed.
    @exclusivity(unchecked) fileprivate(set) var descriptor: Int32 { didSet { recount() } }
    /// The socket's inode, which distinguishes it from a later socket with the same descriptor, see ``socketIdentity(_:)``.
    let inode: UInt64
    /// The time on the loop's clock at which the socket was opened.
    let openedAt: Int64
    /// The local port, which is unique within the pin. It is 0 until a request reaches the pre-request callback on the
    /// connection, and for a Unix socket.
    fileprivate(set) var localPort: Int32 = 0
    /// The version that TLS negotiated or a response head named; `nil` while neither is known.
    fileprivate(set) var version: HTTPDNSTransfer.HTTPVersion? { didSet { recount() } }
    var tls = ConnectionTLS()
    /// Whether the kernel connected the socket with itself: nothing listens on the port, and the local port is the same
    /// (RFC 9293 section 3.5, simultaneous open).
    var isConnectedToItself = false
    /// Whether the connection was shut down. libcurl finds it dead at its next check, and closes it.
    var isShut = false { didSet { recount() } }
    /// The socket's TCP_USER_TIMEOUT; `nil` for the kernel's default.
    var userTimeout: Duration?
    var path = ConnectionPath()
    /// The number of transfers that the connection carries or is being made for. Streams that wait for it are not counted.
    @exclusivity(unchecked) var transfers = 0 { didSet { recount() } }
    /// The transfers that the connection carries or is being made for.
    @exclusivity(unchecked) var carried = CarriedTransfers()
    @exclusivity(unchecked) var streams = ConnectionStreams() { didSet { recount() } }
    /// Whether libcurl may use the connection for another request.
    var takesRequests: Bool { !isShut && streams.takesMore }
    /// The number of unread bytes that are legitimate when a request is about to be sent. On a preconnected TLS 1.3 connection
    /// they are session tickets; `nil` until they are counted. After a response there are none.
    var expectedBytes: Int32? = 0
    /// The limits that the server has announced.
    var keepAlive = AnnouncedKeepAlive()
    /// The time from which on it takes no other request, because its server is about to close it; `Int64.max` for none.
    var isKeptUntil = Int64.max
    /// The number of the loop's wait after which the connection was found without unread bytes.
    var emptyInWait = UInt64.max
    fileprivate var listing = PinListing()
    /// The position among the pin's HTTP/2 connections, by age.
    var heapIndex = -1
    var heapKey: Int64 = 0
    /// Its share of the pin's counts. Unchecked exclusivity, as of the values above that each transfer changes: they are accessed on the
    /// loop's thread only, and nothing that is called during a change comes back.
    @exclusivity(unchecked) private var count: ConnectionCount

    init(_ descriptor: Int32, inode: UInt64, openedAt: Int64, pin: Pin) {
        count = ConnectionCount(streams: pin.connections.counts, usage: pin.usage)
        self.descriptor = descriptor
        self.inode = inode
        self.openedAt = openedAt
        self.pin = pin
    }

    /// Whether a request has reached the connection, or its version is known.
    var wasEstablished: Bool { localPort > 0 || version != nil }

    /// Updates the counts after a change of anything that decides whether the connection is in use, or takes more streams.
    private func recount() {
        let isCounted = version == .http2 && streams.hasSettings && takesRequests && descriptor >= 0
        count.change(isInUse: transfers > 0 && descriptor >= 0, transfers: isCounted ? transfers : -1)
    }

    /// Turns the trace of all requests on the connection on. Each turns its own off when it next receives something, see
    /// ``EasyHandle/endTracing()``: many requests are then not switched for each one that must not be repeated.
    func traceAll() {
        while let handle = carried.first, !handle.options.isTracing { handle.setTracing(true) }
    }

    /// Notes that the server refused a stream of the connection.
    func refusedStream() { streams.refusedOne(of: transfers) }
}

/// The result of a connection's TLS handshake.
struct ConnectionTLS {
    /// The server's certificates, as far as they are kept.
    fileprivate(set) var chain: [HTTPDNSTransfer.PeerCertificate] = []
    /// Version and cipher suite; `nil` in clear text, and until a request reaches the connection.
    var parameters: HTTPDNSTransfer.TLSParameters?
    /// Whether the server asked for a client certificate, as far as is known.
    var asksForCertificate = false
}

/// The path of a connection: whether its peer acknowledges what is sent.
struct ConnectionPath {
    /// The kernel reports times in ticks of up to 10 ms.
    private static let granularity: Int64 = 20_000_000

    /// The time since which the peer has acknowledged neither bytes nor probes, as far as the loop has checked; `Int64.max`
    /// when it has.
    private(set) var unansweredSince = Int64.max
    /// The last time that the loop checked and everything was acknowledged.
    private var answeredAt = Int64.min

    /// Notes the kernel's report about the connection.
    /// - Parameter sentAt: The time at which the pending request was sent. Before that the connection may have been idle.
    mutating func note(_ state: SendingState, sentAt: Int64, at now: Int64) {
        guard state.isUnanswered else {
            unansweredSince = .max
            if !state.hasUnacknowledged { answeredAt = now }
            return
        }
        let acknowledgedAt = now - state.sinceAcknowledgment
        guard unansweredSince == .max || acknowledgedAt > unansweredSince + ConnectionPath.granularity else { return }
        // A single unanswered probe may have been sent just now.
        unansweredSince = state.retransmissions > 0 ? max(sentAt, acknowledgedAt, answeredAt) : now
    }
}

/// The streams of an HTTP/2 connection, as far as its server limits them.
struct ConnectionStreams {
    /// The last stream that the server processes, once it has sent GOAWAY (RFC 9113 section 6.8).
    var last: UInt32?
    /// Whether the server's GOAWAY requires HTTP/1.1 for the streams after the last one (RFC 9113 section 7).
    var requiresHTTP1 = false
    /// The number of streams that the server kept when it refused others; `nil` while it has refused none.
    ///
    /// libcurl quirk: A refusal closes the connection to others (7.88.1). Once a server has refused a stream, libcurl sends
    /// nothing more on that connection. The accepted streams are the new limit. Tests: StreamQueueTests.
    private(set) var accepted: Int?
    /// Whether the server's settings have arrived, which contain its stream limit. They precede the first bytes of a response
    /// (RFC 9113 section 3.4), and take less time than another connection.
    var hasSettings = false
    /// The number of requests that may be repeated only if they were certainly not processed. While there are any, libcurl
    /// traces all requests on the connection.
    var unrepeatable = 0

    /// Whether libcurl may open another one.
    var takesMore: Bool { last == nil && accepted == nil }

    /// Notes that the server refused one of them.
    mutating func refusedOne(of count: Int) { accepted = (accepted ?? count) - 1 }
}

/// The position of a connection in ``PinConnections``, which alone changes it.
private struct PinListing {
    /// The index among the connections of the pin.
    var index = 0
    /// The index among those of the pin whose local port is unknown; -1 when it is not among them.
    var unknownIndex = -1
    /// The local port as the kernel reported it before a request reached the connection; 0 when it was not asked.
    var reportedPort: Int32 = 0
}

/// The counts of a pin and of its endpoint that a connection is in.
private struct ConnectionCount {
    let streams: StreamCounts
    let usage: EndpointUsage?
    /// The number of transfers with which it is counted among the streams; -1 when it takes no more of them.
    private var transfers = -1
    /// Whether it is counted as in use.
    private var isInUse = false

    init(streams: StreamCounts, usage: EndpointUsage?) { (self.streams, self.usage) = (streams, usage) }

    mutating func change(isInUse: Bool, transfers: Int) {
        if isInUse != self.isInUse {
            self.isInUse = isInUse
            usage?.countInUse(isInUse ? 1 : -1)
        }
        guard transfers != self.transfers else { return }
        streams.move(from: self.transfers, to: transfers)
        self.transfers = transfers
    }
}

/// The neighbors of a transfer in ``CarriedTransfers``, which alone changes them.
struct CarriedEntry {
    fileprivate unowned(unsafe) var previous: EasyHandle?
    fileprivate unowned(unsafe) var next: EasyHandle?
}

/// The transfers on one connection, as a list that runs through their handles: one joins and leaves without a search. Those
/// that libcurl does not trace precede the others.
struct CarriedTransfers {
    // A handle leaves the list before the loop releases it, see ``EasyHandle/reset()``.
    private(set) unowned(unsafe) var first: EasyHandle?
    private unowned(unsafe) var last: EasyHandle?

    mutating func insert(_ handle: EasyHandle) {
        if handle.options.isTracing {
            handle.carriedEntry.previous = last
            handle.carriedEntry.next = nil
            if let last { last.carriedEntry.next = handle } else { first = handle }
            last = handle
        } else {
            handle.carriedEntry.previous = nil
            handle.carriedEntry.next = first
            if let first { first.carriedEntry.previous = handle } else { last = handle }
            first = handle
        }
    }

    mutating func remove(_ handle: EasyHandle) {
        let (previous, next) = (handle.carriedEntry.previous, handle.carriedEntry.next)
        if let previous { previous.carriedEntry.next = next } else { first = next }
        if let next { next.carriedEntry.previous = previous } else { last = previous }
        handle.carriedEntry.previous = nil
        handle.carriedEntry.next = nil
    }
}

/// The open connections of one pin.
struct PinConnections {
    private(set) var all: [Connection] = []
    private var byPort: [Int32: Connection] = [:]
    /// The connections that no request has reached, and whose local port the kernel was not asked for.
    private var unknown: [Connection] = []
    /// Those whose local port it was asked for.
    private var reported: [Int32: Connection] = [:]
    /// The HTTP/2 connections by the time at which they were opened.
    private var multiplexed = DeadlineHeap<Connection>()
    /// The time at which the oldest HTTP/2 connection was opened; `Int64.max` without one. A shared connection may
    /// never be idle (libcurl quirk "Age limits skip busy connections").
    private(set) var multiplexedSince = Int64.max
    /// The numbers of streams on the connections that take more of them.
    let counts = StreamCounts()
    /// The version that became known last, which the next connection will usually have.
    private(set) var lastVersion: HTTPDNSTransfer.HTTPVersion?
    /// The connection with that version.
    private var newest: Connection?
    /// The last certificate chain. The next connection nearly always has an equal one, and shares its memory.
    private var lastChain: [HTTPDNSTransfer.PeerCertificate] = []

    var isEmpty: Bool { all.isEmpty }

    /// The HTTP/2 connection whose server's settings have not arrived. There is one at most: those of earlier connections
    /// arrive before the version of the next one is known.
    var unsettled: Connection? {
        guard let newest, newest.version == .http2, newest.takesRequests, !newest.streams.hasSettings else {
            return nil
        }
        return newest
    }

    mutating func opened(_ connection: Connection) {
        connection.listing.index = all.count
        all.append(connection)
        connection.listing.unknownIndex = unknown.count
        unknown.append(connection)
    }

    mutating func closed(_ connection: Connection) {
        connection.descriptor = -1
        connection.pin = nil
        let last = all.removeLast()
        if last !== connection {
            all[connection.listing.index] = last
            last.listing.index = connection.listing.index
        }
        if byPort[connection.localPort] === connection { byPort[connection.localPort] = nil }
        removeUnreached(connection)
        if newest === connection { newest = nil }
        if connection.heapIndex >= 0 {
            multiplexed.remove(connection)
            multiplexedSince = multiplexed.first?.heapKey ?? .max
        }
    }

    private mutating func removeUnreached(_ connection: Connection) {
        if connection.listing.unknownIndex >= 0 {
            let last = unknown.removeLast()
            if last !== connection {
                unknown[connection.listing.unknownIndex] = last
                last.listing.unknownIndex = connection.listing.unknownIndex
            }
            connection.listing.unknownIndex = -1
        } else if connection.listing.reportedPort > 0 {
            if reported[connection.listing.reportedPort] === connection {
                reported[connection.listing.reportedPort] = nil
            }
            connection.listing.reportedPort = 0
        }
    }

    /// Returns the connection with a local port, if a request has reached the pre-request callback on it.
    func connection(at localPort: Int32) -> Connection? { byPort[localPort] }

    /// Returns the connection with a local port that no request has reached. The kernel is asked once for each connection,
    /// however many requests look for theirs.
    /// - Parameter localPort: Returns the local port of a descriptor; -1 when it has none.
    mutating func unreached(at port: Int32, _ localPort: (Int32) -> Int32) -> Connection? {
        while let connection = unknown.popLast() {
            connection.listing.unknownIndex = -1
            let port = localPort(connection.descriptor)
            guard port > 0 else { continue }
            connection.listing.reportedPort = port
            reported[port] = connection
        }
        return reported[port]
    }

    /// Notes the local port of a connection.
    mutating func identified(_ connection: Connection, at localPort: Int32) {
        removeUnreached(connection)
        connection.localPort = localPort
        byPort[localPort] = connection
    }

    /// Notes the version of a connection.
    mutating func negotiated(_ version: HTTPDNSTransfer.HTTPVersion, on connection: Connection) {
        connection.version = version
        lastVersion = version
        newest?.streams.hasSettings = true
        newest = connection
        guard version == .http2 else { return }
        multiplexed.insert(connection, at: connection.openedAt)
        multiplexedSince = min(multiplexedSince, connection.openedAt)
    }

    /// Notes the certificates of a connection's server.
    mutating func showed(_ chain: [HTTPDNSTransfer.PeerCertificate], on connection: Connection) {
        if lastChain != chain { lastChain = chain }
        connection.tls.chain = lastChain
    }
}

/// TLS connections that were made ahead, until the bytes that their handshake leaves unread are counted.
struct UncountedConnections {
    /// The delay until the count. TLS 1.3 session tickets follow the handshake within a round trip.
    private static let delay: Int64 = 1_000_000_000

    private var entries: [(connection: Connection, countsAt: Int64)] = []
    /// The index of the first connection that was not counted.
    private var first = 0

    /// The time at which the first connection is due; `Int64.max` without one.
    var nextAt: Int64 { first < entries.count ? entries[first].countsAt : .max }

    /// Adds a connection whose handshake is complete.
    mutating func append(_ connection: Connection, at now: Int64) {
        connection.expectedBytes = nil
        entries.append((connection, now + UncountedConnections.delay))
    }

    /// Counts the bytes of the due connections that have not carried a request meanwhile.
    mutating func count(at now: Int64) {
        while nextAt <= now {
            let connection = entries[first].connection
            first += 1
            if connection.expectedBytes == nil, connection.descriptor >= 0 {
                connection.expectedBytes = receivedBytes(of: connection.descriptor)
            }
        }
        if first > 64 || first == entries.count, first * 2 > entries.count {
            entries.removeFirst(first)
            first = 0
        }
    }
}
