internal import CHTTPDNSCurl
internal import HTTPDNSPrimitives

extension EasyHandle {
    /// Sets libcurl's options for the egress path. The next transfer must not see them.
    /// - Throws: ``TransferFailure`` with code `invalidRequest` for a path or an interface's name that libcurl cannot take.
    ///   The errors of ``ProxyTrust`` for the trust roots of an HTTPS proxy.
    func take(_ passage: EgressPath, _ pin: Pin) throws(TransferFailure) {
        guard let transfer else { return }
        needsReset = true
        if case .interface(let name) = passage.source { try setText(CURLOPT_INTERFACE, "if!\(name)", of: "interface") }
        if let path = passage.unixSocket { return try setText(CURLOPT_UNIX_SOCKET_PATH, path, of: "socket path") }
        guard let proxy = passage.proxy else { return }
        try setText(CURLOPT_PROXY, pin.proxyName, of: "proxy")
        // A mapping of the proxy's name may change the port.
        set(CURLOPT_PROXYPORT, Int((proxy.endpoint ?? pin.key.endpoint).port))
        set(CURLOPT_PROXYTYPE, proxy.curlType)
        // The head of a CONNECT response is not the response's head.
        set(CURLOPT_SUPPRESS_CONNECT_HEADERS, 1)
        let (scheme, versions) = (transfer.request.url.scheme, transfer.request.versions)
        if proxy.kind.isHTTP, proxy.tunnels(scheme, versions) { set(CURLOPT_HTTPPROXYTUNNEL, 1) }
        // Otherwise libcurl also offers GSSAPI, which looks names up itself. CURLAUTH_BASIC is a cast that Swift cannot see.
        if !proxy.kind.isHTTP { set(CURLOPT_SOCKS5_AUTH, 1 << 0) }
        if let login = proxy.login {
            try setText(CURLOPT_PROXYUSERNAME, login.user, of: "proxy user")
            try setText(CURLOPT_PROXYPASSWORD, login.password, of: "proxy password")
        }
        if proxy.keepsName {
            // The loop's own trust settings do not apply: they may be those of the request's host alone.
            try proxy.trust.apply(to: curl, besides: (try? loop.trust.get())?.authorityFile, &options)
            // The error of a refused certificate quotes its names.
            set(CURLOPT_CERTINFO, 1)
        }
        // An address in brackets cannot have an entry. libcurl does not look it up, but calls the resolver callback.
        if pin.proxyName.hasPrefix("[") {
            options.note(ccurl_set_resolver_start_function(curl, nil), CURLOPT_RESOLVER_START_FUNCTION)
        }
    }

    /// Whether libcurl took a kept connection that does not belong to the pin. libcurl identifies connections to a proxy by
    /// the proxy's name, not by their login or local address.
    func isForeign(_ pin: Pin) -> Bool { pin.sharesName && connection == nil }
}

extension ProxyPassage {
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
