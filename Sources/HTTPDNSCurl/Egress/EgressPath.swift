// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import CHTTPDNSCurl
package import HTTPDNSPrimitives

/// The egress path of a transfer that does not simply connect to one of its endpoints. Immutable; transfers with equal paths
/// share connections.
package final class EgressPath: Hashable, Sendable {
    /// The proxy; nil without one.
    package let proxy: EgressProxy?
    /// The path of a Unix socket that replaces all endpoints. A proxy is not used then.
    package let unixSocket: String?
    /// The local source that connections are bound to; `nil` means that the system chooses.
    package let source: HTTPDNSTransfer.LocalSource?

    package init(proxy: EgressProxy? = nil, unixSocket: String? = nil, source: HTTPDNSTransfer.LocalSource? = nil) {
        self.proxy = unixSocket == nil ? proxy : nil
        self.unixSocket = unixSocket
        self.source = source
    }

    package static func == (left: EgressPath, right: EgressPath) -> Bool {
        left === right
            || left.proxy == right.proxy && left.unixSocket == right.unixSocket && left.source == right.source
    }

    package func hash(into hasher: inout Hasher) {
        hasher.combine(proxy)
        hasher.combine(unixSocket)
        hasher.combine(source)
    }
}

/// A proxy in the form that libcurl needs: with its addresses resolved and its password read.
///
/// Equality ignores ``addresses``: connections through a proxy stay usable when its name gets other addresses.
package struct EgressProxy: Hashable, Sendable, CustomStringConvertible {
    package var kind: HTTPDNSTransfer.ProxyKind
    package var host: ParsedURL.Host
    package var port: UInt16
    /// All addresses of ``host``. A connection to any other address is rejected.
    package var addresses: Set<HTTPDNSAddress>
    /// The proxy's endpoint, if the proxy gets the addresses of the request's endpoints. `nil` if it gets the URL's name:
    /// then the request's endpoints are those of the proxy.
    package var endpoint: HTTPDNSEndpoint?
    package var login: ProxyLogin?
    /// The trust settings for the proxy's certificate, if it has one.
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

    package static func == (left: EgressProxy, right: EgressProxy) -> Bool {
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

    /// The proxy as errors name it: `http://proxy.test:3128`.
    package var description: String { "\(kind)://\(hostText):\(port)" }

    /// The host; an IPv6 address has brackets.
    var hostText: String { host.text }

    /// Whether libcurl must know the proxy by its own name, which TLS verifies.
    var keepsName: Bool { kind == .https }

    /// Whether the request goes through a tunnel, rather than to the proxy itself. It follows libcurl's decision, except for
    /// HTTP/2 in clear text, which a proxy does not understand.
    package func tunnels(_ scheme: ParsedURL.Scheme, _ versions: HTTPDNSTransfer.AllowedVersions) -> Bool {
        !kind.isHTTP || scheme == .https || endpoint != nil || versions == .http2Only
    }
}

extension PinKey {
    /// Whether connections go to the endpoint itself. Through a proxy that gets addresses nothing is learned about them, and
    /// a Unix socket has no address.
    var isConnectedTo: Bool { egressPath == nil || egressPath?.unixSocket == nil && egressPath?.proxy?.endpoint == nil }
}

extension TransferRequest {
    /// Whether endpoints are probed by connections like the request's. One for another protocol would prove TCP alone.
    var mayBeProbed: Bool { connectsToEndpoints && handedSocket == nil }

    func tunnels(through proxy: EgressProxy) -> Bool { handedSocket != nil || proxy.tunnels(url.scheme, versions) }

    /// Whether connections go to the request's endpoints themselves, see ``PinKey/isConnectedTo``.
    var connectsToEndpoints: Bool {
        egressPath == nil || egressPath?.unixSocket == nil && egressPath?.proxy?.endpoint == nil
    }
}

/// The trust settings for an HTTPS proxy. They belong to the egress path, because one loop carries the requests of clients that
/// trust different proxies.
package struct ProxyTrust: Hashable, Sendable {
    /// The settings without those that are not used with the proxy.
    private let settings: HTTPDNSTrust
    /// The authorities as they were read and tested; `nil`: the CA file of the settings. Connections that were made with others
    /// are not used.
    fileprivate var authorities: Authorities?

    /// Creates trust settings like those for servers. The client's own certificate, key pins and curves are not used with the
    /// proxy.
    package init(_ settings: HTTPDNSTrust = HTTPDNSTrust()) {
        var used = HTTPDNSTrust(roots: settings.roots)
        used.verification = settings.verification
        used.minimumVersion = settings.minimumVersion
        used.maximumVersion = settings.maximumVersion
        used.ciphers = settings.ciphers
        used.ciphersTLS13 = settings.ciphersTLS13
        self.settings = used
    }

    package static func == (left: ProxyTrust, right: ProxyTrust) -> Bool {
        left.settings == right.settings && left.authorities === right.authorities
    }

    package func hash(into hasher: inout Hasher) {
        hasher.combine(settings)
        hasher.combine(authorities.map { ObjectIdentifier($0) })
    }

    /// Returns the CA file, for errors.
    var authorityFile: String? {
        authorities?.file ?? (try? CertificateBundle.path(for: settings.roots))
    }

    /// - Throws: ``TransferFailure`` with code `trustRootsMissing` or `trustUnsupported`.
    func apply(_ options: inout EasyOptions) throws(TransferFailure) {
        try TLSBackend.check(nil)
        if settings.verification == .chainAndName {
            if let authorities {
                authorities.apply(path: CURLOPT_PROXY_CAINFO, bytes: CURLOPT_PROXY_CAINFO_BLOB, &options)
            } else {
                options.set(CURLOPT_PROXY_CAINFO, try CertificateBundle.path(for: settings.roots))
            }
        } else {
            options.set(CURLOPT_PROXY_SSL_VERIFYPEER, 0)
            options.set(CURLOPT_PROXY_SSL_VERIFYHOST, 0)
        }
        options.set(CURLOPT_PROXY_CAPATH, nil)
        options.set(CURLOPT_PROXY_SSLVERSION, settings.versionOption)
        if let list = settings.ciphers.optionText { options.set(CURLOPT_PROXY_SSL_CIPHER_LIST, list) }
        if let list = settings.ciphersTLS13.optionText { options.set(CURLOPT_PROXY_TLS13_CIPHERS, list) }
    }
}

extension TransferRequest {
    /// Lets the connections to an HTTPS proxy use the authorities that a transport has read, also on a transport for a host with
    /// trust settings of its own.
    /// - Throws: ``TransferFailure``, `CancellationError`.
    package mutating func trustProxy(as transport: TrustedTransport) async throws {
        guard let path = egressPath, var proxy = path.proxy, proxy.keepsName else { return }
        proxy.trust.authorities = try await transport.material(for: limits).authorities
        egressPath = EgressPath(proxy: proxy, source: path.source)
    }
}

/// The login of the client at a proxy. Its texts appear in no description, dump or error.
package struct ProxyLogin: Hashable, Sendable, CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable
{
    /// The scheme that proves the login to an HTTP proxy.
    package enum Scheme: Hashable, Sendable {
        case basic
        /// Digest (RFC 7616). libcurl answers the challenge to CONNECT. Requests that the proxy forwards have the caller's own
        /// field: libcurl would deliver the head of the first response, the challenge.
        case digest
    }

    let user: String
    let password: String
    let scheme: Scheme

    package init(user: String, password: String, scheme: Scheme = .basic) {
        self.user = user
        self.password = password
        self.scheme = scheme
    }

    package var description: String { "a login" }
    package var debugDescription: String { description }
    package var customMirror: Mirror { Mirror(self, children: []) }
}
