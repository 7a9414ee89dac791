// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

public import HTTPDNSCore
public import HTTPDNSPrimitives

extension HTTPDNSClient.Exchange: CustomStringConvertible {
    /// The address and port that answered, see ``remote``; nil for a Unix socket.
    public var endpoint: HTTPDNSEndpoint? { source == .unixSocket ? nil : remote }
    /// The source of the address.
    public var source: HTTPDNSResolver.Resolution.Source { request.source }
    /// The name of the provider that had the address; nil for other sources.
    public var provider: String? { source == .provider ? request.resolution.provider : nil }
    /// The mapping that applied, also one that led to another name by `via`.
    public var mapping: HTTPDNSResolver.AppliedMapping? { request.resolution.mapping }
    /// The time since the provider or the system resolver was queried, when the request used the answer; nil for other sources.
    public var age: Duration? {
        let resolution = request.resolution
        return resolution.source == .provider || resolution.source == .system ? resolution.age : nil
    }
    /// The lifetime that the address had left when the request used it; nil means no expiry.
    public var timeLeft: Duration? { request.resolution.timeToLive }
    /// Whether the address was past its time to live.
    public var isStale: Bool { request.resolution.isStale }

    /// The server on one line, such as `203.0.113.7 · doh "backup" · fresh, 41 s left · reused connection`.
    public var description: String { DestinationLine.text(self) }
}

extension HTTPDNSClient.Response {
    /// The exchange that the response came from, which is the last one; nil when an interceptor or the response cache answered.
    public var exchange: HTTPDNSClient.Exchange? { DestinationLine.exchange(lastExchange, cacheSource) }
    /// The server that the response came from on one line, such as `203.0.113.7 · doh "backup" · fresh, 41 s left · reused connection`,
    /// or `response cache, hit` or `answered by an interceptor`.
    public var destination: String { DestinationLine.text(lastExchange, cacheSource) }
}

extension HTTPDNSClient.Response.Collected {
    /// The exchange that the response came from, which is the last one; nil when an interceptor or the response cache answered.
    public var exchange: HTTPDNSClient.Exchange? { DestinationLine.exchange(lastExchange, cacheSource) }
    /// The server that the response came from on one line, see ``HTTPDNSClient/Response/destination``.
    public var destination: String { DestinationLine.text(lastExchange, cacheSource) }
}

/// The text of an exchange on one line: address, source, lifetime, connection.
private enum DestinationLine {
    /// Returns the exchange of a response; nil when the response cache had it.
    static func exchange(
        _ last: HTTPDNSClient.Exchange?,
        _ cacheSource: HTTPDNSClient.CacheSource?
    ) -> HTTPDNSClient.Exchange? {
        // A validated response and a miss have a server.
        cacheSource == nil || cacheSource == .miss || cacheSource == .validated ? last : nil
    }

    static func text(_ last: HTTPDNSClient.Exchange?, _ cacheSource: HTTPDNSClient.CacheSource?) -> String {
        if let exchange = exchange(last, cacheSource) { return text(exchange) }
        guard let cacheSource, cacheSource != .miss, cacheSource != .validated else {
            return "answered by an interceptor"
        }
        return "response cache, \(cacheSource)"
    }

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
