internal import HTTPDNSPrimitives

extension HTTPDNSClient {
    /// How often requests went elsewhere than to the first address they were given, since the client was made.
    public struct ConnectionCounters: Hashable, Sendable {
        /// Requests that were sent to an address of the system resolver after none of a provider's could be connected to.
        public var fallbacks = 0
        /// Requests for which the system resolver's addresses could not be connected to either.
        public var fallbacksFailed = 0
        /// Requests that took the system path at once, because one before them had to fall back.
        public var fallbacksAhead = 0
        /// Requests that stayed on a warm address which the newest answer no longer has.
        public var held = 0
        /// Hosts that take the system path at present.
        public var fallenBackHosts = 0
    }
}

/// The counting behind ``HTTPDNSClient/ConnectionCounters``.
final class ConnectionCounting: Sendable {
    private let counters = Lock(HTTPDNSClient.ConnectionCounters())

    func count(_ event: WritableKeyPath<HTTPDNSClient.ConnectionCounters, Int>) {
        counters.withLock { $0[keyPath: event] += 1 }
    }

    var current: HTTPDNSClient.ConnectionCounters { counters.withLock { $0 } }
}
