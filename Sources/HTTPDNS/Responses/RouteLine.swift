internal import HTTPDNSCore
internal import HTTPDNSPrimitives

/// The text of an exchange on one line: address, source, lifetime, connection.
enum RouteLine {
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
            guard let rule = resolution.rule else { return "mapping" }
            return "mapping \(rule.location?.description ?? rule.key.description)"
        case .lastResort:
            guard let rule = resolution.rule else { return "last resort" }
            return "last resort \(rule.location?.description ?? rule.key.description)"
        case .request: return "pinned by the request"
        case .proxy: return "looked up by the proxy"
        case .unixSocket: return "Unix socket"
        case .system:
            guard let off = resolution.switchedOff else { return "system resolver" }
            return "system resolver, switched off by \(off.origin.rawValue)"
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
