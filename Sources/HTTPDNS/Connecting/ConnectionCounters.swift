internal import HTTPDNSPrimitives

extension HTTPDNSClient {
    /// Counters of requests that went elsewhere than to the first address they were given, since the client was made.
    public struct ConnectionCounters: Hashable, Sendable {
        /// The requests that were sent to an address of the system resolver after no address of a provider accepted a
        /// connection.
        public var fallbacks = 0
        /// The requests for which the system resolver's addresses did not accept a connection either.
        public var fallbacksFailed = 0
        /// The requests that took the system path immediately, because an earlier one had to fall back.
        public var fallbacksAhead = 0
        /// The requests that stayed on a warm address that the newest answer no longer contains.
        public var held = 0
        /// The hosts that take the system path at present.
        public var fallenBackHosts = 0
    }
}

/// The storage of ``HTTPDNSClient/ConnectionCounters``.
final class ConnectionCounting: Sendable {
    private let counters = Lock(HTTPDNSClient.ConnectionCounters())

    func count(_ event: WritableKeyPath<HTTPDNSClient.ConnectionCounters, Int>) {
        counters.withLock { $0[keyPath: event] += 1 }
    }

    var current: HTTPDNSClient.ConnectionCounters { counters.withLock { $0 } }
}
