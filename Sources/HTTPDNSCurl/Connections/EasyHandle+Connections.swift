internal import CHTTPDNSCurl
internal import HTTPDNSPrimitives

extension EasyHandle {
    /// Sets how long connections are kept, and how the kernel detects dead ones.
    func configureConnections() {
        let configuration = loop.configuration
        if !loop.keepsConnections { set(CURLOPT_FORBID_REUSE, 1) }
        set(CURLOPT_MAXAGE_CONN, configuration.idleSeconds)
        set(CURLOPT_MAXLIFETIME_CONN, configuration.lifeSeconds)
        // Keepalive detects a dead path while a response is pending; sent data is bounded by TCP_USER_TIMEOUT.
        set(CURLOPT_TCP_KEEPALIVE, 1)
        set(CURLOPT_TCP_KEEPIDLE, EasyHandle.keepaliveSeconds)
        set(CURLOPT_TCP_KEEPINTVL, 10)
    }

    /// The idle seconds after which the kernel probes a connection.
    static let keepaliveSeconds = 30

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
        self.connection?.transfers -= 1
        connection?.transfers += 1
        self.connection = connection
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
            HTTPDNSCurl.localPort(of: connection.descriptor) == localPort
        {
            return pin.connections.identified(connection, at: localPort)
        }
        if let known = pin.connections.connection(at: localPort),
            // The port may have been reused, and the request must not be sent with another pin's login.
            !pin.sharesName || HTTPDNSCurl.localPort(of: known.descriptor) == localPort
        {
            return use(known, isOpenedHere: hasOpenedConnection && known === connection)
        }
        // No request has reached this point on it before: the transfer that opened it was removed.
        let unidentified = pin.connections.all.first {
            $0.localPort == 0 && HTTPDNSCurl.localPort(of: $0.descriptor) == localPort
        }
        use(unidentified, isOpenedHere: false)
        if let unidentified { pin.connections.identified(unidentified, at: localPort) }
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
    /// The idle limit for libcurl, which compares whole elapsed seconds and closes a connection when there are more.
    var idleSeconds: Int { max(0, Int(idleLimit.components.seconds) - 1) }
    /// The maximum age for libcurl, to which 0 means no limit.
    var lifeSeconds: Int { max(1, Int(maximumAge.components.seconds) - 1) }
}
