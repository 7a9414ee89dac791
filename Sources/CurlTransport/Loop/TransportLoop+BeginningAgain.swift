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
    /// does so after some ends and not after others, as a closed connection or one that others' requests shared (7.88.1). It goes on
    /// as if libcurl had: at `OPENSOCKET`, see ``noteRedial(_:)``, where a request that may not be sent twice would be stopped. Unlike
    /// libcurl's, each such request dials for itself: several do not share the new connection.
    private func beginAgainOnNewConnection(_ handle: EasyHandle) -> Bool {
        guard handle.mayHaveBeenSent, !handle.isHeadBegun, !handle.hasFailed, handle.socket < 0,
            handle.transfer?.mayBeSentTwice == true, let pin = handle.pin
        else { return false }
        curl_multi_remove_handle(multi, handle.curl)
        // libcurl would find the connection that has ended, for as long as others' requests are on it.
        handle.needsReset = true
        handle.set(CURLOPT_FRESH_CONNECT, 1)
        handle.setResolveList(removals: [], pin)
        return curl_multi_add_handle(multi, handle.curl) == CURLM_OK
    }
}
