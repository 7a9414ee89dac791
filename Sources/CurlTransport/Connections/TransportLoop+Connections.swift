internal import CCurl
internal import HTTPDNSPrimitives

// Which connections go, and when.
extension TransportLoop {
    /// libcurl looks at its connections once in a second at most.
    private static let shortestSweep: Int64 = 1_100_000_000
    private static let longestSweep: Int64 = 15_000_000_000

    // MARK: sockets

    func socketOpened(_ descriptor: Int32, for pin: Pin) {
        scheduleSweep()
        // The number was given again: the one before is closed, and nobody has told.
        if pins.pin(of: descriptor) != nil { socketClosed(descriptor) }
        pins.socketOpened(descriptor, for: pin, identity: socketIdentity(descriptor))
        mailbox.pools.withLock { $0.opened(pin.key) }
    }

    func socketClosed(_ descriptor: Int32) {
        if configuration.keepsPeerCertificates { pins.pin(of: descriptor)?.chains.socketClosed(descriptor) }
        if let pin = pins.socketClosed(descriptor) { mailbox.pools.withLock { $0.closed(pin.key) } }
        shutSockets.remove(descriptor)
        driver?.socketClosed(descriptor)
    }

    /// libcurl 7.88 closes a socket that never connected by itself, past CURLOPT_CLOSESOCKETFUNCTION: by then its number may be
    /// that of anything else in the process.
    /// - Returns: Whether the descriptor is no longer the socket that it was opened as.
    @discardableResult
    func forgetIfClosed(_ descriptor: Int32) -> Bool {
        guard let identity = pins.identity(of: descriptor), identity != socketIdentity(descriptor) else { return false }
        socketClosed(descriptor)
        return true
    }

    // MARK: retiring

    /// Connections made so far are not used for new transfers. See ``Transport/retireConnections(host:)``.
    func retireConnections(of host: ParsedURL.Host?) {
        let retired = pins.retire { host == nil || $0.host == host }
        let used = usedPorts
        for pin in retired { shutIdle(pin, besides: used) }
    }

    /// A time limit has passed on a connection that was made for an earlier request. Over HTTP/1.1 it goes with its transfer;
    /// over HTTP/2 others would be sent on it. The limit of the whole says that only if nothing came at all.
    func retireIfSilent(_ handle: EasyHandle, _ phase: TransferFailure.Phase) {
        guard let pin = handle.pin, handle.mayHaveBeenSent, handle.socket < 0 else { return }
        switch phase {
        case .firstByte, .send, .body: break
        case .total where pin.heardAt < handle.activeAt: break
        default: return
        }
        leaveSilent(pin)
    }

    /// A kept connection says nothing: later requests get another one, and its endpoint is tried last.
    func leaveSilent(_ pin: Pin) {
        let key = pin.key
        if key.isConnectedTo {
            mailbox.health.withLock { [time] in $0.suspected(key.endpoint, for: key.host, inTLS: false, at: time) }
        }
        pins.retire(pin)
        shutIdle(pin, besides: usedPorts)
    }

    /// Many requests share the connection that brought a head over HTTP/2.
    func noteShared(_ handle: EasyHandle) {
        guard let pin = handle.pin, pin.sharedUntil == .max, handle.head.starts(with: TransportLoop.sharedVersion),
            handle.socket >= 0
        else { return }
        let (until, overflow) = handle.socketOpenedAt.addingReportingOverflow(
            configuration.maximumAge.wholeNanoseconds
        )
        if !overflow { pin.sharedUntil = until }
    }

    private static let sharedVersion = Array("HTTP/2".utf8)

    /// The local ports of connections that carry a request, or are being made for one.
    private var usedPorts: Set<Int32> {
        var ports: Set<Int32> = []
        for handle in active {
            if handle.localPort > 0 { ports.insert(handle.localPort) }
            if handle.socket >= 0 { ports.insert(localPort(of: handle.socket)) }
        }
        return ports
    }

    private func shutIdle(_ pin: Pin, besides used: Set<Int32>) {
        // Unix sockets have no ports to tell those in use by. All go with the last transfer.
        guard pin.key.passage?.unixSocket == nil || pin.transfersInFlight == 0 else { return }
        shut(pin.sockets.filter { !used.contains(localPort(of: $0)) })
    }

    /// Ends connections that nobody uses. libcurl finds them dead when it looks at them next, and closes them.
    func shut(_ sockets: [Int32]) {
        guard !sockets.isEmpty else { return }
        for socket in sockets where !forgetIfClosed(socket) && shutSockets.insert(socket).inserted {
            shutdownSocket(socket)
        }
        sweepAt = min(sweepAt, now + TransportLoop.shortestSweep)
    }

    // MARK: sweeping

    func scheduleSweep() {
        if sweepAt == .max { sweepAt = now + sweepInterval }
    }

    private var sweepInterval: Int64 {
        if !shutSockets.isEmpty { return TransportLoop.shortestSweep }
        let quarter = configuration.idleLimit.wholeNanoseconds / 4
        return min(max(quarter, TransportLoop.shortestSweep), TransportLoop.longestSweep)
    }

    /// Once no connection is open there is nothing to wake up for.
    func sweepIfDue() {
        guard now >= sweepAt else { return }
        guard pins.hasSockets else {
            sweepAt = .max
            return
        }
        sweepAt = now + sweepInterval
        if sweeper == nil { sweeper = Sweeper(configuration) }
        sweeper?.start(multi)
    }
}
