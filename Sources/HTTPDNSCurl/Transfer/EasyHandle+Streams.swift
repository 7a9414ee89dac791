internal import CHTTPDNSCurl
internal import HTTPDNSPrimitives

// Requests on HTTP/2 connections: detection of those that the server did not process.
extension EasyHandle {
    /// Whether the server certainly processed nothing of the request.
    var isUnprocessed: Bool {
        guard !isHeadBegun, let stream else { return false }
        return stream.isUnprocessed(lastStream: connection?.lastStream)
    }

    /// Whether the request may be sent again only if it was certainly not processed.
    private var mustNotBeRepeated: Bool { transfer?.mayBeSentTwice != true || isRepeated }

    /// Whether the response is complete while the request is still being sent. The server may want no more of it, and libcurl
    /// would wait until the server accepts more (7.88.1).
    var isAnsweredWhole: Bool {
        guard stream != nil, let transfer, transfer.hasBytesToSend, isHeadComplete, !isBodySent else { return false }
        return isResponseWhole
    }

    /// Whether the response is complete and the request sent, and libcurl may have missed the end of the stream: it arrived
    /// while the last part of the request was being sent (7.88.1).
    var mayHaveMissedEnd: Bool {
        guard stream != nil, let transfer, transfer.hasBytesToSend, isHeadComplete, !hasFailed else { return false }
        return isResponseWhole && isBodySent
    }

    private var isBodySent: Bool {
        let length: Int64? =
            switch transfer?.request.body {
            case .bytes(let bytes): Int64(bytes.count)
            case .stream(let length, _): length
            case nil, .some(.none): 0
            }
        // Counts sent bytes: those that libcurl has taken may not be sent yet.
        return length.map { $0 <= microseconds(CURLINFO_SIZE_UPLOAD_T) } ?? false
    }

    /// Whether the whole body can be sent once more.
    var isBodyAtHand: Bool {
        guard let transfer else { return false }
        if case .stream = transfer.request.body { return sentBytes == 0 }
        return true
    }

    /// Turns libcurl's reports about the transfer on or off (CURLOPT_VERBOSE). They cost 6 to 10 us a request.
    func setTracing(_ isOn: Bool) {
        guard isTracing != isOn else { return }
        isTracing = isOn
        set(CURLOPT_VERBOSE, isOn ? 1 : 0)
    }

    /// Notes that the request is about to be sent. Over HTTP/2 any handle of the connection may read a GOAWAY. So all of them
    /// trace while the connection has a request that must not be repeated.
    func openStream() {
        closeStream()
        guard let connection, connection.version == .http2 else {
            setTracing(false)
            repeatOnlyRefused(false)
            return
        }
        stream = RequestStream()
        transfer?.wasSentOverHTTP2 = true
        repeatOnlyRefused(true)
        if mustNotBeRepeated {
            isCounted = true
            connection.unrepeatable += 1
            if connection.unrepeatable == 1 { loop.setTracing(true, on: connection) }
        }
        setTracing(connection.unrepeatable > 0)
    }

    /// Notes that the request leaves its connection.
    func closeStream() {
        stream = nil
        guard isCounted, let connection else { return }
        isCounted = false
        connection.unrepeatable -= 1
        if connection.unrepeatable == 0 { loop.setTracing(false, on: connection) }
    }

    /// Sets whether libcurl repeats the request only after its stream was refused. libcurl also sends a request again when its
    /// kept connection ends without a byte of a response, and does not report the reason. It does not do so for this type of
    /// RTSP request, which has no effect on HTTP (7.88.1: `Curl_retry_request`).
    private func repeatOnlyRefused(_ isOn: Bool) {
        guard repeatsOnlyRefused != isOn else { return }
        let type = isOn ? CURL_RTSPREQ_RECEIVE : CURL_RTSPREQ_OPTIONS
        repeatsOnlyRefused = ccurl_set_long(curl, CURLOPT_RTSP_REQUEST, Int(type)) == CURLE_OK && isOn
    }

    /// Notes that libcurl is about to send the request again.
    /// - Returns: Whether the reason is a refused stream.
    func noteRepetition() -> Bool {
        guard var stream, !isHeadBegun else { return false }
        // The other reason, a response that requires HTTP/1.1 (RFC 9113 section 7), is in the error's text.
        if repeatsOnlyRefused || hasOpenedConnection, errorBuffer[0] == 0 { stream.isRefused = true }
        self.stream = stream
        return stream.isRefused
    }

    /// Replaces libcurl's handle for the same transfer, which starts from its beginning. The old handle has sent part of the
    /// body, would first rewind it, and counts the repetitions of all its transfers together (7.88.1: `rewindbeforesend`,
    /// `retrycount`).
    /// - Returns: Whether there is a new handle.
    func renew() -> Bool {
        guard let next = curl_easy_init() else { return false }
        replaceHandle(with: next)
        closeStream()
        use(nil, isOpenedHere: false)
        curl_slist_free_all(headerList)
        headerList = nil
        freeRemovalList()
        errorBuffer[0] = 0
        if mayHaveBeenSent { transfer?.sendings -= 1 }
        mayHaveBeenSent = false
        sentBytes = 0
        isSendingPaused = false
        status = nil
        negotiated = nil
        return true
    }
}

extension TransportLoop {
    /// Turns the trace of all requests on a connection on or off.
    func setTracing(_ isOn: Bool, on connection: Connection) {
        // The calling handle is one of them, and sets its own trace.
        guard connection.transfers > 1 else { return }
        for handle in active where handle.connection === connection && handle.stream != nil { handle.setTracing(isOn) }
    }
}
