internal import CCurl

// Transfers that libcurl ends although they may go on, and that are given to it once more.
extension TransportLoop {
    /// - Returns: Whether the transfer is under way again.
    func beginAgain(_ handle: EasyHandle, after code: CURLcode) -> Bool {
        if handle.meetsForeignConnection { return beginAgainApart(handle) }
        if code == CURLE_PARTIAL_FILE { return beginAgainOnNewConnection(handle) }
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

    /// libcurl took a connection that was made for somebody else: the transfer gets one of its own.
    private func beginAgainApart(_ handle: EasyHandle) -> Bool {
        handle.meetsForeignConnection = false
        guard let pin = handle.pin, !handle.hasFailed else { return false }
        curl_multi_remove_handle(multi, handle.curl)
        handle.set(CURLOPT_FRESH_CONNECT, 1)
        handle.setResolveList(removals: [], pin)
        return curl_multi_add_handle(multi, handle.curl) == CURLM_OK
    }

    /// A kept connection ended without a byte of an answer. Over HTTP/1.1 libcurl sends the request again by itself; over HTTP/2 it
    /// does so after some ends and not after others, as a closed connection or one that others' requests shared (7.88.1). Once, for
    /// a server may end each connection.
    private func beginAgainOnNewConnection(_ handle: EasyHandle) -> Bool {
        guard handle.mayHaveBeenSent, !handle.isHeadBegun, !handle.hasFailed, handle.socket < 0, !handle.isRedialled,
            handle.transfer?.mayBeSentTwice == true, let old = handle.pin
        else { return false }
        curl_multi_remove_handle(multi, handle.curl)
        // By the old pin libcurl would find the connection that has ended, for as long as others' requests are on it. They all come
        // to the new one, and wait for the connection that the first of them makes.
        pins.retire(old)
        let pin = pins.acquire(old.key, at: now)
        let removals = pins.takeRemovals()
        defer { shut(pins.release(old)) }
        do {
            try handle.move(to: pin, removals: removals)
        } catch {
            pins.restoreRemovals(removals)
            return false
        }
        handle.noteRedial()
        return curl_multi_add_handle(multi, handle.curl) == CURLM_OK
    }
}
