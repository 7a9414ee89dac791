// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import CHTTPDNSCurl
internal import HTTPDNSPrimitives

/// The key of a pin. Transfers with equal keys share connections: the same name, connected to the same endpoint, over the
/// same versions.
struct PinKey: Hashable {
    var host: ParsedURL.Host
    var port: UInt16
    var endpoint: HTTPDNSEndpoint
    var versions: HTTPDNSTransfer.AllowedVersions
    /// The egress path, unless transfers connect to the endpoint directly.
    var egressPath: EgressPath?
    /// Whether the client's own certificate is withheld from the server.
    ///
    /// libcurl quirk: A certificate outlives its request (7.88.1; 8). Only a reset removes a client certificate from a handle,
    /// and libcurl 8 may resume its session, which identifies the client. Requests that withhold it have a pin of their own.
    /// Tests: PinTableTests, ClientCertificateTests.
    var withholdsCertificate = false
}

extension PinKey {
    /// Hashes what tells nearly all keys apart; each transfer looks one up.
    func hash(into hasher: inout Hasher) {
        hasher.combine(host)
        hasher.combine(endpoint)
        // All Unix sockets have one endpoint, and many logins may use one proxy.
        if let egressPath { hasher.combine(egressPath) }
    }

    /// - Parameter hasCertificate: Whether the loop's connections have a client certificate at all.
    init(of transfer: Transfer, _ endpoint: HTTPDNSEndpoint, hasCertificate: Bool) {
        self.init(
            host: transfer.request.url.host,
            port: transfer.request.url.port,
            endpoint: endpoint,
            versions: transfer.request.versions(at: endpoint),
            egressPath: transfer.request.egressPath,
            withholdsCertificate: hasCertificate && transfer.request.withholdsCertificate
        )
    }
}

/// The libcurl options of one key: a made-up name, which identifies the connections in libcurl's pool, and the address of that
/// name. libcurl does not copy the lists: they are freed after the last transfer that uses them.
///
/// libcurl quirk: Reuse ignores the address (7.88.1 to 8.21.0). The pool finds connections by name and port, and all transfers
/// share the host table: on the real name an old connection or another transfer's address would be used. So each endpoint has a
/// made-up name under `.invalid` (RFC 6761 section 6.4). Tests: TransportAgainstNginxTests, PinTableTests, MovedMappingTests.
///
/// libcurl quirk: One bucket for each target (7.88; corrected in 8.14). With addresses as targets, all hosts at one share a
/// bucket of the pool, and HTTP/1.1 connections of one make another's HTTP/2 requests open 9 to 20 connections.
/// Tests: PinTableTests.
final class Pin {
    let key: PinKey
    let slot: Int
    /// A number that only one pin has at a time.
    let number: UInt64
    /// A number that is never reused.
    let serial: UInt64
    /// `p7.invalid`
    let name: String
    /// The proxy's name for libcurl; empty without a proxy.
    let proxyName: String
    /// Whether other pins have entries under the same name. Each transfer must then bring its own.
    let sharesName: Bool
    /// The connected address as libcurl reports it, for the check before each request.
    let addressText: String
    /// CURLOPT_CONNECT_TO, see ``PinEntries``.
    let connectTo: UnsafeMutablePointer<curl_slist>?
    /// The entries for CURLOPT_RESOLVE.
    let resolve: UnsafeMutablePointer<curl_slist>?
    /// The RESOLVE lines that remove the entries from libcurl's table.
    let removals: [String]
    /// Whether libcurl's table is known to have the entry, so that a transfer need not bring it again.
    var isEntered = false
    /// The number of transfers for which libcurl may still look the name up.
    var transfersInFlight = 0
    /// The connections, in use or idle, that libcurl can still find by the name. Unchecked exclusivity, as of the values below that
    /// each transfer reads: they are accessed on the loop's thread only, and nothing that is called during a change comes back.
    @exclusivity(unchecked) var connections = PinConnections()
    /// The transfers that wait until a connection has room.
    @exclusivity(unchecked) var streams = StreamQueue()
    /// The racing attempts at it.
    @exclusivity(unchecked) var attempts = PinAttempts<EasyHandle>()
    /// Whether an attempt at it failed in this turn.
    var hasFailedAttempt = false
    /// The last time that a connection was made.
    var reachedAt = Int64.min
    /// The TLS sessions that its connections may resume.
    var sessions = SharedTLSSessions()
    /// The usage of its endpoint; `nil` before its first socket.
    var usage: EndpointUsage?
    /// Whether the table has dropped the pin.
    var isRetired = false
    /// The pins of the same key; `nil` when it is the only one.
    @exclusivity(unchecked) var siblings: PinSiblings?
    /// Whether it is among those of its siblings that may have a free connection.
    var isListedFree = false
    /// The time at which bytes of a response last arrived.
    var heardAt = Int64.min
    /// Whether the last response had a long body, so that the next one is read in larger pieces.
    var hadLongBody = false

    init(_ key: PinKey, slot: Int, number: UInt64, serial: UInt64 = 0) {
        self.key = key
        self.slot = slot
        self.number = number
        self.serial = serial
        name = "p\(number).invalid"
        let told = PinEntries(key, number: number)
        proxyName = told.proxyName
        sharesName = told.sharesName
        addressText = (key.egressPath?.proxy?.endpoint ?? key.endpoint).address.description
        connectTo = told.connectTo.flatMap { curl_slist_append(nil, $0) }
        resolve = told.entries.reduce(nil) { list, entry in curl_slist_append(list, entry) }
        removals = told.removals
    }

    deinit {
        curl_slist_free_all(connectTo)
        curl_slist_free_all(resolve)
    }
}

/// The libcurl options of a pin: the connection target for the URL's host, and the addresses of names.
///
/// libcurl quirk: Proxies are told the pin (7.88.1). HTTP proxies, SOCKS 4a and SOCKS 5h receive the target of
/// CURLOPT_CONNECT_TO: they get none, or one with the address. Tests: PinEntriesTests, SocksTests.
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
        let from = "\(key.host.text):\(key.port)"
        guard let proxy = key.egressPath?.proxy else {
            // A Unix socket is not looked up; the name separates generations of its connections.
            connectTo = "\(from):\(name):\(key.endpoint.port)"
            if key.egressPath?.unixSocket == nil { add(name, key.endpoint) }
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
        // An entry cannot have an IPv6 address as its name; libcurl does not need one either (``EasyOptions/take(_:_:for:)``).
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
    /// Returns whether the settings let no request of a scheme be sent over HTTP/2.
    func allowsOnlyHTTP1(for scheme: ParsedURL.Scheme) -> Bool {
        switch key.versions.kind {
        case .http1Only, .http10Only: true
        case .http2Only: false
        case .automatic: scheme == .http
        }
    }

    /// Returns whether the requests of a scheme are sent over HTTP/1.x, as far as is known before they have a connection.
    func usesHTTP1(for scheme: ParsedURL.Scheme) -> Bool {
        if let version = connections.lastVersion { return version != .http2 }
        return allowsOnlyHTTP1(for: scheme)
    }

    /// Whether a connection's peer is the one that the pin requires. A Unix socket has no address.
    /// - Parameter egressPath: The transfer's egress path, which equals the pin's, and has the proxy's current
    ///   addresses.
    func leads(to peer: UnsafePointer<CChar>, port: Int32, through egressPath: EgressPath?) -> Bool {
        guard let egressPath else { return leads(to: peer, port: port, key.endpoint) }
        if egressPath.unixSocket != nil { return true }
        guard let proxy = egressPath.proxy else { return leads(to: peer, port: port, key.endpoint) }
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
