internal import HTTPDNSCore
internal import HTTPDNSPrimitives

extension HTTPDNSClient {
    /// The networks that requests may reach, on every hop and for addresses from any source.
    ///
    /// It protects clients that request untrusted URLs, such as webhook senders, link previewers and importers, from
    /// server-side request forgery:
    ///
    /// ```swift
    /// var configuration = HTTPDNSClient.Configuration()
    /// configuration.reachableNetworks = .publicInternet
    /// ```
    ///
    /// It is applied after the address policy, to the exact addresses of a hop, so that a name cannot change its
    /// address in between. More kinds may be added later.
    public struct ReachableNetworks: Hashable, Sendable, CustomStringConvertible {
        private enum Word: UInt8 {
            case any, publicInternet, inherited
        }

        private let word: Word

        /// All addresses that the address policy permits.
        public static let any = HTTPDNSClient.ReachableNetworks(word: .any)

        /// Addresses of scope `HTTPDNSAddressPolicy.Scope.public` alone, from every source: literals, mappings,
        /// `pinnedTo`, providers, the system resolver, redirects. `HTTPDNSAddressPolicy.allowed` does not widen it.
        /// IPv6 addresses that carry an IPv4 address count as that one.
        ///
        /// Unix sockets are refused with code `policyRefused`. So are names that a proxy resolves itself, unless
        /// ``HTTPDNSClient/Proxy/enforcesReachableNetworks`` is set. The address of a proxy itself may be anywhere.
        public static let publicInternet = HTTPDNSClient.ReachableNetworks(word: .publicInternet)

        /// The client's setting. It is for ``HTTPDNSClient/Request/Options/reachableNetworks``, and refused in
        /// ``HTTPDNSClient/Configuration/reachableNetworks``.
        public static let inherited = HTTPDNSClient.ReachableNetworks(word: .inherited)

        /// The value in the configuration file.
        public var description: String {
            switch word {
            case .any: "any"
            case .publicInternet: "public_internet"
            case .inherited: "inherited"
            }
        }

        /// Whether the networks contain an address.
        func contains(_ address: HTTPDNSAddress) -> Bool {
            self != .publicInternet || HTTPDNSAddressPolicy.Scope(of: address) == .public
        }
    }
}
