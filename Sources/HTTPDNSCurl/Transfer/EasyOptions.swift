// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import CHTTPDNSCurl
internal import HTTPDNSPrimitives

/// libcurl's handle, and the options that are set on it: a transfer sets only the differences from the last one.
///
/// libcurl quirk: Options can be refused (any version). A libcurl without a feature refuses its options. A transfer
/// requires all but those without which it is equally secure. Tests: OptionResultsTests.
struct EasyOptions {
    private(set) var curl: UnsafeMutableRawPointer
    /// The first option that was refused; `nil` while none was.
    private var refused: (option: CURLoption, code: CURLcode)?
    /// Whether the last transfer set options that the next one must not see.
    var needsReset = false
    /// Whether the options that all plain requests share are set.
    var isConfigured = false
    /// The scheme and versions of the current options.
    var configuredFor: (scheme: ParsedURL.Scheme, versions: HTTPDNSTransfer.AllowedVersions)?
    /// The options of the last transfer's method and body.
    private(set) var method = MethodOptions()
    /// The size of libcurl's reads.
    private(set) var readSize = EasyHandle.fullPiece
    /// Whether libcurl always makes a new connection.
    private(set) var connectsFresh = false
    /// Whether the transfer must end without sending.
    private(set) var onlyConnects = false
    private(set) var isTracing = false
    /// Whether libcurl repeats the request only when its stream was refused.
    private(set) var repeatsOnlyRefused = false

    init(_ curl: UnsafeMutableRawPointer) { self.curl = curl }

    /// Resets all options. Connections, and other state of the handle, stay.
    mutating func reset() {
        curl_easy_reset(curl)
        self = EasyOptions(curl)
    }

    /// Replaces libcurl's handle, and frees the old one.
    mutating func replaceHandle(with next: UnsafeMutableRawPointer) {
        curl_easy_cleanup(curl)
        let (refused, needsReset) = (refused, needsReset)
        self = EasyOptions(next)
        self.refused = refused
        self.needsReset = needsReset
    }

    /// - Throws: ``TransferFailure`` with code `transport` when an option was refused since the last call.
    mutating func check() throws(TransferFailure) {
        guard let refused else { return }
        self.refused = nil
        // Options that are set once in a handle's life may be missing.
        needsReset = true
        let name = curl_easy_option_by_id(refused.option).map { "CURLOPT_\(String(cString: $0.pointee.name))" }
        let reason = String(cString: curl_easy_strerror(refused.code))
        var failure = TransferFailure(
            code: .transport,
            phase: .queue,
            message:
                "libcurl \(CurlLibrary.version) refused \(name ?? "option \(refused.option.rawValue)"): \(reason). "
                + "Nothing was sent without it"
        )
        failure.curlCode = Int32(refused.code.rawValue)
        throw failure
    }

    // MARK: options that are set when they change

    /// Sets CURLOPT_FRESH_CONNECT.
    mutating func setConnectsFresh(_ connectsFresh: Bool) {
        guard connectsFresh != self.connectsFresh else { return }
        set(CURLOPT_FRESH_CONNECT, connectsFresh ? 1 : 0)
        self.connectsFresh = connectsFresh
    }

    /// Sets the size of libcurl's reads.
    ///
    /// libcurl quirk: The read buffer has one size (7.88.1). libcurl refuses another CURLOPT_BUFFERSIZE once a transfer
    /// has begun: 16 KiB, or 128 KiB after a long body from the endpoint. Tests: TransportStreamTests.
    mutating func setReadSize(_ size: Int) {
        guard size != readSize, ccurl_set_long(curl, CURLOPT_BUFFERSIZE, size) == CURLE_OK else { return }
        readSize = size
    }

    /// Sets CURLOPT_VERBOSE.
    mutating func setTracing(_ isOn: Bool) {
        isTracing = isOn
        set(CURLOPT_VERBOSE, isOn ? 1 : 0)
    }

    /// Sets whether libcurl repeats the request only after its stream was refused, and not when its kept connection
    /// ends.
    ///
    /// libcurl quirk: A refusal looks like any end (7.88.1). With CURLOPT_RTSP_REQUEST at `CURL_RTSPREQ_RECEIVE`, which
    /// has no other effect on HTTP, libcurl repeats only requests whose stream was refused. So a repetition proves the
    /// refusal. Tests: RefusedStreamTests.
    mutating func repeatOnlyRefused(_ isOn: Bool) {
        guard repeatsOnlyRefused != isOn else { return }
        let type = isOn ? CURL_RTSPREQ_RECEIVE : CURL_RTSPREQ_OPTIONS
        repeatsOnlyRefused = ccurl_set_long(curl, CURLOPT_RTSP_REQUEST, Int(type)) == CURLE_OK && isOn
    }

    /// Ends the transfer successfully before its request is sent, so that libcurl keeps the connection.
    ///
    /// libcurl quirk: Connect-only connections are private (7.88.1, 8.14.1). Other transfers never get a connection
    /// with CURLOPT_CONNECT_ONLY, so it is set in the pre-request callback, and unset before the transfer is removed.
    /// Tests: PreconnectTests, PreconnectTLSTests.
    mutating func endsWithoutSending() -> Bool {
        needsReset = true
        onlyConnects = true
        return ccurl_set_long(curl, CURLOPT_CONNECT_ONLY, 1) == CURLE_OK
    }

    /// Lets libcurl close the connection at the end of the transfer.
    mutating func closeConnectionAfterwards() {
        needsReset = true
        set(CURLOPT_FORBID_REUSE, 1)
    }

    /// Sets the options of a request's method and body.
    mutating func set(_ new: MethodOptions) throws(TransferFailure) {
        let old = method
        guard new != old else { return }
        do throws(TransferFailure) {
            // libcurl derives the method from the option that was set last, so the old one ends before the new one begins.
            if old.isHead, !new.isHead { set(CURLOPT_NOBODY, 0) }
            if old.sendsBodyWithHead, !new.sendsBodyWithHead { set(CURLOPT_POST, 0) }
            if (old.bodyLength == nil) != (new.bodyLength == nil) { set(CURLOPT_UPLOAD, new.bodyLength == nil ? 0 : 1) }
            if new.isHead, !old.isHead { set(CURLOPT_NOBODY, 1) }
            if let length = new.bodyLength, length != old.bodyLength {
                set(CURLOPT_INFILESIZE_LARGE, offset: length)
            }
            if new.sendsBodyWithHead, !old.sendsBodyWithHead { set(CURLOPT_POST, 1) }
            if old.name != new.name {
                if let name = new.name {
                    try setText(CURLOPT_CUSTOMREQUEST, name, of: "method")
                } else {
                    set(CURLOPT_CUSTOMREQUEST, nil)
                }
            }
            method = new
        } catch {
            needsReset = true
            throw error
        }
    }

    // MARK: single options

    /// Sets an option that must not keep the value of the transfer before.
    func setText(_ option: CURLoption, _ text: String, of part: String) throws(TransferFailure) {
        guard ccurl_set_string(curl, option, text) == CURLE_OK else {
            throw EasyHandle.refusal("a \(part) of \(text.utf8.count) bytes")
        }
    }

    /// Records the result of setting an option.
    mutating func note(_ code: CURLcode, _ option: CURLoption) {
        guard code != CURLE_OK, refused == nil, !EasyOptions.isDispensable(option) else { return }
        refused = (option, code)
    }

    mutating func set(_ option: CURLoption, _ value: Int) { note(ccurl_set_long(curl, option, value), option) }
    mutating func set(_ option: CURLoption, offset value: Int64) {
        note(ccurl_set_offset(curl, option, curl_off_t(value)), option)
    }
    mutating func set(_ option: CURLoption, _ value: String?) { note(ccurl_set_string(curl, option, value), option) }
    /// - Parameter bytes: They must outlive every transfer and connection of the handle.
    mutating func set(_ option: CURLoption, _ bytes: UnsafeMutableRawBufferPointer) {
        note(ccurl_set_blob(curl, option, bytes.baseAddress, bytes.count), option)
    }
    mutating func set(_ option: CURLoption, pointer value: UnsafeMutableRawPointer?) {
        note(ccurl_set_pointer(curl, option, value), option)
    }
    mutating func set(_ option: CURLoption, list: UnsafeMutablePointer<curl_slist>?) {
        note(ccurl_set_list(curl, option, list), option)
    }
    mutating func set(_ option: CURLoption, function: ccurl_data_function) {
        note(ccurl_set_data_function(curl, option, function), option)
    }

    /// Returns whether a transfer is equally secure without the option. A libcurl without HTTP/2 sends HTTP/1.1. One with
    /// another TLS library than OpenSSL has no folder of authorities and does not keep them parsed. It also does not describe
    /// certificates.
    private static func isDispensable(_ option: CURLoption) -> Bool {
        [
            CURLOPT_HTTP_VERSION, CURLOPT_CA_CACHE_TIMEOUT, CURLOPT_CAPATH, CURLOPT_PROXY_CAPATH, CURLOPT_CERTINFO,
        ].contains(option)
    }
}
