// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import CHTTPDNSCurl
internal import Glibc
internal import HTTPDNSPrimitives
internal import HTTPTypes

// The connection of a transfer: the one that is made for it, or that libcurl has chosen.
extension EasyHandle {
    /// Sets how long connections are kept, and how the kernel detects dead ones.
    func configureConnections() {
        let configuration = loop.configuration
        // libcurl quirk "The idle limit counts busy connections".
        if !loop.keepsConnections { options.set(CURLOPT_FORBID_REUSE, 1) }
        options.set(CURLOPT_MAXAGE_CONN, configuration.idleSeconds)
        options.set(CURLOPT_MAXLIFETIME_CONN, configuration.lifeSeconds)
    }

    /// Switches keepalive on for a new socket: it detects a dead path while a response is pending, and sent data is bounded by
    /// TCP_USER_TIMEOUT. CURLOPT_TCP_KEEPALIVE stays off: it would replace these values after this call.
    ///
    /// libcurl quirk: The count of keepalive is new (all versions). CURLOPT_TCP_KEEPCNT exists since 8.9, so the client
    /// sets the socket's options itself. Tests: SocketOptionTests.
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
            loop.configuration.system.localPort(connection.descriptor) == localPort
        {
            return pin.connections.identified(connection, at: localPort)
        }
        if let known = pin.connections.connection(at: localPort),
            // The port may have been reused, and the request must not be sent with another pin's login.
            !pin.sharesName || loop.configuration.system.localPort(known.descriptor) == localPort
        {
            return use(known, isOpenedHere: hasOpenedConnection && known === connection)
        }
        // No request has reached this point on it before: the transfer that opened it was removed.
        let unreached = pin.connections.unreached(at: localPort, loop.configuration.system.localPort)
        use(unreached, isOpenedHere: false)
        if let unreached { pin.connections.identified(unreached, at: localPort) }
    }

    /// Notes the version of the connection.
    func noteVersion(_ version: HTTPDNSTransfer.HTTPVersion) {
        guard let connection, connection.version == nil else { return }
        connection.pin?.connections.negotiated(version, on: connection)
    }

    /// Notes that the request has its connection, or has ended.
    func noteDecided() {
        guard streamTurn.isUndecided, let pin else { return }
        streamTurn.isUndecided = false
        pin.streams.decided()
    }

    /// The start of the connect limit. While the transfer waits for room on a server that responds, or was just connected to,
    /// the limit starts again.
    var connectingSince: Int64 {
        guard streamTurn.isWaiting, let pin else { return progress.dialedAt }
        return max(progress.dialedAt, pin.heardAt, pin.reachedAt)
    }

    /// Whether the request may use an HTTP/2 connection that others use, or wait for one that is being made (CURLOPT_PIPEWAIT).
    var sharesConnection: Bool {
        guard !options.connectsFresh, let transfer, let pin, !transfer.request.stopsBeforeSending else { return false }
        switch pin.key.versions.kind {
        case .automatic: return transfer.request.url.scheme == .https
        case .http2Only: return transfer.request.url.scheme == .https || !CurlLibrary.limitsClearTextHTTP2
        case .http1Only, .http10Only: return false
        }
    }

    // MARK: whether a kept connection may carry the request

    /// Whether libcurl took a kept connection that does not belong to the pin.
    ///
    /// libcurl quirk: One name for an HTTPS proxy (7.88.1 passes over a tunnel of another login; 8.14.1 chooses it).
    /// TLS proves the proxy's name, so it cannot be made up, and libcurl may choose a kept connection of another login
    /// or address. The pre-request callback rejects that, and the addresses are tried in turn. Tests: SecureProxyTests.
    func isForeign(_ pin: Pin) -> Bool { pin.sharesName && connection == nil }

    /// Whether the request's connection serves one request at a time.
    ///
    /// A connection whose version is unknown has never had a response head. If it was kept anyway, it uses HTTP/2: libcurl
    /// closes an HTTP/1.x connection whose request ended early, and a preconnected one knows its version from TLS.
    var isOverHTTP1: Bool {
        if let version = connection?.version { return version != .http2 }
        guard let request = transfer?.request, let pin else { return false }
        switch pin.key.versions.kind {
        case .automatic: return request.url.scheme == .http
        case .http1Only, .http10Only: return true
        case .http2Only: return false
        }
    }

    /// Whether the server of the kept connection that libcurl chose is about to close it.
    var meetsExpiredConnection: Bool {
        guard !hasOpenedConnection, let connection, connection.keepAlive.isAnnounced else { return false }
        // The response to this request may repeat no limit, and must be counted.
        head.countsKeepAlive = true
        return loop.now >= connection.isKeptUntil
    }

    /// Whether the kept connection that libcurl chose has bytes that belong to no request.
    ///
    /// libcurl quirk: Stray bytes (7.88). Over HTTP/1.x libcurl takes bytes on an idle connection, such as a 408, for
    /// the next response. Before each request the driver, the kernel (FIONREAD) and OpenSSL (`SSL_pending`) are asked
    /// for them. Tests: StrayBytesTests, StrayTimeoutTests.
    var meetsStrayBytes: Bool {
        guard !hasOpenedConnection, isOverHTTP1 else { return false }
        if hasDecryptedBytes { return true }
        guard let connection else {
            // With several Unix sockets it is unknown which one carries the request.
            return pin?.connections.all.contains { $0.transfers == 0 && hasStrayBytes($0) } == true
        }
        guard let expected = connection.expectedBytes else { return false }
        if loop.driver?.isSilent(connection.descriptor) == true { return false }
        return loop.configuration.system.receivedBytes(connection.descriptor) > expected
    }

    /// Whether a Unix socket without a request has unread bytes. The kernel is asked once between two waits of the loop, and
    /// not for a socket that libcurl reads from, or that the last wait reported as silent.
    private func hasStrayBytes(_ connection: Connection) -> Bool {
        guard let driver = loop.driver else { return false }
        guard driver.mayHaveStrayBytes(connection.descriptor), connection.emptyInWait != driver.lastWait else {
            return false
        }
        guard loop.configuration.system.receivedBytes(connection.descriptor) == 0 else { return true }
        connection.emptyInWait = driver.lastWait
        return false
    }

    /// Whether OpenSSL holds bytes after the last response: libcurl reads a body only to its end, and a TLS record may contain
    /// more.
    private var hasDecryptedBytes: Bool {
        guard transfer?.isOverTLS == true, let openSSLPending, let openSSL = ccurl_get_openssl(curl) else {
            return false
        }
        return openSSLPending(openSSL) > 0
    }

    // MARK: the end of a request on its connection

    /// Notes the limits of the connection whose response has ended. The server may have sent all of it when reading first paused.
    func noteKeepAlive() {
        guard ending.isSuccess, sending.isOverHTTP1, let connection, connection.descriptor >= 0 else { return }
        connection.keepAlive.note(
            head.keepAlive,
            roundTrip: (findings.phaseTimings?.firstByte ?? .zero).wholeNanoseconds
        )
        connection.isKeptUntil = connection.keepAlive.end(idleSince: min(loop.now, body.firstPausedAt))
    }

    /// Whether the connection can be used again after a rest that may be short.
    var hasShortRest: Bool {
        guard sending.isOverHTTP1, head.isComplete, !ending.hasFailed, let transfer, !transfer.isCancelled else {
            return false
        }
        guard loop.keepsConnections, pin?.isRetired == false, head.bytes.starts(with: "HTTP/1.1".utf8) else {
            return false
        }
        // libcurl keeps no connection on which the request was not sent to its end.
        guard !transfer.hasBytesToSend || isBodySent else { return false }
        let fields = ResponseHeadParser.fields(head.bytes)
        if fields[values: .connection].contains(where: EasyHandle.listsClose) { return false }
        // The length is unknown: it may be short (RFC 9112 section 7.1).
        if fields.contains(.transferEncoding) { return true }
        guard let length = head.declaredLength.length else { return false }
        let received = UInt64(max(0, receivedBodyBytes))
        return length >= received && length - received <= UInt64(TransportLoop.maximumDiscardedBytes)
    }

    /// Whether a `Connection` field ends the connection (RFC 9112 section 9.6).
    private static func listsClose(_ value: String) -> Bool {
        value.lowercased().split(separator: ",").contains { $0.drop { $0 == " " || $0 == "\t" }.hasPrefix("close") }
    }
}

/// `SSL_pending` of the OpenSSL that libcurl is linked with; nil without one. It reads nothing from the connection.
private let openSSLPending: (@convention(c) (UnsafeMutableRawPointer) -> Int32)? =
    try? DynamicLibrary.program.function("SSL_pending")
