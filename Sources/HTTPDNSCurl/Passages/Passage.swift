package import HTTPDNSPrimitives

/// How a transfer gets to its server where it does not simply connect to one of its endpoints. Immutable; what is equal
/// shares connections.
package final class Passage: Hashable, Sendable {
    /// The proxy; nil without one.
    package let proxy: ProxyPassage?
    /// The path of a Unix socket that is connected to in place of any endpoint. A proxy is not asked then.
    package let unixSocket: String?
    /// What connections are bound to; nil means that the system chooses.
    package let source: HTTPDNSTransfer.LocalSource?

    package init(proxy: ProxyPassage? = nil, unixSocket: String? = nil, source: HTTPDNSTransfer.LocalSource? = nil) {
        self.proxy = unixSocket == nil ? proxy : nil
        self.unixSocket = unixSocket
        self.source = source
    }

    package static func == (left: Passage, right: Passage) -> Bool {
        left === right
            || left.proxy == right.proxy && left.unixSocket == right.unixSocket && left.source == right.source
    }

    package func hash(into hasher: inout Hasher) {
        hasher.combine(proxy)
        hasher.combine(unixSocket)
        hasher.combine(source)
    }
}

/// A proxy on the way, as libcurl needs it: its name looked up, its password read.
///
/// Two are equal that differ in ``addresses`` alone: connections through a proxy serve on while its name gives others.
package struct ProxyPassage: Hashable, Sendable, CustomStringConvertible {
    package var kind: HTTPDNSTransfer.ProxyKind
    package var host: ParsedURL.Host
    package var port: UInt16
    /// All addresses of ``host``. A connection to any other is refused.
    package var addresses: Set<HTTPDNSAddress>
    /// The proxy's endpoint, where the proxy is given the addresses of the request's endpoints. Nil where it is given the
    /// URL's name: then the request's endpoints are the proxy's own.
    package var endpoint: HTTPDNSEndpoint?
    package var login: ProxyLogin?
    /// Which certificates it is believed by, if it has any.
    package var trust: ProxyTrust

    package init(
        kind: HTTPDNSTransfer.ProxyKind,
        host: ParsedURL.Host,
        port: UInt16,
        addresses: Set<HTTPDNSAddress>,
        endpoint: HTTPDNSEndpoint? = nil,
        login: ProxyLogin? = nil,
        trust: ProxyTrust = ProxyTrust()
    ) {
        self.kind = kind
        self.host = host
        self.port = port
        self.addresses = addresses
        self.endpoint = endpoint
        self.login = login
        self.trust = trust
    }

    package static func == (left: ProxyPassage, right: ProxyPassage) -> Bool {
        left.kind == right.kind && left.host == right.host && left.port == right.port && left.endpoint == right.endpoint
            && left.login == right.login && left.trust == right.trust
    }

    package func hash(into hasher: inout Hasher) {
        hasher.combine(kind)
        hasher.combine(host)
        hasher.combine(port)
        hasher.combine(endpoint)
        hasher.combine(login)
        hasher.combine(trust)
    }

    /// `http://proxy.test:3128`: what errors name it by.
    package var description: String { "\(kind)://\(hostText):\(port)" }

    /// An IPv6 address has brackets.
    var hostText: String {
        switch host {
        case .name(let name): name
        case .address(let address): address.bracketed
        }
    }

    /// Whether libcurl must know it by its own name, which TLS proves.
    var keepsName: Bool { kind == .https }

    /// Whether the request's server is reached through a tunnel, or the proxy answers itself. As libcurl decides, but for
    /// HTTP/2 in clear text, which a proxy would not understand.
    package func tunnels(_ scheme: ParsedURL.Scheme, _ versions: HTTPDNSTransfer.AllowedVersions) -> Bool {
        !kind.isHTTP || scheme == .https || endpoint != nil || versions == .http2Only
    }
}

extension PinKey {
    /// Whether the endpoint is what is connected to. Through a proxy that is given addresses nothing is learnt about them,
    /// and a Unix socket has none.
    var isConnectedTo: Bool { passage == nil || passage?.unixSocket == nil && passage?.proxy?.endpoint == nil }
}

extension TransferRequest {
    /// Whether its endpoints are what is connected to, see ``PinKey/isConnectedTo``.
    var connectsToEndpoints: Bool { passage == nil || passage?.unixSocket == nil && passage?.proxy?.endpoint == nil }
}
