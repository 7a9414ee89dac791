internal import CHTTPDNSCurl
internal import HTTPDNSPrimitives

extension EasyHandle {
    /// Tells libcurl about the way to the server. The next transfer must not see it.
    /// - Throws: ``TransferFailure`` with code `invalidRequest` for a path or an interface's name that libcurl cannot take, and as
    ///   ``ProxyTrust`` for the roots that an HTTPS proxy is believed by.
    func take(_ passage: Passage, _ pin: Pin) throws(TransferFailure) {
        guard let transfer else { return }
        needsReset = true
        if case .interface(let name) = passage.source { try setText(CURLOPT_INTERFACE, "if!\(name)", of: "interface") }
        if let path = passage.unixSocket { return try setText(CURLOPT_UNIX_SOCKET_PATH, path, of: "socket path") }
        guard let proxy = passage.proxy else { return }
        try setText(CURLOPT_PROXY, pin.proxyName, of: "proxy")
        // A mapping of the proxy's name may have another one.
        set(CURLOPT_PROXYPORT, Int((proxy.endpoint ?? pin.key.endpoint).port))
        set(CURLOPT_PROXYTYPE, proxy.curlType)
        // What a proxy says to CONNECT is not the answer's head.
        set(CURLOPT_SUPPRESS_CONNECT_HEADERS, 1)
        let (scheme, versions) = (transfer.request.url.scheme, transfer.request.versions)
        if proxy.kind.isHTTP, proxy.tunnels(scheme, versions) { set(CURLOPT_HTTPPROXYTUNNEL, 1) }
        // Else libcurl offers GSSAPI as well, which looks names up by itself. CURLAUTH_BASIC is a cast that Swift cannot see.
        if !proxy.kind.isHTTP { set(CURLOPT_SOCKS5_AUTH, 1 << 0) }
        if let login = proxy.login {
            try setText(CURLOPT_PROXYUSERNAME, login.user, of: "proxy user")
            try setText(CURLOPT_PROXYPASSWORD, login.password, of: "proxy password")
        }
        if proxy.keepsName {
            // Not as the loop believes servers: its settings may be those of the request's host alone.
            try proxy.trust.apply(to: curl, besides: (try? loop.trust.get())?.authorityFile, &options)
            // The names in a refused certificate are what its error must tell.
            set(CURLOPT_CERTINFO, 1)
        }
        // An address in brackets can have no entry, and libcurl looks none up: it only asks first.
        if pin.proxyName.hasPrefix("[") {
            options.note(ccurl_set_resolver_start_function(curl, nil), CURLOPT_RESOLVER_START_FUNCTION)
        }
    }

    /// Whether a kept connection is not the pin's, for which libcurl took it: it knows connections to a proxy by the proxy's name,
    /// and not by whose login they were made with or where on this machine they begin.
    func isForeign(_ pin: Pin) -> Bool { pin.sharesName && connection == nil }
}

extension ProxyPassage {
    /// CURLOPT_PROXYTYPE. A proxy that is given addresses is spoken to in the variant of SOCKS for them.
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
