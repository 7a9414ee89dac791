internal import HTTPDNSPrimitives

/// The libcurl options of a pin: the connection target for the URL's host, and the addresses of names.
struct PinEntries {
    /// `host:port:p7.invalid:port` (CURLOPT_CONNECT_TO); `nil` if a proxy gets the URL's own name.
    var connectTo: String?
    /// `+p7.invalid:port:address` (CURLOPT_RESOLVE); the plus makes an entry expire, so that it is not permanent.
    var entries: [String] = []
    /// `-p7.invalid:port`, the lines that remove the entries from libcurl's table.
    var removals: [String] = []
    /// The proxy's name for libcurl: a made-up name for one address, or the proxy's own name if TLS verifies it.
    var proxyName = ""
    /// Whether other pins have entries under the same name.
    var sharesName = false

    init(_ key: PinKey, number: UInt64) {
        let name = "p\(number).invalid"
        let host =
            switch key.host {
            case .name(let name): name
            case .address(let address): address.bracketed
            }
        let from = "\(host):\(key.port)"
        guard let proxy = key.passage?.proxy else {
            // A Unix socket is not looked up; the name separates generations of its connections.
            connectTo = "\(from):\(name):\(key.endpoint.port)"
            if key.passage?.unixSocket == nil { add(name, key.endpoint) }
            return
        }
        proxyName = proxy.keepsName ? proxy.hostText : "x\(number).invalid"
        sharesName = proxy.keepsName
        if proxy.endpoint != nil {
            if proxy.kind.isHTTP {
                // A made-up name would be sent to the proxy.
                connectTo = "\(from):\(key.endpoint.address.bracketed):\(key.endpoint.port)"
            } else {
                connectTo = "\(from):\(name):\(key.endpoint.port)"
                add(name, key.endpoint)
            }
        }
        let dialled = proxy.endpoint ?? key.endpoint
        // An entry cannot have an IPv6 address as its name; libcurl does not need one either (``EasyHandle/take(_:_:)``).
        if !proxyName.hasPrefix("[") {
            add(proxyName, dialled)
        }
    }

    private mutating func add(_ name: String, _ endpoint: HTTPDNSEndpoint) {
        entries.append("+\(name):\(endpoint.port):\(endpoint.address.bracketed)")
        removals.append("-\(name):\(endpoint.port)")
    }
}

extension Pin {
    /// Whether a connection's peer is the one that the pin requires. A Unix socket has no address.
    /// - Parameter passage: The transfer's egress path, which equals the pin's, and has the proxy's current addresses.
    func leads(to peer: UnsafePointer<CChar>, port: Int32, through passage: EgressPath?) -> Bool {
        guard let passage else { return leads(to: peer, port: port, key.endpoint) }
        if passage.unixSocket != nil { return true }
        guard let proxy = passage.proxy else { return leads(to: peer, port: port, key.endpoint) }
        guard proxy.keepsName else { return leads(to: peer, port: port, proxy.endpoint ?? key.endpoint) }
        // Connections to all of the proxy's addresses have the same name.
        guard let address = HTTPDNSAddress(String(cString: peer)) else { return false }
        return port == Int32((proxy.endpoint ?? key.endpoint).port) && proxy.addresses.contains(address)
    }

    private func leads(to peer: UnsafePointer<CChar>, port: Int32, _ endpoint: HTTPDNSEndpoint) -> Bool {
        guard port == Int32(endpoint.port) else { return false }
        return addressText.withCString { textsAreEqual(peer, $0) }
            || HTTPDNSAddress(String(cString: peer)) == endpoint.address
    }
}
