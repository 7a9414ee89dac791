public import HTTPDNSPrimitives

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
        /// The port to connect to; nil means the URL's.
        public var port: UInt16?
        /// The hinted IPv4 addresses of the target.
        public var v4Hints: [HTTPDNSAddress]
        /// The hinted IPv6 addresses of the target.
        public var v6Hints: [HTTPDNSAddress]
        /// Whether the service offers Encrypted ClientHello, which this library does not speak.
        public var offersEncryptedHello = false

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
            self.port = port
            self.v4Hints = v4Hints
            self.v6Hints = v6Hints
        }
    }
}
