internal import CHTTPDNSCurl
internal import HTTPDNSPrimitives

// The closing of connections.
extension TransportLoop {
    /// The shortest interval of sweeps: libcurl checks its connections at most once a second.
    private static let shortestSweep: Int64 = 1_100_000_000
    private static let longestSweep: Int64 = 15_000_000_000

    // MARK: sockets

    func connectionOpened(_ descriptor: Int32, for pin: Pin) -> Connection {
        scheduleSweep()
        // The descriptor was reused: the earlier connection is closed, and libcurl did not report it.
        if pins.connection(descriptor) != nil { connectionClosed(descriptor) }
        pin.requests = mailbox.pools.withLock { $0.opened(pin.key) }
        return pins.opened(descriptor, for: pin, inode: socketIdentity(descriptor), at: now)
    }

    func connectionClosed(_ descriptor: Int32) {
        if let pin = pins.closed(descriptor) { mailbox.pools.withLock { $0.closed(pin.key) } }
        driver?.socketClosed(descriptor)
    }

    /// Forgets a connection that libcurl closed without CURLOPT_CLOSESOCKETFUNCTION. libcurl 7.88 does that to a socket that
    /// never connected; its descriptor may since belong to anything in the process.
    /// - Returns: Whether the descriptor is no longer the socket that it was opened as.
    @discardableResult
    func forgetIfClosed(_ connection: Connection) -> Bool {
        let descriptor = connection.descriptor
        guard descriptor >= 0 else { return true }
        guard connection.inode != socketIdentity(descriptor) else { return false }
        connectionClosed(descriptor)
        return true
    }

    // MARK: retiring

    /// Excludes the existing connections from new transfers. See ``Transport/retireConnections(host:)``.
    func retireConnections(of host: ParsedURL.Host?) {
        for pin in pins.retire(where: { host == nil || $0.host == host }) { shutIdle(pin) }
    }

    /// Retires a connection of an earlier request after a time limit has passed on it. Over HTTP/1.1 it ends with its
    /// transfer; over HTTP/2 others would be sent on it. The limit of the whole call counts only if nothing was received at
    /// all.
    func retireIfSilent(_ handle: EasyHandle, _ phase: TransferFailure.Phase) {
        guard let pin = handle.pin, handle.mayHaveBeenSent, !handle.hasOpenedConnection else { return }
        switch phase {
        case .firstByte, .send, .body: break
        case .head, .total:
            guard pin.heardAt < handle.activeAt else { return }
        default: return
        }
        leaveSilent(pin)
    }

    /// Retires a silent kept connection: later requests use another one, and its endpoint is tried last. Once is enough,
    /// however many requests notice it.
    func leaveSilent(_ pin: Pin) {
        guard !pin.isRetired else { return }
        let key = pin.key
        if key.isConnectedTo {
            mailbox.health.withLock { [time] in $0.suspected(key.endpoint, for: key.host, inTLS: false, at: time) }
        }
        pins.retire(pin)
        shutIdle(pin)
    }

    private func shutIdle(_ pin: Pin) {
        // With several Unix sockets it is unknown which one carries a request. All are closed with the last transfer.
        guard pin.key.passage?.unixSocket == nil || pin.transfersInFlight == 0 else { return }
        shut(pin.connections.all.filter { $0.transfers == 0 })
    }

    /// Shuts down connections that no request uses. libcurl finds them dead at its next check, and closes them.
    func shut(_ connections: [Connection]) {
        guard !connections.isEmpty else { return }
        for connection in connections where !forgetIfClosed(connection) && pins.shut(connection) {
            shutdownSocket(connection.descriptor)
        }
        sweepAt = min(sweepAt, now + TransportLoop.shortestSweep)
    }

    // MARK: sweeping

    func scheduleSweep() {
        if sweepAt == .max { sweepAt = now + sweepInterval }
    }

    private var sweepInterval: Int64 {
        if pins.shutCount > 0 { return TransportLoop.shortestSweep }
        let quarter = configuration.idleLimit.wholeNanoseconds / 4
        return min(max(quarter, TransportLoop.shortestSweep), TransportLoop.longestSweep)
    }

    /// Without open connections no wake-up is needed.
    func sweepIfDue() {
        guard now >= sweepAt else { return }
        guard pins.hasConnections else {
            sweepAt = .max
            return
        }
        sweepAt = now + sweepInterval
        if sweeper == nil { sweeper = IdleConnectionReaper(configuration) }
        sweeper?.start(multi)
    }
}
