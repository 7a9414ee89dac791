internal import HTTPDNS

/// A resolution in words, as all reports say it.
struct ResolutionText {
    var resolution: HTTPDNSResolver.Resolution
    /// The kinds of the providers by their names.
    var providerKinds: [String: String]

    /// `mapping`, `doh backup`, `system`, `literal`, `request`.
    var source: String {
        guard let provider = resolution.provider else { return "\(resolution.source)" }
        guard let kind = providerKinds[provider] else { return "provider \(provider)" }
        return kind == provider ? kind : "\(kind) \(provider)"
    }

    /// Where a rule was written, or how long the asking took.
    var evidence: String {
        if let rule = resolution.rule { return rule.location.map { "\($0)" } ?? "" }
        if resolution.isCached { return "cached" }
        return resolution.source == .literal || resolution.source == .request ? "" : Figures.phase(resolution.elapsed)
    }

    /// `41 s left`, `no expiry`, `STALE`.
    var lifetime: String {
        guard let left = resolution.timeToLive else { return "no expiry" }
        return resolution.isStale ? "STALE, \(Figures.lifetime(resolution.age)) old" : "\(Figures.lifetime(left)) left"
    }

    /// `fresh`, `cached` or `stale`: how new the answer is.
    var freshness: String { resolution.isStale ? "stale" : resolution.isCached ? "cached" : "fresh" }

    /// `(ali: 503 in 12 ms)` for the providers that failed before.
    var failures: String {
        guard !resolution.failedAttempts.isEmpty else { return "" }
        return "(\(resolution.failedAttempts.map { PrintableText.line("\($0)") }.joined(separator: "; ")))"
    }
}

/// An endpoint as text and JSON say it: the port stands there only when it is not the URL's.
enum EndpointText {
    static func text(_ endpoint: HTTPDNSEndpoint, urlPort: UInt16) -> String {
        endpoint.port == urlPort ? "\(endpoint.address)" : "\(endpoint)"
    }
}
