// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNSPrimitives

// The closing of connections.
extension TransportLoop {
    // MARK: sockets

    func connectionOpened(_ descriptor: Int32, for pin: Pin) -> Connection {
        sweep.begin(at: now, idleLimit: configuration.idleLimit, hasShut: pins.shutCount > 0)
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
        guard let pin = handle.pin, handle.sending.mayHaveBeenSent, !handle.hasOpenedConnection else { return }
        switch phase {
        case .firstByte, .send, .body: break
        case .head, .total:
            guard !pin.wasHeard(since: handle.progress.activeAt) else { return }
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
        sweep.hurry(at: now)
    }

    // MARK: sweeping

    /// Without open connections no wake-up is needed.
    func sweepIfDue() {
        guard now >= sweep.at else { return }
        sweep.end()
        guard pins.hasConnections else { return }
        sweep.begin(at: now, idleLimit: configuration.idleLimit, hasShut: pins.shutCount > 0)
        sweep.transfer(configuration)?.start(multi)
    }
}
