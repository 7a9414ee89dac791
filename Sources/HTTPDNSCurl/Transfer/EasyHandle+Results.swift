// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import CHTTPDNSCurl
internal import Glibc
internal import HTTPDNSPrimitives
internal import HTTPTypes

extension EasyHandle {
    /// Returns the durations of the phases that libcurl measured; `connect` and `tls` are `nil` on a reused connection.
    func timings(isComplete: Bool) -> HTTPDNSTransfer.Timings {
        var timings = findings.phaseTimings ?? readPhaseTimings()
        // They do not change any more.
        if head.isComplete, findings.phaseTimings == nil { findings.phaseTimings = timings }
        if isComplete { timings.total = .microseconds(microseconds(CURLINFO_TOTAL_TIME_T)) }
        if let raceStart = transfer?.race?.startedAt, progress.startedAt > raceStart {
            let delay = Duration.nanoseconds(progress.startedAt - raceStart)
            timings.race = delay
            timings.total = timings.total.map { $0 + delay }
        }
        return timings
    }

    private func readPhaseTimings() -> HTTPDNSTransfer.Timings {
        var timings = HTTPDNSTransfer.Timings()
        let pretransfer = microseconds(CURLINFO_PRETRANSFER_TIME_T)
        let firstByte = microseconds(CURLINFO_STARTTRANSFER_TIME_T)
        if firstByte >= pretransfer, firstByte > 0 { timings.firstByte = .microseconds(firstByte - pretransfer) }
        findings.connects = long(CURLINFO_NUM_CONNECTS)
        if findings.connects > 0 {
            let connect = microseconds(CURLINFO_CONNECT_TIME_T)
            let tls = microseconds(CURLINFO_APPCONNECT_TIME_T)
            if connect > 0 { timings.connect = .microseconds(connect) }
            if tls > connect { timings.tls = .microseconds(tls - connect) }
        }
        return timings
    }

    var summary: TransferSummary {
        TransferSummary(
            bodyBytes: body.count,
            wireBytes: receivedBodyBytes,
            timings: timings(isComplete: true)
        )
    }

    /// The number of received body bytes, before decoding.
    var receivedBodyBytes: Int { Int(microseconds(CURLINFO_SIZE_DOWNLOAD_T)) }

    /// Notes the facts of the handle's attempt, if the call is observed.
    func noteFacts() {
        guard let transfer, let notes = transfer.notes, let endpoint = pin?.key.endpoint else { return }
        let timings = timings(isComplete: ending.isSuccess)
        let request = sentRequestBytes
        notes.note(
            TransferNotes.Attempt(
                endpoint: endpoint,
                startedAt: MonotonicTime(nanoseconds: progress.dialedAt),
                phase: phaseOfFailure,
                opensConnection: hasOpenedConnection || findings.connects > 0,
                sentAt: sending.mayHaveBeenSent ? MonotonicTime(nanoseconds: sending.sentAt) : nil,
                timings: timings,
                tls: connection?.tls.parameters,
                peerCertificates: loop.configuration.keepsPeerCertificates ? connection?.tls.chain ?? [] : [],
                requestHeadBytes: request.head,
                requestBodyBytes: request.body,
                responseHeadBytes: long(CURLINFO_HEADER_SIZE),
                responseBodyBytes: receivedBodyBytes,
                localEndpoint: notes.keepsLocalEndpoints ? localEndpoint : nil
            ),
            at: &findings.noteIndex
        )
    }

    /// The bytes of the request head and body that were sent. What libcurl counts of a request contains a body that it sends
    /// together with the head.
    private var sentRequestBytes: (head: Int, body: Int) {
        let count = long(CURLINFO_REQUEST_SIZE)
        guard options.method.sendsBodyWithHead else { return (count, sending.bodyBytes) }
        let body = Int(microseconds(CURLINFO_SIZE_UPLOAD_T))
        return (count - body, body)
    }

    /// The address and port of this machine on the connection (CURLINFO_LOCAL_IP).
    private var localEndpoint: HTTPDNSEndpoint? {
        var text: UnsafePointer<CChar>?
        guard ccurl_get_string(curl, CURLINFO_LOCAL_IP, &text) == CURLE_OK, let text,
            let address = HTTPDNSAddress(String(cString: text)),
            let port = UInt16(exactly: long(CURLINFO_LOCAL_PORT)), port > 0
        else { return nil }
        return HTTPDNSEndpoint(address: address, port: port)
    }

    /// Whether the response is complete according to its head (RFC 9112 section 6.3, which also applies to HTTP/2).
    var isResponseWhole: Bool {
        // While reading is paused, libcurl may have counted bytes that it has not delivered yet.
        guard head.isComplete, !body.isPaused, let status = head.status, let transfer else { return false }
        if transfer.request.method == .head || status == 204 || status == 304 { return true }
        return head.declaredLength.length.map { $0 == UInt64(microseconds(CURLINFO_SIZE_DOWNLOAD_T)) } ?? false
    }

    /// Returns whether an HTTP/2 response is complete although libcurl ended its transfer with an error code, which was about
    /// the rest of the request (RFC 9113 section 8.1).
    ///
    /// libcurl quirk: Early response, as an error (7.88.1). libcurl ends a whole response with an error: `CURLE_HTTP2_STREAM`
    /// with an empty text (`cf_h2_send`). With other codes the declared length decides. Tests: EarlyResponseTests.
    func isWholeResponse(endedBy code: CURLcode) -> Bool {
        guard sending.stream != nil, !ending.hasFailed, head.isComplete, !body.isPaused else { return false }
        switch code {
        case CURLE_HTTP2_STREAM where memory.errorBuffer[0] == 0:
            // libcurl had received the end of the stream, and was about to send (7.88.1: `cf_h2_send`, `close_handled`).
            return true
        case CURLE_HTTP2_STREAM, CURLE_HTTP2, CURLE_PARTIAL_FILE, CURLE_RECV_ERROR, CURLE_SEND_ERROR:
            return isResponseWhole
        default:
            return false
        }
    }

    /// Returns the failure for libcurl's code. libcurl's own texts name the pin, so they are used only where they cannot.
    func failure(for code: CURLcode) -> TransferFailure {
        var failure = describe(code)
        if failure.code == .connectionLost { failure.message += adviceAfterCertificateRequest }
        failure.curlCode = Int32(code.rawValue)
        return failure
    }

    private static let cutOff =
        "the connection ended without TLS's close_notify (RFC 8446 section 6.1), and the body has no length: "
        + "it may be cut off"

    static let streamRefused = "the server refused the HTTP/2 stream and did nothing of the request"

    private var http1Required: String {
        let isAllowed = transfer?.request.allowsBothVersions == true
        let reason = isAllowed ? "its body cannot be sent again" : "only HTTP/2 is allowed"
        return "the server requires HTTP/1.1 for the request and did nothing of it (HTTP_1_1_REQUIRED), and \(reason)"
    }

    // libcurl quirk: Codes without a meaning (7.88, 8.14.1). Overlong lines and heads, chunks without a size, trailers without
    // a colon, bytes after a coding's end and TLS alerts have codes of other failures, and texts that differ between versions.
    // Whether the server asked for a client certificate is read from OpenSSL. Tests: TransportAnswerTests,
    // TransportConnectionTests, ClientCertificateAlertTests.
    private func describe(_ code: CURLcode) -> TransferFailure {
        if isHeadTooLong(code) {
            return TransferFailure(
                code: .protocolViolation,
                phase: .firstByte,
                message: "the answer's head is too long: libcurl takes lines of 100 KiB and 300 KiB in all"
            )
        }
        // CURLE_TOO_LARGE: since 8.6 libcurl accepts 5,000 fields, trailers included.
        if code.rawValue == 100, head.isComplete { return IncomingHead.trailersTooLong }
        func failure(_ code: TransferFailure.Code, _ phase: TransferFailure.Phase, _ message: String) -> TransferFailure
        {
            TransferFailure(code: code, phase: phase, message: message)
        }
        if connection?.isConnectedToItself == true {
            return failure(
                pin?.key.egressPath?.proxy == nil ? .connectFailed : .proxyUnreachable,
                .connect,
                "\(systemErrorText(ECONNREFUSED)): the connection led back to itself, because nothing listens on the port"
            )
        }
        // libcurl has several codes for this, depending on its next action.
        if sending.mayHaveBeenSent, !mayHaveArrived {
            return failure(.connectionLost, .firstByte, requiresHTTP1 ? http1Required : EasyHandle.streamRefused)
        }
        if let failure = pin?.key.egressPath?.failure(code, of: self) { return failure }
        switch code {
        case CURLE_COULDNT_CONNECT:
            if findings.socketError != 0 {
                var failure = failure(.connectFailed, .connect, "no socket: \(systemErrorText(findings.socketError))")
                failure.lacksSocket = TransferFailure.isLack(findings.socketError) && isConnectedOnAnotherLoop
                return failure
            }
            let number = long(CURLINFO_OS_ERRNO)
            return failure(.connectFailed, .connect, number == 0 ? "connection failed" : systemErrorText(Int32(number)))
        case CURLE_OPERATION_TIMEDOUT:
            return failure(.timedOut, phaseOfFailure, "libcurl's own time limit passed")
        case CURLE_COULDNT_RESOLVE_HOST, CURLE_COULDNT_RESOLVE_PROXY:
            return failure(.lookupDenied, .connect, "libcurl was about to look up a name; lookups are refused")
        case CURLE_SSL_PINNEDPUBKEYNOTMATCH:
            return failure(.certificateRefused, .tls, pinMessage)
        case CURLE_SSL_CERTPROBLEM:
            let text = curlText ?? "the client certificate cannot be used"
            return (try? loop.trust.get())?.certificateFailure(curlText: text) ?? failure(.tlsFailed, .tls, text)
        case CURLE_PEER_FAILED_VERIFICATION, CURLE_SSL_INVALIDCERTSTATUS, CURLE_SSL_ISSUER_ERROR:
            return failure(.certificateRefused, .tls, certificateMessage)
        case CURLE_SSL_CACERT_BADFILE:
            return (try? loop.trust.get())?.authorityFailure
                ?? failure(.trustRootsMissing, .tls, "the CA file is not PEM")
        case CURLE_SSL_CIPHER:
            return .tlsSettingsRefused(curlText: curlText ?? "no reason")
        case CURLE_SSL_CONNECT_ERROR, CURLE_SSL_ENGINE_NOTFOUND, CURLE_USE_SSL_FAILED:
            let text = curlText ?? "the TLS handshake failed"
            guard refusesCertificate(text) else { return failure(.tlsFailed, .tls, text) }
            let refusal = "the server refused the connection (\(sentCertificate)): \(text)"
            return failure(.clientCertificateRefused, .tls, refusal)
        case CURLE_GOT_NOTHING,
            CURLE_PARTIAL_FILE where !head.isBegun:
            let text = "the server closed the connection without an answer"
            return failure(.connectionLost, .firstByte, text + adviceAfterReset)
        case CURLE_PARTIAL_FILE:
            return failure(.connectionLost, .body, "the connection ended before the whole body had arrived")
        case CURLE_SEND_ERROR, CURLE_RECV_ERROR, CURLE_SEND_FAIL_REWIND:
            // After a request was sent, libcurl may be about to send it again.
            if progress.phase == .connecting || progress.phase == .securing, !sending.mayHaveBeenSent {
                return failure(.tlsFailed, .tls, "the connection broke during the TLS handshake")
            }
            // libcurl has no code of its own for a chunk without a size.
            if code == CURLE_RECV_ERROR, let text = curlText, EasyHandle.isAboutChunks(text) {
                return failure(.protocolViolation, .body, text)
            }
            // The text is that of libcurl 8 (libcurl quirk "Truncated TLS bodies pass").
            if body.isCutOff, curlText?.contains("unexpected eof") != false {
                return failure(.connectionLost, .body, EasyHandle.cutOff)
            }
            if let alert = tlsAlert {
                return failure(refusesCertificate(alert) ? .clientCertificateRefused : .tlsFailed, .tls, alert)
            }
            return failure(
                .connectionLost,
                phaseOfFailure,
                curlText.map { "the connection broke: \($0)" } ?? "the connection broke"
            )
        case CURLE_BAD_FUNCTION_ARGUMENT where head.isBegun:
            // libcurl's code for a line without a colon, and for a folded line that continues none (7.88: `Curl_headers_push`).
            return head.isComplete ? IncomingHead.trailerViolation : IncomingHead.headViolation
        case CURLE_BAD_CONTENT_ENCODING:
            // libcurl decodes no content codings here, so this is about the transfer codings.
            return IncomingHead.otherTransferCoding
        case CURLE_HTTP2_STREAM:
            let text = curlText ?? "the server reset the HTTP/2 stream"
            return failure(.connectionLost, phaseOfFailure, text + adviceAfterReset)
        case CURLE_HTTP2 where sending.mayHaveBeenSent && (!head.isBegun || connection?.streams.last != nil):
            // The session has no streams left, usually after a GOAWAY.
            return failure(.connectionLost, phaseOfFailure, "the server ended the HTTP/2 connection")
        case CURLE_HTTP2, CURLE_WEIRD_SERVER_REPLY, CURLE_UNSUPPORTED_PROTOCOL:
            let phase = progress.phase == .receiving && !head.isComplete ? .firstByte : phaseOfFailure
            return failure(.protocolViolation, phase, curlText ?? "the answer breaks HTTP's rules")
        case CURLE_URL_MALFORMAT:
            return failure(.invalidRequest, .queue, "libcurl refused the URL")
        default:
            return failure(.transport, phaseOfFailure, String(cString: curl_easy_strerror(code)))
        }
    }

    /// Whether another loop has a connection to the request's origin. A loop without one would lack the socket as well.
    private var isConnectedOnAnotherLoop: Bool {
        transfer.map { loop.mailbox.shared.hasConnection(to: RaceOrigin($0), besides: loop.mailbox.index) } ?? false
    }

    /// Returns whether libcurl's text is about a chunk without a size. The first is that of 7.88.1, the others are those of 8.14.1
    /// (`http_chunks.c`).
    private static func isAboutChunks(_ text: String) -> Bool {
        text.hasSuffix("in chunked-encoding") || text.hasPrefix("chunk hex-length")
            || text.hasPrefix("invalid chunk size")
    }

    /// Returns whether the head is beyond libcurl's limits, for which it has no code: an overlong line is reported as out of
    /// memory, an overlong head as a read error.
    private func isHeadTooLong(_ code: CURLcode) -> Bool {
        guard sending.mayHaveBeenSent, !head.isComplete else { return false }
        // Since libcurl 8.6 the code is CURLE_TOO_LARGE.
        return code == CURLE_OUT_OF_MEMORY || code.rawValue == 100
            || code == CURLE_RECV_ERROR && curlText?.hasPrefix("Too large response headers") == true
    }

    var phaseOfFailure: TransferFailure.Phase {
        switch progress.phase {
        case .connecting: .connect
        case .securing: .tls
        case .sending: .send
        case .awaitingHead: .firstByte
        case .receiving: .body
        }
    }

    /// The explanation of libcurl.
    ///
    /// libcurl quirk: Error texts name the pin (7.88.1). libcurl's error texts contain the made-up names. Only texts without
    /// them are used. Tests: NamedErrorTests.
    var curlText: String? {
        guard memory.errorBuffer[0] != 0 else { return nil }
        let text = String(cString: memory.errorBuffer)
        if let name = pin?.name, text.contains(name) { return nil }
        if let pin, !pin.proxyName.isEmpty, text.contains(pin.proxyName) { return nil }
        // The text may repeat data from the server.
        return text.onOneLine(limit: Int(CURL_ERROR_SIZE))
    }

    /// The advice in the error of a request with a body that may have been answered early (libcurl quirk "Early response, lost").
    private var adviceAfterReset: String {
        guard sending.stream != nil, !head.isBegun, transfer?.hasBytesToSend == true,
            CurlLibrary.losesResponseBeforeReset
        else {
            return ""
        }
        return "; libcurl \(CurlLibrary.version) loses a response that the server sends together with a reset: "
            + "send large bodies over HTTP/1.1, or use libcurl 8.1"
    }

    /// The alert with which the server ended TLS after the handshake; `nil` when the connection ended otherwise. With TLS 1.3 a
    /// server rejects the client's certificate in this way: it receives the certificate only at the end of the client's
    /// handshake (RFC 8446 section 4.4.2).
    var tlsAlert: String? {
        guard transfer?.isOverTLS == true, !head.isBegun, let text = curlText,
            text.lowercased().contains("alert")
        else { return nil }
        return "the server refused the connection after the TLS handshake (\(sentCertificate)): \(text)"
    }

    private var sentCertificate: String {
        let isSet =
            (try? loop.trust.get())?.settings.clientCertificate != nil && transfer?.request.withholdsCertificate != true
        return isSet ? "the client certificate was sent if the server asked for one" : "no client certificate is set"
    }

    private static let certificateAlerts = [
        "certificate ", "bad certificate", "unsupported certificate", "unknown ca", "access denied",
    ]

    /// Returns whether a text of OpenSSL names an alert about a certificate (RFC 8446 section 6.2). Only the peer's alerts are named
    /// so: OpenSSL 3.0 writes `tlsv13 alert certificate required`, later versions begin with `ssl/tls alert`.
    static func isAboutClientCertificate(_ text: String) -> Bool {
        let text = text.lowercased()
        return certificateAlerts.contains { text.contains("alert \($0)") }
    }

    /// Returns whether an alert refuses the client certificate, or its absence. Over TLS 1.2 a server that asked for one may refuse
    /// both with handshake_failure (RFC 5246 section 7.4.6); after its request nothing is negotiated any more.
    private func refusesCertificate(_ text: String) -> Bool {
        if EasyHandle.isAboutClientCertificate(text) { return true }
        return connection?.tls.asksForCertificate == true && text.lowercased().contains("alert handshake failure")
    }

    /// The possible reason of a new connection's end without a response, where the server asked for a client certificate: over TLS 1.3
    /// its alert follows the handshake (RFC 8446 section 4.4.2), and a reset that overtakes it takes it away.
    private var adviceAfterCertificateRequest: String {
        guard hasOpenedConnection, !head.isBegun, connection?.tls.asksForCertificate == true else { return "" }
        return
            "; the server had asked for a client certificate and may have refused the connection (\(sentCertificate)): "
            + "a reset can lose its reason"
    }

    private var pinMessage: String {
        let host = transfer?.request.url.hostText ?? ""
        let count = (try? loop.trust.get())?.settings.pins(for: host).count ?? 0
        let found = findings.serverKeyPin.map { "; the key that it has is \($0.escaped(limit: 80))" } ?? ""
        return "the server's public key is none of the \(count) pinned for \(host)\(found)"
    }

    var certificateMessage: String {
        let names = findings.refusedNames
        if let text = curlText,
            text.contains("unable to get") || text.contains("self") || text.contains("expired")
                || text.contains("not yet valid") || names.isEmpty
        {
            return text
        }
        guard !names.isEmpty else { return "the server's certificate was refused" }
        // A certificate may hold any bytes.
        let shown = names.prefix(3).map { $0.escaped(limit: 100) }.joined(separator: ", ")
        return "certificate is for \(shown)\(names.count > 3 ? " and others" : "")"
    }
}

// The certificates of a server on the connection that this transfer made (CURLINFO_CERTINFO).
extension EasyHandle {
    /// The certificates in the order in which the server sent them, beginning with its own.
    var peerCertificates: [HTTPDNSTransfer.PeerCertificate] {
        certificateLines.map { lines in
            func value(_ name: String) -> String { lines.first { $0.name == name }.map { String($0.value) } ?? "" }
            return HTTPDNSTransfer.PeerCertificate(
                pem: value("Cert"),
                subject: value("Subject"),
                issuer: value("Issuer"),
                begins: value("Start date"),
                expires: value("Expire date"),
                names: value("X509v3 Subject Alternative Name").split(separator: ",").map { name in
                    String(name.drop { $0 == " " })
                }
            )
        }
    }

    /// The `Name:value` lines of each certificate.
    private var certificateLines: [[(name: Substring, value: Substring)]] {
        var certificates: UnsafeMutablePointer<curl_certinfo>?
        guard ccurl_get_certificates(curl, CURLINFO_CERTINFO, &certificates) == CURLE_OK, let certificates else {
            return []
        }
        return (0..<Int(certificates.pointee.num_of_certs)).map { index in
            var lines: [(name: Substring, value: Substring)] = []
            var node = certificates.pointee.certinfo[index]
            while let line = node {
                let text = String(cString: line.pointee.data)
                if let colon = text.firstIndex(of: ":") {
                    lines.append((text[..<colon], text[text.index(after: colon)...]))
                }
                node = line.pointee.next
            }
            return lines
        }
    }
}
