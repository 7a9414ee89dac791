public import HTTPDNSCore
package import HTTPDNSCurl
internal import HTTPDNSPrimitives

extension HTTPDNSClient {
    /// A proxy that requests go through.
    ///
    /// Printed, compared and dumped it is its kind, host and port; the login stands in no text.
    public struct Proxy: Hashable, Sendable, CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
        /// What is spoken with it.
        public var kind: HTTPDNSClient.Proxy.Kind
        /// Its name or address. A name goes to the mappings, if they have addresses for it, else to the system resolver;
        /// providers are never asked about it.
        public var host: HTTPDNSHost
        /// Its port.
        public var port: UInt16
        /// Who the client is to it; nil for nobody.
        public var credential: HTTPDNSClient.Proxy.Credential?
        /// Whether the client finds the addresses of URLs' names, by mappings, providers and policy as without a proxy, and
        /// gives the proxy these. If not, the proxy is told names, and does as it likes. `HTTPDNSClient.Proxy.Kind.socks4`
        /// and `HTTPDNSClient.Proxy.Kind.socks5` take addresses only, whatever it says.
        ///
        /// Through an HTTP proxy that makes a tunnel (CONNECT) of requests to `http` URLs too, which many proxies allow to
        /// port 443 only.
        public var resolvesLocally = false
        /// Whether the proxy itself refuses what ``HTTPDNSClient/ReachableNetworks`` of a request exclude, so that names that
        /// it looks up may go through it all the same. The client cannot check it: where it is set and the proxy does not,
        /// such a request reaches any address that the proxy reaches.
        public var enforcesReachableNetworks = false

        /// Creates a proxy without credential.
        public init(_ kind: HTTPDNSClient.Proxy.Kind, host: HTTPDNSHost, port: UInt16) {
            self.kind = kind
            self.host = host
            self.port = port
        }

        /// Whether it is given addresses.
        package var takesAddresses: Bool { resolvesLocally || kind.needsAddress }

        /// `http://proxy.test:3128`.
        public var description: String {
            switch host {
            case .name(let name): "\(kind)://\(name):\(port)"
            case .address(let address): "\(kind)://\(address.bracketed):\(port)"
            }
        }
        /// As ``description``.
        public var debugDescription: String { description }
        /// Nothing inside.
        public var customMirror: Mirror { Mirror(self, children: []) }
    }
}

extension HTTPDNSClient.Proxy {
    /// Who the client is to a proxy: Basic to HTTP proxies, user and password to SOCKS 5, the user alone to SOCKS 4.
    ///
    /// The password is read for each request, so that one that was changed is used by the next connection.
    public struct Credential: Hashable, Sendable, CustomStringConvertible, CustomDebugStringConvertible,
        CustomReflectable
    {
        /// The user.
        public var user: String
        /// Where the password is; nil for an empty one.
        public var password: HTTPDNSSecret?

        /// Creates a credential.
        public init(user: String, password: HTTPDNSSecret?) {
            self.user = user
            self.password = password
        }

        /// Compares the user and where the password is; one that stood in the proxy's URL is compared itself. A closure is
        /// the same as its copies alone.
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

        /// Says nothing.
        public var description: String { "a proxy credential" }
        /// As ``description``.
        public var debugDescription: String { description }
        /// Nothing inside.
        public var customMirror: Mirror { Mirror(self, children: []) }
    }
}
