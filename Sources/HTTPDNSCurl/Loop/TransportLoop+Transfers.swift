// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import CHTTPDNSCurl
internal import HTTPDNSPrimitives

// Transfers that libcurl gets: now, later when a shared connection has room (``StreamQueue``), and once more when it has ended them
// although they may continue.
extension TransportLoop {
    // MARK: transfers that share connections

    /// Gives a prepared handle to libcurl, now or when one of its pin's connections has room.
    /// - Parameter removals: The first lines of its RESOLVE list, which must not wait.
    func add(_ handle: EasyHandle, removals: [String]) -> CURLMcode {
        guard let pin = handle.pin, handle.sharesConnection else { return curl_multi_add_handle(multi, handle.curl) }
        if pin.streams.isEmpty, admission(of: pin) == .several { return give(handle, of: pin) }
        if !removals.isEmpty {
            handle.memory.freeRemovalList(before: pin.resolve)
            handle.setResolveList(removals: [], pin)
            pins.restoreRemovals(removals)
        }
        pin.streams.append(handle)
        if !pin.streams.isListed {
            pin.streams.isListed = true
            work.crowded.append(pin)
        }
        return CURLM_OK
    }

    private func admission(of pin: Pin) -> StreamQueue.Admission {
        pin.streams.admission(on: pin.connections, maximum: configuration.maximumStreams)
    }

    private func give(_ handle: EasyHandle, of pin: Pin) -> CURLMcode {
        if !handle.streamTurn.isUndecided { pin.streams.began() }
        handle.streamTurn.isUndecided = true
        return curl_multi_add_handle(multi, handle.curl)
    }

    /// Gives waiting transfers to libcurl, as far as there is room. It runs once in each turn, after everything that may have
    /// made room.
    func admitWaiting() {
        var index = 0
        // A failed transfer starts others, which may wait in turn.
        while index < work.crowded.count {
            let pin = work.crowded[index]
            if pin.isRetired { leaveRetired(pin) } else { admitWaiting(of: pin) }
            guard pin.streams.isEmpty else {
                index += 1
                continue
            }
            pin.streams.isListed = false
            work.crowded.swapAt(index, work.crowded.count - 1)
            work.crowded.removeLast()
        }
    }

    private func admitWaiting(of pin: Pin) {
        while !pin.streams.isEmpty {
            let admission = admission(of: pin)
            guard admission != .none, let handle = pin.streams.popFirst() else { return }
            handle.progress.dialedAt = now
            deadlineMayBeEarlier(for: handle)
            if admission == .oneOnNewConnection { handle.options.setConnectsFresh(true) }
            let carried = pin.connections.counts.fullest
            finish(handle, unlessAdded: give(handle, of: pin))
            // If libcurl found room, the next one may follow in this turn.
            guard admission == .one else { continue }
            driver?.act(now: now)
            // libcurl may have ended others on the connection.
            collectFinished()
            guard let connection = handle.connection else { continue }
            if handle.streamTurn.isUndecided {
                pin.streams.isFull(at: carried)
            } else {
                pin.streams.foundRoom(on: connection)
            }
        }
    }

    /// Moves the waiting transfers of a retired pin to new pins: its connections serve only the transfers that they carry.
    private func leaveRetired(_ old: Pin) {
        while let handle = old.streams.popFirst() {
            let key = handle.transfer.map { self.key(of: $0, at: old.key.endpoint) } ?? old.key
            let pin = pins.acquire(key, at: now)
            pin.streams.inherit(from: old.streams)
            defer { shut(pins.release(old)) }
            do {
                try handle.move(to: pin, removals: [])
                finish(handle, unlessAdded: add(handle, removals: []))
            } catch {
                finish(handle, .failure(error), isAdded: false)
            }
        }
    }

    func finish(_ handle: EasyHandle, unlessAdded code: CURLMcode) {
        guard code != CURLM_OK else { return }
        let text = String(cString: curl_multi_strerror(code))
        finish(handle, .failure(failure(.transport, .queue, text, handle)), isAdded: false)
    }

    // MARK: beginning again

    /// - Returns: Whether the transfer is in progress again.
    func beginAgain(_ handle: EasyHandle, after code: CURLcode) -> Bool {
        if let rejection = handle.findings.rejection { return beginAgainElsewhere(handle, after: rejection) }
        if handle.isUnprocessed { return sendUnprocessed(handle) }
        if TransportLoop.connectionEnds.contains(code) { return beginAgainOnNewConnection(handle) }
        guard code == CURLE_COULDNT_RESOLVE_HOST || code == CURLE_COULDNT_RESOLVE_PROXY else { return false }
        return beginAgainWithEntry(handle)
    }

    /// Begins a transfer again with its own entry, after libcurl's table lost the one that it relied on. Usually nothing was
    /// sent: libcurl had not even looked for a connection.
    ///
    /// libcurl quirk: An entry can be missing (7.88.1, 8.14.1; 8.21.0 reports code 42). A transfer whose entry another one has
    /// removed fails with `CURLE_COULDNT_RESOLVE_HOST`, and begins again with its own. Sent bytes are counted from zero then,
    /// so the rules of a second sending apply first. Tests: TransportConnectionTests, RepetitionTests.
    private func beginAgainWithEntry(_ handle: EasyHandle) -> Bool {
        guard let pin = handle.pin, !handle.bringsEntry, !handle.ending.hasFailed else { return false }
        if handle.sending.mayHaveBeenSent {
            if handle.refusesSecondSending() { return handle.isUnprocessed && sendUnprocessed(handle) }
            if handle.sending.mayHaveBeenSent { handle.sending.beginAgain(countsFromZero: true) }
        }
        curl_multi_remove_handle(multi, handle.curl)
        pin.isEntered = false
        handle.setResolveList(removals: [], pin)
        return curl_multi_add_handle(multi, handle.curl) == CURLM_OK
    }

    /// Begins a transfer again after libcurl took a kept connection that must not carry the request (libcurl quirks
    /// "One name for an HTTPS proxy", "Stray bytes"). That connection was closed, or stays for its own requests. Where
    /// it certainly was closed, libcurl may choose again; otherwise the transfer gets a connection of its own.
    private func beginAgainElsewhere(_ handle: EasyHandle, after rejection: TransferFindings.Rejection) -> Bool {
        handle.findings.rejection = nil
        guard let pin = handle.pin, !handle.ending.hasFailed else { return false }
        curl_multi_remove_handle(multi, handle.curl)
        if rejection == .isUnfit { handle.options.setConnectsFresh(true) }
        handle.setResolveList(removals: [], pin)
        return curl_multi_add_handle(multi, handle.curl) == CURLM_OK
    }

    /// Sends an HTTP/2 request again, whatever its method, since the server processed nothing of it. Its connection accepts no
    /// more requests.
    private func sendUnprocessed(_ handle: EasyHandle) -> Bool {
        guard let transfer = handle.transfer, let old = handle.pin, !handle.ending.hasFailed else { return false }
        if handle.requiresHTTP1, !useHTTP1(for: transfer, insteadOf: old) { return false }
        guard handle.isBodyAtHand else { return false }
        // libcurl quirk: Old requests wait longest (8.14.1). libcurl serves transfers by a number that a later one may have
        // lower (`multi->process`), so a server that ends connections often refuses some requests often. Streams beyond a
        // GOAWAY do not count as refusals. A trace tells them apart. Tests: GoAwayTests.
        let lastStream = handle.connection?.streams.last
        let isStream =
            handle.sending.stream?.isRefused == true
            && handle.sending.stream?.isPastGoAway(lastStream: lastStream) != true
        let isServing =
            old.heardAt >= handle.sending.sentAt
            || handle.sending.stream?.isBehindOthers(lastStream: lastStream) == true
        guard transfer.refusals.add(isStream: isStream, isServing: isServing) else { return false }
        curl_multi_remove_handle(multi, handle.curl)
        if isStream, let connection = handle.connection {
            connection.refusedStream()
            old.streams.refused(on: connection)
        }
        guard handle.renew() else { return false }
        // The pin stays: it may have other connections, and libcurl no longer uses this one.
        let pin = old.isRetired ? pins.acquire(key(of: transfer, at: old.key.endpoint), at: now) : old
        return add(handle, to: pin, insteadOf: old) { removals throws(TransferFailure) in
            try handle.prepare(transfer, pin: pin, removals: removals)
        }
    }

    /// Gives a handle that libcurl has ended to libcurl again, on a pin that may be another one.
    /// - Parameter prepare: Sets the handle's options for that pin.
    private func add(
        _ handle: EasyHandle,
        to pin: Pin,
        insteadOf old: Pin,
        _ prepare: (_ removals: [String]) throws(TransferFailure) -> Void
    ) -> Bool {
        if pin !== old { pin.streams.inherit(from: old.streams) }
        let removals = pins.takeRemovals()
        defer { if pin !== old { shut(pins.release(old)) } }
        do {
            try prepare(removals)
        } catch {
            pins.restoreRemovals(removals)
            return false
        }
        handle.noteRedial()
        return add(handle, removals: removals) == CURLM_OK
    }

    /// The time for which an origin gets its requests over HTTP/1.1 after it has required that (RFC 9113 section 7): each request over
    /// HTTP/2 costs a connection and a round trip for nothing.
    private static let http1Life: Int64 = 600_000_000_000
    /// The maximum number of such origins.
    static let maximumHTTP1Origins = 256

    /// Notes that an origin requires HTTP/1.1 (libcurl quirk "HTTP/1.1 on demand"). Its requests that wait for a stream of the pin
    /// get pins for HTTP/1.1.
    /// - Returns: Whether the request allows HTTP/1.1.
    private func useHTTP1(for transfer: Transfer, insteadOf old: Pin) -> Bool {
        guard transfer.request.allowsBothVersions else { return false }
        http1Origins.set(now + TransportLoop.http1Life, for: RaceOrigin(transfer))
        pins.retire(old)
        return true
    }

    /// Returns the key of a transfer's pin at an endpoint.
    func key(of transfer: Transfer, at endpoint: HTTPDNSEndpoint) -> PinKey {
        var key = PinKey(of: transfer, endpoint, hasCertificate: hasCertificate)
        if !http1Origins.isEmpty, transfer.request.allowsBothVersions,
            let until = http1Origins[RaceOrigin(transfer)], now < until
        {
            key.versions = .http1Only
        }
        return key
    }

    /// The codes with which libcurl ends a transfer whose HTTP/2 connection has ended (7.88.1).
    private static let connectionEnds = [
        CURLE_OK, CURLE_PARTIAL_FILE, CURLE_GOT_NOTHING, CURLE_SEND_ERROR, CURLE_RECV_ERROR, CURLE_HTTP2,
    ]

    /// Begins a transfer again after its connection ended without a byte of a response, once, for a server may end each
    /// connection. Over HTTP/2 libcurl does not do so after a closed connection or one shared with other requests.
    ///
    /// libcurl quirk: Repetition depends on the end (7.88.1). Over HTTP/2 libcurl repeats after some ends only. The loop does
    /// so once, on another pin. Tests: DeadHTTP2ConnectionTests.
    private func beginAgainOnNewConnection(_ handle: EasyHandle) -> Bool {
        guard handle.sending.stream != nil, !handle.head.isBegun, !handle.ending.hasFailed, !handle.sending.isRepeated,
            handle.transfer?.mayBeRepeated == true, handle.tlsAlert == nil, let old = handle.pin
        else { return false }
        curl_multi_remove_handle(multi, handle.curl)
        handle.sending.beginAgain(countsFromZero: false)
        // With the old pin libcurl would find the ended connection as long as other requests are on it. All requests move to
        // the new pin, and wait for the connection that the first of them makes.
        pins.retire(old)
        let pin = pins.acquire(old.key, at: now)
        return add(handle, to: pin, insteadOf: old) { removals throws(TransferFailure) in
            try handle.move(to: pin, removals: removals)
        }
    }
}

/// The number of connections to an endpoint that did not process a request, and the limit of attempts.
struct RefusalCount {
    /// The limit in a row, while the endpoint serves no other request.
    static let maximumInRow = 5
    /// The limit of refused streams (REFUSED_STREAM), whatever else is received: a server that sheds load is not asked again
    /// without a pause.
    static let maximumStreams = 10

    private var inRow = 0
    private var streams = 0
    /// Whether no connection has refused the request.
    private(set) var isEmpty = true

    /// - Parameters:
    ///   - isStream: Whether the stream was refused, rather than the rest of the connection (GOAWAY).
    ///   - isServing: Whether bytes of responses have arrived from the endpoint since the request was sent, or the
    ///     connection has earlier requests that the server processes: a server may process a few on each connection, and
    ///     refuse the others before it responds.
    /// - Returns: Whether to send the request again.
    mutating func add(isStream: Bool, isServing: Bool) -> Bool {
        isEmpty = false
        inRow = isServing ? 0 : inRow + 1
        if isStream { streams += 1 }
        return inRow <= RefusalCount.maximumInRow && streams <= RefusalCount.maximumStreams
    }
}
