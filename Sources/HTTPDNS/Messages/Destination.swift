// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

public import HTTPDNSCore
public import HTTPDNSPrimitives

extension HTTPDNSClient.Response {
    /// The server that a response came from: its address, the source of that address, and the connection.
    ///
    /// It prints as one line: `203.0.113.7 · doh "backup" · fresh, 41 s left · reused connection`.
    public struct Destination: Sendable, CustomStringConvertible {
        /// Nil when an interceptor or the response cache answered.
        private let exchange: HTTPDNSClient.Exchange?
        private let cacheSource: HTTPDNSClient.CacheSource?

        init(_ exchange: HTTPDNSClient.Exchange?, _ cacheSource: HTTPDNSClient.CacheSource?) {
            // A validated response and a miss have a server.
            let isFromCache = cacheSource.map { $0 != .miss && $0 != .validated } ?? false
            self.exchange = isFromCache ? nil : exchange
            self.cacheSource = isFromCache ? cacheSource : nil
        }

        /// The address and port that answered, see ``HTTPDNSClient/Exchange/remote``. Nil for a Unix socket, and when an
        /// interceptor or the response cache answered without sending.
        public var endpoint: HTTPDNSEndpoint? {
            guard let exchange, exchange.request.source != .unixSocket else { return nil }
            return exchange.remote
        }
        /// The source of the address. Nil when an interceptor answered without sending.
        public var source: HTTPDNSResolver.Resolution.Source? { exchange?.request.source }
        /// The name of the provider that had the address; nil for other sources.
        public var provider: String? { source == .provider ? resolution?.provider : nil }
        /// The mapping that applied, also one that led to another name by `via`.
        public var mapping: HTTPDNSResolver.AppliedMapping? { resolution?.mapping }
        /// The time since the provider or the system resolver was queried, when the request used the answer; nil for
        /// other sources.
        public var age: Duration? {
            guard let resolution, resolution.source == .provider || resolution.source == .system else { return nil }
            return resolution.age
        }
        /// The lifetime that the address had left when the request used it; nil means no expiry.
        public var timeLeft: Duration? { resolution?.timeToLive }
        /// Whether the address was past its time to live.
        public var isStale: Bool { resolution?.isStale ?? false }
        /// The proxy that the request went through, such as `http://proxy.test:3128`; nil without one.
        public var proxy: String? { exchange?.proxy }
        /// Whether the connection had been used before.
        public var reusedConnection: Bool { exchange?.reusedConnection ?? false }

        /// The destination on one line, such as `203.0.113.7 · doh "backup" · fresh, 41 s left · reused connection`.
        public var description: String {
            if let cacheSource { return "response cache, \(cacheSource)" }
            return exchange.map(DestinationLine.text) ?? "answered by an interceptor"
        }

        private var resolution: HTTPDNSResolver.Resolution? { exchange?.request.resolution }
    }

    /// The server that the response came from. It is computed from the last exchange.
    public var destination: HTTPDNSClient.Response.Destination { Destination(lastExchange, cacheSource) }
}

extension HTTPDNSClient.Response.Collected {
    /// The server that the response came from. It is computed from the last exchange.
    public var destination: HTTPDNSClient.Response.Destination {
        HTTPDNSClient.Response.Destination(lastExchange, cacheSource)
    }
}

/// The text of an exchange on one line: address, source, lifetime, connection.
private enum DestinationLine {
    static func text(_ exchange: HTTPDNSClient.Exchange) -> String {
        [
            address(exchange), exchange.proxy.map { "through \($0)" }, source(exchange),
            lifetime(exchange.request.resolution), connection(exchange),
        ].compactMap { $0 }.joined(separator: " · ")
    }

    /// Returns the address, with its port if it differs from the URL's.
    private static func address(_ exchange: HTTPDNSClient.Exchange) -> String? {
        if exchange.request.source == .unixSocket { return nil }
        let remote = exchange.remote
        return remote.port == exchange.request.content.url.port ? remote.address.description : remote.description
    }

    private static func source(_ exchange: HTTPDNSClient.Exchange) -> String {
        let resolution = exchange.request.resolution
        switch resolution.source {
        case .provider:
            let name = resolution.provider ?? "provider"
            let kind = exchange.request.content.issuer.kind(ofProvider: name)
            return name == kind ? name : "\(kind) \"\(name.escaped(limit: 80))\""
        case .mapping:
            guard let mapping = resolution.mapping else { return "mapping" }
            return "mapping \(mapping.location?.description ?? mapping.key.description)"
        case .lastResort:
            guard let mapping = resolution.mapping else { return "last resort" }
            return "last resort \(mapping.location?.description ?? mapping.key.description)"
        case .request: return "pinned by the request"
        case .proxy: return "looked up by the proxy"
        case .unixSocket: return "Unix socket"
        case .system:
            guard let entry = resolution.switchedOff else { return "system resolver" }
            return "system resolver, switched off by \(entry.origin.rawValue)"
        case .literal:
            if case .address = exchange.request.content.url.host { return "address in the URL" }
            return "loopback of this machine"
        default: return resolution.source.description
        }
    }

    /// Returns the remaining lifetime; nil for sources without lifetimes.
    private static func lifetime(_ resolution: HTTPDNSResolver.Resolution) -> String? {
        if resolution.isStale { return "stale, asked for \(resolution.age.shortText) ago" }
        switch resolution.source {
        case .request, .literal, .proxy, .unixSocket: return nil
        case .mapping: return resolution.timeToLive.map { "\($0.shortText) left" } ?? "no expiry"
        default: return resolution.timeToLive.map { "fresh, \($0.shortText) left" } ?? "fresh"
        }
    }

    private static func connection(_ exchange: HTTPDNSClient.Exchange) -> String {
        exchange.reusedConnection ? "reused connection" : "new connection"
    }
}
