// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

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
        pin.usage = mailbox.pools.withLock { $0.opened(pin.key) }
        mailbox.shared.countConnection(of: pin.key, on: mailbox.index, 1)
        return pins.opened(descriptor, for: pin, inode: socketIdentity(descriptor), at: now)
    }

    func connectionClosed(_ descriptor: Int32) {
        let connection = pins.connection(descriptor)
        // No request has reached it, and few such connections are closed.
        if let connection, connection.localPort == 0, isConnectedToItself(descriptor) {
            connection.isConnectedToItself = true
            resetAtClose(descriptor)
        }
        if let pin = pins.closed(descriptor) {
            if let connection, connection.wasEstablished { noteClosed(connection) }
            mailbox.pools.withLock { $0.closed(pin.key) }
            mailbox.shared.countConnection(of: pin.key, on: mailbox.index, -1)
        }
        driver?.socketClosed(descriptor)
    }

    private func noteClosed(_ connection: Connection) {
        let duration = Duration.nanoseconds(max(0, now - connection.openedAt))
        configuration.closedConnections?.add(
            HTTPDNSTransfer.ClosedConnection(duration: duration, version: connection.version)
        )
    }

    /// Forgets a connection whose descriptor may belong to anything in the process by now.
    ///
    /// libcurl quirk: Sockets close without a callback (7.88). libcurl closes a socket that never connected without
    /// CURLOPT_CLOSESOCKETFUNCTION. So the loop compares inodes before it forgets or shuts down anything.
    /// Tests: TransportRaceTests.
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
            guard !pin.wasHeard(since: handle.activeAt) else { return }
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
            mailbox.endpoints.withLock { [time] in
                $0.suspected(key.endpoint, for: key.host, from: key.egressPath?.source, inTLS: false, at: time)
            }
        }
        for pin in pins.retire(pin) { shutIdle(pin) }
    }

    private func shutIdle(_ pin: Pin) {
        // With several Unix sockets it is unknown which one carries a request. All are closed with the last transfer.
        guard pin.key.egressPath?.unixSocket == nil || pin.transfersInFlight == 0 else { return }
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

extension EasyHandle {
    /// Sets how long connections are kept, and how the kernel detects dead ones.
    func configureConnections() {
        let configuration = loop.configuration
        // libcurl quirk "The idle limit counts busy connections".
        if !loop.keepsConnections { set(CURLOPT_FORBID_REUSE, 1) }
        set(CURLOPT_MAXAGE_CONN, configuration.idleSeconds)
        set(CURLOPT_MAXLIFETIME_CONN, configuration.lifeSeconds)
    }

    /// Switches keepalive on for a new socket: it detects a dead path while a response is pending, and sent data is bounded by
    /// TCP_USER_TIMEOUT. CURLOPT_TCP_KEEPALIVE stays off: it would replace these values after this call.
    ///
    /// libcurl quirk: The count of keepalive is new (all versions). CURLOPT_TCP_KEEPCNT exists since 8.9, so the client sets
    /// the socket's options itself. Tests: SocketOptionTests.
    func keepAlive(_ descriptor: Int32, family: Int32) {
        let keepalive = loop.configuration.tcpKeepalive
        guard !keepalive.isOff, isInternetFamily(family) else { return }
        setKeepalive(of: descriptor, keepalive)
    }

    /// Bounds unacknowledged time for the transfer. The kernel also counts the time of a peer's closed window, so the bound is
    /// not below the transfer's limits for that. A connection keeps the largest bound of its transfers.
    func limitUnacknowledgedTime() {
        guard let connection, let limits = transfer?.limits else { return }
        let isFirst = hasOpenedConnection && connection.localPort == 0
        guard isFirst || connection.userTimeout != nil else { return }
        var limit: Duration?
        if let own = loop.configuration.unacknowledgedLimit, let idle = limits.idle, let head = limits.firstByte {
            limit = max(own, idle, head)
        }
        if !isFirst, let limit, let before = connection.userTimeout, limit <= before { return }
        connection.userTimeout = limit
        setUserTimeout(of: connection.descriptor, limit)
    }

    // MARK: the connection that carries the request

    /// Moves the transfer to another connection's count.
    func use(_ connection: Connection?, isOpenedHere: Bool) {
        hasOpenedConnection = isOpenedHere
        guard connection !== self.connection else { return }
        closeStream()
        if let before = self.connection {
            before.transfers -= 1
            before.carried.remove(self)
        }
        self.connection = connection
        guard let connection else { return }
        connection.transfers += 1
        connection.carried.insert(self)
    }

    /// Finds the connection on which libcurl is about to send the request.
    func identifyConnection(localPort: Int32) {
        guard let pin else { return }
        guard localPort > 0 else {
            // A Unix socket has no port. A single connection must be the right one.
            if connection == nil, pin.connections.all.count == 1 { use(pin.connections.all[0], isOpenedHere: false) }
            return
        }
        // This comes first, because the kernel may reuse the port of a reset connection for this one.
        if hasOpenedConnection, let connection, connection.localPort == 0,
            loop.configuration.localPort(connection.descriptor) == localPort
        {
            return pin.connections.identified(connection, at: localPort)
        }
        if let known = pin.connections.connection(at: localPort),
            // The port may have been reused, and the request must not be sent with another pin's login.
            !pin.sharesName || loop.configuration.localPort(known.descriptor) == localPort
        {
            return use(known, isOpenedHere: hasOpenedConnection && known === connection)
        }
        // No request has reached this point on it before: the transfer that opened it was removed.
        let unreached = pin.connections.unreached(at: localPort, loop.configuration.localPort)
        use(unreached, isOpenedHere: false)
        if let unreached { pin.connections.identified(unreached, at: localPort) }
    }

    /// Notes the version of the connection.
    func noteVersion(_ version: HTTPDNSTransfer.HTTPVersion) {
        guard let connection, connection.version == nil else { return }
        connection.pin?.connections.negotiated(version, on: connection)
    }

    /// Notes the version in the received head.
    func noteVersionOfHead() {
        guard let connection, connection.version == nil else { return }
        if head.starts(with: "HTTP/2".utf8) {
            noteVersion(.http2)
        } else if head.starts(with: "HTTP/1.".utf8) {
            noteVersion(head.starts(with: "HTTP/1.0".utf8) ? .http10 : .http11)
        }
    }
}

extension TransportConfiguration {
    // libcurl quirk: Age limits skip busy connections (7.88.1). libcurl checks the age of idle connections only, in whole
    // seconds, and 0 is no limit. The loop retires the pin of a shared connection. Tests: RetiredConnectionTests,
    // RetiredSharedConnectionTests.
    /// The idle limit for libcurl, which closes a connection when more seconds have elapsed.
    var idleSeconds: Int { max(0, Int(idleLimit.components.seconds) - 1) }
    /// The maximum age for libcurl.
    var lifeSeconds: Int { max(1, Int(maximumAge.components.seconds) - 1) }
}

/// A transfer that makes libcurl check its idle connections. It has no other effect: it ends before there is a socket.
///
/// libcurl quirk: Idle connections stay open (7.88). libcurl closes dead, old and idle connections only when it looks for one.
/// A transfer that cannot be looked up makes it look. Tests: RetiredConnectionTests.
final class IdleConnectionReaper {
    private let curl: UnsafeMutableRawPointer
    private var isRunning = false

    init?(_ configuration: TransportConfiguration) {
        guard let curl = curl_easy_init() else { return nil }
        self.curl = curl
        _ = ccurl_set_string(curl, CURLOPT_URL, "http://sweep.invalid/")
        _ = ccurl_set_string(curl, CURLOPT_PROXY, "")
        _ = ccurl_set_resolver_start_function(curl, refuseLookup)
        _ = ccurl_set_long(curl, CURLOPT_NOSIGNAL, 1)
        // Otherwise it would remove the pins' entries from libcurl's table when they are a minute old.
        _ = ccurl_set_long(curl, CURLOPT_DNS_CACHE_TIMEOUT, CurlLibrary.endlessEntries)
        _ = ccurl_set_long(curl, CURLOPT_MAXAGE_CONN, configuration.idleSeconds)
        _ = ccurl_set_long(curl, CURLOPT_MAXLIFETIME_CONN, configuration.lifeSeconds)
    }

    deinit { curl_easy_cleanup(curl) }

    func start(_ multi: UnsafeMutableRawPointer) {
        guard !isRunning else { return }
        isRunning = curl_multi_add_handle(multi, curl) == CURLM_OK
    }

    func stop(_ multi: UnsafeMutableRawPointer) {
        guard isRunning else { return }
        isRunning = false
        curl_multi_remove_handle(multi, curl)
    }
}
