internal import HTTPDNSPrimitives

/// The transfers of a pin that wait until its HTTP/2 connections have room. Loop thread only.
///
/// libcurl opens a connection for each transfer that finds all others full, at the same time: 1,000 concurrent requests opened
/// 900 (7.88.1). So libcurl gets only as many transfers as its connections surely have room for. Beyond that it gets one, and
/// the next when that one has a connection: an open one that had room after all, or a new one. libcurl does not report a
/// server's stream limit (RFC 9113 section 6.5.2). The queue learns it from the number of transfers on a connection when
/// libcurl opened another one.
struct StreamQueue {
    /// The streams that libcurl puts on a connection before the server's settings arrive. RFC 9113 section 6.5.2 recommends
    /// that servers allow no fewer.
    private static let initialLimit = 100

    /// The streams that a connection of the pin can carry, as far as is known.
    private(set) var limit = 1
    /// Whether a connection certainly cannot carry more.
    private(set) var isLimitExact = false
    /// The transfers that libcurl has and that have no connection yet.
    private(set) var undecided = 0
    /// The number of waiting transfers.
    private(set) var count = 0
    /// Whether the loop checks the queue in each turn.
    var isListed = false

    private struct Entry {
        let handle: EasyHandle
        let ticket: UInt64
    }
    /// The entries in order of arrival. An entry whose handle has another ticket is obsolete.
    private var entries: [Entry] = []
    private var first = 0
    private var lastTicket: UInt64 = 0

    var isEmpty: Bool { count == 0 }

    /// The number of transfers that libcurl may get now.
    enum Admission: Equatable {
        /// One transfer, and others after it: there is room.
        case several
        /// One transfer, and no other before it has a connection.
        case one
        /// One transfer, with a connection of its own (CURLOPT_FRESH_CONNECT). Otherwise libcurl would put it on a full one,
        /// since it does not know yet that the server allows fewer streams than usual.
        case oneOnNewConnection
        case none
    }

    /// - Parameter maximum: The maximum number of streams on a connection, from the transport's settings.
    func admission(on connections: PinConnections, maximum: Int) -> Admission {
        // Over HTTP/1.x each transfer has its own connection.
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

    // MARK: waiting transfers

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

    // MARK: transfers in libcurl

    /// Notes that libcurl got a transfer.
    mutating func began() { undecided += 1 }

    /// Notes that such a transfer has its connection, or has ended.
    mutating func decided() { undecided -= 1 }

    /// Notes that libcurl had room for a transfer on a connection that seemed full. The loop knows of all transfers that have
    /// ended.
    mutating func foundRoom(on connection: Connection) {
        guard connection.version == .http2, connection.hasSettings, connection.transfers > limit else { return }
        limit = connection.transfers
        isLimitExact = false
    }

    /// Notes that libcurl opened a connection for a transfer: the existing ones carry as many as they may.
    /// - Parameter carried: The number of transfers on the fullest of them.
    mutating func isFull(at carried: Int) {
        if carried > 0 { (limit, isLimitExact) = (carried, true) }
    }

    /// Notes that libcurl opens a connection although others seemed to have room.
    mutating func opens(besides connections: PinConnections) {
        // The count includes transfers that have ended without the loop's knowledge: the true number may be smaller, not
        // larger.
        let carried = fullest(of: connections)
        if carried < limit { isFull(at: carried) }
    }

    /// Returns the number of transfers on the fullest connection whose server's settings have arrived.
    func fullest(of connections: PinConnections) -> Int {
        var most = 0
        for connection in connections.all where connection.version == .http2 && connection.takesRequests {
            if connection.hasSettings { most = max(most, connection.transfers) }
        }
        return most
    }

    /// Notes that a server refused streams because its connection carried more than it allows.
    mutating func refused(on connection: Connection) {
        guard let accepted = connection.acceptedStreams, accepted < limit || !isLimitExact else { return }
        (limit, isLimitExact) = (max(1, accepted), true)
    }

    /// Copies the limit that another pin of the same key has learned.
    mutating func inherit(from other: StreamQueue) {
        (limit, isLimitExact) = (other.limit, other.isLimitExact)
    }
}
