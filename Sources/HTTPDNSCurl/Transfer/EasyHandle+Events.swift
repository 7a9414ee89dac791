// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import CHTTPDNSCurl
internal import HTTPDNSPrimitives
internal import HTTPTypes

// The handlers of libcurl's callbacks. They run inside libcurl, on the loop's thread: no other call into libcurl is allowed
// here, and no code of the caller runs here.
extension EasyHandle {
    /// Receives a line of the head or of the trailer section, including its end. A line that breaks a rule ends the transfer here,
    /// inside libcurl, so that the connection is not kept.
    func receiveHeaderLine(_ line: UnsafeRawBufferPointer) -> Int {
        do throws(TransferFailure) {
            try read(line)
            return line.count
        } catch {
            ending.failure = error
            return 0
        }
    }

    private func read(_ line: UnsafeRawBufferPointer) throws(TransferFailure) {
        let isEnd = line.count <= 2 && line.allSatisfy { $0 == UInt8(ascii: "\r") || $0 == UInt8(ascii: "\n") }
        if head.isComplete {
            if !isEnd { try head.readTrailer(line) }
            return markActive(.receiving)
        }
        if !isEnd { try head.read(line) }
        if progress.phase == .receiving || !head.isInterim {
            if progress.phase != .receiving {
                guard loop.noteAnswer(self) else {
                    ending.loseRace()
                    throw TransferEnding.lostRace
                }
                deliverHeldInterim()
            }
            markActive(.receiving)
        } else {
            // The server responds, and its final response is still pending: the time limit continues, and the body may still
            // have to be sent.
            pin?.heardAt = loop.now
        }
        if isEnd { try endHead() }
    }

    /// Takes the head that has ended.
    private func endHead() throws(TransferFailure) {
        let version: HTTPDNSTransfer.HTTPVersion
        switch try head.end(isHTTP2Only: transfer?.request.versions == .http2Only) {
        case .interim(let response): return receiveInterim(response)
        case .final(let received): version = received
        }
        // The reader of a coded body counts its decoded bytes.
        if head.declaresCoding, transfer?.request.decodes == true {
            body.maximum = ContentDecoder.codedLimit(body.maximum)
        }
        if head.isChunked {
            // libcurl reads the chunks. A sender of a length besides, or of HTTP/1.0, may mean another end (RFC 9112 section 6.1).
            if head.declaredLength.length != nil || version == .http10 { options.closeConnectionAfterwards() }
        } else if head.declaredLength.length == nil, isEndedByConnection {
            awaitCloseNotify()
        }
        if leavesBodyUnsent { options.closeConnectionAfterwards() }
        loop.work.add(readable: self)
        if sending.isPaused { loop.work.add(answeredEarly: self) }
    }

    /// Delivers an interim response. While several attempts compete for the response, it is held back: only one of them will be the
    /// request's.
    private func receiveInterim(_ head: ResponseHead) {
        guard let transfer, let interim = transfer.request.interim else { return }
        if transfer.handle === self {
            interim.add(head)
        } else {
            self.head.hold(head)
        }
    }

    /// Delivers the interim responses of an attempt that has become the request's.
    private func deliverHeldInterim() {
        for head in head.takeHeldInterim() { transfer?.request.interim?.add(head) }
    }

    /// Whether a body that waits for a 100 (Continue) may never be sent, now that the final response is there (libcurl
    /// quirk "A body waits for 100 (Continue)").
    private var leavesBodyUnsent: Bool {
        guard sending.bodyBytes == 0, sending.isOverHTTP1, let transfer, transfer.hasBytesToSend else { return false }
        return transfer.request.headerFields.contains(.expect)
    }

    /// Whether only the end of the connection ends the body of a response with neither length nor chunks (RFC 9112 section 6.3).
    private var isEndedByConnection: Bool {
        guard sending.isOverHTTP1, let transfer else { return false }
        return transfer.request.method != .head && head.status != 204 && head.status != 304
    }

    /// Watches for the end of TLS, if the connection has it. libcurl calls its progress callback for the last time when it has
    /// read the end, and before it closes the connection.
    ///
    /// libcurl quirk: Truncated TLS bodies pass (7.88.1; an error in 8.14.1). libcurl takes a FIN without close_notify for the
    /// end of a body without length and chunks (`ossl_recv`). The progress callback asks OpenSSL (`SSL_get_shutdown`). In clear
    /// text nothing proves the end. Tests: CloseDelimitedBodyTests.
    private func awaitCloseNotify() {
        guard ccurl_get_openssl(curl) != nil else { return }
        options.needsReset = true
        body.awaitsCloseNotify = true
        options.note(ccurl_set_progress_function(curl, progressCallback), CURLOPT_XFERINFOFUNCTION)
        options.set(CURLOPT_XFERINFODATA, pointer: Unmanaged.passUnretained(self).toOpaque())
        options.set(CURLOPT_NOPROGRESS, 0)
    }

    /// Notes whether the server has ended TLS.
    func noteProgress() {
        if let openSSL = ccurl_get_openssl(curl) { body.hasCloseNotify = TLSConnection.isEndedByPeer(openSSL) }
    }

    /// Receives bytes of the body as they were sent: libcurl decodes no content coding unless it is asked to.
    func receiveBody(_ bytes: UnsafeRawBufferPointer) -> Int {
        guard head.isComplete else { return previewHead(bytes) }
        // The bytes that libcurl has kept back are in memory already: a second refusal would copy them whole.
        if !body.isTakingKept, body.mayFillWindow, let transfer,
            body.pauses(for: transfer, ifOver: body.window, at: loop.now)
        {
            return Int(CURL_WRITEFUNC_PAUSE)
        }
        markActive(.receiving)
        if body.isDiscarding {
            if body.discard(bytes) { return bytes.count }
            ending.failure = TransferFailure.tooLong(TransportLoop.maximumDiscardedBytes)
            return 0
        }
        guard body.take(bytes) else {
            ending.failure = TransferFailure.tooLong(transfer?.limits.maximumResponseBytes ?? body.maximum)
            return 0
        }
        loop.work.add(readable: self)
        return bytes.count
    }

    private func previewHead(_ piece: UnsafeRawBufferPointer) -> Int {
        do throws(TransferFailure) {
            try head.preview(piece)
            return piece.count
        } catch {
            ending.failure = error
            return 0
        }
    }

    /// Pauses a transfer over HTTP/1.x whose next read could exceed the window of its reader. The loop calls this when
    /// libcurl has returned.
    ///
    /// libcurl quirk: Refused data is copied (7.88.1). libcurl copies what the body callback refuses (`pausewrite`), so
    /// the transfer is paused between two reads. Tests: TransportStreamTests.
    func pauseBeforeNextRead() {
        let readSize = options.readSize
        guard body.unreadBytes + readSize > body.window, sending.isOverHTTP1, !body.isPaused, let transfer,
            body.pauses(for: transfer, ifOver: body.window - readSize + 1, at: loop.now)
        else { return }
        curl_easy_pause(curl, CURLPAUSE_RECV | (sending.isPaused ? CURLPAUSE_SEND : 0))
    }

    /// Provides bytes of the request body to libcurl.
    func sendBody(into buffer: UnsafeMutableRawBufferPointer) -> Int {
        guard let transfer else { return Int(CURL_READFUNC_ABORT) }
        switch transfer.request.body {
        case .none:
            return 0
        case .bytes(let bytes):
            let count = sending.copy(bytes, into: buffer)
            markActive(sending.bodyBytes == bytes.count ? .awaitingHead : .sending)
            return count
        case .stream:
            switch transfer.upload?.take(into: buffer) {
            case .bytes(let count):
                sending.add(count)
                // Once its declared length is reached, libcurl does not ask again, not even for the end.
                markActive(Int64(sending.bodyBytes) == transfer.upload?.length ? .awaitingHead : .sending)
                return count
            case .later:
                sending.isPaused = true
                return Int(CURL_READFUNC_PAUSE)
            case .end, nil:
                markActive(.awaitingHead)
                return 0
            case .failed(let failure):
                ending.failure = failure
                return Int(CURL_READFUNC_ABORT)
            }
        }
    }

    /// Checks a connection that is about to begin for this transfer (CURLOPT_OPENSOCKETFUNCTION).
    /// - Returns: Whether it may begin.
    func mayOpenSocket() -> Bool { !refusesSecondSending() }

    /// Notes that a connection for this transfer begins; later transfers may find it by the pin's name.
    func socketOpened(_ descriptor: Int32) {
        if let pin {
            if streamTurn.isUndecided { pin.streams.opens(besides: pin.connections) }
            use(loop.connectionOpened(descriptor, for: pin), isOpenedHere: true)
            if listing.isListed { pin.attempts.connects(self) }
        }
        if progress.phase != .connecting, progress.phase != .securing, !head.isBegun { noteRedial() }
    }

    /// Notes that a kept connection died without a byte of a response, and that the request will be sent on another.
    func noteRedial() {
        // libcurl quirk: Repetitions are counted by handle (7.88.1). libcurl fails the sixth repetition of a handle's
        // transfers together (`retrycount`), so a handle whose transfer was repeated is reset or replaced.
        // Tests: SecondSendingTests.
        options.needsReset = true
        sending.redial()
        progress.redial(at: loop.now)
        loop.unwatch(self)
        loop.noteRedial(self)
    }

    /// Returns whether to refuse a second sending.
    ///
    /// libcurl quirk: Silent repetition (7.88.1 to 8.21.0). libcurl sends a request again, with any method, when its
    /// kept connection ends without a response, or the server refused the stream; 7.88 up to six times. One that must
    /// not be sent twice gets no new socket. Over HTTP/1.x CURLOPT_FRESH_CONNECT makes the repetition the last, and
    /// CURLINFO_REQUEST_SIZE at 0 proves that nothing was sent. Tests: TransportConnectionTests, RepetitionTests.
    func refusesSecondSending() -> Bool {
        guard sending.mayHaveBeenSent, !takesSendingBack() else { return false }
        if noteRepetition() { return true }
        if sending.stream != nil, head.isBegun {
            // libcurl quirk: HTTP/1.1 on demand (7.88.1, 8.14.1). After `HTTP_1_1_REQUIRED` libcurl repeats the
            // request, with any method and after a part of the response. The loop stops that, uses a pin for HTTP/1.1,
            // and remembers 256 origins for ten minutes. Tests: RefusedStreamTests.
            ending.failure = TransferFailure(
                code: .connectionLost,
                phase: .body,
                message: "the server reset the stream during the response, and requires HTTP/1.1 for the request"
            )
            return true
        }
        guard transfer?.mayBeRepeated == false || repeatsLastSending else { return false }
        ending.failure = TransferFailure(
            code: .connectionLost,
            phase: .firstByte,
            message: head.status == 417
                ? "the server refused the expectation (417), and the request was not sent again without it"
                : isUnprocessed
                    ? EasyHandle.streamRefused
                    : "the server closed the kept connection without an answer; the request was not sent again"
        )
        return true
    }

    /// Whether libcurl repeats a second sending: after one over HTTP/2 the next may use a kept HTTP/1.x connection.
    private var repeatsLastSending: Bool {
        guard sending.isOverHTTP1, let transfer, transfer.sendings > 1 else { return false }
        return transfer.race?.isHedged != true
    }

    /// Returns whether the first `send` on a kept connection failed: the request then counts as never sent.
    private func takesSendingBack() -> Bool {
        // Over HTTP/2 the size is that of the data that libcurl has buffered for the stream.
        guard sending.isOverHTTP1, !sending.countsFromZero, long(CURLINFO_REQUEST_SIZE) == 0, sending.bodyBytes == 0
        else { return false }
        sending.takeBack()
        transfer?.sendings -= 1
        return true
    }

    /// Reads a line of libcurl's trace (CURLOPT_DEBUGFUNCTION): the pin of the server's key, the version that TLS negotiated, the
    /// refusal of a certificate's names, the failure of a handshake, or an event of an HTTP/2 stream. Other lines are ignored.
    func trace(_ line: UnsafeRawBufferPointer) {
        if sending.stream != nil, let connection {
            guard let trace = StreamTrace(line) else { return }
            var lastStream = connection.streams.last
            sending.stream?.read(trace, lastStream: &lastStream)
            if case .goAway(_, requiresHTTP1: true) = trace { connection.streams.requiresHTTP1 = true }
            if lastStream != connection.streams.last { connection.streams.last = lastStream }
            return
        }
        if line.begins(with: "ALPN: server") {
            // "ALPN: server accepted h2", "ALPN: server did not agree on a protocol. Uses default." (7.88: vtls.h). If a proxy has
            // TLS of its own, the last line is that of the server.
            findings.negotiated = line.prefix { $0 >= 0x20 }.suffix(3).elementsEqual(" h2".utf8) ? .http2 : .http11
        } else if line.begins(with: "SSL: no alternative certificate subject name") {
            // The connection ends when libcurl continues.
            if let openSSL = ccurl_get_openssl(curl) { findings.refusedNames = CertificateNames.ofServer(on: openSSL) }
        } else if line.begins(with: EasyHandle.keyMark) {
            let pin = line.dropFirst(EasyHandle.keyMark.utf8CodeUnitCount).prefix { $0 > 0x20 }
            findings.serverKeyPin = String(decoding: pin, as: UTF8.self)
        } else if progress.phase == .securing, memory.errorBuffer[0] != 0, let connection,
            let openSSL = ccurl_get_openssl(curl)
        {
            // libcurl has written the error, and ends the connection when it continues.
            connection.tls.asksForCertificate = TLSConnection.asksForCertificate(openSSL)
        }
    }

    private static let keyMark: StaticString = " public key hash: "

    /// Notes that TCP is connected and TLS begins (CURLOPT_SSL_CTX_FUNCTION).
    func beginSecuring() {
        // libcurl quirk: ALPN is only traced (7.88: `vtls.h`). libcurl reports the negotiated version and a rejected server's
        // key only in its trace, so each TLS handshake is traced. Tests: PreconnectTLSTests, ClientCertificateTests.
        setTracing(true)
        markActive(.securing)
    }

    /// Checks the request before it is sent (CURLOPT_PREREQFUNCTION): the connection is established, and this is the last
    /// moment to stop the request.
    /// - Returns: Whether it may be sent.
    func handlePreRequest(peer: UnsafePointer<CChar>, port: Int32, localPort: Int32) -> Bool {
        guard let transfer, let pin else { return false }
        if refusesSecondSending() { return false }
        identifyConnection(localPort: localPort)
        // Before the next check: after a change of the proxy's addresses this pin does not match the old ones.
        if isForeign(pin) {
            findings.rejection = .isUnfit
            return false
        }
        if meetsStrayBytes {
            findings.rejection = .isUnfit
            return false
        }
        if meetsExpiredConnection {
            findings.rejection = .isExpired
            return false
        }
        guard pin.leads(to: peer, port: port, through: transfer.request.egressPath) else {
            ending.failure = TransferFailure(
                code: .wrongPeer,
                phase: .connect,
                message: "the connection leads to \(String(cString: peer)):\(port) and not to \(pin.key.endpoint)"
            )
            return false
        }
        if hasOpenedConnection, let negotiated = findings.negotiated { noteVersion(negotiated) }
        if transfer.request.url.scheme == .https, let connection, connection.tls.parameters == nil {
            if let openSSL = ccurl_get_openssl(curl) {
                connection.tls.parameters = TLSConnection.parameters(of: openSSL)
                connection.tls.asksForCertificate = TLSConnection.asksForCertificate(openSSL)
            }
        }
        if pin.key.versions == .http2Only, transfer.request.url.scheme == .http { noteVersion(.http2) }
        if pin.key.versions == .http2Only, let version = connection?.version, version != .http2 {
            ending.failure = TransferFailure(
                code: .tlsFailed,
                phase: .tls,
                message: "the server does not speak HTTP/2 (ALPN)"
            )
            return false
        }
        if hasOpenedConnection { pin.reachedAt = loop.now }
        noteDecided()
        if transfer.race?.passesGate(raceIndex) == false {
            ending.loseRace()
            return false
        }
        loop.noteGatePassed(self)
        guard !transfer.request.stopsBeforeSending else {
            ending.failure = TransferFailure(code: .connectOnly, phase: .send, message: "connected without a request")
            if let taker = transfer.request.handedSocket {
                let number = taker.copy(connection?.descriptor ?? -1)
                if number != 0 {
                    ending.failure = TransferFailure(
                        code: .limitReached,
                        phase: .queue,
                        message:
                            "no descriptor for the connection: \(systemErrorText(number)); raise the limit of open files (ulimit -n)"
                    )
                }
            }
            if hasOpenedConnection, transfer.isOverTLS, let connection {
                loop.uncounted.append(connection, at: loop.now)
            }
            return transfer.request.keepsConnection && options.endsWithoutSending()
        }
        if !hasOpenedConnection { limitUnacknowledgedTime() }
        sending.begin(isOverHTTP1: isOverHTTP1, at: loop.now)
        pin.usage?.add()
        transfer.sendings += 1
        if sending.isOverHTTP1 {
            connection?.expectedBytes = 0
            // libcurl's repetition then has a connection of its own and is the last (libcurl quirk "Silent
            // repetition").
            if !hasOpenedConnection { options.setConnectsFresh(true) }
        }
        loop.watch(self)
        pin.isEntered = true
        openStream()
        let before = progress.phase
        markActive(transfer.hasBytesToSend && !options.method.sendsBodyWithHead ? .sending : .awaitingHead)
        // A new phase has updated it. A request that libcurl sends again may be in the same phase.
        if progress.phase == before { loop.deadlineMayBeEarlier(for: self) }
        return true
    }

    /// Notes that the request is sent to its last byte, from which a head after a body has its time.
    private func noteBodySent(at now: Int64) {
        guard progress.phase == .receiving else { return sending.bodySentAt = now }
        // libcurl may ask for the end of the body again.
        guard sending.bodySentAt == .max else { return }
        sending.bodySentAt = now
        if !head.isComplete { loop.deadlineMayBeEarlier(for: self) }
    }

    /// Notes progress: idle time counts from here, and a new phase has its own bound.
    private func markActive(_ phase: Phase) {
        let now = loop.now
        progress.activeAt = now
        if phase == .receiving, progress.hears(at: now) {
            pin?.heardAt = now
            if let connection, !connection.streams.hasSettings { connection.streams.hasSettings = true }
            if options.isTracing { endTracing() }
        }
        if phase == .awaitingHead { noteBodySent(at: now) }
        if progress.enters(phase) { loop.deadlineMayBeEarlier(for: self) }
    }
}
