internal import HTTPDNS

/// The text forms of a resolution that all reports share.
struct ResolutionText {
    var resolution: HTTPDNSResolver.Resolution
    /// The kinds of the providers by their names.
    var providerKinds: [String: String]

    /// The source: `mapping`, `doh backup`, `system`, `literal`, `request`.
    var source: String {
        guard let provider = resolution.provider else { return "\(resolution.source)" }
        guard let kind = providerKinds[provider] else { return "provider \(provider)" }
        return kind == provider ? kind : "\(kind) \(provider)"
    }

    /// The location of the rule, or the duration of the lookup.
    var evidence: String {
        if let rule = resolution.rule { return rule.location.map { "\($0)" } ?? "" }
        if resolution.isCached { return "cached" }
        return resolution.source == .literal || resolution.source == .request ? "" : Figures.phase(resolution.elapsed)
    }

    /// The remaining lifetime: `41 s left`, `no expiry`, `STALE`.
    var lifetime: String {
        guard let left = resolution.timeToLive else { return "no expiry" }
        return resolution.isStale ? "STALE, \(Figures.lifetime(resolution.age)) old" : "\(Figures.lifetime(left)) left"
    }

    /// The freshness of the answer: `fresh`, `cached` or `stale`.
    var freshness: String { resolution.isStale ? "stale" : resolution.isCached ? "cached" : "fresh" }

    /// The text `(ali: 503 in 12 ms)` for the providers that failed before.
    var failures: String {
        guard !resolution.failedAttempts.isEmpty else { return "" }
        return "(\(resolution.failedAttempts.map { PrintableText.line("\($0)") }.joined(separator: "; ")))"
    }
}

/// An endpoint as text and JSON: with a port only if it is not the URL's.
enum EndpointText {
    static func text(_ endpoint: HTTPDNSEndpoint, urlPort: UInt16) -> String {
        endpoint.port == urlPort ? "\(endpoint.address)" : "\(endpoint)"
    }
}
