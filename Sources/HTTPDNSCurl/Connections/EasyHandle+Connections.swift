internal import CHTTPDNSCurl
internal import HTTPDNSPrimitives

extension EasyHandle {
    /// How long connections are kept, and how the kernel finds out that one is dead.
    func configureConnections() {
        let configuration = loop.configuration
        if !loop.keepsConnections { set(CURLOPT_FORBID_REUSE, 1) }
        set(CURLOPT_MAXAGE_CONN, configuration.idleSeconds)
        set(CURLOPT_MAXLIFETIME_CONN, configuration.lifeSeconds)
        // Keepalive finds a dead path while a response is slow to come; what was sent is bounded by TCP_USER_TIMEOUT.
        set(CURLOPT_TCP_KEEPALIVE, 1)
        set(CURLOPT_TCP_KEEPIDLE, EasyHandle.keepaliveSeconds)
        set(CURLOPT_TCP_KEEPINTVL, 10)
    }

    /// After so many idle seconds the kernel probes a connection.
    static let keepaliveSeconds = 30

    /// Bounds unacknowledged time for the transfer. The kernel counts a peer's closed window, too, so its bound is not below
    /// the limits of the transfer that allow for one. A connection keeps the largest bound of its transfers.
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

    /// Counts the transfer among those of another connection.
    func use(_ connection: Connection?, isOpenedHere: Bool) {
        hasOpenedConnection = isOpenedHere
        guard connection !== self.connection else { return }
        closeStream()
        self.connection?.transfers -= 1
        connection?.transfers += 1
        self.connection = connection
    }

    /// Finds the connection that libcurl is about to send the request on.
    func identifyConnection(localPort: Int32) {
        guard let pin else { return }
        guard localPort > 0 else {
            // A Unix socket has no port. Where there is one connection, it is that one.
            if connection == nil, pin.connections.all.count == 1 { use(pin.connections.all[0], isOpenedHere: false) }
            return
        }
        // First, because the kernel may give the port of a connection that was reset to this one.
        if hasOpenedConnection, let connection, connection.localPort == 0,
            HTTPDNSCurl.localPort(of: connection.descriptor) == localPort
        {
            return pin.connections.identified(connection, at: localPort)
        }
        if let known = pin.connections.connection(at: localPort),
            // Its number may have been given again, and the request must not go out with the login of another pin.
            !pin.sharesName || HTTPDNSCurl.localPort(of: known.descriptor) == localPort
        {
            return use(known, isOpenedHere: hasOpenedConnection && known === connection)
        }
        // No request has reached this point on it before: the transfer that it was opened for was taken out.
        let unidentified = pin.connections.all.first {
            $0.localPort == 0 && HTTPDNSCurl.localPort(of: $0.descriptor) == localPort
        }
        use(unidentified, isOpenedHere: false)
        if let unidentified { pin.connections.identified(unidentified, at: localPort) }
    }

    /// Notes the version that the connection speaks.
    func noteVersion(_ version: HTTPDNSTransfer.HTTPVersion) {
        guard let connection, connection.version == nil else { return }
        connection.pin?.connections.negotiated(version, on: connection)
    }

    /// Notes the version in the head that has come.
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
    /// libcurl compares whole seconds that have passed, and lets a connection go when there are more.
    var idleSeconds: Int { max(0, Int(idleLimit.components.seconds) - 1) }
    /// To libcurl 0 means for ever.
    var lifeSeconds: Int { max(1, Int(maximumAge.components.seconds) - 1) }
}
