internal import HTTPDNSCore
internal import HTTPDNSPrimitives

extension HTTPDNSClient {
    /// The networks that requests may reach, whatever source an address comes from, and on every hop.
    ///
    /// For URLs of untrusted origin, as a webhook sender, a link previewer or an importer has them (server-side request
    /// forgery):
    ///
    /// ```swift
    /// var configuration = HTTPDNSClient.Configuration()
    /// configuration.reachableNetworks = .publicInternet
    /// ```
    ///
    /// It is applied after the address policy, to the exact addresses that a hop is about to be sent to, so that a name
    /// cannot change its address in between. More kinds may be added later.
    public struct ReachableNetworks: Hashable, Sendable, CustomStringConvertible {
        private enum Word: UInt8 {
            case any, publicInternet, inherited
        }

        private let word: Word

        /// Every address that the address policy lets through.
        public static let any = HTTPDNSClient.ReachableNetworks(word: .any)

        /// Addresses of scope `HTTPDNSAddressPolicy.Scope.public` alone, from every source: literals, mappings, `pinnedTo`,
        /// providers, the system resolver, redirects. `HTTPDNSAddressPolicy.allowed` does not widen it. IPv6 addresses that
        /// carry an IPv4 address count as that one. Refused with code `policyRefused` are also Unix sockets, and names that a
        /// proxy looks up itself, unless ``HTTPDNSClient/Proxy/enforcesReachableNetworks`` is set. The address of a proxy
        /// itself may be anywhere.
        public static let publicInternet = HTTPDNSClient.ReachableNetworks(word: .publicInternet)

        /// As the client's settings say. It is for ``HTTPDNSClient/Request/Options/reachableNetworks``, and refused in
        /// ``HTTPDNSClient/Configuration/reachableNetworks``.
        public static let inherited = HTTPDNSClient.ReachableNetworks(word: .inherited)

        /// The word for it in the configuration file.
        public var description: String {
            switch word {
            case .any: "any"
            case .publicInternet: "public_internet"
            case .inherited: "inherited"
            }
        }

        /// Whether an address is in them.
        func contains(_ address: HTTPDNSAddress) -> Bool {
            self != .publicInternet || HTTPDNSAddressPolicy.Scope(of: address) == .public
        }
    }
}
