// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

public import HTTPDNSPrimitives

extension HTTPDNSResolver {
    /// A query to a resolver.
    public struct Query: Hashable, Sendable {
        /// The host to connect to.
        public var host: HTTPDNSHost
        /// The URL's port.
        public var port: UInt16
        /// The endpoints that the request itself names; they win over all other sources. Empty means none.
        public var addresses: [HTTPDNSEndpoint] = []
        /// Whether mappings, routes, providers and the answers cached from them are skipped.
        ///
        /// The system resolver answers, and only its own answers are cached
        /// (``HTTPDNSResolver/Configuration/Cache/systemTimeToLive``). ``addresses``, literals and `localhost` are decided
        /// before it.
        public var usesSystemResolver = false
        /// The families allowed; nil means the setting of the route or the resolver.
        public var families: HTTPDNSAddress.Families?
        /// The client network that is sent with the lookup, for answers close to it (RFC 7871); nil means the route's setting.
        ///
        /// Answers for different networks are kept apart.
        public var clientSubnet: HTTPDNSAddressBlock?
        /// The key of the query in a rollout by key (``HTTPDNSRoute/Rollout/Stickiness/key``), such as a user's number; nil
        /// means the host's name.
        ///
        /// It affects nothing else, and is not stored.
        public var rolloutKey: String?
        /// The time limit of the query; nil means the resolver's setting, which is also the maximum.
        public var timeLimit: Duration?
        /// The time, on the resolver's clock, after which a cached answer must have been requested.
        ///
        /// An older answer is served only when a refresh fails. Mappings, literals and ``addresses`` are not affected.
        package var freshAfter: MonotonicTime?

        /// Creates a query for a host on a port.
        public init(_ host: HTTPDNSHost, port: UInt16) {
            self.host = host
            self.port = port
        }
    }
}

/// The reason that the system resolver is queried and no provider.
enum SystemOnlyReason: Sendable {
    case request, mapping, route, internalName, noRoute, switchedOff, outsideRollout, shadow
}
