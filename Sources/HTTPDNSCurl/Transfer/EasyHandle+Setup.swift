// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import CHTTPDNSCurl
internal import HTTPDNSPrimitives
internal import HTTPTypes

extension EasyHandle {
    /// Sets the options of a transfer.
    ///
    /// They are set only as far as they differ from those of the handle's last transfer. After a transfer with rare options, such
    /// as those of a proxy, the handle was reset and gets all of them.
    /// - Throws: ``TransferFailure`` with code `invalidRequest` for bytes that must not reach the wire.
    func prepare(_ transfer: Transfer, pin: Pin, removals: [String]) throws(TransferFailure) {
        self.transfer = transfer
        self.pin = pin
        body.maximum = transfer.limits.maximumResponseBytes ?? .max
        if transfer.request.withholdsCertificate {
            // A certificate can be removed from a handle only by resetting all options.
            if options.configuredFor != nil { options.reset() }
            options.needsReset = true
        }
        if !options.isConfigured { configure() }
        let (scheme, versions) = (transfer.request.url.scheme, pin.key.versions)
        if options.configuredFor?.scheme != scheme || options.configuredFor?.versions != versions {
            try configure(for: scheme, versions)
        }
        if scheme == .https { try setPins(for: transfer.request.url.hostText) }
        let hasOwnConnection = scheme == .http && versions == .http2Only && CurlLibrary.limitsClearTextHTTP2
        if hasOwnConnection {
            options.needsReset = true
            options.set(CURLOPT_FORBID_REUSE, 1)
            options.set(CURLOPT_PIPEWAIT, 0)
        }
        // OpenSSL returns at most one record of 16 KiB for a read, and HTTP/2 has no reads of its own.
        let readsLong = pin.hadLongBody && scheme == .http && versions != .http2Only
        options.setReadSize(readsLong ? EasyHandle.longRead : EasyHandle.fullPiece)
        if transfer.limits.mayConnectLongerThanLibcurl { liftConnectLimit() }
        try setURL(transfer.request.url.description)
        if transfer.request.url.description.utf8.last == UInt8(ascii: "?") {
            try setTargetWithEmptyQuery(of: transfer.request)
        }
        try set(pin, removals: removals, for: transfer.request)
        let method = try MethodOptions.of(transfer.request, isOverHTTP1: pin.usesHTTP1(for: scheme))
        if method.sendsBodyWithHead, case .bytes(let bytes) = transfer.request.body { copyBody(bytes) }
        try options.set(method)
        // Over HTTP/1.x the second sending is the last (libcurl quirk "Silent repetition"). Requests whose shared
        // HTTP/2 connection ended also share the next one, at any endpoint.
        let isLastSending =
            transfer.wasSent && !transfer.wasSentOverHTTP2 && transfer.race?.isHedged != true
            && pin.connections.multiplexedSince == .max
        options.setConnectsFresh(hasOwnConnection || isLastSending)
        memory.headerList = try HeaderLines.list(
            transfer.request.headerFields,
            host: transfer.request.hostHeader,
            hasBody: transfer.hasBody,
            saysEmpty: transfer.request.saysEmpty,
            hasOwnType: options.method.sendsBodyWithHead,
            omitsAccept: transfer.request.omitsAccept,
            tail: transfer.request.decodes ? loop.acceptedCodings : nil
        )
        options.set(CURLOPT_HTTPHEADER, list: memory.headerList)
        if transfer.request.stopsBeforeSending, !transfer.request.keepsConnection {
            // A kept connection says nothing about the next one, nor does a session.
            options.needsReset = true
            options.setConnectsFresh(true)
            options.set(CURLOPT_SSL_SESSIONID_CACHE, 0)
        }
        if let wait = transfer.request.continueTimeout {
            options.needsReset = true
            options.set(CURLOPT_EXPECT_100_TIMEOUT_MS, Int(max(1, min(wait / .milliseconds(1), Double(Int32.max)))))
        }
        if transfer.request.keepsChunks {
            options.needsReset = true
            options.set(CURLOPT_HTTP_TRANSFER_DECODING, 0)
        }
        try options.check()
    }

    /// Gives libcurl a copy of the request's body, to which it keeps a pointer.
    private func copyBody(_ bytes: [UInt8]) {
        freeBodyCopy()
        let copy = memory.copyBody(bytes)
        options.set(CURLOPT_POSTFIELDSIZE_LARGE, offset: Int64(bytes.count))
        options.set(CURLOPT_POSTFIELDS, pointer: copy.baseAddress)
    }

    /// Raises libcurl's own limit for a connection with its handshake.
    ///
    /// libcurl quirk: Connecting ends after 300 s (7.88.1). libcurl limits connecting with TLS to 300 s. A longer limit raises
    /// that to 24 days. Tests: NilLimitTests.
    private func liftConnectLimit() {
        options.set(CURLOPT_CONNECTTIMEOUT_MS, Int(Int32.max))
    }

    /// Sets the options of a transfer's pin.
    private func set(_ pin: Pin, removals: [String], for request: TransferRequest) throws(TransferFailure) {
        if request.url.scheme == .https || pin.key.egressPath?.proxy?.keepsName == true {
            sessions.take(of: pin, by: curl)
        }
        options.set(CURLOPT_CONNECT_TO, list: pin.connectTo)
        setResolveList(removals: removals, pin)
        if let egressPath = pin.key.egressPath { try options.take(egressPath, pin, for: request) }
    }

    /// Moves a transfer that libcurl has ended, or has not had, to another pin.
    func move(to pin: Pin, removals: [String]) throws(TransferFailure) {
        guard let transfer else { return }
        sessions.giveBack(to: self.pin)
        freeLists()
        let isListed = listing.isListed
        self.pin?.attempts.remove(self)
        use(nil, isOpenedHere: false)
        try prepare(transfer, pin: pin, removals: removals)
        if isListed { pin.attempts.insert(self) }
    }

    /// Sets the options that are the same for all transfers of a handle.
    private func configure() {
        let me = Unmanaged.passUnretained(self).toOpaque()
        options.set(CURLOPT_PRIVATE, pointer: me)
        sessions.useNone(loop.noSessions, by: curl)
        options.set(CURLOPT_PATH_AS_IS, 1)
        options.set(CURLOPT_NOSIGNAL, 1)
        // libcurl quirk: A lookup blocks the loop (7.88.1, 8.14.1). A transfer that is removed during a lookup waits
        // for libcurl's thread. No lookup begins here, and CURLOPT_QUICK_EXIT is set besides.
        // Tests: UntouchedSystemResolverTests.
        options.set(CURLOPT_QUICK_EXIT, 1)
        options.set(CURLOPT_PROTOCOLS_STR, "http,https")
        // libcurl quirk: The environment names proxies (7.88.1). libcurl reads `http_proxy` and its relatives, which
        // makes the pin void: CURLOPT_PROXY and CURLOPT_NOPROXY are empty texts. Tests: SquidTests, ProxyAddressTests.
        options.set(CURLOPT_PROXY, "")
        options.set(CURLOPT_NOPROXY, "")
        // libcurl quirk: libcurl follows redirects without pins (7.88.1). A redirect that libcurl follows goes to the
        // system resolver, with custom fields and the client certificate. `CallState.follow` follows them.
        // Tests: ClientCertificateTests.
        options.set(CURLOPT_FOLLOWLOCATION, 0)
        // The client decodes (libcurl quirk "Truncated bodies pass").
        options.set(CURLOPT_HTTP_CONTENT_DECODING, 0)
        options.set(CURLOPT_TCP_NODELAY, 1)
        configureConnections()
        options.note(ccurl_set_string(curl, CURLOPT_ERRORBUFFER, memory.errorBuffer), CURLOPT_ERRORBUFFER)
        // Only the loop removes entries (libcurl quirk "Entries without a time limit").
        options.set(CURLOPT_DNS_CACHE_TIMEOUT, loop.configuration.entrySeconds)
        options.note(ccurl_set_resolver_start_function(curl, refuseLookup), CURLOPT_RESOLVER_START_FUNCTION)
        options.set(CURLOPT_WRITEFUNCTION, function: receiveBodyCallback)
        options.set(CURLOPT_WRITEDATA, pointer: me)
        options.set(CURLOPT_HEADERFUNCTION, function: receiveHeaderCallback)
        // The write callback then gets each line first.
        if CurlLibrary.foldsIntoFreedHeader { options.set(CURLOPT_HEADER, 1) }
        options.set(CURLOPT_HEADERDATA, pointer: me)
        // libcurl calls it only for requests with a body.
        options.set(CURLOPT_READFUNCTION, function: sendBodyCallback)
        options.set(CURLOPT_READDATA, pointer: me)
        options.note(ccurl_set_prerequest_function(curl, approveCallback), CURLOPT_PREREQFUNCTION)
        options.set(CURLOPT_PREREQDATA, pointer: me)
        options.set(CURLOPT_DEBUGDATA, pointer: me)
        options.note(ccurl_set_debug_function(curl, traceCallback), CURLOPT_DEBUGFUNCTION)
        options.note(ccurl_set_open_socket_function(curl, openSocketCallback), CURLOPT_OPENSOCKETFUNCTION)
        options.set(CURLOPT_OPENSOCKETDATA, pointer: me)
        options.note(ccurl_set_close_socket_function(curl, closeSocketCallback), CURLOPT_CLOSESOCKETFUNCTION)
        options.set(CURLOPT_CLOSESOCKETDATA, pointer: Unmanaged.passUnretained(loop).toOpaque())
        options.isConfigured = true
    }

    private func configure(
        for scheme: ParsedURL.Scheme,
        _ versions: HTTPDNSTransfer.AllowedVersions
    ) throws(TransferFailure) {
        if scheme == .https {
            try loop.trust.get().apply(
                withCertificate: transfer?.request.withholdsCertificate != true,
                &options
            )
            options.note(ccurl_set_tls_context_function(curl, securingCallback), CURLOPT_SSL_CTX_FUNCTION)
            options.set(CURLOPT_SSL_CTX_DATA, pointer: Unmanaged.passUnretained(self).toOpaque())
            if loop.configuration.keepsPeerCertificates { options.set(CURLOPT_CERTINFO, 1) }
        }
        switch versions.kind {
        case .automatic:
            // libcurl quirk: Connections without a response (8.14.1; not 7.88.1). libcurl passes over a kept connection
            // in clear text without a response yet for a request that allows HTTP/2 (`url_match_http_multiplex`), so
            // `automatic` sets HTTP/1.1 there. Tests: PreconnectTests, StrayTimeoutTests, DeadAddressTests.
            options.set(CURLOPT_HTTP_VERSION, scheme == .https ? CURL_HTTP_VERSION_2TLS : CURL_HTTP_VERSION_1_1)
            // Many first requests to one server wait for the first connection, which will carry them all.
            options.set(CURLOPT_PIPEWAIT, scheme == .https ? 1 : 0)
        case .http1Only:
            options.set(CURLOPT_HTTP_VERSION, CURL_HTTP_VERSION_1_1)
            options.set(CURLOPT_PIPEWAIT, 0)
        case .http10Only:
            options.set(CURLOPT_HTTP_VERSION, CURL_HTTP_VERSION_1_0)
            options.set(CURLOPT_PIPEWAIT, 0)
        case .http2Only:
            let isSecure = scheme == .https
            options.set(CURLOPT_HTTP_VERSION, isSecure ? CURL_HTTP_VERSION_2TLS : CURL_HTTP_VERSION_2_PRIOR_KNOWLEDGE)
            options.set(CURLOPT_PIPEWAIT, 1)
        }
        options.configuredFor = (scheme, versions)
    }

    /// Sets the key pins of the host.
    private func setPins(for host: String) throws(TransferFailure) {
        let trust = try loop.trust.get()
        guard trust.settings.hasPins else { return }
        options.set(CURLOPT_PINNEDPUBLICKEY, trust.pinText(for: host))
    }

    /// Sets the URL as text and as its parts. Without the text, a repetition would read that of the handle's last transfer.
    ///
    /// libcurl quirk: A URL is parsed for each transfer (7.88.1). libcurl gets the parts (CURLOPT_CURLU), which saves 5,000 of
    /// 135,000 instructions of a GET, and the text for its own repetition. From the text alone that loses an empty query.
    /// Tests: RepetitionTests.
    private func setURL(_ text: String) throws(TransferFailure) {
        // The flags with which libcurl parses the text itself (7.88.1, lib/url.c). It reports what it cannot parse.
        let flags = UInt32(CURLU_NON_SUPPORT_SCHEME | CURLU_PATH_AS_IS)
        let (isSet, isParsed) = text.withCString { text in
            (
                ccurl_set_string(curl, CURLOPT_URL, text) == CURLE_OK,
                memory.urlParts.map { curl_url_set($0, CURLUPART_URL, text, flags) == CURLUE_OK } ?? false
            )
        }
        guard isSet else { throw EasyHandle.refusal("a URL of \(text.utf8.count) bytes") }
        options.set(CURLOPT_CURLU, pointer: isParsed ? UnsafeMutableRawPointer(memory.urlParts) : nil)
    }

    /// Sets the request line's target for a URL with an empty query.
    ///
    /// libcurl quirk: Empty queries are dropped (since 8.8). libcurl leaves an empty query out of the parts unless
    /// CURLU_GET_EMPTY is set, and out of the request line. So CURLOPT_REQUEST_TARGET is set for URLs that end with `?`.
    /// Tests: EmptyQueryTests, CanonicalURLScanTests.
    private func setTargetWithEmptyQuery(of request: TransferRequest) throws(TransferFailure) {
        options.needsReset = true
        let proxy = request.egressPath?.proxy
        // A proxy without a tunnel gets the whole URL (RFC 9112 section 3.2.2).
        let isForwarded = proxy?.kind.isHTTP == true && proxy.map(request.tunnels(through:)) == false
        try options.setText(
            CURLOPT_REQUEST_TARGET,
            isForwarded ? request.url.description : request.url.target,
            of: "request target"
        )
    }

    static func refusal(_ what: String) -> TransferFailure {
        TransferFailure(code: .invalidRequest, phase: .queue, message: "libcurl cannot send \(what)")
    }
}

// MARK: callbacks

/// Runs `body` with the handle behind a callback's pointer. The loop holds the handle for as long as libcurl does, so no
/// reference is counted.
private func withHandle<Result>(
    _ pointer: UnsafeMutableRawPointer?,
    otherwise: Result,
    _ body: (EasyHandle) -> Result
) -> Result {
    guard let pointer else { return otherwise }
    return Unmanaged<EasyHandle>.fromOpaque(pointer)._withUnsafeGuaranteedRef(body)
}

private let receiveBodyCallback: ccurl_data_function = { bytes, size, count, pointer in
    withHandle(pointer, otherwise: 0) {
        $0.receiveBody(UnsafeRawBufferPointer(start: bytes, count: size * count))
    }
}

private let receiveHeaderCallback: ccurl_data_function = { bytes, size, count, pointer in
    withHandle(pointer, otherwise: 0) {
        $0.receiveHeaderLine(UnsafeRawBufferPointer(start: bytes, count: size * count))
    }
}

private let sendBodyCallback: ccurl_data_function = { bytes, size, count, pointer in
    withHandle(pointer, otherwise: Int(CURL_READFUNC_ABORT)) {
        $0.sendBody(into: UnsafeMutableRawBufferPointer(start: bytes, count: size * count))
    }
}

private let approveCallback: ccurl_prerequest_function = { pointer, peer, local, port, localPort in
    guard let peer else { return Int32(CURL_PREREQFUNC_ABORT) }
    return withHandle(pointer, otherwise: Int32(CURL_PREREQFUNC_ABORT)) {
        // A connection to itself ends as a refused one, see ``TransportLoop/connectionClosed(_:)``.
        if port == localPort, let local, textsAreEqual(peer, local) { return Int32(CURL_PREREQFUNC_ABORT) }
        return $0.handlePreRequest(peer: peer, port: port, localPort: localPort)
            ? Int32(CURL_PREREQFUNC_OK) : Int32(CURL_PREREQFUNC_ABORT)
    }
}

private let securingCallback: ccurl_tls_context_function = { _, context, pointer in
    withHandle(pointer, otherwise: ()) { handle in
        handle.beginSecuring()
        let trust = try? handle.loop.trust.get()
        if trust?.settings.writesKeyLog != true { KeyLog.prevent(on: context) }
    }
    return CURLE_OK
}

let progressCallback: ccurl_progress_function = { pointer, _, _, _, _ in
    withHandle(pointer, otherwise: ()) { $0.noteProgress() }
    return 0
}

private let traceCallback: ccurl_debug_function = { _, kind, text, count, pointer in
    if kind == CURLINFO_TEXT {
        withHandle(pointer, otherwise: ()) { $0.trace(UnsafeRawBufferPointer(start: text, count: count)) }
    }
    return 0
}

/// Refuses every lookup without an entry of a pin: libcurl never resolves a name.
///
/// libcurl quirk: Missing entries are looked up (7.88.1 to 8.21.0). libcurl asks the system resolver for names without an
/// entry. CURLOPT_RESOLVER_START_FUNCTION refuses that. It is unset for a proxy with an IPv6 address, for which libcurl calls
/// it too. Tests: UntouchedSystemResolverTests, PinEntriesTests.
let refuseLookup: ccurl_resolver_start_function = { _, _, _ in 1 }

private let openSocketCallback: ccurl_open_socket_function = { pointer, _, address in
    guard let address, withHandle(pointer, otherwise: false, { $0.mayOpenSocket() }) else { return -1 }
    let (descriptor, error) = withHandle(pointer, otherwise: (descriptor: -1, error: 0)) { handle in
        handle.loop.configuration.system.makeSocket(
            address.pointee.family,
            address.pointee.socktype,
            address.pointee.protocol
        )
    }
    let isUsable = withHandle(pointer, otherwise: true) { handle in
        handle.findings.socketError = error
        guard descriptor >= 0 else { return true }
        if let failure = handle.pin?.key.egressPath?.source?.bind(descriptor, family: address.pointee.family) {
            handle.findings.socketError = failure.number
            handle.ending.failure = failure.failure
            return false
        }
        handle.socketOpened(descriptor)
        handle.limitUnacknowledgedTime()
        handle.keepAlive(descriptor, family: address.pointee.family)
        return true
    }
    guard isUsable else {
        _ = closeSocket(descriptor)
        return -1
    }
    return descriptor
}

private let closeSocketCallback: ccurl_close_socket_function = { pointer, descriptor in
    if let pointer { Unmanaged<TransportLoop>.fromOpaque(pointer).takeUnretainedValue().connectionClosed(descriptor) }
    return closeSocket(descriptor)
}

/// The encoding of a request's header fields as lines for libcurl (CURLOPT_HTTPHEADER).
enum HeaderLines {
    /// Returns the lines of a request; `nil` for none.
    /// - Parameters:
    ///   - hasOwnType: Whether libcurl must not add its own `Content-Type`, as it does for a body that it has beforehand.
    ///   - omitsAccept: Whether libcurl must not add its `Accept: */*`.
    ///   - tail: The line with the codings that are decoded, which the list ends with unless the request has its own
    ///     `Accept-Encoding`. It stays the caller's: a list must be freed without it.
    /// - Throws: ``TransferFailure`` with code `invalidRequest` for CR, LF or NUL in a value.
    static func list(
        _ fields: HTTPFields,
        host: String?,
        hasBody: Bool,
        saysEmpty: Bool = false,
        hasOwnType: Bool = false,
        omitsAccept: Bool = false,
        tail: UnsafeMutablePointer<curl_slist>? = nil
    ) throws(TransferFailure) -> UnsafeMutablePointer<curl_slist>? {
        var list: UnsafeMutablePointer<curl_slist>?
        var cookies: [UInt8] = []
        do {
            if let host {
                try Array(host.utf8).withUnsafeBufferPointer { host throws(TransferFailure) in
                    try append("Host", host, to: &list)
                }
            }
            for field in fields {
                if field.name == .cookie {
                    // One Cookie line (RFC 6265 section 5.4), also where each HTTP/2 style field holds one pair.
                    if !cookies.isEmpty { cookies += "; ".utf8 }
                    field.withUnsafeBytesOfValue { cookies += $0 }
                    continue
                }
                let name = field.name.rawName
                try field.withUnsafeBytesOfValue { value throws(TransferFailure) in
                    try append(name, value, to: &list)
                }
            }
            if !cookies.isEmpty {
                try cookies.withUnsafeBufferPointer { cookies throws(TransferFailure) in
                    try append("Cookie", cookies, to: &list)
                }
            }
            // libcurl quirk: A body waits for 100 (Continue) (7.88.1). An empty `Expect` line keeps libcurl from waiting a
            // second. After a 417 `CallState` repeats the request. After another final response below 300 the connection is
            // closed, since its server would take the next request for the body. Tests: HeaderLinesTests, ExpectationTests,
            // ExpectedBodyTests.
            if hasBody { list = curl_slist_append(list, "Expect:") }
            if saysEmpty { list = curl_slist_append(list, "Content-Length: 0") }
            if omitsAccept, !fields.contains(.accept) { list = curl_slist_append(list, "Accept:") }
            if hasOwnType, !fields.contains(.contentType) { list = curl_slist_append(list, "Content-Type:") }
        } catch {
            curl_slist_free_all(list)
            throw error
        }
        guard let tail, !fields.contains(.acceptEncoding) else { return list }
        guard var last = list else { return tail }
        while let next = last.pointee.next { last = next }
        last.pointee.next = tail
        return list
    }

    private static func append(
        _ name: String,
        _ value: UnsafeBufferPointer<UInt8>,
        to list: inout UnsafeMutablePointer<curl_slist>?
    ) throws(TransferFailure) {
        var text = name
        let isAppended = text.withUTF8 { name in
            withUnsafeTemporaryAllocation(byteCount: name.count + value.count + 3, alignment: 1) { line in
                line.copyMemory(from: UnsafeRawBufferPointer(name))
                var end = name.count
                // libcurl quirk: A line without a value removes a field (7.88.1). For libcurl `Name:` removes a field, and
                // `Name;` is a field with an empty value. Tests: HeaderLinesTests.
                line[end] = UInt8(ascii: value.isEmpty ? ";" : ":")
                end += 1
                if !value.isEmpty {
                    line[end] = UInt8(ascii: " ")
                    UnsafeMutableRawBufferPointer(rebasing: line[(end + 1)...]).copyMemory(
                        from: UnsafeRawBufferPointer(value)
                    )
                    end += 1 + value.count
                }
                for index in 0..<end {
                    let byte = line[index]
                    if byte == 0 || byte == UInt8(ascii: "\r") || byte == UInt8(ascii: "\n") { return false }
                }
                line[end] = 0
                list = curl_slist_append(list, line.bindMemory(to: CChar.self).baseAddress)
                return true
            }
        }
        guard isAppended else {
            throw TransferFailure(
                code: .invalidRequest,
                phase: .queue,
                message: "the header field \(name) holds a CR, LF or NUL byte"
            )
        }
    }
}
