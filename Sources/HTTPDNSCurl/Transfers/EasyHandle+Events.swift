internal import CHTTPDNSCurl
internal import HTTPDNSPrimitives
internal import HTTPTypes

// What libcurl's callbacks do. They run inside libcurl, on the loop's thread: no other call into libcurl is allowed here,
// and nothing of the caller's runs here.
extension EasyHandle {
    /// A line of the head, with its end.
    func receiveHeaderLine(_ line: UnsafeRawBufferPointer) -> Int {
        let isEnd = line.count <= 2 && line.allSatisfy { $0 == UInt8(ascii: "\r") || $0 == UInt8(ascii: "\n") }
        // Lines after the head are trailers, which are not delivered.
        if isHeadComplete {
            // libcurl reads a chunk size of 0x5 as 0, and the chunk as trailers.
            guard isEnd || line.isField else {
                failure = EasyHandle.trailerViolation
                return 0
            }
            markActive(.receiving)
            return line.count
        }
        if !isEnd {
            if let violation = declaredLength.read(line) {
                // Ended here, inside libcurl, so that the connection is not kept.
                failure = TransferFailure(
                    code: .protocolViolation,
                    phase: .firstByte,
                    message: violation == .differs
                        ? "the response declares two lengths that differ"
                        : "the response has a Content-Length that is no decimal number (RFC 9110 section 8.6)"
                )
                return 0
            }
            if head.isEmpty {
                head.reserveCapacity(512)
                status = EasyHandle.status(in: line)
            }
            declaredCoding.read(line)
            head.append(contentsOf: line)
        }
        if phase == .receiving || !isInterim {
            if phase != .receiving, !loop.noteAnswer(self) {
                loseRace()
                return 0
            }
            markActive(.receiving)
        } else {
            // The server is there, and its answer is yet to come: its limit goes on, and the body may be yet to be sent.
            pin?.heardAt = loop.now
        }
        if isEnd {
            if isSwitchingProtocols {
                failure = TransferFailure(
                    code: .protocolViolation,
                    phase: .firstByte,
                    message: "the server switched to another protocol (101), which nobody had asked for"
                )
                return 0
            }
            if isInterim {
                head.removeAll(keepingCapacity: true)
                status = nil
                declaredLength = DeclaredLength()
                declaredCoding = DeclaredCoding()
            } else {
                isHeadComplete = true
                beginDecoding()
                loop.touch(self)
                if isSendingPaused { loop.noteEarlyAnswer(self) }
            }
        }
        return line.count
    }

    /// Whether the head so far is of a 1xx answer, which another one follows (RFC 9110 section 15.2).
    private var isInterim: Bool { status.map { 100..<200 ~= $0 } ?? false }

    /// 101 is the one 1xx answer after which no other follows (RFC 9110 section 15.2.2): what comes is not HTTP.
    private var isSwitchingProtocols: Bool { status == 101 }

    /// The status in a head's first line; nil when there is none.
    private static func status(in line: UnsafeRawBufferPointer) -> Int? {
        guard let space = line.firstIndex(of: UInt8(ascii: " ")) else { return nil }
        let digits = line[(space + 1)...].prefix(3)
        guard digits.count == 3, digits.allSatisfy({ UInt8(ascii: "0")...UInt8(ascii: "9") ~= $0 }) else { return nil }
        return digits.reduce(0) { $0 * 10 + Int($1 - UInt8(ascii: "0")) }
    }

    /// Bytes of the body, as far as libcurl decodes it.
    func receiveBody(_ bytes: UnsafeRawBufferPointer) -> Int {
        guard isHeadComplete else {
            failure = TransferFailure(
                code: .protocolViolation,
                phase: .firstByte,
                message: "the answer has a body before its head is complete"
            )
            return 0
        }
        // What libcurl has kept back is in memory already: refused once more it would be copied whole.
        if !isTakingKept, unreadBytes + pendingBytes >= Transfer.window, let transfer {
            let pending = pendingBytes
            let (pauses, unread) = transfer.response.withLock {
                ($0.pauseReading(ifOver: Transfer.window, pending: pending), $0.bufferedBytes)
            }
            unreadBytes = unread
            if pauses {
                isReadingPaused = true
                return Int(CURL_WRITEFUNC_PAUSE)
            }
        }
        markActive(.receiving)
        guard decode(bytes) else { return 0 }
        loop.touch(self)
        return bytes.count
    }

    /// Takes bytes of the body, decoded.
    /// - Returns: Whether there may be more.
    func takeBody(_ bytes: UnsafeRawBufferPointer) -> Bool {
        bodyBytes += bytes.count
        if bodyBytes > maximumBodyBytes {
            failure = EasyHandle.tooLong(maximumBodyBytes)
            return false
        }
        if isDecodingTooMuch {
            failure = EasyHandle.decodesTooLong
            return false
        }
        if chunk.count + bytes.count > EasyHandle.maximumChunk, !chunk.isEmpty {
            chunks.append(chunk)
            chunk = []
        }
        // A second piece in one turn, as a rule of many: room for all of a chunk, once, in place of growing to it.
        if chunk.count >= EasyHandle.fullPiece, chunk.capacity < EasyHandle.maximumChunk {
            chunk.reserveCapacity(EasyHandle.maximumChunk)
        }
        chunk.append(contentsOf: bytes)
        pendingBytes += bytes.count
        return true
    }

    /// libcurl wants bytes of the request body.
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
                // With its declared length reached libcurl asks no more, not even for the end.
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

    /// A connection for this transfer is about to begin (CURLOPT_OPENSOCKETFUNCTION).
    /// - Returns: Whether it may.
    func mayOpenSocket() -> Bool { !refusesSecondSending() }

    /// A connection for this transfer begins; later ones may find it by the pin's name.
    func socketOpened(_ descriptor: Int32) {
        if let pin {
            if isUndecided { pin.streams.opens(besides: pin.connections) }
            use(loop.connectionOpened(descriptor, for: pin), isOpenedHere: true)
        }
        if phase != .connecting, phase != .securing, !isHeadBegun { noteRedial() }
    }

    /// A kept connection died without a byte of an answer, and the request is to go out on another.
    func noteRedial() {
        isRedialed = true
        // libcurl adds up the repetitions of all transfers of a handle, and fails the sixth (7.88.1: `retrycount`).
        needsReset = true
        phase = .connecting
        dialedAt = loop.now
        activeAt = loop.now
        looksAt = .max
        isSentElsewhere = false
        hedgesAt = .max
        loop.noteRedial(self)
    }

    /// Whether anything of an answer has come.
    var isHeadBegun: Bool { isHeadComplete || !head.isEmpty }

    /// A reused connection died without a byte of an answer, or the server refused the stream: libcurl would send any request
    /// once more.
    private func refusesSecondSending() -> Bool {
        guard mayHaveBeenSent, !takesSendingBack() else { return false }
        if noteRepetition() { return true }
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

    /// Whether libcurl repeats a second sending: after one over HTTP/2 the next may take a kept connection of HTTP/1.x.
    private var repeatsLastSending: Bool {
        guard isSentOverHTTP1, let transfer, transfer.sendings > 1 else { return false }
        return transfer.race?.race.isHedged != true
    }

    /// The first `send` on a kept connection failed: the request is as one that was never sent.
    private func takesSendingBack() -> Bool {
        // Over HTTP/2 the size is that of what libcurl has kept for the stream.
        guard isSentOverHTTP1, long(CURLINFO_REQUEST_SIZE) == 0, sentBytes == 0 else { return false }
        mayHaveBeenSent = false
        transfer?.sendings -= 1
        return true
    }

    /// A line of libcurl's trace (CURLOPT_DEBUGFUNCTION): the pin of the server's key, the version that TLS negotiated, what
    /// becomes of an HTTP/2 stream, or nothing that is wanted here.
    func trace(_ line: UnsafeRawBufferPointer) {
        if stream != nil, let connection {
            if let trace = StreamTrace(line) { stream?.read(trace, lastStream: &connection.lastStream) }
            return
        }
        if line.starts(with: "ALPN".utf8) {
            // "ALPN: server accepted h2", "ALPN: server did not agree on a protocol. Uses default." (7.88: vtls.h)
            let text = String(decoding: line.prefix(80).prefix { $0 >= 0x20 }, as: UTF8.self)
            guard text.contains("server") else { return }
            // With a proxy of its own TLS the last one is that of the server.
            negotiated = text.hasSuffix(" h2") ? .http2 : .http11
            return
        }
        let mark = " public key hash: "
        guard line.starts(with: mark.utf8) else { return }
        serverKeyPin = String(decoding: line.dropFirst(mark.utf8.count).prefix { $0 > 0x20 }, as: UTF8.self)
    }

    /// TCP stands and TLS begins (CURLOPT_SSL_CTX_FUNCTION).
    func beginSecuring() {
        // libcurl reports the version that TLS negotiates, and the key of a server that is refused, only in its trace.
        setTracing(true)
        markActive(.securing)
    }

    /// The connection stands and the request is about to go out (CURLOPT_PREREQFUNCTION): the last moment to stop it.
    /// - Returns: Whether it may go.
    func approve(peer: UnsafePointer<CChar>, port: Int32, localPort: Int32) -> Bool {
        guard let transfer, let pin else { return false }
        if refusesSecondSending() { return false }
        identifyConnection(localPort: localPort)
        // Before the next check: where a proxy was, whose name has moved since, is nowhere that this pin leads to.
        if isForeign(pin) {
            rejectsConnection = true
            return false
        }
        if meetsStrayBytes {
            rejectsConnection = true
            return false
        }
        guard pin.leads(to: peer, port: port, through: transfer.request.passage) else {
            failure = TransferFailure(
                code: .wrongPeer,
                phase: .connect,
                message: "the connection leads to \(String(cString: peer)):\(port) and not to \(pin.key.endpoint)"
            )
            return false
        }
        if hasOpenedConnection, let negotiated { noteVersion(negotiated) }
        if transfer.request.versions == .http2Only, transfer.request.url.scheme == .http { noteVersion(.http2) }
        if transfer.request.versions == .http2Only, let version = connection?.version, version != .http2 {
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
            failure = TransferFailure(code: .heldBack, phase: .send, message: "the request was held back")
            if hasOpenedConnection, transfer.request.isOverTLS, let connection {
                loop.uncounted.append(connection, at: loop.now)
            }
            return transfer.request.keepsConnection && endsWithoutSending()
        }
        if !hasOpenedConnection { limitUnacknowledgedTime() }
        mayHaveBeenSent = true
        pin.requests?.add()
        transfer.sendings += 1
        isSentOverHTTP1 = isOverHTTP1
        if isSentOverHTTP1 {
            connection?.expectedBytes = 0
            // libcurl reads this when it looks for another connection. Its repetition is the last then, for it repeats what it sent
            // on a kept one.
            if !hasOpenedConnection { setConnectsFresh(true) }
        }
        loop.watch(self)
        pin.isEntered = true
        openStream()
        markActive(transfer.hasBytesToSend ? .sending : .awaitingHead)
        loop.deadlineMayBeEarlier(for: self)
        return true
    }

    /// Ends the transfer well, before its request is sent, so that libcurl keeps the connection: it looks at this option of the
    /// transfer between asking for approval and sending. Set when the transfer began it would have kept the connection from
    /// everybody else (7.88.1).
    ///
    /// Seen in libcurl 7.88.1; `PreconnectTests` tell whether another version does the same.
    private func endsWithoutSending() -> Bool {
        needsReset = true
        onlyConnects = true
        return ccurl_set_long(curl, CURLOPT_CONNECT_ONLY, 1) == CURLE_OK
    }

    /// Something moved: idle time counts from here, and a new phase has its own bound.
    private func markActive(_ phase: Phase) {
        let now = loop.now
        activeAt = now
        if phase == .receiving, heardAt != now {
            heardAt = now
            pin?.heardAt = now
            connection?.hasSettings = true
        }
        guard self.phase != phase else { return }
        // A full-duplex answer may begin before the request body is sent; the phase never goes back.
        if self.phase == .receiving { return }
        self.phase = phase
        loop.deadlineMayBeEarlier(for: self)
    }
}
