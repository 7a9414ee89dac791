public import HTTPDNSCore
package import HTTPDNSCurl
internal import HTTPDNSPrimitives

extension HTTPDNSClient {
    /// A proxy that requests go through.
    ///
    /// Its printed and dumped form is its kind, host and port; no text contains the credential.
    public struct Proxy: Hashable, Sendable, CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
        /// The protocol spoken with the proxy.
        public var kind: HTTPDNSClient.Proxy.Kind
        /// The name or address of the proxy. A name is resolved by the mappings, if they have addresses for it,
        /// otherwise by the system resolver; providers never receive it.
        public var host: HTTPDNSHost
        /// The port of the proxy.
        public var port: UInt16
        /// The credential for the proxy; nil for none.
        public var credential: HTTPDNSClient.Proxy.Credential?
        /// Whether the client resolves the names of URLs, by mappings, providers and policy as without a proxy, and
        /// sends the proxy addresses. When false, the proxy receives names and resolves them itself.
        /// `HTTPDNSClient.Proxy.Kind.socks4` and `HTTPDNSClient.Proxy.Kind.socks5` receive addresses in any case.
        ///
        /// Through an HTTP proxy this also makes a tunnel (CONNECT) for requests to `http` URLs, which many proxies
        /// allow to port 443 only.
        public var resolvesLocally = false
        /// Whether the proxy itself enforces the ``HTTPDNSClient/ReachableNetworks`` of requests, so that names may be
        /// sent to it. The client cannot check this. If it is set and the proxy does not enforce them, such a request
        /// reaches every address that the proxy reaches.
        public var enforcesReachableNetworks = false

        /// Creates a proxy without credential.
        public init(_ kind: HTTPDNSClient.Proxy.Kind, host: HTTPDNSHost, port: UInt16) {
            self.kind = kind
            self.host = host
            self.port = port
        }

        /// Whether the proxy receives addresses.
        package var takesAddresses: Bool { resolvesLocally || kind.needsAddress }

        /// The kind, host and port, such as `http://proxy.test:3128`.
        public var description: String {
            switch host {
            case .name(let name): "\(kind)://\(name):\(port)"
            case .address(let address): "\(kind)://\(address.bracketed):\(port)"
            }
        }
        /// The same text as ``description``.
        public var debugDescription: String { description }
        /// An empty mirror.
        public var customMirror: Mirror { Mirror(self, children: []) }
    }
}

extension HTTPDNSClient.Proxy {
    /// A credential for a proxy: Basic for HTTP proxies, user and password for SOCKS 5, the user alone for SOCKS 4.
    ///
    /// The password is read for each request, so that the next connection uses a changed one.
    public struct Credential: Hashable, Sendable, CustomStringConvertible, CustomDebugStringConvertible,
        CustomReflectable
    {
        /// The user name.
        public var user: String
        /// The source of the password; nil for an empty one.
        public var password: HTTPDNSSecret?

        /// Creates a credential.
        public init(user: String, password: HTTPDNSSecret?) {
            self.user = user
            self.password = password
        }

        /// Returns whether the user and the source of the password are equal. A password from the proxy's URL is
        /// compared itself. A closure equals only its own copies.
        public static func == (left: HTTPDNSClient.Proxy.Credential, right: HTTPDNSClient.Proxy.Credential) -> Bool {
            guard left.user == right.user else { return false }
            switch (left.password, right.password) {
            case (nil, nil): return true
            case (let left?, let right?): return left.isSame(as: right)
            default: return false
            }
        }

        /// Hashes the user.
        public func hash(into hasher: inout Hasher) { hasher.combine(user) }

        /// A constant text without the credential.
        public var description: String { "a proxy credential" }
        /// The same text as ``description``.
        public var debugDescription: String { description }
        /// An empty mirror.
        public var customMirror: Mirror { Mirror(self, children: []) }
    }
}
