internal import HTTPDNSPrimitives

/// The transfers of a pin that wait until its HTTP/2 connections have room. Loop thread only.
///
/// libcurl opens a connection for each transfer that finds all others full, at the same time: 1,000 requests at once opened 900
/// (7.88.1). So it is given only as many as its connections surely have room for. Beyond that it is given one, and the next when that
/// one has a connection: an open one that had room after all, or a new one. libcurl does not report how many streams a server allows
/// (RFC 9113 section 6.5.2): that is learned from how many a connection carried when libcurl opened another one.
struct StreamQueue {
    /// Streams that libcurl puts on a connection before its server's settings have come. RFC 9113 section 6.5.2 recommends that servers
    /// allow no fewer.
    private static let initialLimit = 100

    /// Streams that a connection of the pin can carry, as far as is known.
    private(set) var limit = 1
    /// Whether it can carry no more.
    private(set) var isLimitExact = false
    /// Transfers that libcurl has and that have no connection yet.
    private(set) var undecided = 0
    /// The number of transfers that wait.
    private(set) var count = 0
    /// Whether the loop looks at it in each turn.
    var isListed = false

    private struct Entry {
        let handle: EasyHandle
        let ticket: UInt64
    }
    /// In the order of their coming. One whose handle has another ticket by now has left.
    private var entries: [Entry] = []
    private var first = 0
    private var lastTicket: UInt64 = 0

    var isEmpty: Bool { count == 0 }

    /// The transfers that libcurl may be given.
    enum Admission: Equatable {
        /// One more transfer, and others after it: there is room.
        case several
        /// One more transfer, and no other before it has a connection.
        case one
        /// One more transfer, with a connection of its own (CURLOPT_FRESH_CONNECT). libcurl would put it on one that is full, since it
        /// does not know yet that the server allows fewer streams than usual.
        case oneOnNewConnection
        case none
    }

    /// - Parameter maximum: The most streams that the transport's settings allow on a connection.
    func admission(on connections: PinConnections, maximum: Int) -> Admission {
        // Over HTTP/1.x each transfer has a connection to itself.
        if let version = connections.lastVersion, version != .http2 { return .several }
        var room = 0
        var misleads = false
        for connection in connections.all where connection.version == .http2 && connection.takesRequests {
            let limit = min(connection.hasSettings ? limit : min(limit, StreamQueue.initialLimit), maximum)
            room += max(0, limit - connection.transfers)
            if !connection.hasSettings, isLimitExact, connection.transfers >= limit, limit < StreamQueue.initialLimit {
                misleads = true
            }
        }
        if room > undecided { return .several }
        guard undecided == 0 else { return .none }
        return misleads ? .oneOnNewConnection : .one
    }

    // MARK: what waits

    mutating func append(_ handle: EasyHandle) {
        lastTicket += 1
        handle.streamTicket = lastTicket
        entries.append(Entry(handle: handle, ticket: lastTicket))
        count += 1
    }

    mutating func popFirst() -> EasyHandle? {
        while first < entries.count {
            let entry = entries[first]
            first += 1
            guard entry.handle.streamTicket == entry.ticket else { continue }
            remove(entry.handle)
            return entry.handle
        }
        return nil
    }

    mutating func remove(_ handle: EasyHandle) {
        handle.streamTicket = 0
        count -= 1
        if count == 0 {
            entries = []
            first = 0
        } else if first > 64, first * 2 > entries.count {
            entries.removeFirst(first)
            first = 0
        }
    }

    // MARK: what libcurl has

    /// libcurl is given a transfer.
    mutating func began() { undecided += 1 }

    /// One of them has its connection, or has ended.
    mutating func decided() { undecided -= 1 }

    /// libcurl had room for a transfer on a connection that was thought to be full. The loop knows of all transfers that have ended.
    mutating func foundRoom(on connection: Connection) {
        guard connection.version == .http2, connection.hasSettings, connection.transfers > limit else { return }
        limit = connection.transfers
        isLimitExact = false
    }

    /// libcurl opened a connection for a transfer: those that there were carry as many as they may.
    /// - Parameter carried: The transfers of the fullest of them.
    mutating func isFull(at carried: Int) {
        if carried > 0 { (limit, isLimitExact) = (carried, true) }
    }

    /// libcurl opens a connection although others were thought to have room.
    mutating func opens(besides connections: PinConnections) {
        // Transfers that have ended, and that the loop does not know of yet, are counted: so it may be fewer, and not more.
        let carried = fullest(of: connections)
        if carried < limit { isFull(at: carried) }
    }

    /// The transfers of the fullest connection whose server's settings have come.
    func fullest(of connections: PinConnections) -> Int {
        var most = 0
        for connection in connections.all where connection.version == .http2 && connection.takesRequests {
            if connection.hasSettings { most = max(most, connection.transfers) }
        }
        return most
    }

    /// A server refused streams, because its connection carried more than it allows.
    mutating func refused(on connection: Connection) {
        guard let accepted = connection.acceptedStreams, accepted < limit || !isLimitExact else { return }
        (limit, isLimitExact) = (max(1, accepted), true)
    }

    /// Takes what another pin of the same key has learned.
    mutating func inherit(from other: StreamQueue) {
        (limit, isLimitExact) = (other.limit, other.isLimitExact)
    }
}
