// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNSPrimitives

/// The turn of a transfer at the ``StreamQueue`` of its pin.
struct StreamTurn {
    /// Its ticket in the queue; 0 when it does not wait there.
    fileprivate(set) var ticket: UInt64 = 0
    /// Whether it is counted in ``StreamQueue/undecided``.
    var isUndecided = false

    /// Whether it waits in that queue, outside libcurl.
    var isWaiting: Bool { ticket != 0 }
}

/// The transfers of a pin that wait until its HTTP/2 connections have room. Loop thread only.
///
/// libcurl quirk: A connection for each full stream (7.88.1; fewer connections from 8.14 on). libcurl opens a connection for
/// each transfer that finds all others full: 900 for 1,000 requests. So transfers wait in the loop, which learns the server's
/// limit. Tests: StreamLimitTests, StreamQueueTests.
///
/// libcurl gets only as many transfers as its connections surely have room for. Beyond that it gets one, and the next when that
/// one has a connection: an open one that had room after all, or a new one. The queue learns a server's limit from the number
/// of transfers on a connection when libcurl opened another one.
struct StreamQueue {
    /// The streams on a connection before the server's settings arrive.
    ///
    /// libcurl quirk: 100 streams are assumed (7.88.1). libcurl puts 100 streams on a connection before the server's settings
    /// arrive. Where fewer are known, CURLOPT_FRESH_CONNECT forces a new one. Tests: StreamQueueTests.
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
        var room = connections.counts.room(below: min(limit, maximum))
        var misleads = false
        if let connection = connections.unsettled {
            let limit = min(limit, StreamQueue.initialLimit, maximum)
            room += max(0, limit - connection.transfers)
            misleads = isLimitExact && connection.transfers >= limit && limit < StreamQueue.initialLimit
        }
        if room > undecided { return .several }
        guard undecided == 0 else { return .none }
        return misleads ? .oneOnNewConnection : .one
    }

    // MARK: waiting transfers

    mutating func append(_ handle: EasyHandle) {
        lastTicket += 1
        handle.streamTurn.ticket = lastTicket
        entries.append(Entry(handle: handle, ticket: lastTicket))
        count += 1
    }

    mutating func popFirst() -> EasyHandle? {
        while first < entries.count {
            let entry = entries[first]
            first += 1
            guard entry.handle.streamTurn.ticket == entry.ticket else { continue }
            remove(entry.handle)
            return entry.handle
        }
        return nil
    }

    mutating func remove(_ handle: EasyHandle) {
        handle.streamTurn.ticket = 0
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
        guard connection.version == .http2, connection.streams.hasSettings, connection.transfers > limit else { return }
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
        let carried = connections.counts.fullest
        if carried < limit { isFull(at: carried) }
    }

    /// Notes that a server refused streams because its connection carried more than it allows.
    mutating func refused(on connection: Connection) {
        guard let accepted = connection.streams.accepted, accepted < limit || !isLimitExact else { return }
        (limit, isLimitExact) = (max(1, accepted), true)
    }

    /// Copies the limit that another pin of the same key has learned.
    mutating func inherit(from other: StreamQueue) {
        (limit, isLimitExact) = (other.limit, other.isLimitExact)
    }
}

/// The HTTP/2 connections of a pin that take more streams and have their server's settings, counted by the number of their
/// transfers. Their room is known without a walk over the connections. Loop thread only.
///
/// A class, because each connection keeps its own count up to date.
final class StreamCounts {
    /// The number of connections by their number of transfers.
    private var connections: [Int] = []
    /// The number of transfers on the fullest connection; 0 without any.
    private(set) var fullest = 0
    /// The limit that ``room`` was computed for.
    private var limit = 0
    private var room = 0

    /// Notes that a connection has another number of transfers.
    /// - Parameters:
    ///   - before: -1 when it was not counted.
    ///   - now: -1 when it is no longer counted.
    func move(from before: Int, to now: Int) {
        if now >= 0 {
            while connections.count <= now { connections.append(0) }
            connections[now] += 1
            room += max(0, limit - now)
            fullest = max(fullest, now)
        }
        guard before >= 0 else { return }
        connections[before] -= 1
        room -= max(0, limit - before)
        while fullest > 0, connections[fullest] == 0 { fullest -= 1 }
    }

    /// Returns the number of streams that the connections can take until each has as many as the limit. Only a new limit takes
    /// a walk.
    func room(below limit: Int) -> Int {
        if limit != self.limit {
            self.limit = limit
            room = connections.prefix(max(0, limit)).enumerated().reduce(0) { $0 + (limit - $1.offset) * $1.element }
        }
        return room
    }
}
