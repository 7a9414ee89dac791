internal import HTTPDNSPrimitives

/// What libcurl is told about a pin: where the URL's host is connected to, and which names lead to which addresses.
struct PinEntries {
    /// `host:port:p7.invalid:port` (CURLOPT_CONNECT_TO); nil where the URL's own name is what a proxy is to be told.
    var connectTo: String?
    /// `+p7.invalid:port:address` (CURLOPT_RESOLVE); the plus lets an entry age, so that it is not permanent.
    var entries: [String] = []
    /// `-p7.invalid:port`, which take the entries out of libcurl's table again.
    var removals: [String] = []
    /// What libcurl knows the proxy by: a made-up name for one address, or the proxy's own where TLS proves it.
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
            // A Unix socket is not looked up; the name keeps generations of its connections apart.
            connectTo = "\(from):\(name):\(key.endpoint.port)"
            if key.passage?.unixSocket == nil { add(name, key.endpoint) }
            return
        }
        proxyName = proxy.keepsName ? proxy.hostText : "x\(number).invalid"
        sharesName = proxy.keepsName
        if proxy.endpoint != nil {
            if proxy.kind.isHTTP {
                // The name would go to the proxy.
                connectTo = "\(from):\(key.endpoint.address.bracketed):\(key.endpoint.port)"
            } else {
                connectTo = "\(from):\(name):\(key.endpoint.port)"
                add(name, key.endpoint)
            }
        }
        let dialled = proxy.endpoint ?? key.endpoint
        // An entry cannot have an IPv6 address for its name; libcurl does not need one either (``EasyHandle/take(_:_:)``).
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
    /// Whether a connection leads where the pin says. A Unix socket has no address.
    /// - Parameter passage: The transfer's, which equals the pin's, and knows which addresses a proxy has by now.
    func leads(to peer: UnsafePointer<CChar>, port: Int32, through passage: Passage?) -> Bool {
        guard let passage else { return leads(to: peer, port: port, key.endpoint) }
        if passage.unixSocket != nil { return true }
        guard let proxy = passage.proxy else { return leads(to: peer, port: port, key.endpoint) }
        guard proxy.keepsName else { return leads(to: peer, port: port, proxy.endpoint ?? key.endpoint) }
        // Its connections to all of its addresses have one name.
        guard let address = HTTPDNSAddress(String(cString: peer)) else { return false }
        return port == Int32((proxy.endpoint ?? key.endpoint).port) && proxy.addresses.contains(address)
    }

    private func leads(to peer: UnsafePointer<CChar>, port: Int32, _ endpoint: HTTPDNSEndpoint) -> Bool {
        guard port == Int32(endpoint.port) else { return false }
        return addressText.withCString { textsAreEqual(peer, $0) }
            || HTTPDNSAddress(String(cString: peer)) == endpoint.address
    }
}
