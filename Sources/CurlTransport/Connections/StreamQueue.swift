/// Which transfers of a pin wait until its HTTP/2 connections have room. Loop thread only.
///
/// libcurl opens a connection for each transfer that finds all others full, at the same time: 1,000 requests at once opened 900
/// (7.88.1). So it is given only as many as its connections have room for. When they are full, it is given one, for which it makes a
/// connection, and no other until that one is there. libcurl does not report how many streams a server allows (RFC 9113 section
/// 6.5.2): that is learned from how many a connection carried when libcurl opened another one.
struct StreamQueue {
    /// How many streams a server is taken to allow until something of it has come. libcurl assumes the same, and RFC 9113 section
    /// 6.5.2 recommends no less.
    static let initialLimit = 100

    /// How many streams a connection of the pin carries, as far as is known.
    private(set) var limit = StreamQueue.initialLimit
    /// How many transfers libcurl has without a connection, or while it makes one for them.
    private(set) var undecided = 0
    /// How many transfers wait.
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

    /// How many more transfers libcurl may have.
    /// - Parameter maximum: The most streams that the transport's settings allow on a connection.
    func allowance(on connections: PinConnections, maximum: Int) -> Int {
        // Over HTTP/1.x each transfer has a connection to itself.
        if let version = connections.lastVersion, version != .http2 { return .max }
        var room = 0
        for connection in connections.all where connection.version == .http2 && connection.takesRequests {
            let limit = connection.isHeard ? limit : min(limit, StreamQueue.initialLimit)
            room += max(0, min(limit, maximum) - connection.transfers)
        }
        if room > undecided { return room - undecided }
        return undecided == 0 ? 1 : 0
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
    mutating func decided(_ connection: Connection?) {
        undecided -= 1
        // Perhaps libcurl had room on one that was thought to be full.
        if let connection, connection.version == .http2 { limit = max(limit, connection.transfers) }
    }

    /// libcurl opens a connection for a transfer: those that there are carry as many as they may.
    mutating func opens(besides connections: PinConnections) {
        var most = 0
        for connection in connections.all
        where connection.version == .http2 && connection.isHeard && connection.takesRequests {
            most = max(most, connection.transfers)
        }
        if most > 0 { limit = most }
    }

    /// A server refused streams, because its connection carried more than it allows.
    mutating func refused(on connection: Connection) {
        if let accepted = connection.acceptedStreams { limit = max(1, min(limit, accepted)) }
    }

    /// Whether libcurl may take connections for empty that are full: it does not know yet that the server allows fewer streams than
    /// usual.
    func needsFreshConnection(besides connections: PinConnections) -> Bool {
        limit < StreamQueue.initialLimit
            && connections.all.contains {
                $0.version == .http2 && $0.takesRequests && !$0.isHeard && $0.transfers >= limit
            }
    }

    /// Takes what another pin of the same key has learned.
    mutating func inherit(from other: StreamQueue) {
        limit = other.limit
    }
}
