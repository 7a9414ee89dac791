// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNSCore
internal import HTTPDNSCurl
internal import HTTPDNSPrimitives

// This step is part of the transfer, where the endpoints of a hop are fixed. Each hop passes it: redirects, retries,
// system path, preconnected ones.
extension HTTPDNSRewriter {
    /// Returns the hop without the addresses that it may not reach.
    /// - Throws: ``HTTPDNSClientError`` with code `policyRefused` when no address is left, for a Unix socket, and for a
    ///   name that a proxy resolves itself.
    func limited(
        _ rewritten: HTTPDNSRewriter.RewrittenRequest,
        to networks: HTTPDNSClient.ReachableNetworks,
        for request: HTTPDNSClient.Request,
        by egressChoice: EgressChoice
    ) throws(HTTPDNSClientError) -> HTTPDNSRewriter.RewrittenRequest {
        if networks == .any { return rewritten }
        let host = rewritten.content.url.host
        switch egressChoice {
        case .unixSocket: throw .beyond(networks, "a Unix socket is on this machine", host)
        case .proxy(let proxy) where rewritten.isUnresolved:
            if proxy.enforcesReachableNetworks { return rewritten }
            throw .beyond(networks, host, throughResolving: proxy)
        case .direct, .proxy: break
        }
        var resolution = rewritten.resolution
        let endpoints = resolution.endpoints
        let reachable = try networks.reachable(of: endpoints, host)
        if reachable.count == endpoints.count { return rewritten }
        resolution.endpoints = reachable
        return replacing(resolution, in: rewritten, for: request)
    }
}

extension HTTPDNSClient.ReachableNetworks {
    /// Returns the endpoints of a host that may be reached.
    /// - Throws: ``HTTPDNSClientError`` with code `policyRefused` when there is none.
    func reachable(of endpoints: [HTTPDNSEndpoint], _ host: HTTPDNSHost) throws(HTTPDNSClientError) -> [HTTPDNSEndpoint]
    {
        let reachable = endpoints.filter { contains($0.address) }
        guard reachable.isEmpty else { return reachable }
        let scopes = endpoints.prefix(4).map { "\($0.address) is \(HTTPDNSAddressPolicy.Scope(of: $0.address))" }
        throw .beyond(self, scopes.joined(separator: ", "), host)
    }
}

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
            case any, publicInternet
        }

        private let word: Word

        /// All addresses that the address policy permits.
        public static let any = HTTPDNSClient.ReachableNetworks(word: .any)

        /// Addresses of scope `HTTPDNSAddressPolicy.Scope.public` alone, from every source: literals, mappings, the
        /// request's own addresses, providers, the system resolver, redirects. `HTTPDNSAddressPolicy.allowed` does not
        /// widen it. IPv6 addresses that carry an IPv4 address count as that one.
        ///
        /// Unix sockets are refused with code `policyRefused`. So are names that a proxy resolves itself, unless
        /// ``HTTPDNSClient/Proxy/enforcesReachableNetworks`` is set. The address of a proxy itself may be anywhere.
        public static let publicInternet = HTTPDNSClient.ReachableNetworks(word: .publicInternet)

        /// The value in the configuration file.
        public var description: String {
            switch word {
            case .any: "any"
            case .publicInternet: "public_internet"
            }
        }

        /// Returns the networks that are in both.
        func narrowed(by other: HTTPDNSClient.ReachableNetworks) -> HTTPDNSClient.ReachableNetworks {
            self == .any ? other : self
        }

        /// Whether the networks contain an address.
        func contains(_ address: HTTPDNSAddress) -> Bool {
            self != .publicInternet || HTTPDNSAddressPolicy.Scope(of: address) == .public
        }
    }
}
