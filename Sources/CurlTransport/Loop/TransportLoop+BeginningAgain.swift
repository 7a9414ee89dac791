internal import CCurl

// Transfers that libcurl ends before anything of them was sent, and that are given to it once more.
extension TransportLoop {
    /// - Returns: Whether the transfer is under way again.
    func beginAgain(_ handle: EasyHandle, after code: CURLcode) -> Bool {
        if handle.meetsForeignConnection { return beginAgainApart(handle) }
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
}
