internal import CHTTPDNSCurl

// Transfers that libcurl ends although they may go on, and that are given to it once more.
extension TransportLoop {
    /// - Returns: Whether the transfer is under way again.
    func beginAgain(_ handle: EasyHandle, after code: CURLcode) -> Bool {
        if handle.rejectsConnection { return beginAgainApart(handle) }
        if handle.isUnprocessed { return sendUnprocessed(handle) }
        if TransportLoop.connectionEnds.contains(code) { return beginAgainOnNewConnection(handle) }
        guard code == CURLE_COULDNT_RESOLVE_HOST || code == CURLE_COULDNT_RESOLVE_PROXY else { return false }
        return beginAgainWithEntry(handle)
    }

    /// A transfer relied on an entry that libcurl's table has lost: it is begun again and brings the entry itself. Nothing
    /// was sent, for the connection was not even looked for.
    private func beginAgainWithEntry(_ handle: EasyHandle) -> Bool {
        guard let pin = handle.pin, !handle.bringsEntry, !handle.hasFailed else { return false }
        curl_multi_remove_handle(multi, handle.curl)
        pin.isEntered = false
        handle.setResolveList(removals: [], pin)
        return curl_multi_add_handle(multi, handle.curl) == CURLM_OK
    }

    /// libcurl took a kept connection that must not carry the request. It was closed, or stays for the requests that it is for: the
    /// transfer gets one of its own.
    private func beginAgainApart(_ handle: EasyHandle) -> Bool {
        handle.rejectsConnection = false
        guard let pin = handle.pin, !handle.hasFailed else { return false }
        curl_multi_remove_handle(multi, handle.curl)
        handle.setConnectsFresh(true)
        handle.setResolveList(removals: [], pin)
        return curl_multi_add_handle(multi, handle.curl) == CURLM_OK
    }

    /// The server processed nothing of a request over HTTP/2: it is sent again, whatever its method is. Its connection takes no more
    /// requests.
    private func sendUnprocessed(_ handle: EasyHandle) -> Bool {
        guard let transfer = handle.transfer, let old = handle.pin, !handle.hasFailed, handle.isBodyAtHand else {
            return false
        }
        let isStream = handle.stream?.isRefused == true
        guard transfer.refusals.add(isStream: isStream, isServerHeard: old.heardAt >= handle.sentAt) else {
            return false
        }
        curl_multi_remove_handle(multi, handle.curl)
        if isStream, let connection = handle.connection {
            connection.refusedStream()
            old.streams.refused(on: connection)
        }
        guard handle.renew() else { return false }
        // The pin stays: it may have other connections, and libcurl uses this one no more.
        let pin = old.isRetired ? pins.acquire(old.key, at: now) : old
        if pin !== old { pin.streams.inherit(from: old.streams) }
        let removals = pins.takeRemovals()
        defer { if pin !== old { shut(pins.release(old)) } }
        do {
            try handle.prepare(transfer, pin: pin, removals: removals)
        } catch {
            pins.restoreRemovals(removals)
            return false
        }
        handle.noteRedial()
        return add(handle, removals: removals) == CURLM_OK
    }

    /// The codes with which libcurl ends a transfer whose HTTP/2 connection has ended (7.88.1).
    private static let connectionEnds = [
        CURLE_OK, CURLE_PARTIAL_FILE, CURLE_GOT_NOTHING, CURLE_SEND_ERROR, CURLE_RECV_ERROR, CURLE_HTTP2,
    ]

    /// A connection ended without a byte of an answer. Over HTTP/1.1 libcurl sends the request again by itself; over HTTP/2 it
    /// does so after some ends and not after others, as a closed connection or one that others' requests shared (7.88.1). Once, for
    /// a server may end each connection.
    private func beginAgainOnNewConnection(_ handle: EasyHandle) -> Bool {
        guard handle.stream != nil, !handle.isHeadBegun, !handle.hasFailed, !handle.isRepeated,
            handle.transfer?.mayBeSentTwice == true, handle.tlsAlert == nil, let old = handle.pin
        else { return false }
        curl_multi_remove_handle(multi, handle.curl)
        handle.isRepeated = true
        // By the old pin libcurl would find the connection that has ended, for as long as others' requests are on it. They all come
        // to the new one, and wait for the connection that the first of them makes.
        pins.retire(old)
        let pin = pins.acquire(old.key, at: now)
        pin.streams.inherit(from: old.streams)
        let removals = pins.takeRemovals()
        defer { shut(pins.release(old)) }
        do {
            try handle.move(to: pin, removals: removals)
        } catch {
            pins.restoreRemovals(removals)
            return false
        }
        handle.noteRedial()
        return add(handle, removals: removals) == CURLM_OK
    }
}

/// The connections to an endpoint that did not process a request, and the end of trying.
struct RefusalCount {
    /// In a row, while nothing comes from the endpoint.
    static let maximumInRow = 5
    /// Of single streams (REFUSED_STREAM), whatever else comes: a server that sheds load is not asked again without a pause.
    static let maximumStreams = 10

    private var inRow = 0
    private var streams = 0

    /// - Parameters:
    ///   - isStream: Whether the stream was refused, and not the rest of the connection (GOAWAY).
    ///   - isServerHeard: Whether bytes of responses have come from the endpoint since the request was sent: a server may process a
    ///     few requests on each connection.
    /// - Returns: Whether the request is sent again.
    mutating func add(isStream: Bool, isServerHeard: Bool) -> Bool {
        inRow = isServerHeard ? 0 : inRow + 1
        if isStream { streams += 1 }
        return inRow <= RefusalCount.maximumInRow && streams <= RefusalCount.maximumStreams
    }
}
