// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import CHTTPDNSCurl
internal import HTTPDNSPrimitives
internal import HTTPTypes

// The handlers of libcurl's callbacks. They run inside libcurl, on the loop's thread: no other call into libcurl is allowed
// here, and no code of the caller runs here.
extension EasyHandle {
    /// Receives a line of the head, including its end.
    func receiveHeaderLine(_ line: UnsafeRawBufferPointer) -> Int {
        let isEnd = line.count <= 2 && line.allSatisfy { $0 == UInt8(ascii: "\r") || $0 == UInt8(ascii: "\n") }
        if isHeadComplete {
            guard isEnd || receiveTrailer(line) else { return 0 }
            markActive(.receiving)
            return line.count
        }
        if !isEnd {
            // Two letters tell Content-Length and Content-Encoding from nearly all other fields.
            let isAboutBody = line.count > 8 && line[0] | 0x20 == UInt8(ascii: "c")
            let letter = isAboutBody ? line[8] | 0x20 : 0
            if letter == UInt8(ascii: "l"), let violation = declaredLength.read(line) {
                // The transfer ends here, inside libcurl, so that the connection is not kept.
                failure = TransferFailure(
                    code: .protocolViolation,
                    phase: .firstByte,
                    message: violation.message
                )
                return 0
            }
            if head.isEmpty {
                head.reserveCapacity(512)
                status = EasyHandle.status(in: line)
            }
            if letter == UInt8(ascii: "e"), line.value(of: "content-encoding:") != nil { declaresCoding = true }
            guard takeTransferCodings(line) else { return 0 }
            if line[0] | 0x20 == UInt8(ascii: "k") {
                keepAlive.read(line)
                countsKeepAlive = countsKeepAlive || keepAlive.isAnnounced
            }
            head.append(contentsOf: line)
        }
        if phase == .receiving || !isInterim {
            if phase != .receiving {
                guard loop.noteAnswer(self) else {
                    loseRace()
                    return 0
                }
                deliverHeldInterim()
            }
            markActive(.receiving)
        } else {
            // The server responds, and its final response is still pending: the time limit continues, and the body may still
            // have to be sent.
            pin?.heardAt = loop.now
        }
        if isEnd, !endHead() { return 0 }
        return line.count
    }

    /// Checks the head that has ended, and takes it if it keeps the rules. Otherwise the transfer ends here, inside libcurl, so that
    /// its connection is not used again: what the server sends next may be read in two ways.
    /// - Returns: Whether more may follow.
    private func endHead() -> Bool {
        let version: HTTPDNSTransfer.HTTPVersion
        do throws(TransferFailure) {
            let received = try ResponseHead.received(head, declaresCoding: declaresCoding)
            version = received.1
            if isSwitchingProtocols { throw EasyHandle.switchedProtocols }
            if isInterim {
                receiveInterim(received.0)
                head.removeAll(keepingCapacity: true)
                status = nil
                declaredLength = DeclaredLength()
                isChunked = false
                declaresCoding = false
                return true
            }
            if transfer?.request.versions == .http2Only, version != .http2 { throw EasyHandle.otherVersion(version) }
            receivedHead = received
        } catch {
            failure = error
            return false
        }
        isHeadComplete = true
        if declaresCoding { raiseLimitOfCodedBody() }
        if isChunked {
            // libcurl reads the chunks. A sender of a length besides, or of HTTP/1.0, may mean another end (RFC 9112 section 6.1).
            if declaredLength.length != nil || version == .http10 { closeConnectionAfterwards() }
        } else if declaredLength.length == nil, isEndedByConnection {
            awaitCloseNotify()
        }
        if leavesBodyUnsent { closeConnectionAfterwards() }
        loop.markReadable(self)
        if isSendingPaused { loop.noteEarlyAnswer(self) }
        return true
    }

    /// Whether a body that waits for a 100 (Continue) may never be sent, now that the final response is there (libcurl
    /// quirk "A body waits for 100 (Continue)").
    private var leavesBodyUnsent: Bool {
        guard sentBytes == 0, isSentOverHTTP1, let transfer, transfer.hasBytesToSend else { return false }
        return transfer.request.headerFields.contains(.expect)
    }

    /// Whether only the end of the connection ends the body of a response with neither length nor chunks (RFC 9112 section 6.3).
    private var isEndedByConnection: Bool {
        guard isSentOverHTTP1, let transfer else { return false }
        return transfer.request.method != .head && status != 204 && status != 304
    }

    /// Watches for the end of TLS, if the connection has it. libcurl calls its progress callback for the last time when it has
    /// read the end, and before it closes the connection.
    ///
    /// libcurl quirk: Truncated TLS bodies pass (7.88.1; an error in 8.14.1). libcurl takes a FIN without close_notify for the
    /// end of a body without length and chunks (`ossl_recv`). The progress callback asks OpenSSL (`SSL_get_shutdown`). In clear
    /// text nothing proves the end. Tests: CloseDelimitedBodyTests.
    private func awaitCloseNotify() {
        guard ccurl_get_openssl(curl) != nil else { return }
        needsReset = true
        awaitsCloseNotify = true
        options.note(ccurl_set_progress_function(curl, progressCallback), CURLOPT_XFERINFOFUNCTION)
        set(CURLOPT_XFERINFODATA, pointer: Unmanaged.passUnretained(self).toOpaque())
        set(CURLOPT_NOPROGRESS, 0)
    }

    /// Notes whether the server has ended TLS.
    func noteProgress() {
        if let openSSL = ccurl_get_openssl(curl) { hasCloseNotify = TLSConnection.isEndedByPeer(openSSL) }
    }

    /// Whether the end of the body was not proved by TLS: somebody on the path may have cut it off.
    var isCutOff: Bool { awaitsCloseNotify && !hasCloseNotify }

    /// Lets libcurl close the connection at the end of the transfer.
    private func closeConnectionAfterwards() {
        needsReset = true
        set(CURLOPT_FORBID_REUSE, 1)
    }

    private static let switchedProtocols = TransferFailure(
        code: .protocolViolation,
        phase: .firstByte,
        message: "the server switched to another protocol (101), which nobody had asked for"
    )

    private static func otherVersion(_ version: HTTPDNSTransfer.HTTPVersion) -> TransferFailure {
        TransferFailure(
            code: .protocolViolation,
            phase: .firstByte,
            message: "the server answered with \(version), and HTTP/2 was asked for"
        )
    }

    /// Notes the codings of a `Transfer-Encoding`. A line that may continue one is refused: libcurl reads each line alone.
    ///
    /// libcurl quirk: Transfer codings pass undecoded (7.88.1; refused by 8.14.1). Without content decoding libcurl delivers
    /// `Transfer-Encoding: gzip, chunked` compressed. The client refuses such a head. Tests: TransportConnectionTests.
    /// - Returns: Whether more may follow.
    private func takeTransferCodings(_ line: UnsafeRawBufferPointer) -> Bool {
        let coding = line[0] | 0x20 == UInt8(ascii: "t") ? line.transferCoding : nil
        if coding == .chunked { isChunked = true }
        guard coding == .other || continuesTransferCoding(line), !isInterim else { return true }
        failure = EasyHandle.otherTransferCoding
        return false
    }

    /// Whether the head so far belongs to a 1xx response, which another one follows (RFC 9110 section 15.2).
    private var isInterim: Bool { status.map { 100..<200 ~= $0 } ?? false }

    /// Whether the status is 101, the only 1xx response that no other follows (RFC 9110 section 15.2.2): the next bytes are not
    /// HTTP.
    private var isSwitchingProtocols: Bool { status == 101 }

    /// Returns the status in a head's first line; `nil` when there is none.
    private static func status(in line: UnsafeRawBufferPointer) -> Int? {
        guard let space = line.firstIndex(of: UInt8(ascii: " ")) else { return nil }
        let digits = line[(space + 1)...].prefix(3)
        guard digits.count == 3, digits.allSatisfy({ UInt8(ascii: "0")...UInt8(ascii: "9") ~= $0 }) else { return nil }
        return digits.reduce(0) { $0 * 10 + Int($1 - UInt8(ascii: "0")) }
    }

    /// Raises the limit for a body whose decoded bytes its reader counts.
    private func raiseLimitOfCodedBody() {
        guard transfer?.request.decodes == true else { return }
        maximumBodyBytes = ContentDecoder.codedLimit(maximumBodyBytes)
    }

    /// Receives bytes of the body as they were sent: libcurl decodes no content coding unless it is asked to.
    func receiveBody(_ bytes: UnsafeRawBufferPointer) -> Int {
        guard isHeadComplete else { return previewHead(bytes) ? bytes.count : 0 }
        // The bytes that libcurl has kept back are in memory already: a second refusal would copy them whole.
        if !isTakingKept, unreadBytes + pendingBytes >= Transfer.window, let transfer {
            let pending = pendingBytes
            let (pauses, unread) = transfer.response.withLock {
                ($0.pauseReading(ifOver: Transfer.window, pending: pending), $0.bufferedBytes)
            }
            unreadBytes = unread
            if pauses {
                notePause()
                return Int(CURL_WRITEFUNC_PAUSE)
            }
        }
        markActive(.receiving)
        if isDiscarding { return discard(bytes) }
        guard takeBody(bytes) else { return 0 }
        loop.markReadable(self)
        return bytes.count
    }

    /// Pauses a transfer over HTTP/1.x whose next read could exceed the window of its reader. The loop calls this when libcurl
    /// has returned.
    ///
    /// libcurl quirk: Refused data is copied (7.88.1). libcurl copies what the body callback refuses (`pausewrite`), so the
    /// transfer is paused between two reads. Tests: TransportStreamTests.
    func pauseBeforeNextRead() {
        guard unreadBytes + readSize > Transfer.window, isSentOverHTTP1, !isReadingPaused, let transfer else { return }
        let limit = Transfer.window - readSize + 1
        let (pauses, unread) = transfer.response.withLock {
            ($0.pauseReading(ifOver: limit, pending: 0), $0.bufferedBytes)
        }
        unreadBytes = unread
        guard pauses else { return }
        notePause()
        curl_easy_pause(curl, CURLPAUSE_RECV | (isSendingPaused ? CURLPAUSE_SEND : 0))
    }

    /// Checks a piece of the head before libcurl reads it.
    ///
    /// libcurl quirk: A folded first line (7.88.1; corrected in 8.2, by curl's pull request 11103). Before the first field
    /// libcurl appends a folded line to memory that it has freed (`unfold_value`). With CURLOPT_HEADER the write callback gets
    /// each line first, and refuses it. Tests: TransportConnectionTests.
    /// - Returns: Whether more may follow.
    private func previewHead(_ bytes: UnsafeRawBufferPointer) -> Bool {
        guard CurlLibrary.foldsIntoFreedHeader else {
            failure = TransferFailure(
                code: .protocolViolation,
                phase: .firstByte,
                message: "the answer has a body before its head is complete"
            )
            return false
        }
        let isFolded = !isInsideHeadLine && bytes.isContinuation
        isInsideHeadLine = bytes.last != UInt8(ascii: "\n")
        // The status line is all that precedes it.
        guard isFolded, head.firstIndex(of: UInt8(ascii: "\n")) == head.count - 1 else { return true }
        failure = EasyHandle.headViolation
        return false
    }

    private func notePause() {
        isReadingPaused = true
        firstPausedAt = min(firstPausedAt, loop.now)
    }

    /// Takes bytes of the body.
    /// - Returns: Whether more may follow.
    private func takeBody(_ bytes: UnsafeRawBufferPointer) -> Bool {
        bodyBytes += bytes.count
        if bodyBytes > maximumBodyBytes {
            failure = TransferFailure.tooLong(transfer?.limits.maximumResponseBytes ?? maximumBodyBytes)
            return false
        }
        if chunk.count + bytes.count > EasyHandle.maximumChunk, !chunk.isEmpty {
            chunks.append(chunk)
            chunk = []
        }
        // A second piece in one turn usually means many: reserve a whole chunk once instead of growing to it. In a long body the
        // first piece reserves it, so that it is not copied again.
        let isLong = bytes.count >= EasyHandle.fullPiece && max(lastTurnBytes, pendingBytes) >= EasyHandle.maximumChunk
        if isLong || chunk.count >= EasyHandle.fullPiece, chunk.capacity < EasyHandle.maximumChunk {
            chunk.reserveCapacity(EasyHandle.maximumChunk)
        }
        chunk.append(contentsOf: bytes)
        pendingBytes += bytes.count
        return true
    }

    /// Provides bytes of the request body to libcurl.
    func sendBody(into buffer: UnsafeMutableRawBufferPointer) -> Int {
        guard let transfer else { return Int(CURL_READFUNC_ABORT) }
        switch transfer.request.body {
        case .none:
            return 0
        case .bytes(let bytes):
            let count = min(buffer.count, bytes.count - sentBytes)
            buffer.copyBytes(from: bytes[sentBytes..<(sentBytes + count)])
            sentBytes += count
            markActive(sentBytes == bytes.count ? .awaitingHead : .sending)
            return count
        case .stream:
            switch transfer.upload?.take(into: buffer) {
            case .bytes(let count):
                sentBytes += count
                // Once its declared length is reached, libcurl does not ask again, not even for the end.
                markActive(Int64(sentBytes) == transfer.upload?.length ? .awaitingHead : .sending)
                return count
            case .later:
                isSendingPaused = true
                return Int(CURL_READFUNC_PAUSE)
            case .end, nil:
                markActive(.awaitingHead)
                return 0
            case .failed(let failure):
                self.failure = failure
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
            if isUndecided { pin.streams.opens(besides: pin.connections) }
            use(loop.connectionOpened(descriptor, for: pin), isOpenedHere: true)
            if attemptIndex >= 0 { pin.attempts.connects(self) }
        }
        if phase != .connecting, phase != .securing, !isHeadBegun { noteRedial() }
    }

    /// Notes that a kept connection died without a byte of a response, and that the request will be sent on another.
    func noteRedial() {
        isRedialed = true
        // libcurl quirk: Repetitions are counted by handle (7.88.1). libcurl fails the sixth repetition of a handle's transfers
        // together (`retrycount`), so a handle whose transfer was repeated is reset or replaced. Tests: SecondSendingTests.
        needsReset = true
        phase = .connecting
        dialedAt = loop.now
        activeAt = loop.now
        loop.unwatch(self)
        isSentElsewhere = false
        hedgesAt = .max
        loop.noteRedial(self)
    }

    /// Whether anything of a response has arrived.
    var isHeadBegun: Bool { isHeadComplete || !head.isEmpty }

    /// Returns whether to refuse a second sending.
    ///
    /// libcurl quirk: Silent repetition (7.88.1 to 8.21.0). libcurl sends a request again, with any method, when its kept
    /// connection ends without a response, or the server refused the stream; 7.88 up to six times. One that must not be sent
    /// twice gets no new socket. Over HTTP/1.x CURLOPT_FRESH_CONNECT makes the repetition the last, and CURLINFO_REQUEST_SIZE
    /// at 0 proves that nothing was sent. Tests: TransportConnectionTests, RepetitionTests.
    func refusesSecondSending() -> Bool {
        guard mayHaveBeenSent, !takesSendingBack() else { return false }
        if noteRepetition() { return true }
        if stream != nil, isHeadBegun {
            // libcurl quirk: HTTP/1.1 on demand (7.88.1, 8.14.1). After `HTTP_1_1_REQUIRED` libcurl repeats the request, with
            // any method and after a part of the response. The loop stops that, uses a pin for HTTP/1.1, and remembers 256
            // origins for ten minutes. Tests: RefusedStreamTests.
            failure = TransferFailure(
                code: .connectionLost,
                phase: .body,
                message: "the server reset the stream during the response, and requires HTTP/1.1 for the request"
            )
            return true
        }
        guard transfer?.mayBeSentTwice == false || repeatsLastSending else { return false }
        failure = TransferFailure(
            code: .connectionLost,
            phase: .firstByte,
            message: status == 417
                ? "the server refused the expectation (417), and the request was not sent again without it"
                : isUnprocessed
                    ? EasyHandle.streamRefused
                    : "the server closed the kept connection without an answer; the request was not sent again"
        )
        return true
    }

    /// Whether libcurl repeats a second sending: after one over HTTP/2 the next may use a kept HTTP/1.x connection.
    private var repeatsLastSending: Bool {
        guard isSentOverHTTP1, let transfer, transfer.sendings > 1 else { return false }
        return transfer.race?.race.isHedged != true
    }

    /// Returns whether the first `send` on a kept connection failed: the request then counts as never sent.
    private func takesSendingBack() -> Bool {
        // Over HTTP/2 the size is that of the data that libcurl has buffered for the stream.
        guard isSentOverHTTP1, !countsFromZero, long(CURLINFO_REQUEST_SIZE) == 0, sentBytes == 0 else { return false }
        mayHaveBeenSent = false
        transfer?.sendings -= 1
        return true
    }

    /// Reads a line of libcurl's trace (CURLOPT_DEBUGFUNCTION): the pin of the server's key, the version that TLS negotiated, the
    /// refusal of a certificate's names, the failure of a handshake, or an event of an HTTP/2 stream. Other lines are ignored.
    func trace(_ line: UnsafeRawBufferPointer) {
        if stream != nil, let connection {
            guard let trace = StreamTrace(line) else { return }
            var lastStream = connection.lastStream
            stream?.read(trace, lastStream: &lastStream)
            if case .goAway(_, requiresHTTP1: true) = trace { connection.requiresHTTP1 = true }
            if lastStream != connection.lastStream { connection.lastStream = lastStream }
            return
        }
        if line.begins(with: "ALPN: server") {
            // "ALPN: server accepted h2", "ALPN: server did not agree on a protocol. Uses default." (7.88: vtls.h). If a proxy has
            // TLS of its own, the last line is that of the server.
            negotiated = line.prefix { $0 >= 0x20 }.suffix(3).elementsEqual(" h2".utf8) ? .http2 : .http11
        } else if line.begins(with: "SSL: no alternative certificate subject name") {
            // The connection ends when libcurl continues.
            if let openSSL = ccurl_get_openssl(curl) { refusedNames = CertificateNames.ofServer(on: openSSL) }
        } else if line.begins(with: EasyHandle.keyMark) {
            let pin = line.dropFirst(EasyHandle.keyMark.utf8CodeUnitCount).prefix { $0 > 0x20 }
            serverKeyPin = String(decoding: pin, as: UTF8.self)
        } else if phase == .securing, errorBuffer[0] != 0, let connection, let openSSL = ccurl_get_openssl(curl) {
            // libcurl has written the error, and ends the connection when it continues.
            connection.asksForCertificate = TLSConnection.asksForCertificate(openSSL)
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
            rejectsConnection = true
            return false
        }
        if meetsStrayBytes {
            rejectsConnection = true
            return false
        }
        if meetsExpiredConnection {
            rejectsConnection = true
            mayTakeAnother = true
            return false
        }
        guard pin.leads(to: peer, port: port, through: transfer.request.egressPath) else {
            failure = TransferFailure(
                code: .wrongPeer,
                phase: .connect,
                message: "the connection leads to \(String(cString: peer)):\(port) and not to \(pin.key.endpoint)"
            )
            return false
        }
        if hasOpenedConnection, let negotiated { noteVersion(negotiated) }
        if transfer.request.url.scheme == .https, let connection, connection.tls == nil {
            if let openSSL = ccurl_get_openssl(curl) {
                connection.tls = TLSConnection.parameters(of: openSSL)
                connection.asksForCertificate = TLSConnection.asksForCertificate(openSSL)
            }
        }
        if pin.key.versions == .http2Only, transfer.request.url.scheme == .http { noteVersion(.http2) }
        if pin.key.versions == .http2Only, let version = connection?.version, version != .http2 {
            failure = TransferFailure(code: .tlsFailed, phase: .tls, message: "the server does not speak HTTP/2 (ALPN)")
            return false
        }
        if hasOpenedConnection { pin.reachedAt = loop.now }
        noteDecided()
        if let race = transfer.race, !race.race.passesGate(raceIndex) {
            loseRace()
            return false
        }
        loop.noteGatePassed(self)
        guard !transfer.request.stopsBeforeSending else {
            failure = TransferFailure(code: .connectOnly, phase: .send, message: "connected without a request")
            if hasOpenedConnection, transfer.isOverTLS, let connection {
                loop.uncounted.append(connection, at: loop.now)
            }
            return transfer.request.keepsConnection && endsWithoutSending()
        }
        if !hasOpenedConnection { limitUnacknowledgedTime() }
        mayHaveBeenSent = true
        countsFromZero = false
        pin.usage?.add()
        transfer.sendings += 1
        isSentOverHTTP1 = isOverHTTP1
        if isSentOverHTTP1 {
            connection?.expectedBytes = 0
            // libcurl's repetition then has a connection of its own and is the last (libcurl quirk "Silent repetition").
            if !hasOpenedConnection { setConnectsFresh(true) }
        }
        loop.watch(self)
        pin.isEntered = true
        openStream()
        let before = phase
        markActive(transfer.hasBytesToSend && !methodOptions.sendsBodyWithHead ? .sending : .awaitingHead)
        // A new phase has updated it. A request that libcurl sends again may be in the same phase.
        if phase == before { loop.deadlineMayBeEarlier(for: self) }
        return true
    }

    /// Ends the transfer successfully before its request is sent, so that libcurl keeps the connection.
    ///
    /// libcurl quirk: Connect-only connections are private (7.88.1, 8.14.1). Other transfers never get a connection with
    /// CURLOPT_CONNECT_ONLY, so it is set in the pre-request callback, and unset before the transfer is removed.
    /// Tests: PreconnectTests, PreconnectTLSTests.
    private func endsWithoutSending() -> Bool {
        needsReset = true
        onlyConnects = true
        return ccurl_set_long(curl, CURLOPT_CONNECT_ONLY, 1) == CURLE_OK
    }

    /// Notes that the request is sent to its last byte, from which a head after a body has its time.
    private func noteBodySent(at now: Int64) {
        guard phase == .receiving else { return bodySentAt = now }
        // libcurl may ask for the end of the body again.
        guard bodySentAt == .max else { return }
        bodySentAt = now
        if !isHeadComplete { loop.deadlineMayBeEarlier(for: self) }
    }

    /// Notes progress: idle time counts from here, and a new phase has its own bound.
    private func markActive(_ phase: Phase) {
        let now = loop.now
        activeAt = now
        if phase == .receiving, heardAt != now {
            heardAt = now
            pin?.heardAt = now
            if let connection, !connection.hasSettings { connection.hasSettings = true }
            if isTracing { endTracing() }
        }
        if phase == .awaitingHead { noteBodySent(at: now) }
        guard self.phase != phase else { return }
        // A full-duplex response may begin before the request body is sent; the phase never goes back.
        if self.phase == .receiving { return }
        self.phase = phase
        loop.deadlineMayBeEarlier(for: self)
    }
}
