// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import CHTTPDNSCurl
internal import HTTPDNSPrimitives

extension EasyOptions {
    /// Sets libcurl's options for the egress path. The next transfer must not see them.
    /// - Throws: ``TransferFailure`` with code `invalidRequest` for a path or an interface's name that libcurl cannot take.
    ///   The errors of ``ProxyTrust`` for the trust roots of an HTTPS proxy.
    mutating func take(_ egressPath: EgressPath, _ pin: Pin, for request: TransferRequest) throws(TransferFailure) {
        needsReset = true
        if case .interface(let name) = egressPath.source {
            try setText(CURLOPT_INTERFACE, "if!\(name)", of: "interface")
        }
        if let path = egressPath.unixSocket { return try setText(CURLOPT_UNIX_SOCKET_PATH, path, of: "socket path") }
        guard let proxy = egressPath.proxy else { return }
        guard request.handedSocket == nil || proxy.kind != .https else {
            throw TransferFailure(
                code: .invalidRequest,
                phase: .queue,
                message: "a connection through an HTTPS proxy cannot be handed over, since its TLS is libcurl's"
            )
        }
        try setText(CURLOPT_PROXY, pin.proxyName, of: "proxy")
        // A mapping of the proxy's name may change the port.
        set(CURLOPT_PROXYPORT, Int((proxy.endpoint ?? pin.key.endpoint).port))
        set(CURLOPT_PROXYTYPE, proxy.curlType)
        // The head of a CONNECT response is not the response's head.
        set(CURLOPT_SUPPRESS_CONNECT_HEADERS, 1)
        let tunnels = request.tunnels(through: proxy)
        if proxy.kind.isHTTP, tunnels { set(CURLOPT_HTTPPROXYTUNNEL, 1) }
        // libcurl quirk: SOCKS offers GSSAPI (7.88.1). libcurl offers GSSAPI, which looks names up. CURLOPT_SOCKS5_AUTH permits
        // user and password only. Tests: SocksTests.
        //
        // CURLAUTH_BASIC is a cast that Swift cannot see.
        if !proxy.kind.isHTTP { set(CURLOPT_SOCKS5_AUTH, 1 << 0) }
        if let login = proxy.login, login.scheme == .basic || tunnels {
            // CURLAUTH_DIGEST is a cast that Swift cannot see. The default is Basic.
            if proxy.kind.isHTTP, login.scheme == .digest { set(CURLOPT_PROXYAUTH, 1 << 1) }
            try setText(CURLOPT_PROXYUSERNAME, login.user, of: "proxy user")
            try setText(CURLOPT_PROXYPASSWORD, login.password, of: "proxy password")
        }
        if proxy.keepsName {
            // The loop's own trust settings do not apply: they may be those of the request's host alone.
            try proxy.trust.apply(&self)
        }
        // An address in brackets cannot have an entry (libcurl quirk "Missing entries are looked up").
        if pin.proxyName.hasPrefix("[") {
            note(ccurl_set_resolver_start_function(curl, nil), CURLOPT_RESOLVER_START_FUNCTION)
        }
    }

}

extension EgressProxy {
    /// The value of CURLOPT_PROXYTYPE. A SOCKS proxy that gets addresses uses the variant for addresses.
    fileprivate var curlType: Int {
        let type =
            switch kind {
            case .http: CURLPROXY_HTTP
            case .https: CURLPROXY_HTTPS
            case .socks4: CURLPROXY_SOCKS4
            case .socks4a: endpoint == nil ? CURLPROXY_SOCKS4A : CURLPROXY_SOCKS4
            case .socks5: CURLPROXY_SOCKS5
            case .socks5h: endpoint == nil ? CURLPROXY_SOCKS5_HOSTNAME : CURLPROXY_SOCKS5
            }
        return Int(type.rawValue)
    }
}

// libcurl quirk: Few codes for proxies (7.88.1). libcurl reports SOCKS failures with one code, and a broken proxy like
// a broken server. The client reads CURLINFO_PROXY_ERROR, the status of CONNECT and the phase. Tests: SocksTests,
// SquidTests.
extension EgressPath {
    /// Returns the failure; `nil` when it is not about the egress path.
    func failure(_ code: CURLcode, of handle: EasyHandle) -> TransferFailure? {
        if code == CURLE_INTERFACE_FAILED, let source {
            return source.unusable("there is none of that name, or it has no address of the family")
        }
        if unixSocket != nil, code == CURLE_COULDNT_CONNECT, handle.findings.socketError == 0 {
            let number = handle.long(CURLINFO_OS_ERRNO)
            return TransferFailure(
                code: .connectFailed,
                phase: .connect,
                message: "the Unix socket: \(number == 0 ? "connection failed" : systemErrorText(Int32(number)))"
            )
        }
        guard let proxy, !handle.sending.mayHaveBeenSent else { return nil }
        return proxy.failure(code, of: handle)
    }
}

extension EgressProxy {
    fileprivate func failure(_ code: CURLcode, of handle: EasyHandle) -> TransferFailure? {
        func failure(_ code: TransferFailure.Code, _ message: String, _ phase: TransferFailure.Phase = .connect)
            -> TransferFailure
        { TransferFailure(code: code, phase: phase, message: message) }

        let status = handle.long(CURLINFO_HTTP_CONNECTCODE)
        if status == 407 { return failure(.proxyLoginRefused, loginMessage("407")) }
        if status >= 300 || status > 0 && status < 200 {
            return failure(.proxyRefused, "the proxy refused CONNECT \(target(of: handle)) with status \(status)")
        }
        switch code {
        case CURLE_COULDNT_CONNECT where handle.findings.socketError == 0:
            let number = handle.long(CURLINFO_OS_ERRNO)
            let reason = number == 0 ? "connection failed" : systemErrorText(Int32(number))
            return failure(.proxyUnreachable, "the proxy cannot be connected to: \(reason)")
        case CURLE_PROXY:
            return socksFailure(of: handle)
        case CURLE_PEER_FAILED_VERIFICATION where kind == .https && status == 0,
            CURLE_SSL_ISSUER_ERROR where kind == .https && status == 0:
            return failure(.proxyUnreachable, "the proxy's certificate was refused: \(handle.certificateMessage)", .tls)
        case CURLE_SSL_CACERT_BADFILE where kind == .https && status == 0:
            return failure(.trustRootsMissing, "the CA file \(trust.authorityFile ?? "") is not PEM", .tls)
        case CURLE_SSL_CIPHER where kind == .https && status == 0:
            return .tlsSettingsRefused(curlText: handle.curlText ?? "no reason")
        case CURLE_SSL_CONNECT_ERROR where kind == .https && status == 0:
            return failure(
                .proxyUnreachable,
                "the TLS handshake with the proxy failed: \(handle.curlText ?? "no reason")",
                .tls
            )
        case CURLE_RECV_ERROR, CURLE_SEND_ERROR, CURLE_GOT_NOTHING, CURLE_WEIRD_SERVER_REPLY:
            guard status == 0, handle.progress.phase == .connecting || kind == .https else { return nil }
            return failure(.proxyUnreachable, "the proxy broke off before the connection stood")
        default:
            return nil
        }
    }

    /// Returns the target that the proxy was asked for.
    private func target(of handle: EasyHandle) -> String {
        guard let pin = handle.pin else { return "" }
        return endpoint == nil
            ? "\(handle.transfer?.request.url.hostText ?? ""):\(pin.key.port)" : "\(pin.key.endpoint)"
    }

    private func loginMessage(_ word: String) -> String {
        login == nil ? "the proxy wants a login (\(word))" : "the proxy refused the login (\(word))"
    }

    private func socksFailure(of handle: EasyHandle) -> TransferFailure {
        let number = CURLproxycode(rawValue: UInt32(truncatingIfNeeded: handle.long(CURLINFO_PROXY_ERROR)))
        let refusal: String? =
            switch number {
            case CURLPX_NO_AUTH, CURLPX_USER_REJECTED, CURLPX_RECV_AUTH, CURLPX_IDENTD, CURLPX_IDENTD_DIFFER: nil
            case CURLPX_REPLY_NOT_ALLOWED: "its rules do not allow it"
            case CURLPX_REPLY_NETWORK_UNREACHABLE: "network unreachable"
            case CURLPX_REPLY_HOST_UNREACHABLE: "host unreachable"
            case CURLPX_REPLY_CONNECTION_REFUSED: "connection refused"
            case CURLPX_REPLY_TTL_EXPIRED: "time to live expired"
            case CURLPX_REPLY_COMMAND_NOT_SUPPORTED: "command not supported"
            case CURLPX_REPLY_ADDRESS_TYPE_NOT_SUPPORTED: "kind of address not supported"
            case CURLPX_REPLY_GENERAL_SERVER_FAILURE: "general failure"
            case CURLPX_LONG_USER, CURLPX_LONG_PASSWD: "user or password has more than 255 bytes"
            case CURLPX_LONG_HOSTNAME: "the name has more than 255 bytes"
            case CURLPX_REQUEST_FAILED, CURLPX_UNKNOWN_FAIL: "the request was rejected"
            case CURLPX_CLOSED, CURLPX_RECV_CONNECT, CURLPX_RECV_REQACK, CURLPX_RECV_ADDRESS, CURLPX_SEND_AUTH,
                CURLPX_SEND_CONNECT, CURLPX_SEND_REQUEST, CURLPX_BAD_VERSION:
                ""
            default: "SOCKS failure \(number.rawValue)"
            }
        guard let refusal else {
            let message = loginMessage("SOCKS")
            return TransferFailure(code: .proxyLoginRefused, phase: .connect, message: message)
        }
        guard !refusal.isEmpty else {
            return TransferFailure(
                code: .proxyUnreachable,
                phase: .connect,
                message: "the proxy broke off, or does not speak \(kind)"
            )
        }
        return TransferFailure(
            code: .proxyRefused,
            phase: .connect,
            message: "the proxy did not connect to \(target(of: handle)): \(refusal)"
        )
    }
}
