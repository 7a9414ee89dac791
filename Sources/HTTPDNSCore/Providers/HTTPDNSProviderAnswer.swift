// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

public import HTTPDNSPrimitives

/// The answer of a provider: one outcome for each family of the query.
public struct HTTPDNSProviderAnswer: Hashable, Sendable {
    /// The outcome for IPv4; nil when it was not queried.
    public var v4: HTTPDNSProviderAnswer.Family?
    /// The outcome for IPv6; nil when it was not queried.
    public var v6: HTTPDNSProviderAnswer.Family?
    /// The outcome for records of type HTTPS; nil when they were not queried, or the provider cannot query them.
    public var httpsRecords: HTTPDNSProviderAnswer.HTTPSRecords?
    /// Whether the service reported for every family that its answer is valid for all clients (a scope prefix length of 0, RFC
    /// 7871 section 7.3.1).
    ///
    /// Queries with other client subnets share such an answer.
    public var holdsForAllClients = false
    /// The server's own reasons for the answer (RFC 8914), such as Stale Answer or Blocked.
    public var extendedErrors: [HTTPDNSExtendedError] = []

    /// Creates an answer.
    public init(v4: HTTPDNSProviderAnswer.Family? = nil, v6: HTTPDNSProviderAnswer.Family? = nil) {
        self.v4 = v4
        self.v6 = v6
    }

    /// Creates the answer to a query from all addresses of the name.
    /// - Parameters:
    ///   - addresses: The addresses of both families, in the order of preference. A family without any is "no data". Nil means
    ///     that the name does not exist.
    ///   - timeToLive: The lifetime of the answer, also where it has no addresses.
    ///   - query: The query; other families than its own are left out.
    public init(_ addresses: [HTTPDNSAddress]?, timeToLive: Duration, to query: HTTPDNSProviderQuery) {
        func outcome(_ family: HTTPDNSAddress.Family) -> HTTPDNSProviderAnswer.Family {
            guard let addresses else { return .nameError(timeToLive: timeToLive) }
            let own = addresses.filter { $0.family == family }
            return own.isEmpty
                ? .noData(timeToLive: timeToLive) : .addresses(own, timeToLive: timeToLive, canonicalName: nil)
        }
        for family in HTTPDNSAddress.Family.allCases where query.families.contains(family) {
            self[family] = outcome(family)
        }
    }

    /// The outcome for a family; nil when it was not queried.
    package subscript(family: HTTPDNSAddress.Family) -> HTTPDNSProviderAnswer.Family? {
        get { family == .v4 ? v4 : v6 }
        set { if family == .v4 { v4 = newValue } else { v6 = newValue } }
    }
}

extension HTTPDNSProviderAnswer {
    /// The outcome for one family.
    public enum Family: Hashable, Sendable {
        /// At least one address, owned by the last name of a loop-free alias chain from the queried name.
        ///
        /// The time to live is the least of the whole chain, less the HTTP response's Age, before the resolver's own limits.
        case addresses([HTTPDNSAddress], timeToLive: Duration, canonicalName: HTTPDNSName?)
        /// The name exists without addresses of this family. A nil time to live means that the provider gave none.
        case noData(timeToLive: Duration?)
        /// The name does not exist (NXDOMAIN).
        case nameError(timeToLive: Duration?)
        /// This family failed; the other may be valid. Never cached as "no such name".
        case failed(HTTPDNSProviderError)
    }
}

extension HTTPDNSProviderAnswer {
    /// The outcome for records of type HTTPS (RFC 9460). The provider's parser leaves out invalid records.
    public enum HTTPSRecords: Hashable, Sendable {
        /// At least one usable record in service mode, in the order of rising priority.
        case bindings([HTTPDNSProviderAnswer.HTTPSRecord], timeToLive: Duration)
        /// Alias mode: the addresses are those of another name. The identity stays that of the queried name.
        case alias(HTTPDNSName, timeToLive: Duration)
        /// Alias mode with the target `.`: the service is not available (RFC 9460 section 2.5.1).
        case unavailable(timeToLive: Duration)
        /// No usable record. A nil time to live means that the provider gave none.
        case none(timeToLive: Duration?)
        /// The query failed; the addresses may be valid.
        case failed(HTTPDNSProviderError)
    }
}

extension HTTPDNSProviderAnswer {
    /// A record of type HTTPS in service mode (RFC 9460 section 2.4.3).
    public struct HTTPSRecord: Hashable, Sendable {
        /// The priority; lower is preferred. Never 0, which is alias mode.
        public var priority: UInt16
        /// The name to connect to; nil means the queried name, which owns the record.
        public var target: HTTPDNSName?
        /// The protocols of the parameter `alpn`, with the default `http/1.1` unless `no-default-alpn` was given.
        public var applicationProtocols: [String]
        /// Whether the record has the parameter `alpn`, so that connections offer only ``applicationProtocols``.
        ///
        /// Without it a connection may negotiate any HTTP version. The initializer sets true unless the protocols are the default
        /// alone, `http/1.1`.
        public var namesProtocols: Bool
        /// The port to connect to; nil means the URL's.
        public var port: UInt16?
        /// The hinted IPv4 addresses of the target.
        public var v4Hints: [HTTPDNSAddress]
        /// The hinted IPv6 addresses of the target.
        public var v6Hints: [HTTPDNSAddress]
        /// Whether the service offers Encrypted ClientHello, which this library does not speak.
        public var offersEncryptedClientHello = false

        /// Creates a record.
        public init(
            priority: UInt16,
            target: HTTPDNSName? = nil,
            applicationProtocols: [String] = ["http/1.1"],
            port: UInt16? = nil,
            v4Hints: [HTTPDNSAddress] = [],
            v6Hints: [HTTPDNSAddress] = []
        ) {
            self.priority = priority
            self.target = target
            self.applicationProtocols = applicationProtocols
            namesProtocols = applicationProtocols != ["http/1.1"]
            self.port = port
            self.v4Hints = v4Hints
            self.v6Hints = v6Hints
        }
    }
}
